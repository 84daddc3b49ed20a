//! Each recording gives the deltas written beside it, however its bytes are cut.

use super::{Recording, read, recordings};
use althing_chat::Delta;
use althing_stdx::Result;
use expect_test::expect_file;

/// One delta a line.
fn render(said: &[Result<Delta>]) -> String {
    let line = |item: &Result<Delta>| match item {
        Ok(delta) => format!("{delta:?}\n"),
        Err(fault) => {
            let wait = fault.retry_after.map(|wait| format!(", wait {wait:?}")).unwrap_or_default();
            format!("Fault({}, {:?}{wait})\n", fault.kind, fault.message)
        }
    };
    said.iter().map(line).collect()
}

#[track_caller]
fn check(recording: &Recording) {
    let Recording { dialect, path, stream, bytes } = recording;
    let name = recording.name();
    let whole = read(dialect, *stream, [&bytes[..]]);
    expect_file![format!("{}.deltas", path.display())].assert_eq(&render(&whole));
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(read(dialect, *stream, [head, tail]), whole, "{name} cut at {cut}");
    }
    assert_eq!(read(dialect, *stream, bytes.chunks(1)), whole, "{name} byte by byte");
}

#[test]
fn every_recording_gives_its_deltas_however_it_is_cut() {
    let recordings = recordings();
    recordings.iter().for_each(check);
    assert!(recordings.len() >= 80, "the recordings are found");
}

/// The cases no dialect may be without.
#[test]
fn every_dialect_has_the_hard_cases() {
    let names: Vec<String> = recordings().iter().map(Recording::name).collect();
    for dialect in super::ALL {
        for case in ["normal", "tool_call", "utf8", "error_midstream", "usage", "ping", "truncated"]
            .into_iter()
            .chain(["garbage", "reasoning", "length"])
        {
            let begin = format!("{}/{case}.", dialect.name);
            assert!(names.iter().any(|name| name.starts_with(&begin)), "{begin}");
        }
    }
}
