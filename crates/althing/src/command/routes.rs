//! `routes`: names of one's own for models, with fallbacks.

use super::reach::{Reach, ask_service};
use super::{Desk, print};
use crate::args::Routes;
use crate::terminal::table::table;
use althing_chat::Message;
use althing_hub::service::words::{Caller, CompleteRequest, RouteTarget, TargetState};
use althing_stdx::Result;
use althing_stdx::text::one_line;

/// Enough for one word, also from a model that thinks first.
const TEST_TOKENS: u32 = 256;
/// Characters of a test's answer that are shown.
const SAID_CHARS_MAX: usize = 120;

pub async fn routes(action: Routes) -> Result<()> {
    let desk = Desk::open();
    let reach = desk.reach().await?;
    match action {
        Routes::Set { alias, targets } => {
            let targets: Vec<RouteTarget> = targets.iter().map(|it| target(it)).collect();
            let count = targets.len();
            ask_service!(reach, set_route(&alias, targets))?;
            print(&match count {
                0 => format!("{alias} is deleted.\n"),
                1 => format!("{alias} has 1 target.\n"),
                _ => format!("{alias} has {count} targets, tried in this order.\n"),
            })
        }
        Routes::Show { alias, json } => {
            let names = match alias {
                Some(alias) => vec![alias],
                None => ask_service!(reach, aliases())?,
            };
            let mut rows = Vec::new();
            for name in names {
                let targets = ask_service!(reach, route(&name))?;
                rows.extend(targets.into_iter().map(|target| (name.clone(), target)));
            }
            print(&if json { rows.iter().map(line).collect() } else { shown(&rows) })
        }
        Routes::Test { alias } => {
            let request = CompleteRequest {
                model_id: alias,
                messages: vec![Message::user("Answer with the one word: ready")],
                tools: vec![],
                max_tokens: Some(TEST_TOKENS),
                temperature: None,
            };
            let caller = Caller { connection: "command line".into(), name: "althing".into() };
            let done = match &reach {
                Reach::There(client) => client.complete(request).await?,
                Reach::Here(service) => service.complete(&caller, request).await?,
            };
            let said = one_line(&done.message.text, SAID_CHARS_MAX);
            print(&format!("{} answered: {said}\n", done.answered_by))
        }
    }
}

/// What a person types: the service, which knows the providers, finds out what the name means.
fn target(name: &str) -> RouteTarget {
    RouteTarget { provider_id: String::new(), model_id: name.into() }
}

/// How a target stands, in words.
fn describe_state(state: &TargetState) -> String {
    match (&state.dead, &state.rest) {
        (Some(why), _) => format!("skipped: {why}"),
        (None, Some(rest)) => {
            let seconds = rest.wait.as_secs_f64().ceil();
            format!("rests for {seconds} s: {}", rest.why)
        }
        (None, None) => "ok".into(),
    }
}

fn shown(rows: &[(String, TargetState)]) -> String {
    if rows.is_empty() {
        return "There are no routes. `althing routes set NAME provider:model …` makes one.\n"
            .into();
    }
    let head = ["NAME", "TARGET", "STATE"].map(String::from).to_vec();
    let rows = rows.iter().map(|(name, state)| {
        let RouteTarget { provider_id, model_id } = &state.target;
        vec![name.clone(), format!("{provider_id}:{model_id}"), describe_state(state)]
    });
    table(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

fn line((name, state): &(String, TargetState)) -> String {
    let RouteTarget { provider_id, model_id } = &state.target;
    let line = serde_json::json!({
        "alias": name, "provider_id": provider_id, "model_id": model_id, "dead": state.dead,
        "resting": state.rest.as_ref().map(|rest| rest.why.as_str()),
        "rest_ms": state.rest.as_ref().map(|rest| rest.wait.as_millis() as u64),
    });
    format!("{line}\n")
}
