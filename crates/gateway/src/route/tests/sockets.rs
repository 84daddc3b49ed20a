//! Routes over servers on loopback.

use crate::tests::{FOR_EVER, ask, endpoint, gateway};
use crate::{Endpoint, Gateway, Limits, Target};
use althing_chat::{Answer, Delta, Model, Speaking};
use althing_stdx::Kind;
use althing_testkit::upstream::{Options, Upstream};
use futures_util::{FutureExt, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// `a:MODEL` and then `b:fine`, both of the provider called `name`.
fn targets(name: &str, upstream: &Upstream, model: &str) -> Vec<Target> {
    let target = |id: &str, model: &str| {
        let endpoint = Endpoint::clone(&endpoint(name, &upstream.url()));
        Target { endpoint: Arc::new(Endpoint { id: id.into(), ..endpoint }), model: model.into() }
    };
    vec![target("a", model), target("b", "fine")]
}

async fn answered(gateway: &Gateway, targets: Vec<Target>) -> (Vec<Delta>, String) {
    let (speaking, answered) = gateway.route("best", targets, None).speak_noting(ask(true));
    let deltas: Vec<Delta> = speaking.map(Result::unwrap).collect().await;
    (deltas, answered.get().unwrap().id())
}

#[tokio::test]
async fn every_mishap_of_every_dialect_leads_to_the_next_target() {
    for name in ["openai", "anthropic", "google", "ollama"] {
        for model in ["err-429", "err-503", "err-key", "err-early", "err-context", "html"] {
            let upstream = Upstream::start(Options::default().text(|_| "Yes.".into()));
            let (deltas, who) = answered(&gateway(3), targets(name, &upstream, model)).await;
            assert_eq!(who, "b:fine", "{name} {model}");
            assert_eq!(upstream.count(model), 1, "one attempt while another is free");
            let retries = deltas.iter().filter(|delta| matches!(delta, Delta::Retrying(_)));
            let waits: Vec<u64> = retries
                .map(|delta| match delta {
                    Delta::Retrying(retry) => retry.wait_ms,
                    _ => unreachable!("only retries are left"),
                })
                .collect();
            assert_eq!(waits, [0], "{name} {model}: {deltas:?}");
            let mut answer = Answer::default();
            deltas.into_iter().for_each(|delta| answer.add(delta));
            assert_eq!(answer.text, "Yes.", "{name} {model}");
        }
    }
}

#[tokio::test]
async fn a_target_that_asked_for_a_rest_gets_it() {
    let hour = Options::default().retry_after(Duration::from_secs(3600));
    let upstream = Upstream::start(hour);
    let gateway = gateway(3);
    let both = || targets("openai", &upstream, "err-429");
    for _ in 0..3 {
        assert_eq!(answered(&gateway, both()).await.1, "b:fine");
    }
    assert_eq!(upstream.count("err-429"), 1);
    let rest = gateway.rest(&both()[0]).unwrap();
    assert_eq!(rest.kind, Kind::RateLimited);
    assert!(rest.wait <= Duration::from_secs(15 * 60), "{rest:?}");
    let alone = both().drain(..1).collect();
    let fault = Answer::collect(gateway.route("x", alone, None).speak(ask(true))).await;
    assert_eq!(fault.unwrap_err().kind, Kind::RateLimited);
    assert_eq!(upstream.count("err-429"), 1, "nobody asked it again");
}

#[tokio::test]
async fn the_last_one_free_is_tried_again() {
    let upstream = Upstream::start(Options::default());
    let alone = targets("openai", &upstream, "flaky-2").drain(..1).collect();
    let (deltas, who) = answered(&gateway(3), alone).await;
    assert_eq!(who, "a:flaky-2");
    let retries = deltas.iter().filter(|delta| matches!(delta, Delta::Retrying(_)));
    assert_eq!(retries.count(), 2);
}

#[tokio::test]
async fn a_target_that_hangs_leads_to_the_next_where_the_answer_comes_whole() {
    let limits = Limits { first_token: Duration::from_millis(1), ..Limits::default() };
    for name in ["openai", "anthropic", "google", "ollama"] {
        let upstream = Upstream::start(Options::default().text(|_| "Yes.".into()));
        let routed = Gateway::new(limits).route("x", targets(name, &upstream, "hang"), None);
        let (speaking, who) = routed.speak_noting(ask(false));
        assert_eq!(Answer::collect(speaking).await.unwrap().text, "Yes.", "{name}");
        assert_eq!(who.get().unwrap().id(), "b:fine", "{name}");
    }
}

#[tokio::test]
async fn only_the_patient_wait_long_for_a_lone_target() {
    let upstream = Upstream::start(Options::default().retry_after(Duration::from_secs(30)));
    let alone = || targets("openai", &upstream, "flaky-1").drain(..1).collect::<Vec<_>>();
    let fault = Answer::collect(gateway(3).route("x", alone(), None).speak(ask(true))).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.retry_after, Some(Duration::from_secs(30)));
    assert!(fault.message.contains("try again in 30"), "{fault}");
    assert_eq!(upstream.count("flaky-1"), 1);
    let upstream = Upstream::start(Options::default().retry_after(Duration::from_secs(30)));
    let alone = targets("openai", &upstream, "flaky-1").drain(..1).collect();
    let mut speaking = gateway(3).patient().route("x", alone, None).speak(ask(true));
    assert_eq!(speaking.next().await.unwrap().unwrap(), Delta::Started);
    let told = speaking.next().await.unwrap().unwrap();
    assert!(matches!(&told, Delta::Retrying(it) if it.wait_ms >= 30_000), "{told:?}");
}

