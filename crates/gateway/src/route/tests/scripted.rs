//! Routes over scripted voices, on a paused clock.

use super::super::*;
use crate::provider;
use althing_chat::Delta;
use althing_stdx::Fault;
use althing_testkit::{Scripted, Step};
use expect_test::{Expect, expect};
use futures_util::{FutureExt, StreamExt};
use std::fmt::Write;
use std::sync::Mutex;
use tokio::time::sleep;

use Step::{Fail, FailWith, Hang, Queue, Retry, Say, Start, UsageOf, Wait};

fn target(name: &str) -> Target {
    let endpoint = Endpoint {
        id: name.into(),
        provider: provider("custom").unwrap(),
        base_url: String::new(),
        key: None,
        parallel: 1,
        access: None,
        headers: vec![],
    };
    Target { endpoint: Arc::new(endpoint), model: "m".into() }
}

fn limits() -> Limits {
    Limits { attempts_max: 3, total: Duration::from_secs(100), ..Limits::default() }
}

type Log = Arc<Mutex<String>>;

/// A route over voices with scripts, one turn per call; the log says who was asked and how.
fn route(scripts: Vec<(&str, Vec<Vec<Step>>)>) -> (Routed, Log) {
    let log = Log::default();
    let targets: Vec<Target> = scripts.iter().map(|(name, _)| target(name)).collect();
    let voices: Vec<Scripted> =
        scripts.into_iter().map(|(name, turns)| Scripted::new(name, turns)).collect();
    let asked = log.clone();
    let voice: Voice = Arc::new(move |target, limits, _, ask| {
        let Limits { attempts_max, total, .. } = limits;
        let note = format!("  {} has {attempts_max}, {total:?}\n", target.endpoint.id);
        asked.lock().unwrap().push_str(&note);
        let voice = voices.iter().find(|voice| voice.id() == target.endpoint.id);
        voice.unwrap().speak(ask)
    });
    let (affinity, gateway) = (Some(7), Gateway::new(limits()));
    let inner = Inner { id: "best".into(), targets, affinity, gateway, voice };
    (Routed(Arc::new(inner)), log)
}

fn show(item: Result<Delta, Fault>) -> String {
    match item {
        Ok(Delta::Retrying(retry)) => {
            let althing_chat::Retry { attempt, wait_ms, message, .. } = retry;
            format!("retrying {attempt} in {wait_ms} ms: {message}")
        }
        Ok(Delta::Text(text)) => text,
        Ok(Delta::Usage(usage)) => format!("usage {:?}", usage.output),
        Ok(delta) => format!("{delta:?}"),
        Err(fault) => {
            let asked = fault.retry_after.map(|wait| format!("\n  asked {wait:?}"));
            format!("{}: {}{}", fault.kind, fault.message, asked.unwrap_or_default())
        }
    }
}

/// One call's story: seconds of the clock, who was asked, what was heard, and who it was.
async fn story(routed: &Routed, log: &Log) -> String {
    let begun = Instant::now();
    let (mut speaking, answered) = routed.speak_noting(Ask::new("", "Well?"));
    let mut story = String::new();
    while let Some(item) = speaking.next().await {
        story.push_str(&std::mem::take(&mut *log.lock().unwrap()));
        writeln!(story, "{} {}", begun.elapsed().as_secs(), show(item)).unwrap();
    }
    let who = answered.get().map(Target::id);
    story + &who.map(|who| format!("  by {who}\n")).unwrap_or_default()
}

async fn check(
    scripts: Vec<(&str, Vec<Vec<Step>>)>,
    calls: usize,
    want: impl std::borrow::Borrow<Expect>,
) {
    let (routed, log) = route(scripts);
    let mut all = String::new();
    for call in 1..=calls {
        writeln!(all, "call {call}").unwrap();
        all.push_str(&story(&routed, &log).await);
    }
    want.borrow().assert_eq(&all);
}

fn limited(seconds: u64) -> Step {
    let wait = Some(Duration::from_secs(seconds));
    FailWith(Fault::new(Kind::RateLimited, "slow down").retry_after(wait))
}

