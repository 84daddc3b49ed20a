//! What authorisation servers answer, understood. Their words are shown cut and without anything
//! that looks like a key; tokens are never among them.

use super::Started;
use super::flow::{LoginRow, is_safe};
use super::tokens::Device;
use althing_stdx::redact::{Secret, redact};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use serde_json::Value;
use std::time::Duration;

/// Characters of a server's words that are shown.
const WORDS_MAX: usize = 200;
/// A code that is longer is none that a person types in.
const USER_CODE_CHARS_MAX: usize = 64;
/// Longer secrets are none: what is kept has a limit too.
const TOKEN_BYTES_MAX: usize = 6 * 1024;
/// A server's pauses are kept between these: it can neither make us rush nor sleep.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
pub(super) const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// How long a code lives where the server does not say, and at most.
const CODE_LIFE: Duration = Duration::from_secs(900);
const CODE_LIFE_MAX: Duration = Duration::from_secs(3600);

/// What a question for the tokens was answered with.
pub(super) enum Poll {
    Granted(Box<Granted>),
    /// The person has not decided yet.
    Pending,
    SlowDown,
    Denied,
    Expired,
    /// An error that will not go away.
    Refused(String),
    /// Nothing that can be understood, or a server in trouble.
    Odd(String),
}

/// What the token endpoint gives.
pub(super) struct Granted {
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// Seconds.
    pub expires_in: Option<i64>,
    pub resource_url: Option<String>,
}

/// What Copilot's exchange gives.
pub(super) struct Exchanged {
    pub token: Secret,
    pub expires_at_ms: i64,
    pub api: Option<String>,
}

/// The answer of the device endpoint.
pub(super) fn challenge(
    row: &'static LoginRow,
    status: u16,
    body: &[u8],
    verifier: Option<Secret>,
    now_ms: i64,
) -> Result<Started> {
    let answer = json(body).unwrap_or_default();
    let code = secret(&answer["device_code"]);
    let user_code = text(&answer["user_code"]).filter(|it| is_code(it));
    let uri = text(&answer["verification_uri"]).filter(|it| is_safe(it));
    let (Some(code), Some(user_code), Some(uri)) = (code, user_code, uri) else {
        return Err(not_started(row, status, &answer));
    };
    let seconds =
        |key: &str| answer[key].as_f64().and_then(|it| Duration::try_from_secs_f64(it).ok());
    let expires_in = seconds("expires_in").unwrap_or(CODE_LIFE).min(CODE_LIFE_MAX);
    let interval = seconds("interval").unwrap_or(row.interval).clamp(INTERVAL_MIN, INTERVAL_MAX);
    Ok(Started {
        device: Device {
            code,
            verifier,
            expires_at_ms: now_ms + expires_in.as_millis() as i64,
            interval_ms: interval.as_millis() as u64,
        },
        user_code,
        verification_uri: uri,
        verification_uri_complete: text(&answer["verification_uri_complete"])
            .filter(|it| is_safe(it)),
        expires_in,
        interval,
    })
}

fn not_started(row: &LoginRow, status: u16, answer: &Value) -> Fault {
    let title = row.title;
    match (error(answer), status) {
        (Some((_, words)), _) => {
            Fault::new(Kind::Upstream, format!("{title} starts no login: {words}"))
        }
        (None, 429) => Fault::new(Kind::RateLimited, format!("{title} wants fewer logins; wait")),
        (None, 500..) => Fault::new(Kind::Overloaded, format!("{title} answers with {status}")),
        (None, _) => {
            let text = format!("{title} answered with {status} and no code: is the address right?");
            Fault::new(Kind::Upstream, text)
        }
    }
    .status(status)
}

