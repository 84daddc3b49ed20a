//! Discussions as models: when their words come, and that they come once.

use super::super::Limits;
use super::kit::{Face, told};
use super::through::{face, streamed};
use crate::service::discuss::conclusion;
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
        let whole = events.iter().find_map(conclusion).unwrap();
        let got = told(&got);
        let said = got.split("\n\n(No model is configured").next().unwrap();
        assert_eq!(said, whole, "{model}");
    }
}
