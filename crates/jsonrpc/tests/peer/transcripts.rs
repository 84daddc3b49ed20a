//! Conversations as text: `-->` goes in, `<--` must come out next, `..` stands for anything. Each
//! is played over every framing. The name of the file begins with the options it is for.

use crate::kit::bench;
use althing_jsonrpc::{ContentLength, Framing, Ndjson, Options};
use std::{fs, path::Path};

async fn play(name: &str, text: &str, framing: impl Framing + Clone) {
    let (kind, _) = name.split_once('-').expect("options in the name");
    let options = match kind {
        "server" => Options::server(),
        "peer" => Options::peer(),
        other => panic!("{name}: no such options: {other}"),
    };
    let mut bench = bench(framing, options);
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        match line.split_at_checked(4) {
            Some(("--> ", body)) => bench.to.send(body).await,
            Some(("<-- ", want)) => {
                let found = bench.from.next().await.expect(&place);
                assert!(matches(want, &found), "{place}: wanted\n{want}\nbut found\n{found}");
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{place}: {line}"),
        }
    }
    bench.to.end().await;
    assert_eq!(bench.from.next().await, None, "{name}: more than was wanted");
}

/// Whether `text` is `pattern` with something for every `..`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("..");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    rest.is_empty() || is_open
}

#[tokio::test]
async fn every_transcript_plays_over_every_framing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut played = 0;
    for entry in fs::read_dir(folder).expect("testdata") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let name = path.file_name().expect("a name").to_string_lossy();
        play(&name, &text, Ndjson::default()).await;
        play(&name, &text, ContentLength::default()).await;
        played += 1;
    }
    assert!(played > 0, "there are transcripts");
}

#[test]
fn dots_stand_for_anything() {
    for (pattern, text, want) in [
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("a..", "abcd", true),
        ("..d", "abcd", true),
        ("a..c..e", "abcde", true),
        ("a..c..e", "abcd", false),
        ("..", "", true),
    ] {
        assert_eq!(matches(pattern, text), want, "{pattern} {text}");
    }
}