/// The answer of the token endpoint. GitHub sends errors with status 200, others with 400 and 429.
pub(super) fn poll(row: &LoginRow, status: u16, body: &[u8]) -> Poll {
    let answer = json(body);
    if status >= 500 || answer.is_none() {
        return Poll::Odd(format!("{} answers with {status}", row.title));
    }
    let answer = answer.unwrap_or_default();
    match error(&answer) {
        Some((code, words)) => match code.as_str() {
            "authorization_pending" => Poll::Pending,
            "slow_down" => Poll::SlowDown,
            "access_denied" => Poll::Denied,
            "expired_token" => Poll::Expired,
            _ => Poll::Refused(words),
        },
        None => match secret(&answer["access_token"]) {
            Some(access) if status < 300 => Poll::Granted(Box::new(Granted {
                access,
                refresh: secret(&answer["refresh_token"]),
                expires_in: answer["expires_in"].as_i64().filter(|seconds| *seconds > 0),
                resource_url: text(&answer["resource_url"]),
            })),
            _ if status == 429 => Poll::SlowDown,
            _ => Poll::Odd(format!("{} answers with {status} and no token", row.title)),
        },
    }
}

impl Poll {
    /// What to tell where tokens were renewed and this came instead.
    pub(super) fn fault(&self, row: &LoginRow, status: u16) -> Fault {
        let title = row.title;
        let (kind, words) = match self {
            Poll::SlowDown => (Kind::RateLimited, "it wants fewer questions"),
            Poll::Refused(words) => (Kind::Upstream, words.as_str()),
            Poll::Odd(words) if status >= 500 => (Kind::Overloaded, words.as_str()),
            Poll::Odd(words) => (Kind::Upstream, words.as_str()),
            _ => (Kind::Upstream, "it answered what belongs to a login"),
        };
        let text = format!("the login at {title} could not be renewed: {words}");
        Fault::new(kind, text).status(status)
    }
}

/// The answer of Copilot's exchange.
pub(super) fn exchanged(row: &LoginRow, status: u16, body: &[u8]) -> Result<Exchanged> {
    let title = row.title;
    let answer = json(body).unwrap_or_default();
    let token = secret(&answer["token"]).filter(|_| status < 300);
    if let (Some(token), Some(expires_at)) = (token, answer["expires_at"].as_i64()) {
        let api = text(&answer["endpoints"]["api"]);
        return Ok(Exchanged { token, expires_at_ms: expires_at.saturating_mul(1000), api });
    }
    let words = words(&answer).map(|words| format!(": {words}")).unwrap_or_default();
    Err(match status {
        401 => login_over(row, None),
        402..=404 => Fault::new(Kind::NoCredit, format!("this account may not use {title}{words}")),
        429 => Fault::new(Kind::RateLimited, format!("{title} wants fewer questions{words}")),
        500.. => Fault::new(Kind::Overloaded, format!("{title} answers with {status}{words}")),
        _ => Fault::new(Kind::Upstream, format!("{title} answers with {status}{words}")),
    }
    .status(status))
}

/// The one thing that helps once a login is over: another one, or what `notice` says.
pub(super) fn login_over(row: &LoginRow, notice: Option<&str>) -> Fault {
    let (title, provider) = (row.title, row.provider);
    let again =
        format!("remove the provider and log in again (althing providers add-oauth {provider})");
    let help = notice.unwrap_or(&again);
    Fault::new(Kind::BadKey, format!("the login at {title} is over: {help}"))
}

fn json(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().filter(Value::is_object)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_string)
}

/// A secret that can stand in a header.
fn secret(value: &Value) -> Option<Secret> {
    let fits = |text: &&str| {
        (1..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
    };
    value.as_str().filter(fits).map(Secret::new)
}

fn is_code(text: &str) -> bool {
    text.len() <= USER_CODE_CHARS_MAX && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')
}

/// The error's code, and code and description together for a person.
fn error(answer: &Value) -> Option<(String, String)> {
    let code = text(&answer["error"])?;
    let shown = match text(&answer["error_description"]) {
        Some(description) => format!("{code}: {description}"),
        None => code.clone(),
    };
    Some((code, one_line(&redact(&shown), WORDS_MAX)))
}

/// What the server says in words, wherever it says it.
fn words(answer: &Value) -> Option<String> {
    let places = [&answer["error_details"]["message"], &answer["message"], &answer["error"]];
    let found = places.into_iter().find_map(text)?;
    Some(one_line(&redact(&found), WORDS_MAX))
}
