//! Faults as the clients know them: OpenAI's shape and Anthropic's.

use althing_stdx::{Fault, Kind};
use serde_json::{Value, json};

/// Whose words a client expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    OpenAi,
    Anthropic,
}

impl Shape {
    /// The body of an error.
    pub(super) fn error(self, fault: &Fault) -> Value {
        self.error_with_code(fault, code(fault.kind))
    }

    /// As `error`, with another word to branch on where the language has such words.
    pub(super) fn error_with_code(self, fault: &Fault, code: &str) -> Value {
        match self {
            Shape::OpenAi => json!({ "error": self.inner_with_code(fault, code) }),
            Shape::Anthropic => json!({ "type": "error", "error": self.inner(fault) }),
        }
    }

    /// The error itself, as it also stands inside a stream.
    pub(super) fn inner(self, fault: &Fault) -> Value {
        self.inner_with_code(fault, code(fault.kind))
    }

    fn inner_with_code(self, fault: &Fault, code: &str) -> Value {
        let (status, message) = (status(fault), &fault.message);
        match self {
            Shape::OpenAi => json!({
                "message": message,
                "type": openai_type(status),
                "param": param(fault),
                "code": code,
            }),
            Shape::Anthropic => json!({ "type": anthropic_type(status), "message": message }),
        }
    }
}

/// A status that a check of this face set, else that of the kind.
pub(super) fn status(fault: &Fault) -> u16 {
    match (fault.kind, fault.status) {
        (Kind::BadKey, Some(403)) => 403,
        (Kind::InvalidParams, Some(status @ (403 | 405 | 408 | 409 | 413 | 415 | 508))) => status,
        // The provider finds fault with the request, which will not be better another time.
        (Kind::Upstream, Some(status @ 400..=499)) => status,
        // Clients look for it there, and shorten the conversation.
        (Kind::ContextTooLong, _) => 400,
        _ => fault.kind.codes().http,
    }
}

/// Words that OpenAI's clients branch on; the kind's own name where there is none.
fn code(kind: Kind) -> &'static str {
    match kind {
        Kind::BadKey => "invalid_api_key",
        Kind::UnknownModel => "model_not_found",
        Kind::ContextTooLong => "context_length_exceeded",
        Kind::RateLimited => "rate_limit_exceeded",
        Kind::NoCredit => "insufficient_quota",
        kind => kind.name(),
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// The field a bad request's message begins with.
fn param(fault: &Fault) -> Option<&str> {
    let (field, _) = fault.message.split_once(": ")?;
    let is_field = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    (fault.kind == Kind::InvalidParams && field.chars().all(is_field)).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fault: Fault, want: (u16, &str, &str, &str)) {
        let (openai, anthropic) = (Shape::OpenAi.error(&fault), Shape::Anthropic.error(&fault));
        let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
        let got = (
            status(&fault),
            text(&openai["error"]["type"]),
            text(&openai["error"]["code"]),
            text(&anthropic["error"]["type"]),
        );
        assert_eq!(got, (want.0, want.1.into(), want.2.into(), want.3.into()), "{fault:?}");
        assert_eq!(anthropic["type"], "error");
        assert_eq!(openai["error"]["message"], fault.message);
        assert_eq!(anthropic["error"]["message"], fault.message);
    }

    #[test]
    fn every_kind_has_a_name_that_clients_know() {
        let bad = "invalid_request_error";
        check(Fault::invalid("n: 1"), (400, bad, "invalid_params", bad));
        check(Fault::invalid("big").status(413), (413, bad, "invalid_params", "request_too_large"));
        let upstream = Fault::new(Kind::Upstream, "why");
        check(upstream.clone().status(400), (400, bad, "upstream", bad));
        check(upstream.status(500), (502, "server_error", "upstream", "api_error"));
        let kinds = [
            (
                Kind::BadKey,
                (401, "authentication_error", "invalid_api_key", "authentication_error"),
            ),
            (Kind::UnknownModel, (404, bad, "model_not_found", "not_found_error")),
            (Kind::NoCredit, (402, bad, "insufficient_quota", "billing_error")),
            (
                Kind::RateLimited,
                (429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"),
            ),
            (Kind::ContextTooLong, (400, bad, "context_length_exceeded", bad)),
            (Kind::Overloaded, (503, "server_error", "overloaded", "overloaded_error")),
            (Kind::TimedOut, (504, "server_error", "timed_out", "timeout_error")),
            (Kind::Internal, (500, "server_error", "internal", "api_error")),
        ];
        for (kind, want) in kinds {
            check(Fault::new(kind, "why"), want);
        }
    }

    #[test]
    fn a_bad_field_is_named() {
        let param = |message: &str| {
            Shape::OpenAi.error(&Fault::invalid(message))["error"]["param"]
                .as_str()
                .map(str::to_string)
        };
        assert_eq!(param("messages[2].role: no 'x'").as_deref(), Some("messages[2].role"));
        assert_eq!(param("no JSON: it ends early"), None);
        assert_eq!(param("nothing"), None);
    }
}
