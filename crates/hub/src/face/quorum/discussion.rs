//! The one discussion of a connection: held, cancelled, resumed.

use super::memory::max_turns;
use super::params::{Params, one_of, wrong};
use super::wire::Wire;
use super::{Backend, roles};
use crate::config::Synthesizer;
use crate::lineup;
use crate::runs::{Control, QUESTION_CHARS_MAX, Request, Run};
use althing_assembly::event::Ending;
use althing_jsonrpc::{CallError, Cx, Value};
use althing_stdx::{Fault, Kind, Result};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

/// Whether one is being held, and its reins.
#[derive(Default)]
pub(super) struct Discussion(Arc<Mutex<Option<Held>>>);

struct Held {
    /// None while it is being started.
    control: Option<Control>,
    /// Turns true when its last word has been handed to the connection.
    is_told: watch::Sender<bool>,
}

impl Discussion {
    /// Takes the one place there is.
    fn take(&self) -> Result<Place> {
        let mut held = self.held();
        if held.is_some() {
            let message =
                "A discussion is already in progress. Cancel it first or wait for completion.";
            return Err(Fault::new(Kind::Busy, message));
        }
        *held = Some(Held { control: None, is_told: watch::Sender::new(false) });
        Ok(Place(self.0.clone()))
    }

    fn control(&self) -> Option<Control> {
        self.held().as_ref().and_then(|held| held.control.clone())
    }

    /// Resolves when nothing is being held any more; at once where nothing is.
    fn told(&self) -> Option<watch::Receiver<bool>> {
        self.held().as_ref().map(|held| held.is_told.subscribe())
    }

    /// Stops what is being held and waits until it is saved.
    pub async fn stop(&self) {
        if let Some(mut control) = self.control() {
            control.cancel();
            control.over().await;
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        // It is replaced whole, so it is sound whatever happened to a holder.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The one place, given back when the request is over, and kept where its connection broke off: the
/// discussion is then stopped by whoever serves the connection.
struct Place(Arc<Mutex<Option<Held>>>);

impl Place {
    fn hold(&self, control: Control) {
        if let Some(held) = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_mut()
        {
            held.control = Some(control);
        }
    }

    fn leave(&self) {
        let held = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(held) = held {
            // Nobody may be waiting for it.
            let _ = held.is_told.send(true);
        }
    }
}

/// Holds a discussion to its end. Everything is checked before the first event.
pub(super) async fn run(backend: &Backend, cx: Cx, params: Params) -> Result<Value> {
    let wanted = Wanted::read(&params)?;
    let place = backend.discussion.take()?;
    let done = hold(backend, cx, wanted, &place).await;
    place.leave();
    done
}

async fn hold(backend: &Backend, cx: Cx, wanted: Wanted, place: &Place) -> Result<Value> {
    let ids = wanted.ids.clone();
    let method = wanted.method;
    let run = backend.runs.start(wanted.request(backend)?).await?;
    place.hold(run.control.clone());
    let mut wire = Wire::new(method, ids);
    let failed = |error: CallError| Fault::new(error.kind(), "the frontend is gone").source(error);
    let mut seq = 0;
    loop {
        let batch = run.log.since(seq).await;
        let Some(last) = batch.last() else { break };
        seq = last.seq + 1;
        for (name, params) in batch.iter().flat_map(|event| wire.on(&event.what)) {
            cx.notify(name, params).await.map_err(failed)?;
        }
    }
    finish(&cx, &wire, run).await
}

/// The last event and the answer.
async fn finish(cx: &Cx, wire: &Wire, run: Run) -> Result<Value> {
    let failed = |error: CallError| Fault::new(error.kind(), "the frontend is gone").source(error);
    let fault = match run.ending().await {
        Ok(Ending::Completed | Ending::Cancelled) => return Ok(json!({"status": "completed"})),
        Ok(Ending::Failed(failure)) => Fault::new(Kind::TooFew, failure.message),
        Err(fault) => fault,
    };
    let (name, params) = wire.error(&fault.message);
    cx.notify(name, params).await.map_err(failed)?;
    Err(fault)
}

/// Stops the discussion. Its last event and its answer go out before this one's.
pub(super) async fn cancel(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    let told = backend.discussion.told();
    if let Some(control) = backend.discussion.control() {
        control.cancel();
    }
    if let Some(mut told) = told {
        // An error means that its request is gone.
        let _ = told.wait_for(|is_told| *is_told).await;
    }
    Ok(json!({"status": "cancellation_requested"}))
}

/// Ends a pause, or the next one of the running discussion.
pub(super) async fn resume(backend: &Backend, _: Cx, _: Params) -> Result<Value> {
    if let Some(control) = backend.discussion.control() {
        control.go_on();
    }
    Ok(json!({"status": "resumed"}))
}

/// What was asked for, checked.
struct Wanted {
    question: String,
    ids: Vec<String>,
    method: &'static althing_assembly::Method,
    turns: Option<u32>,
    synthesizer: Option<Synthesizer>,
    roles: Option<althing_assembly::event::Roles>,
}

impl Wanted {
    fn read(params: &Params) -> Result<Wanted> {
        let question = params.text("question")?;
        if question.trim().is_empty() {
            return Err(wrong("question", "cannot be empty"));
        }
        if question.chars().count() > QUESTION_CHARS_MAX {
            return Err(wrong(
                "question",
                &format!("exceeds maximum length of {QUESTION_CHARS_MAX}"),
            ));
        }
        let ids = params.model_ids(2)?;
        let options = params.object("options")?;
        let method = roles::method(&options, "options.method")?;
        let turns = match options.0.get("max_turns") {
            None | Some(Value::Null) => None,
            Some(value) => Some(max_turns("options.max_turns", value)?),
        };
        let synthesizer = match options.text_or("synthesizer_mode", "")?.as_str() {
            "" => None,
            mode => Some(synthesizer(mode)?),
        };
        let roles = roles::chosen(&options, method, &ids)?;
        Ok(Wanted { question, ids, method, turns, synthesizer, roles })
    }

    /// The run. Where the request leaves something open, the person's settings say, then the
    /// configuration.
    fn request(self, backend: &Backend) -> Result<Request> {
        let (config, memory) = (backend.config(), &backend.memory);
        self.method.check_seats(self.ids.len())?;
        let lineup = lineup::resolve(&self.ids, config, Some(&backend.found()))?;
        let own_turns = || {
            memory.setting("max_turns").and_then(|turns| turns.as_u64()).map(|turns| turns as u32)
        };
        let own_mode =
            || memory.setting("synthesizer_mode").and_then(|mode| synthesizer(mode.as_str()?).ok());
        Ok(Request {
            question: self.question,
            context: vec![],
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
            stream: true,
        })
    }
}

fn synthesizer(mode: &str) -> Result<Synthesizer> {
    let name = one_of("options.synthesizer_mode", mode, &["first", "random", "rotate"])?;
    Ok(match name {
        "random" => Synthesizer::Random,
        "rotate" => Synthesizer::Rotate,
        _ => Synthesizer::First,
    })
}
