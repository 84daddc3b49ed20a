//! Discussions as models: when their words come, and that they come once.

use super::super::Limits;
use super::kit::{Face, told};
use super::through::{body, face, face_with, streamed};
use crate::service::discuss::Conclusion;
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Seen, Upstream};
use std::sync::atomic::{AtomicUsize, Ordering};

const PATH: &str = "/v1/chat/completions";

/// What a model writes that is asked for the synthesis, and what any other one says.
fn written(seen: &Seen) -> String {
    let synthesis = "CONSENSUS: YES\nSYNTHESIS: Tea it is, hot and often, at any hour of the day, \
                     for all who sit here.\nDIFFERENCES: None";
    if concludes(seen) { synthesis.into() } else { "POSITION: Tea.\nCONFIDENCE: HIGH".into() }
}

fn concludes(seen: &Seen) -> bool {
    matches!(seen.route, Route::Chat(_)) && seen.body.to_string().contains("SYNTHESIS")
}

#[tokio::test]
async fn a_synthesis_streams_while_it_is_written() {
    let stalls = |seen: &Seen| concludes(seen).then_some("stall");
    let upstream = Upstream::start(Options::default().text(written).mishap(stalls));
    let face = face(&upstream).await;
    let mut line = face.connect().await;
    line.send(&streamed(&face, PATH, "althing/standard")).await;
    // Its second half never comes.
    line.until("Tea it is, hot").await;
}

#[tokio::test]
async fn a_synthesis_that_broke_off_begins_again_and_says_so() {
    let failures = AtomicUsize::new(0);
    let fails_once = move |seen: &Seen| {
        let is_first = concludes(seen) && failures.fetch_add(1, Ordering::Relaxed) == 0;
        is_first.then_some("err-midstream")
    };
    let upstream = Upstream::start(Options::default().text(written).mishap(fails_once));
    let face = face(&upstream).await;
    let mut line = face.connect().await;
    line.send(&streamed(&face, PATH, "althing/standard")).await;
    let got = line.rest().await;
    let (before, after) = told(&got)
        .split_once("\n\n(The synthesis broke off here")
        .map_or_else(|| panic!("{got}"), |(before, after)| (before.to_string(), after.to_string()));
    assert!(!before.is_empty() && "Tea it is, hot and often".starts_with(&before[..9]), "{before}");
    let whole = " and is written anew.)\n\nTea it is, hot and often, at any hour of the day, for all \
                 who sit here.\n\nOpen: None\n\nConsensus: YES";
    assert_eq!(after, whole);
}

/// A synthesis that goes in circles.
fn looping(seen: &Seen) -> String {
    let circles = "Tea is good. ".repeat(400);
    if concludes(seen) { format!("CONSENSUS: YES\nSYNTHESIS: {circles}") } else { written(seen) }
}

#[tokio::test]
async fn a_synthesis_that_was_cut_off_says_so_and_is_sent_once() {
    let upstream = Upstream::start(Options::default().text(looping));
    let face = face(&upstream).await;
    let end = "\n\nOpen: (not stated)\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)";
    let whole = face.ask("POST", PATH, &body(PATH, "althing/standard", false)).await.json();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.starts_with("Tea is good.") && text.ends_with(end), "{text}");
    assert_eq!(whole["choices"][0]["finish_reason"], "length");

    let mut line = face.connect().await;
    line.send(&streamed(&face, PATH, "althing/standard")).await;
    let got = line.rest().await;
    assert!(got.contains(r#""finish_reason":"length""#), "{got}");
    assert!(got.contains("has spoken (cut off: it repeated itself)"), "{got}");
    let text = told(&got);
    assert!(text.starts_with("Tea is good.") && text.ends_with(end), "{text}");
    assert!(!text.contains("written anew"), "{text}");

    for (path, field, stopped) in [
        ("/v1/messages", "/stop_reason", "max_tokens"),
        ("/v1/responses", "/incomplete_details/reason", "max_output_tokens"),
    ] {
        let whole = face.ask("POST", path, &body(path, "althing/standard", false)).await.json();
        assert_eq!(whole.pointer(field).unwrap(), stopped, "{whole}");
    }
}

#[tokio::test]
async fn what_is_missing_or_left_out_is_in_the_comments() {
    let long = |seen: &Seen| match concludes(seen) {
        true => written(seen),
        false => format!("{}\n", (0..150).map(|n| format!("Word {n}.")).collect::<String>()),
    };
    let upstream = Upstream::start(Options::default().text(long));
    let face = face_with(&upstream, &[("ALTHING_CONTEXT_TOKENS", "1500")]).await;
    let mut line = face.connect().await;
    line.send(&streamed(&face, PATH, "althing/standard")).await;
    let got = line.rest().await;
    let comments: Vec<&str> = got.lines().filter(|line| line.starts_with(": ")).collect();
    for words in ["has spoken (confidence not stated", "from here on its prompts lack "] {
        assert!(comments.iter().any(|comment| comment.contains(words)), "{comments:#?}");
    }
}

#[tokio::test]
async fn all_words_of_a_stream_are_the_conclusion() {
    let face = Face::start(Limits::default()).await;
    for method in althing_assembly::ALL {
        let mut line = face.connect().await;
        let model = format!("althing/{}", method.name);
        line.send(&streamed(&face, PATH, &model)).await;
        let got = line.rest().await;
        let run = got.lines().find_map(|line| line.strip_prefix(": run ")).unwrap();
        let events = face.service.store.events(run).await.unwrap();
        let whole = events.iter().find_map(Conclusion::of).unwrap().into_text();
        let got = told(&got);
        let said = got.split("\n\n(No model is configured").next().unwrap();
        assert_eq!(said, whole, "{model}");
    }
}
