//! What the words of a failed agent mean. One table for all of them: they pass on what their
//! providers say, and put it in words of their own.

use althing_stdx::redact::redact;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind};

/// Characters of a message shown to a person; the rest is cut.
const MESSAGE_CHARS_MAX: usize = 300;

/// Words of a failure, most telling first, in lower case. They are never looked for in answers.
const TELLING: &[(Kind, &[&str])] = &[
    (
        Kind::NoCredit,
        &[
            "credit balance is too low",
            "credits are depleted",
            "insufficient_quota",
            "insufficient balance",
            "quota exceeded. check your plan",
            "billing_error",
            "enable billing",
            "usage limit",
            "error_max_budget_usd",
        ],
    ),
    (
        Kind::UnknownModel,
        &[
            "model_not_found",
            "modelnotfound",
            "model not found",
            "issue with the selected model",
            "does not exist or you do not have access",
            "is not found for api version",
            "not_found_error",
            "unknown model",
            "model is not supported",
        ],
    ),
    (
        Kind::ContextTooLong,
        &[
            "prompt is too long",
            "prompt_too_long",
            "maximum context length",
            "context_length_exceeded",
            "contextoverflow",
            "context window",
            "exceeds the maximum number of tokens",
        ],
    ),
    (
        Kind::BadKey,
        &[
            "not logged in",
            "please run /login",
            "invalid api key",
            "incorrect api key",
            "invalid x-api-key",
            "api key not valid",
            "api_key_invalid",
            "authentication_failed",
            "authentication_error",
            "set an auth method",
            "invalid auth method",
            "unauthorized",
            "oauth token",
            "no credentials",
            "missing environment variable",
        ],
    ),
    (
        Kind::Refused,
        &[
            "safeguards flagged",
            "content_filter",
            "content filter",
            "contentfilter",
            "content policy",
            "prohibited_content",
            "blocked due to safety",
        ],
    ),
    (
        Kind::Network,
        &[
            "waiting for network",
            "failed to lookup address",
            "error sending request",
            "connection refused",
            "connectionrefused",
            "unable to connect",
            "econnrefused",
            "econnreset",
            "enotfound",
            "eai_again",
            "fetch failed",
        ],
    ),
    (
        Kind::RateLimited,
        &[
            "rate_limit",
            "rate limit",
            "too many requests",
            "status 429",
            "exceeded your current quota",
        ],
    ),
    (Kind::Overloaded, &["overloaded", "server_error", "internal server error", "unavailable"]),
];

/// The kind of a failure from what is said about it and the provider's status, if known.
pub(crate) fn kind(words: &str, status: Option<u16>) -> Kind {
    let words = words.to_lowercase();
    let row = |(_, telling): &&(Kind, &[&str])| telling.iter().any(|it| words.contains(it));
    let told = TELLING.iter().find(row).map(|(kind, _)| *kind);
    told.or_else(|| Kind::of_status(status?)).unwrap_or(Kind::Upstream)
}

/// Whether another model of the same agent may answer where one failed so: it has the same login,
/// the same network and the same time. What was refused is asked in other words first.
pub(crate) fn may_differ(kind: Kind) -> bool {
    match kind {
        Kind::NoCredit
        | Kind::UnknownModel
        | Kind::RateLimited
        | Kind::ContextTooLong
        | Kind::Overloaded
        | Kind::Upstream => true,
        Kind::InvalidParams
        | Kind::UnknownMethod
        | Kind::NotFound
        | Kind::Busy
        | Kind::TimedOut
        | Kind::Cancelled
        | Kind::BadKey
        | Kind::Network
        | Kind::Refused
        | Kind::TooFew
        | Kind::CostLimit
        | Kind::Internal => false,
    }
}

/// A failure in the agent's own words; where it has none, ours.
pub(crate) fn fault(words: &str, status: Option<u16>, ours: &str) -> Fault {
    let shown = shown(words);
    let fault = Fault::new(kind(words, status), if shown.is_empty() { ours } else { &shown });
    match status {
        Some(status) => fault.status(status),
        None => fault,
    }
}

/// Words that may be shown: on one line, without keys. Redacted before they are cut, since half a
/// key would not be known for one.
pub(crate) fn shown(words: &str) -> String {
    one_line(&redact(words), MESSAGE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, status: Option<u16>, expected: Kind) {
        assert_eq!(kind(words, status), expected, "{words} {status:?}");
    }

    #[test]
    fn words_tell_more_than_the_status() {
        check("Not logged in · Please run /login", None, Kind::BadKey);
        check("Credit balance is too low", Some(400), Kind::NoCredit);
        check("Your prepayment credits are depleted.", Some(429), Kind::NoCredit);
        check("You exceeded your current quota. Please retry in 2s.", Some(429), Kind::RateLimited);
        check("exceeded retry limit, last status: 429 Too Many Requests", None, Kind::RateLimited);
        check("Reconnecting... waiting for network (Connection failed)", None, Kind::Network);
        check(
            "The model `x` does not exist or you do not have access to it.",
            None,
            Kind::UnknownModel,
        );
        check("something else", Some(503), Kind::Overloaded);
        check("something else", None, Kind::Upstream);
    }

    #[test]
    fn a_key_in_a_message_is_not_shown() {
        let fault = fault("bad key sk-ant-api03-0123456789abcdef\n  there", None, "failed");
        assert_eq!(fault.message, "bad key [secret] there");
        assert_eq!(super::fault(" \n", Some(429), "it failed").message, "it failed");
    }
}
