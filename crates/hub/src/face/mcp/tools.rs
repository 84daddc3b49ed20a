//! The tools, one row each.

use super::Teller;
use crate::council;
use crate::lineup::in_field;
use crate::runs::{Control, Run};
use crate::service::Service;
use crate::service::discuss::{self, Conclusion, Discussion};
use crate::workers::split_tools;
use althing_assembly::council::schema::Form;
use althing_assembly::event::Ending;
use althing_assembly::methods;
use althing_chat::{Ask, Delta, Stop};
use althing_stdx::{Fault, Kind, Result};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of an answer between two notes of progress.
const TELL_EVERY_CHARS: usize = 400;

/// Bytes of what a worker's function gives; the rest is cut off, and told.
const RESULT_BYTES_MAX: usize = 256 << 10;

/// Behind an answer that no model gave.
const DEMO: &str = "(No model is configured: scripted demo voices spoke, which know nothing.)";

/// One tool.
pub(super) struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: fn() -> Value,
    pub run: fn(Arc<Service>, Value, Teller) -> BoxFuture<'static, Result<String>>,
}

pub(super) static ALL: &[Row] = &[
    Row {
        name: "ask",
        about: "Puts a question to several models, who answer, criticise each other and settle. \
                Gives what they agree on, what they do not, and how sure they are. Takes minutes.",
        schema: ask_schema,
        run: |service, arguments, told| Box::pin(ask(service, arguments, told)),
    },
    Row {
        name: "complete",
        about: "Asks one model and gives its answer.",
        schema: complete_schema,
        run: |service, arguments, told| Box::pin(complete(service, arguments, told)),
    },
    Row {
        name: "plan",
        about: "Lets several models plan a task alone and at the same time; a judge who knows none of \
                them compares and merges. Gives one plan as Markdown. Takes minutes.",
        schema: plan_schema,
        run: |service, arguments, told| Box::pin(plan(service, arguments, told)),
    },
    Row {
        name: "models",
        about: "Lists the models and aliases that `ask` and `complete` can use.",
        schema: || json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        run: |service, _, _| Box::pin(async move { models(&service).await }),
    },
];

fn ask_schema() -> Value {
    let names: Vec<&str> = methods::ALL.iter().map(|method| method.name).collect();
    json!({
        "type": "object",
        "properties": {
            "question": { "type": "string", "description": "What to discuss, whole and by itself" },
            "method": { "type": "string", "enum": names, "description": "How to discuss it" },
            "models": {
                "type": "array", "items": { "type": "string" },
                "description": "Who sits: provider:model, a model's id or an alias; none: chosen"
            },
            "rounds": { "type": "integer", "minimum": 1, "maximum": 10 },
            "language": { "type": "string", "description": "Of the answers" },
            "max_cost_usd": { "type": "number", "minimum": 0 }
        },
        "required": ["question"],
        "additionalProperties": false
    })
}

/// The protocol's own task, and who works on it.
fn plan_schema() -> Value {
    let forms: Value = serde_json::from_str(Form::TaskSpec.text()).unwrap_or_default();
    json!({
        "type": "object",
        "properties": {
            "task": { "type": "string", "description": "What to plan, whole and by itself" },
            "constraints": { "type": "array", "items": { "type": "string" } },
            "repo_context": {
                "type": "object",
                "properties": {
                    "root": { "type": "string", "description": "Folder of the repository" },
                    "paths": {
                        "type": "array", "items": { "type": "string" },
                        "description": "Files and folders below it that the planners read"
                    },
                    "notes": { "type": "string" }
                },
                "additionalProperties": false
            },
            "preferences": forms["properties"]["preferences"],
            "planners": {
                "type": "array", "items": { "type": "string" },
                "description": "Who plans: provider:model, a model's id or an alias; none: chosen"
            },
            "judge": { "type": "string", "description": "Who judges; none: one who plans not" },
            "max_cost_usd": { "type": "number", "minimum": 0 }
        },
        "required": ["task"],
        "additionalProperties": false
    })
}