#[tokio::test(start_paused = true)]
async fn the_first_target_answers() {
    let fine = || vec![vec![Start, UsageOf(3, 0), Wait(2), Say("yes"), UsageOf(3, 1)]];
    check(
        vec![("a", fine()), ("b", vec![])],
        1,
        expect![[r#"
        call 1
          a has 1, 100s
        0 Started
        2 usage Some(0)
        2 yes
        2 usage Some(1)
        2 Stop(End)
          by a:m
    "#]],
    )
    .await;
    check(
        vec![("a", fine())],
        1,
        expect![[r#"
        call 1
          a has 3, 100s
        0 Started
        2 usage Some(0)
        2 yes
        2 usage Some(1)
        2 Stop(End)
          by a:m
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_sleep_while_another_is_free_and_no_call_to_one_that_rests() {
    check(
        vec![
            ("a", vec![vec![Start, limited(60)]]),
            ("b", vec![vec![Start, Say("yes")], vec![Queue, Wait(5), Start, limited(90)]]),
        ],
        3,
        expect![[r#"
            call 1
              a has 1, 100s
            0 Started
              b has 3, 100s
            0 retrying 1 in 0 ms: a:m: slow down; b:m is asked
            0 yes
            0 Stop(End)
              by b:m
            call 2
              b has 3, 100s
            0 Queued
            5 Started
            5 rate_limited: b:m: slow down; try again in 90 s
              asked 90s
              by b:m
            call 3
            0 rate_limited: all targets rest: a:m (rate_limited, 55 s), b:m (rate_limited, 90 s)
              asked 55s
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_before_the_first_word_falls_back_and_takes_its_counts_along() {
    let scripts = |silent| {
        vec![
            ("a", vec![vec![Start, UsageOf(9, 0), Wait(70), silent]]),
            ("b", vec![vec![Queue, Wait(50), Start, Say("yes"), UsageOf(1, 1)]]),
        ]
    };
    let want = expect![[r#"
        call 1
          a has 1, 100s
        0 Started
          b has 3, 30s
        70 retrying 1 in 0 ms: a:m: the answer broke off; b:m is asked
        70 Queued
        120 Started
        120 yes
        120 usage Some(1)
        120 Stop(End)
          by b:m
    "#]];
    check(scripts(Fail(Kind::Overloaded, "the answer broke off")), 1, &want).await;
    check(scripts(Step::Cut), 1, &want).await;
}

#[tokio::test(start_paused = true)]
async fn after_the_first_word_an_error_is_the_end() {
    for word in [Say("yes"), Step::Think("hm"), Step::Call("f", "{}")] {
        let (routed, log) =
            route(vec![("a", vec![vec![Start, word, Fail(Kind::Network, "gone")]]), ("b", vec![])]);
        let story = story(&routed, &log).await;
        assert!(story.ends_with("0 network: gone\n  by a:m\n"), "{story}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_falls_back() {
    for (kind, falls_back) in [
        (Kind::Cancelled, false),
        (Kind::Refused, false),
        (Kind::CostLimit, false),
        (Kind::TooFew, false),
        (Kind::UnknownMethod, false),
        (Kind::InvalidParams, true),
        (Kind::NotFound, true),
        (Kind::Busy, true),
        (Kind::TimedOut, true),
        (Kind::BadKey, true),
        (Kind::NoCredit, true),
        (Kind::UnknownModel, true),
        (Kind::RateLimited, true),
        (Kind::ContextTooLong, true),
        (Kind::Overloaded, true),
        (Kind::Network, true),
        (Kind::Upstream, true),
        (Kind::Internal, true),
    ] {
        let (routed, log) =
            route(vec![("a", vec![vec![Fail(kind, "no")]]), ("b", vec![vec![Say("yes")]])]);
        let story = story(&routed, &log).await;
        let last = if falls_back { "0 Stop(End)\n  by b:m\n" } else { ": a:m: no\n  by a:m\n" };
        assert!(story.ends_with(last), "{kind}: {story}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_fail() {
    check(
        vec![
            ("a", vec![vec![Start, Fail(Kind::BadKey, "who are you")]]),
            ("b", vec![vec![Start, Retry, Fail(Kind::NoCredit, "pay")]]),
        ],
        2,
        expect![[r#"
            call 1
              a has 1, 100s
            0 Started
              b has 3, 100s
            0 retrying 1 in 0 ms: a:m: who are you; b:m is asked
            0 retrying 2 in 100 ms: wait
            0 no_credit: b:m: pay
              by b:m
            call 2
            0 bad_key: all targets rest: a:m (bad_key, 60 s), b:m (no_credit, 60 s)
        "#]],
    )
    .await;
    check(
        vec![],
        1,
        expect![[r#"
        call 1
        0 not_found: best has no target
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_alone() {
    check(
        vec![(
            "a",
            vec![vec![Start, Fail(Kind::BadKey, "who are you")], vec![Start, Retry, limited(30)]],
        )],
        3,
        expect![[r#"
            call 1
              a has 3, 100s
            0 Started
            0 bad_key: who are you
              by a:m
            call 2
              a has 3, 100s
            0 Started
            0 retrying 1 in 100 ms: wait
            0 rate_limited: slow down; try again in 30 s
              asked 30s
              by a:m
            call 3
            0 rate_limited: all targets rest: a:m (rate_limited, 30 s)
              asked 30s
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_stays_where_it_was_answered() {
    let (routed, log) = route(vec![
        ("a", vec![vec![limited(1)], vec![Say("a")]]),
        ("b", vec![vec![Say("b")], vec![Say("b")], vec![Fail(Kind::Network, "gone")]]),
    ]);
    for who in ["b", "b", "a"] {
        let story = story(&routed, &log).await;
        assert!(story.ends_with(&format!("  by {who}:m\n")), "{story}");
        sleep(Duration::from_secs(2)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_no_failure() {
    let (routed, _) = route(vec![("a", vec![vec![Start, Hang]; 20]), ("b", vec![])]);
    for _ in 0..20 {
        let mut speaking = routed.speak(Ask::new("", "Well?"));
        assert_eq!(speaking.next().await, Some(Ok(Delta::Started)));
        assert!(speaking.next().now_or_never().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_targets_is_that_of_one_call() {
    check(
        vec![
            ("a", vec![vec![Start, Wait(100), Fail(Kind::TimedOut, "late")]]),
            ("b", vec![vec![Say("never asked")]]),
        ],
        1,
        expect![[r#"
            call 1
              a has 1, 100s
            0 Started
            100 timed_out: a:m: late
              by a:m
        "#]],
    )
    .await;
}
