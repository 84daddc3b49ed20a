//! Discussions: checked, held to their end, cancelled, resumed.

use super::params::{Params, one_of, turns};
use super::place::Held;
use super::wire::{Note, Wire};
use super::{Backend, models, roles};
use crate::config::{Choice, Synthesizer};
use crate::lineup;
use crate::runs::{Request, Run};
use althing_assembly::Method;
use althing_assembly::event::{Ending, Roles, What};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::{Fault, Kind, Result};
use serde_json::json;
use std::time::Duration;

/// Holds a discussion to its end. Everything is checked before the first event.
pub(super) async fn run(backend: &Backend, cx: Cx, params: Params) -> Result<Value> {
    let wanted = Wanted::read(&params)?;
    let place = backend.place.take().await?;
    backend.refresh().await;
    hold(backend, &cx, wanted, &place).await
}

async fn hold(backend: &Backend, cx: &Cx, wanted: Wanted, place: &Held) -> Result<Value> {
    let mut wire = Wire::new(wanted.method, wanted.ids.clone());
    let run = backend.runs.start(wanted.request(backend)?).await?;
    place.begin(&run.control);
    let (mut seq, mut is_cancelled) = (0, false);
    loop {
        let batch = run.log.since(seq).await;
        let Some(last) = batch.last() else { break };
        seq = last.seq + 1;
        is_cancelled = matches!(last.what, What::RunEnded { ending: Ending::Cancelled, .. });
        for note in batch.iter().flat_map(|event| wire.on(&event.what)) {
            tell(cx, note).await?;
        }
    }
    // It does not wait to be saved: another process may be in the way, and it is told already.
    if is_cancelled {
        return Ok(json!({"status": "completed"}));
    }
    finish(cx, &wire, run).await
}

/// The answer; of a discussion that failed, the event that says so comes before it.
async fn finish(cx: &Cx, wire: &Wire, run: Run) -> Result<Value> {
    let fault = match run.ending().await {
        Ok(Ending::Completed | Ending::Cancelled) => return Ok(json!({"status": "completed"})),
        // Whatever ended it, the frontend's request was in order.
        Ok(Ending::Failed(failure)) => Fault::new(Kind::TooFew, failure.message),
        Err(fault) => fault,
    };
    tell(cx, wire.error(&fault.message)).await?;
    Err(fault)
}

async fn tell(cx: &Cx, (name, params): Note) -> Result<()> {
    let gone = |error| Fault::new(Kind::Network, "the frontend is gone").source(error);
    cx.notify(name, params).await.map_err(gone)
}

/// Stops the discussion. Its last event and its answer go out before this one's.
pub(super) async fn cancel(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    backend.place.cancel().await;
    Ok(json!({"status": "cancellation_requested"}))
}

/// Ends a pause, or the next one of the running discussion.
pub(super) async fn resume(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    backend.place.resume();
    Ok(json!({"status": "resumed"}))
}

/// What was asked for, checked.
struct Wanted {
    question: String,
    ids: Vec<String>,
    method: &'static Method,
    turns: Option<u32>,
    synthesizer: Option<Synthesizer>,
    roles: Option<Roles>,
}

impl Wanted {
    fn read(params: &Params) -> Result<Wanted> {
        let question = params.question()?.to_string();
        let ids = params.model_ids(2)?;
        let options = params.object("options")?;
        let method = options.method()?;
        let option =
            |name: &'static str| options.get(name).map(|value| (options.name(name), value));
        let turns = option("max_turns").map(|(name, value)| turns(&name, value)).transpose()?;
        let mode = option("synthesizer_mode").map(|(name, value)| synthesizer(&name, value));
        let synthesizer = mode.transpose()?;
        let roles = roles::chosen(&options, method, &ids)?;
        Ok(Wanted { question, ids, method, turns, synthesizer, roles })
    }

    /// The run. Where the request leaves something open, the person's settings say, then the
    /// configuration.
    fn request(self, backend: &Backend) -> Result<Request> {
        let (book, memory) = (backend.book(), &backend.memory);
        let config = &book.config;
        self.method.check_seats(self.ids.len())?;
        let lineup =
            lineup::resolve(&models::whole_ids(backend, &self.ids), &book, Some(&backend.found()))?;
        let own_turns = || turns("max_turns", &memory.setting("max_turns")?).ok();
        let own_mode =
            || synthesizer("synthesizer_mode", &memory.setting("synthesizer_mode")?).ok();
        Ok(Request {
            question: self.question,
            context: vec![],
            attachments: vec![],
            method: self.method,
            lineup,
            roles: self.roles,
            rounds: *config.rounds_per_agent,
            turns: self.turns.or_else(own_turns),
            synthesizer: self.synthesizer.or_else(own_mode).unwrap_or(*config.synthesizer),
            language: memory.language().or_else(|| config.language.value.clone()),
            pause: Some(Duration::from_secs(*config.pause_seconds)),
            max_cost_usd: Some(*config.max_cost_usd),
            estimate_usd: None,
            continues: None,
            tools: vec![],
            workers: true,
            stream: true,
        })
    }
}

/// Who writes the synthesis.
pub(super) fn synthesizer(name: &str, value: &Value) -> Result<Synthesizer> {
    one_of(name, value, Synthesizer::ALL.iter().copied())
}