fn complete_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "model": { "type": "string", "description": "provider:model, a model's id or an alias" },
            "prompt": { "type": "string" },
            "system": { "type": "string" },
            "max_tokens": { "type": "integer", "minimum": 1 }
        },
        "required": ["model", "prompt"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    question: String,
    method: Option<String>,
    #[serde(default)]
    models: Vec<String>,
    rounds: Option<u32>,
    language: Option<String>,
    max_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanArguments {
    task: String,
    #[serde(default)]
    constraints: Vec<String>,
    repo_context: Option<Value>,
    preferences: Option<Value>,
    #[serde(default)]
    planners: Vec<String>,
    judge: Option<String>,
    max_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompleteArguments {
    model: String,
    prompt: String,
    system: Option<String>,
    max_tokens: Option<u32>,
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments).map_err(|e| Fault::invalid(format!("arguments: {e}")))
}

async fn ask(service: Arc<Service>, arguments: Value, mut told: Teller) -> Result<String> {
    let wanted: AskArguments = read(arguments)?;
    if wanted.rounds.is_some_and(|rounds| !(1..=10).contains(&rounds)) {
        return Err(Fault::invalid("rounds: 1 to 10"));
    }
    if wanted.max_cost_usd.is_some_and(|usd| !(usd.is_finite() && usd >= 0.0)) {
        return Err(Fault::invalid("max_cost_usd: 0 or more"));
    }
    let name =
        wanted.method.as_deref().unwrap_or(&service.library.book().config.method).to_string();
    let language = wanted.language.as_deref().map(crate::config::language).transpose();
    let language = language.map_err(|problem| Fault::invalid(format!("language: {problem}")))?;
    let held = service.discuss(Discussion {
        question: wanted.question,
        context: vec![],
        attachments: vec![],
        method: methods::method(&name)?,
        models: wanted.models,
        rounds: wanted.rounds,
        language,
        max_cost_usd: wanted.max_cost_usd,
    });
    let held = held.await?;
    let _stop = StopOnDrop(held.run.control.clone());
    for note in held.notes {
        told.tell(note).await;
    }
    let said = follow(held.run, &mut told).await?;
    Ok(if held.demo { format!("{said}\n\n{DEMO}") } else { said })
}

async fn plan(service: Arc<Service>, arguments: Value, mut told: Teller) -> Result<String> {
    let wanted: PlanArguments = read(arguments)?;
    if wanted.max_cost_usd.is_some_and(|usd| !(usd.is_finite() && usd >= 0.0)) {
        return Err(Fault::invalid("max_cost_usd: 0 or more"));
    }
    let mut task = json!({ "task": wanted.task, "constraints": wanted.constraints });
    if let Some(context) = wanted.repo_context {
        task["repo_context"] = context;
    }
    if let Some(preferences) = wanted.preferences {
        task["preferences"] = preferences;
    }
    service.library.refresh().await?;
    let wanted = council::Wanted {
        task,
        planners: wanted.planners,
        judge: wanted.judge,
        max_cost_usd: wanted.max_cost_usd,
        ..council::Wanted::default()
    };
    let begun = service.runs().plan(wanted).await?;
    let _stop = StopOnDrop(begun.run.control.clone());
    for note in begun.notes {
        told.tell(note).await;
    }
    let said = follow(begun.run, &mut told).await?;
    Ok(if begun.demo { format!("{said}\n\n{DEMO}") } else { said })
}

/// Reads a run's log to its end.
async fn follow(run: Run, told: &mut Teller) -> Result<String> {
    let (mut seq, mut text, id) = (0, None, run.id.clone());
    loop {
        let batch = run.log.since(seq).await;
        let Some(last) = batch.last() else { break };
        seq = last.seq + 1;
        for event in &batch {
            text = Conclusion::of(event).map(Conclusion::into_text).or(text);
            if let Some(message) = discuss::progress(event) {
                told.tell(message).await;
            }
        }
    }
    match run.ending().await? {
        Ending::Completed => {
            let text = text.unwrap_or_default();
            Ok(format!("{text}\n\n(`althing show {id}` has the whole discussion)"))
        }
        Ending::Cancelled => Err(Fault::new(Kind::Cancelled, "the discussion was stopped")),
        Ending::Failed(failure) => Err(Fault::new(failure.kind, failure.message)),
    }
}

/// A discussion nobody waits for is stopped, saved.
struct StopOnDrop(Control);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn complete(service: Arc<Service>, arguments: Value, mut told: Teller) -> Result<String> {
    let wanted: CompleteArguments = read(arguments)?;
    let voice = service.find_voice(split_tools(&wanted.model).0, None).await;
    let voice = voice.map_err(in_field("model"))?;
    let voice = service.with_tools(voice).await;
    let ask = Ask {
        max_tokens: wanted.max_tokens,
        ..Ask::new(wanted.system.unwrap_or_default(), wanted.prompt)
    };
    let mut speaking = voice.speak(ask);
    let (mut text, mut shown, mut stop) = (String::new(), 0, None);
    while let Some(delta) = speaking.next().await {
        match delta? {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Stop(why) => stop = Some(why),
            Delta::Calling(call) => told.tell(format!("calls {}", call.name)).await,
            _ => {}
        }
        if text.len() >= shown + TELL_EVERY_CHARS {
            shown = text.len();
            told.tell(format!("{shown} characters")).await;
        }
    }
    match stop {
        None => Err(Fault::new(Kind::Network, "the answer broke off")),
        Some(Stop::Refused) if text.is_empty() => {
            Err(Fault::new(Kind::Refused, "the model declined to answer"))
        }
        Some(stop) => Ok(text + &describe_stop(&stop)),
    }
}

/// What stands behind an answer that may lack its end.
pub(super) fn describe_stop(stop: &Stop) -> String {
    match stop {
        Stop::Length => "\n\n(The answer is cut off: the limit of tokens was reached.)".into(),
        Stop::Other(why) => format!("\n\n(The answer is perhaps incomplete: {why}.)"),
        Stop::End | Stop::ToolCalls | Stop::Refused => String::new(),
    }
}

/// At most so much as a client can be expected to read.
pub(super) fn cut(mut text: String) -> String {
    let bytes = text.len();
    if bytes > RESULT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        text.push_str(&format!("\n[cut off: {RESULT_BYTES_MAX} of {bytes} bytes]"));
    }
    text
}

async fn models(service: &Service) -> Result<String> {
    let mut lines: Vec<String> =
        service.aliases().await?.iter().map(|alias| format!("{alias} (alias)")).collect();
    let models = service.models(None).await?.into_iter().filter(|model| model.enabled);
    lines.extend(models.map(|it| format!("{}:{} ({})", it.provider_id, it.model_id, it.display)));
    if lines.is_empty() {
        lines.push("none but the demo voices: demo:builder, demo:skeptic, demo:scout".into());
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
#[test]
fn what_a_function_gives_is_cut_and_told() {
    let most = "x".repeat(RESULT_BYTES_MAX);
    assert_eq!(cut(most.clone()), most);
    // Not through the middle of a character.
    let long = format!("x{}", "é".repeat(RESULT_BYTES_MAX / 2));
    let cut = cut(long.clone());
    let (kept, told) = cut.split_once('\n').unwrap();
    assert_eq!((kept.len(), long.starts_with(kept)), (RESULT_BYTES_MAX - 1, true));
    assert_eq!(told, "[cut off: 262144 of 262145 bytes]");
}
