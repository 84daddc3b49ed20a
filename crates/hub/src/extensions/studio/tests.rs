//! The one message under the hands of a page: nothing is lost unasked.

use super::*;
use crate::config::{Config, World};
use std::fs;
use tempfile::TempDir;

/// A machine with two messages on it, of which the first is open.
struct Desk {
    home: TempDir,
    studio: Studio,
    _service: Arc<Service>,
}

impl Desk {
    async fn open() -> Desk {
        let home = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(home.path()).unwrap();
        for name in ["one.hl7", "two.hl7"] {
            fs::write(folder.join(name), format!("MSH|{name}")).unwrap();
        }
        let world = World { env: Default::default(), cwd: folder.clone(), home: folder.clone() };
        let troupe = Troupe::enabled(&Config::load(&world));
        let service = Service::open(world).await.unwrap();
        let document = file::open(&folder.join("one.hl7")).unwrap();
        let studio = Studio::new(troupe, Some(document), &service, folder);
        Desk { home, studio, _service: service }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join(name)
    }

    fn on_disk(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Does it; whether that was refused because something would be lost.
    async fn does(&self, deed: Value) -> bool {
        match self.studio.take(serde_json::from_value(deed).unwrap()).await {
            Ok(()) => false,
            Err(fault) if fault.status == Some(409) => true,
            Err(fault) => panic!("{fault}"),
        }
    }

    async fn types(&self, text: &str) -> bool {
        let revision = self.studio.state()["revision"].clone();
        self.does(json!({ "do": "edit", "text": text, "revision": revision })).await
    }

    fn text(&self) -> Value {
        self.studio.document()["text"].clone()
    }
}

#[tokio::test]
async fn what_is_not_saved_is_not_given_up_unasked() {
    let desk = Desk::open().await;
    let two = desk.path("two.hl7");
    assert_eq!(desk.studio.state()["is_changed"], false);
    assert!(!desk.types("MSH|typed").await);
    assert_eq!(desk.studio.state()["is_changed"], true);
    assert!(desk.does(json!({ "do": "open", "path": two })).await);
    assert_eq!(desk.text(), "MSH|typed");
    assert!(!desk.does(json!({ "do": "undo" })).await && desk.does(json!({ "do": "undo" })).await);
    assert_eq!((desk.text(), &desk.studio.state()["redo"]), (json!("MSH|one.hl7"), &json!("you")));
    assert!(!desk.does(json!({ "do": "redo" })).await);
    // What was meant for the first is not taken for the second.
    let revision = desk.studio.state()["revision"].clone();
    assert!(!desk.does(json!({ "do": "open", "path": two, "discard": true })).await);
    let late = json!({ "do": "edit", "text": "MSH|typed, and more", "revision": revision });
    assert!(desk.does(late).await);
    assert!(!desk.does(json!({ "do": "save" })).await);
    assert_eq!(
        (desk.on_disk("one.hl7"), desk.on_disk("two.hl7")),
        ("MSH|one.hl7".into(), "MSH|two.hl7".into())
    );
}

#[tokio::test]
async fn no_file_is_replaced_that_nobody_has_seen() {
    let desk = Desk::open().await;
    assert!(!desk.types("MSH|typed").await);
    let (two, three) = (desk.path("two.hl7"), desk.path("three.hl7"));
    assert!(desk.does(json!({ "do": "save", "path": two })).await);
    assert_eq!(desk.on_disk("two.hl7"), "MSH|two.hl7");
    fs::write(desk.path("one.hl7"), "MSH|another program").unwrap();
    assert!(desk.does(json!({ "do": "save" })).await);
    assert_eq!(desk.on_disk("one.hl7"), "MSH|another program");
    assert!(!desk.does(json!({ "do": "save", "overwrite": true })).await);
    assert_eq!(desk.on_disk("one.hl7"), "MSH|typed");
    assert!(!desk.does(json!({ "do": "save", "path": three })).await);
    assert_eq!(
        (desk.on_disk("three.hl7"), &desk.studio.state()["file"]),
        ("MSH|typed".into(), &json!(three))
    );
    // By another name it is still the same file.
    std::os::unix::fs::symlink(&three, desk.path("link.hl7")).unwrap();
    assert!(!desk.types("MSH|more").await);
    assert!(!desk.does(json!({ "do": "save", "path": desk.path("link.hl7") })).await);
    assert_eq!(desk.on_disk("three.hl7"), "MSH|more");
}

#[tokio::test]
async fn what_is_not_saved_at_the_end_is_kept() {
    let desk = Desk::open().await;
    desk.studio.state();
    desk.studio.close().await;
    assert!(desk.studio.kept().is_none(), "there was nothing to lose");
    assert!(!desk.types("MSH|typed").await);
    desk.studio.close().await;
    let kept = desk.studio.kept().unwrap().clone().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "MSH|typed");
}
