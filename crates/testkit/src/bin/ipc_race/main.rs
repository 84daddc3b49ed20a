//! A standard discussion of three models over a backend's lines of JSON, in turn with a backend that
//! makes the same calls, the same bodies in the same order, and does nothing else: what a backend
//! takes beyond that is its own.
//!
//! `ipc_race LATENCY_MS RUNS PROGRAM ARGS…` prints `{"bare":[ms…],"backend":[ms…],"gaps":[ms…],"memory_kb":n}`.
//! `ipc_race bare ORIGIN KEY` is that other backend.

mod backend;
mod bare;

use althing_testkit::{Options, Upstream};
use backend::Backend;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::Duration;

const BARE: &str = "bare";
const RUNS_MAX: usize = 1000;
const LATENCY_MS_MAX: u64 = 10_000;
const MODELS: [&str; 3] = ["alpha", "beta", "gamma"];
/// Of the length that the original wants of a key; the upstream takes any.
const KEY: &str = "sk-bench-0123456789abcdef0123";

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let mut args = std::env::args().skip(1);
    let mut next = |name: &str| args.next().ok_or(format!("{name} is missing"));
    let first = next("LATENCY_MS")?;
    if first == BARE {
        return bare::serve(&next("ORIGIN")?, &next("KEY")?);
    }
    let latency = first.parse::<u64>()?.min(LATENCY_MS_MAX);
    let runs = next("RUNS")?.parse::<usize>()?.clamp(1, RUNS_MAX);
    let argv: Vec<String> = [next("PROGRAM")?].into_iter().chain(args).collect();
    let upstream = Upstream::start(Options::default().latency(Duration::from_millis(latency)));
    let measured = measure(&upstream, &argv, runs)?;
    Ok(writeln!(io::stdout(), "{measured}")?)
}

fn measure(upstream: &Upstream, argv: &[String], runs: usize) -> Result<Value, Failed> {
    let env = [
        ("OPENAI_API_KEY", KEY.to_string()),
        ("OPENAI_BASE_URL", format!("{}/v1", upstream.url())),
        ("OPENAI_MODELS", MODELS.join(",")),
        ("OLLAMA_BASE_URL", "http://127.0.0.1:9".to_string()),
    ];
    let mut backend = Backend::start(argv, &env)?;
    backend.call("initialize", &json!({}))?;
    backend.call("list_models", &json!({}))?;
    let discussion =
        json!({"question": "Hello?", "model_ids": MODELS, "options": {"method": "standard"}});
    // One of each first: both get their connections, and the bare one its bodies.
    backend.call("run_discussion", &discussion)?;
    let seen = upstream.requests();
    let bodies = seen.iter().map(|it| &it.body).filter(|it| it.get("messages").is_some());
    let bodies: Vec<String> = bodies.map(Value::to_string).collect();
    let this = std::env::current_exe()?.display().to_string();
    let mut bare = Backend::start(&[this, BARE.into(), upstream.url(), KEY.into()], &[])?;
    bare.write(&json!(bodies).to_string())?;
    bare.call("run_discussion", &discussion)?;
    let (mut of_bare, mut of_backend, mut gaps) = (vec![], vec![], vec![]);
    for _ in 0..runs {
        of_bare.push(bare.call("run_discussion", &discussion)?.whole);
        let took = backend.call("run_discussion", &discussion)?;
        of_backend.push(took.whole);
        gaps.push(took.gaps);
    }
    let memory_kb = backend.memory_kb()?;
    backend.end()?;
    bare.end()?;
    Ok(json!({"bare": of_bare, "backend": of_backend, "gaps": gaps, "memory_kb": memory_kb}))
}
