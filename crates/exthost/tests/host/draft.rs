//! The one state of the message: who changed it, what can be taken back, and what would be lost.

use crate::kit::{Bench, MESSAGE, example};
use althing_exthost::document::{Document, Form};

#[tokio::test]
async fn a_patch_of_an_extension_is_taken_back_like_what_the_person_typed() {
    let bench = Bench::new(vec![example(&["editor.py"])]);
    bench.settled().await;
    let host = bench.host();
    let typed = MESSAGE.replace("123", "456");
    host.edit(&typed);
    host.command("editor/fill").unwrap();
    bench.until_text("NK1||DOE").await;
    host.quiet(std::time::Duration::from_millis(100)).await;
    let filled = bench.text();
    let draft = host.draft();
    assert!(draft.is_changed() && draft.redo.is_none());
    assert!(draft.undo.is_some_and(|by| by.contains("python3")), "it says whose change it is");
    let mut undone = 0;
    while bench.text() != typed {
        assert!(host.undo(), "only the typing is left");
        undone += 1;
    }
    assert_eq!(host.draft().undo.as_deref(), Some("you"));
    assert!(host.undo() && !host.undo());
    assert_eq!((bench.text().as_str(), host.draft().is_changed()), (MESSAGE, false));
    for _ in 0..=undone {
        assert!(host.redo());
    }
    assert_eq!((bench.text(), host.redo()), (filled, false));
    bench.stop().await;
}

#[tokio::test]
async fn nothing_is_typed_into_another_message_and_nothing_unsaved_is_lost() {
    let bench = Bench::new(vec![]);
    let host = bench.host();
    let revision = host.revision();
    assert!(host.edit_at(revision, "MSH|^~\\&|1", false));
    assert!(!host.edit_at(revision, "MSH|^~\\&|2", false), "it is another revision");
    let other = || Document::new(Form::Hl7, "MSH|^~\\&|other").in_file("/x/other.hl7");
    assert!(!host.open_over(other(), false), "the first is not saved");
    assert_eq!(bench.text(), "MSH|^~\\&|1");
    host.saved("/x/first.hl7".into(), "MSH|^~\\&|1", true);
    assert!(!host.draft().is_changed());
    let revision = host.revision();
    assert!(host.open_over(other(), false));
    assert!(!host.edit_at(revision, "MSH|^~\\&|1 and more", false), "that was meant for the first");
    assert_eq!((bench.text().as_str(), host.undo()), ("MSH|^~\\&|other", false));
    assert_eq!(host.draft().opened, 1);
    // Saved while it was typed on: what was written is not all there is.
    host.edit("MSH|^~\\&|other, later");
    host.saved("/x/other.hl7".into(), "MSH|^~\\&|other", false);
    assert!(host.draft().is_changed());
    bench.stop().await;
}
