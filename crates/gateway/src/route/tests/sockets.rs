//! Routes over servers on loopback.

use crate::tests::{ask, endpoint, gateway};
use crate::{Endpoint, Gateway, Target};
use althing_chat::{Answer, Delta, Model};
use althing_stdx::Kind;
use althing_testkit::upstream::{Options, Upstream};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;

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
