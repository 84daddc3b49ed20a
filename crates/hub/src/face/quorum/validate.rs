//! Whether a model answers.

use super::params::Params;
use super::{Backend, models};
use althing_chat::{Answer, Ask, Model};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::{Fault, Kind, Result, text::clip};
use serde_json::json;
use std::time::Duration;

/// How long a model may take to answer a greeting; a local one may have to be loaded first.
const CLOUD_MAX: Duration = Duration::from_secs(30);
const LOCAL_MAX: Duration = Duration::from_secs(60);
/// Characters of an error that has no name of its own.
const ERROR_CHARS_MAX: usize = 60;
/// Characters of what is wrong with the configuration: the variable and what to do.
const ADVICE_CHARS_MAX: usize = 160;

/// Greets a model. Whatever is wrong with it is an answer, not an error.
pub(super) async fn validate(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    let id = params.model_id()?;
    backend.refresh().await;
    let error = match models::voice(backend, &id) {
        Ok((model, is_local)) => greet(&*model, if is_local { LOCAL_MAX } else { CLOUD_MAX }).await,
        Err(fault) => Some(name_of(&fault, CLOUD_MAX)),
    };
    backend.memory.set_validated(&id, error.is_none()).await;
    Ok(json!({"valid": error.is_none(), "error": error}))
}

/// What is wrong with a model; nothing where it answers.
async fn greet(model: &dyn Model, max: Duration) -> Option<String> {
    let ask = Ask { stream: false, ..Ask::new("", "Hi") };
    match tokio::time::timeout(max, Answer::collect(model.speak(ask))).await {
        Ok(answer) => Some(name_of(&answer.err()?, max)),
        Err(_) => Some(timed_out(max)),
    }
}

fn timed_out(max: Duration) -> String {
    format!("Timeout ({:.1}s)", max.as_secs_f32())
}

/// The short names that frontends show.
fn name_of(fault: &Fault, max: Duration) -> String {
    match fault.kind {
        Kind::NoCredit => "Insufficient credits".into(),
        Kind::UnknownModel => "Model not found".into(),
        // Nobody was asked: it is the configuration that lacks something.
        Kind::BadKey | Kind::NotFound if fault.status.is_none() => {
            clip(&fault.message, ADVICE_CHARS_MAX)
        }
        Kind::NotFound => "Model not found".into(),
        Kind::BadKey => "Invalid API key".into(),
        Kind::RateLimited => "Rate limited".into(),
        Kind::TimedOut => timed_out(max),
        _ if fault.message.chars().count() > ERROR_CHARS_MAX => {
            format!("{}...", fault.message.chars().take(ERROR_CHARS_MAX).collect::<String>())
        }
        _ => fault.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_short_names() {
        #[track_caller]
        fn check(fault: Fault, want: &str) {
            assert_eq!(name_of(&fault, LOCAL_MAX), want, "{fault:?}");
        }
        let asked = |kind, status| Fault::new(kind, "said at length").status(status);
        check(asked(Kind::NoCredit, 402), "Insufficient credits");
        check(asked(Kind::UnknownModel, 404), "Model not found");
        check(asked(Kind::NotFound, 404), "Model not found");
        check(asked(Kind::BadKey, 401), "Invalid API key");
        check(asked(Kind::RateLimited, 429), "Rate limited");
        check(asked(Kind::TimedOut, 504), "Timeout (60.0s)");
        check(asked(Kind::Overloaded, 503), "said at length");
        check(Fault::new(Kind::UnknownModel, "no such model is found"), "Model not found");
        let unset = "OpenAI has no key: set OPENAI_API_KEY";
        check(Fault::new(Kind::BadKey, unset), unset);
        let nowhere = "Custom server is not configured: set CUSTOM_BASE_URL";
        check(Fault::new(Kind::NotFound, nowhere), nowhere);
        let exact = "é".repeat(60);
        check(Fault::new(Kind::Network, &exact), &exact);
        check(Fault::new(Kind::Network, format!("{exact}!")), &format!("{exact}..."));
    }
}
