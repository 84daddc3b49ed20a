//! What a standard discussion of three models costs beyond its critical path: ten calls one after
//! the other, whatever happens beside them.

use crate::{Size, median_and_min, say};
use althing_assembly::{demo::Pace, methods};
use althing_chat::{Answer, Ask, Model};
use althing_gateway::{Endpoint, Gateway, Limits, provider};
use althing_hub::book::Library;
use althing_hub::config::{Config, Synthesizer, World};
use althing_hub::lineup;
use althing_hub::runs::{Request, Runs};
use althing_hub::secrets::Secrets;
use althing_hub::store::Store;
use althing_testkit::{Options, Seen, Upstream};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Phases of the standard method as numbers of calls made at once: answers, critiques, six turns,
/// positions, synthesis.
const SHAPE: [usize; 10] = [3, 3, 1, 1, 1, 1, 1, 1, 3, 1];

pub fn measure(size: Size) {
    say(
        "\n== own overhead of a standard discussion, 3 models, 16 calls, 10 of them on the critical path",
    );
    say(
        "latency ms | critical path ms | bare client ms | discussion ms | over critical path ms | over bare client ms",
    );
    for latency in [0, 50] {
        let upstream = Upstream::start(Options::default().latency(Duration::from_millis(latency)));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (bare, ours) = runtime
            .block_on(compare(&upstream, size.runs.min(if latency > 0 { 10 } else { size.runs })));
        let path = latency as f64 * SHAPE.len() as f64;
        let ((bare, _), (ours, _)) = (median_and_min(bare), median_and_min(ours));
        say(&format!(
            "{latency:10} | {path:16.0} | {bare:14.1} | {ours:13.1} | {:21.1} | {:19.1}",
            ours - path,
            ours - bare
        ));
    }
}

/// Milliseconds of bare calls and of whole discussions, taken in turn.
async fn compare(upstream: &Upstream, runs: usize) -> (Vec<f64>, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("{}/v1", upstream.url());
    let env = BTreeMap::from([
        ("OPENAI_API_KEY".to_string(), "sk-test-0123456789abcdef".to_string()),
        ("OPENAI_BASE_URL".to_string(), url.clone()),
    ]);
    let world = World { env, cwd: folder.path().into(), home: folder.path().into() };
    let config = Arc::new(Config::load(&world));
    let store = Store::open(&config.database()).expect("a store");
    let endpoint = Endpoint {
        id: "bare".into(),
        provider: provider("openai").expect("a row"),
        base_url: url,
        key: Some(althing_stdx::redact::Secret::new("sk-test-0123456789abcdef")),
        parallel: 16,
        access: None,
        headers: vec![],
    };
    let bare_model = Gateway::new(Limits::default()).model(&Arc::new(endpoint), "ada");
    let library = Library::new(world, config, store, Secrets::in_memory());
    let runs_of = Runs { library, metrics: None, pace: Pace { word_ms: 0 } };
    // One of each first: both get their connections, and the bare client its prompts.
    discussion(&runs_of).await;
    let asks: Vec<Ask> = upstream.requests().iter().map(ask_of).collect();
    calls(&*bare_model, &asks).await;
    let (mut bare, mut ours) = (vec![], vec![]);
    for _ in 0..runs {
        let began = Instant::now();
        calls(&*bare_model, &asks).await;
        bare.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        discussion(&runs_of).await;
        ours.push(began.elapsed().as_secs_f64() * 1e3);
    }
    (bare, ours)
}

/// A request of the discussion, to be made again.
fn ask_of(seen: &Seen) -> Ask {
    let text = |at: usize| seen.body["messages"][at]["content"].as_str().unwrap_or_default();
    Ask::new(text(0), text(1))
}

/// The same calls in the same shape, with nothing around them.
async fn calls(model: &dyn Model, asks: &[Ask]) {
    let mut rest = asks;
    for width in SHAPE {
        let (now, later) = rest.split_at(width);
        rest = later;
        let at_once = now.iter().map(|ask| Answer::collect(model.speak(ask.clone())));
        for answer in futures_util::future::join_all(at_once).await {
            answer.expect("an answer");
        }
    }
}

async fn discussion(runs: &Runs) {
    let names: Vec<String> = ["openai:ada", "openai:bob", "openai:cyd"].map(String::from).to_vec();
    let request = Request {
        question: "Hello?".into(),
        context: vec![],
        attachments: vec![],
        method: methods::method("standard").expect("the standard method"),
        lineup: lineup::resolve(&names, &runs.library.book(), None).expect("three seats"),
        roles: None,
        rounds: 2,
        turns: None,
        synthesizer: Synthesizer::First,
        language: None,
        pause: None,
        max_cost_usd: None,
        estimate_usd: None,
        continues: None,
        tools: vec![],
        workers: false,
        stream: true,
    };
    let run = runs.start(request).await.expect("a run");
    let ending = run.ending().await.expect("an ending");
    assert_eq!(ending, althing_assembly::event::Ending::Completed);
}