#[tokio::test]
async fn what_was_said_stays_said() {
    for model in ["cut", "err-midstream"] {
        let upstream = Upstream::start(Options::default());
        let routed = gateway(3).route("best", targets("openai", &upstream, model), None);
        let (speaking, who) = routed.speak_noting(ask(true));
        let items: Vec<_> = speaking.collect().await;
        assert!(items.last().unwrap().is_err(), "{model}");
        assert!(items.iter().any(|item| matches!(item, Ok(Delta::Text(_)))), "{model}");
        assert_eq!(who.get().unwrap().id(), format!("a:{model}"));
        assert_eq!(upstream.count("fine"), 0);
    }
}

#[tokio::test]
async fn a_call_that_nobody_listens_to_ends_upstream_at_once() {
    for model in ["hang", "stall"] {
        let upstream = Upstream::start(Options::default());
        let routed = gateway(3).route("best", targets("openai", &upstream, model), None);
        let mut speaking = routed.speak(ask(true));
        let heard = async { while speaking.next().await.is_some() {} };
        tokio::select! {
            () = heard => panic!("{model} never ends"),
            _ = upstream.wait_for(|seen| !seen.is_empty()) => {}
        }
        drop(speaking);
        upstream.wait_for(|seen| seen.len() == 1 && seen[0].aborted()).await;
    }
}

/// `MODEL` at a server of its own that takes one call at a time.
fn local(id: &str, upstream: &Upstream, model: &str) -> Target {
    let endpoint = Endpoint::clone(&endpoint("lmstudio", &upstream.url()));
    Target { endpoint: Arc::new(Endpoint { id: id.into(), ..endpoint }), model: model.into() }
}

/// A call that takes the only place of `target`'s server.
async fn occupy(gateway: &Gateway, target: Target, upstream: &Upstream) -> Speaking {
    let mut speaking = gateway.route("long", vec![target], None).speak(ask(true));
    assert_eq!(speaking.next().await.unwrap().unwrap(), Delta::Started);
    let asked = async { while speaking.next().await.is_some() {} };
    tokio::select! {
        () = asked => panic!("it never answers"),
        _ = upstream.wait_for(|seen| !seen.is_empty()) => {}
    }
    speaking
}

#[tokio::test]
async fn nobody_waits_at_a_full_server_while_another_has_a_place() {
    let servers = [(); 2].map(|()| Upstream::start(Options::default()));
    let gateway = gateway(3);
    let _long = occupy(&gateway, local("a", &servers[0], "hang"), &servers[0]).await;
    let both = || vec![local("a", &servers[0], "fine"), local("b", &servers[1], "fine")];
    for affinity in [None, Some(7), Some(7)] {
        let (speaking, who) = gateway.route("best", both(), affinity).speak_noting(ask(true));
        let deltas = timeout(FOR_EVER, speaking.map(Result::unwrap).collect::<Vec<Delta>>());
        let deltas = deltas.await.expect("it waits for the first one");
        assert_eq!(who.get().unwrap().id(), "b:fine");
        assert_eq!(deltas[0], Delta::Started, "it was in no line: {deltas:?}");
    }
    assert_eq!(servers[0].count("fine"), 0);
}

#[tokio::test]
async fn where_all_are_full_the_first_place_is_taken() {
    let servers = [(); 2].map(|()| Upstream::start(Options::default()));
    for (first, who) in [(0, "a:fine"), (1, "b:fine")] {
        let gateway = gateway(3);
        let mut long = [None, None];
        for (at, id) in ["a", "b"].into_iter().enumerate() {
            let target = local(id, &servers[at], "hang");
            long[at] = Some(occupy(&gateway, target, &servers[at]).await);
        }
        let both = vec![local("a", &servers[0], "fine"), local("b", &servers[1], "fine")];
        let (mut speaking, answered) = gateway.route("best", both, None).speak_noting(ask(true));
        assert_eq!(speaking.next().await.unwrap().unwrap(), Delta::Queued);
        assert!(speaking.next().now_or_never().is_none(), "nobody has a place");
        long[first] = None;
        timeout(FOR_EVER, Answer::collect(speaking)).await.expect("a place is free").unwrap();
        assert_eq!(answered.get().unwrap().id(), who);
    }
}

#[tokio::test]
async fn a_full_server_is_waited_for_where_the_others_fail() {
    let servers = [(); 2].map(|()| Upstream::start(Options::default()));
    let gateway = gateway(1);
    let long = occupy(&gateway, local("a", &servers[0], "hang"), &servers[0]).await;
    let both = vec![local("a", &servers[0], "fine"), local("b", &servers[1], "err-503")];
    let (mut speaking, answered) = gateway.route("best", both, None).speak_noting(ask(true));
    assert_eq!(speaking.next().await.unwrap().unwrap(), Delta::Started);
    let told = speaking.next().await.unwrap().unwrap();
    let Delta::Retrying(retry) = &told else { panic!("{told:?}") };
    let words = "; the next one that has a place is asked";
    assert!(retry.message.starts_with("b:err-503: ") && retry.message.ends_with(words), "{told:?}");
    assert_eq!(speaking.next().await.unwrap().unwrap(), Delta::Queued);
    drop(long);
    Answer::collect(speaking).await.unwrap();
    assert_eq!(answered.get().unwrap().id(), "a:fine");
}

#[tokio::test]
async fn two_models_of_one_server_need_one_place() {
    let upstream = Upstream::start(Options::default());
    let both = vec![local("a", &upstream, "err-503"), local("b", &upstream, "fine")];
    let (deltas, who) = answered(&gateway(3), both).await;
    assert_eq!(who, "b:fine");
    assert!(!deltas.contains(&Delta::Queued), "the first one left its place: {deltas:?}");
}
