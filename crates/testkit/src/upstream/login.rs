//! Logins by the device flow, as GitHub (with Copilot's second step) and Qwen do them. Nothing is
//! remembered: every token has in it which request made it.

use super::seen::Seen;
use hyper::Method;
use serde_json::{Map, Value, json};

/// How logins go; the default is two pending answers, ten a second, and then the tokens.
#[derive(Debug, Clone)]
pub struct Logins {
    /// Questions that are answered with `authorization_pending` before anything else.
    pub polls: usize,
    /// Whether the first of them is answered with `slow_down` instead.
    pub slow_down: bool,
    pub ending: Ending,
    /// Seconds; the real Qwen names none.
    pub interval: Option<f64>,
    /// Seconds a code lives.
    pub expires_in: u64,
    /// Seconds a token lives; below 0 it is dead at once.
    pub token_life: i64,
    /// Whether new tokens for old ones are refused.
    pub over: bool,
    /// Seconds since 1970, as far as tokens go.
    pub now: fn() -> i64,
}

/// How a login ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Granted,
    Denied,
    Expired,
    /// With an error no standard knows.
    Broken,
}

/// A step of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    GitHubCode,
    GitHubToken,
    CopilotToken,
    QwenCode,
    QwenToken,
}

/// Every step and its place.
const STEPS: &[(Step, bool, &str)] = &[
    (Step::GitHubCode, true, "/login/device/code"),
    (Step::GitHubToken, true, "/login/oauth/access_token"),
    (Step::CopilotToken, false, "/copilot_internal/v2/token"),
    (Step::QwenCode, true, "/api/v1/oauth2/device/code"),
    (Step::QwenToken, true, "/api/v1/oauth2/token"),
];

impl Default for Logins {
    fn default() -> Logins {
        Logins {
            polls: 2,
            slow_down: false,
            ending: Ending::Granted,
            interval: Some(0.0),
            expires_in: 900,
            token_life: 1800,
            over: false,
            now: || {
                let since = std::time::UNIX_EPOCH.elapsed();
                since.map_or(0, |since| since.as_secs() as i64)
            },
        }
    }
}

impl Step {
    pub(super) fn of(method: &Method, path: &str) -> Option<Step> {
        let fits = |(_, post, place): &&(Step, bool, &str)| {
            path == *place && (method == Method::POST) == *post
        };
        STEPS.iter().find(fits).map(|(step, ..)| *step)
    }

    /// What requests of this kind are counted under: questions for one code together.
    pub(super) fn name(self, form: &Value) -> String {
        match form["device_code"].as_str() {
            Some(code) => format!("login/{code}"),
            None => format!("login/{self:?}"),
        }
    }
}

/// The answer to a step: status and body.
pub(super) fn answer(logins: &Logins, step: Step, seen: &Seen) -> (u16, Value) {
    let here = format!("http://{}", seen.header("host"));
    match step {
        Step::GitHubCode | Step::QwenCode => (200, code(logins, step, seen, &here)),
        Step::GitHubToken => match undecided(logins, seen) {
            // GitHub sends its errors as successes.
            Some(error) => (200, json!({ "error": error, "error_description": WORDS })),
            None => (
                200,
                json!({ "access_token": format!("gho_{}", seen.body["device_code"]
                .as_str().unwrap_or_default()), "token_type": "bearer", "scope": "read:user" }),
            ),
        },
        Step::CopilotToken => exchange(logins, seen, &here),
        Step::QwenToken => qwen(logins, seen, &here),
    }
}

const WORDS: &str = "as the server sees it";

fn code(logins: &Logins, step: Step, seen: &Seen, here: &str) -> Value {
    let mut answer = json!({
        "device_code": format!("device-{}-0123456789abcdef", seen.nth),
        "user_code": "WDJB-MJHT",
        "verification_uri": format!("{here}/login/device"),
        "expires_in": logins.expires_in,
    });
    if step == Step::QwenCode {
        let complete = format!("{here}/login/device?user_code=WDJB-MJHT");
        answer["verification_uri_complete"] = complete.into();
    }
    if let Some(interval) = logins.interval {
        answer["interval"] = interval.into();
    }
    answer
}

/// The error of a login that is not granted, or not yet.
fn undecided(logins: &Logins, seen: &Seen) -> Option<&'static str> {
    match logins.ending {
        _ if logins.slow_down && seen.nth == 1 => Some("slow_down"),
        _ if seen.nth <= logins.polls => Some("authorization_pending"),
        Ending::Granted => None,
        Ending::Denied => Some("access_denied"),
        Ending::Expired => Some("expired_token"),
        Ending::Broken => Some("device_flow_disabled"),
    }
}

fn exchange(logins: &Logins, seen: &Seen, here: &str) -> (u16, Value) {
    let known = seen.header("authorization").starts_with("token gho_device-");
    let editor = !seen.header("editor-version").is_empty();
    if logins.over || !known || !editor {
        return (401, json!({ "message": "Bad credentials" }));
    }
    let token = json!({
        "token": format!("tid={};exp=1", seen.nth),
        "expires_at": (logins.now)() + logins.token_life,
        "refresh_in": logins.token_life - 300,
        "endpoints": { "api": here },
    });
    (200, token)
}

fn qwen(logins: &Logins, seen: &Seen, here: &str) -> (u16, Value) {
    let renewing = seen.body["grant_type"] == "refresh_token";
    let error = match renewing {
        true => logins.over.then_some("invalid_grant"),
        false => undecided(logins, seen),
    };
    if let Some(error) = error {
        let status = if error == "slow_down" { 429 } else { 400 };
        return (status, json!({ "error": error, "error_description": WORDS }));
    }
    let kind = if renewing { "renewed" } else { "first" };
    let mut token = json!({
        "access_token": format!("qwen-{kind}-{}", seen.nth),
        "token_type": "Bearer",
        "expires_in": logins.token_life,
        "resource_url": here,
    });
    if !renewing {
        // Which it does not repeat when it is used.
        token["refresh_token"] = "qwen-refresh-0123456789".into();
    }
    (200, token)
}

/// Copilot's list: what may be chosen, among what may not.
pub(super) fn copilot_list(models: &[String]) -> Value {
    let model = |id: &str, picker: bool, kind: &str, policy: Option<&str>| {
        let mut model = json!({
            "id": id, "name": format!("{id} by name"), "vendor": "Fake", "object": "model",
            "model_picker_enabled": picker,
            "capabilities": { "type": kind, "limits": { "max_context_window_tokens": 128_000 } },
        });
        if let Some(state) = policy {
            model["policy"] = json!({ "state": state });
        }
        model
    };
    let mut all: Vec<Value> =
        models.iter().map(|id| model(id, true, "chat", Some("enabled"))).collect();
    all.push(model("no-policy", true, "chat", None));
    all.push(model("hidden", false, "chat", Some("enabled")));
    all.push(model("vectors", true, "embeddings", None));
    all.push(model("switched-off", true, "chat", Some("disabled")));
    json!({ "object": "list", "data": all })
}

/// A form as an object of texts.
pub(super) fn form(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let fields = pairs.map(|(name, value)| (decoded(name), decoded(value).into()));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|it| u8::from_str_radix(it, 16).ok());
        let (byte, used) = byte.map_or((*first, 1), |byte| (byte, 3));
        bytes.push(if (byte, used) == (b'+', 1) { b' ' } else { byte });
        rest = &rest[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
