//! The one error type and the one error table of the workspace. A `Kind` says what a caller can do
//! about it; the table gives each kind its number on every face.

use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// What went wrong, as far as a caller may branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request itself is wrong; the message names the field and the limit.
    InvalidParams,
    /// No such method on this face.
    UnknownMethod,
    /// No such run, file or other thing.
    NotFound,
    /// A limit of our own is reached; try again later.
    Busy,
    /// A deadline passed.
    TimedOut,
    /// The person or the caller stopped it.
    Cancelled,
    /// The provider refused the key.
    BadKey,
    /// The key is good, the account has no money or quota left.
    NoCredit,
    /// The provider does not know the model.
    UnknownModel,
    /// Too many requests; `Fault::retry_after` says when.
    RateLimited,
    /// The prompt does not fit the model.
    ContextTooLong,
    /// The provider is overloaded or down.
    Overloaded,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The model declined to answer.
    Refused,
    /// The provider answered something else that is an error or that cannot be understood.
    Upstream,
    /// Fewer living models than the method needs.
    TooFew,
    /// The run would cost more than allowed.
    CostLimit,
    /// A fault of ours.
    Internal,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codes {
    pub kind: Kind,
    /// As written in events and JSON.
    pub name: &'static str,
    pub jsonrpc: i32,
    pub http: u16,
    /// Last part of the D-Bus error name.
    pub dbus: &'static str,
    /// Exit code of the command line.
    pub exit: u8,
    /// Whether the same request may succeed if sent again later.
    pub retryable: bool,
}

const fn row(
    kind: Kind,
    name: &'static str,
    jsonrpc: i32,
    http: u16,
    dbus: &'static str,
    exit: u8,
    retryable: bool,
) -> Codes {
    Codes { kind, name, jsonrpc, http, dbus, exit, retryable }
}

/// The only place in the workspace where these numbers exist.
#[rustfmt::skip]
pub const CODES: &[Codes] = &[
    row(Kind::InvalidParams,  "invalid_params",   -32602, 400, "InvalidArgument",  2, false),
    row(Kind::UnknownMethod,  "unknown_method",   -32601, 404, "UnknownMethod",    2, false),
    row(Kind::NotFound,       "not_found",        -32000, 404, "NotFound",         3, false),
    row(Kind::Busy,           "busy",             -32000, 429, "Busy",             4, true),
    row(Kind::TimedOut,       "timed_out",        -32000, 504, "TimedOut",         5, true),
    row(Kind::Cancelled,      "cancelled",        -32000, 499, "Cancelled",      130, false),
    row(Kind::BadKey,         "bad_key",          -32000, 401, "BadKey",          10, false),
    row(Kind::NoCredit,       "no_credit",        -32000, 402, "NoCredit",        11, false),
    row(Kind::UnknownModel,   "unknown_model",    -32000, 404, "UnknownModel",    12, false),
    row(Kind::RateLimited,    "rate_limited",     -32000, 429, "RateLimited",     13, true),
    row(Kind::ContextTooLong, "context_too_long", -32000, 413, "ContextTooLong",  14, false),
    row(Kind::Overloaded,     "overloaded",       -32000, 503, "Overloaded",      15, true),
    row(Kind::Network,        "network",          -32000, 502, "Network",         16, true),
    row(Kind::Refused,        "refused",          -32000, 422, "Refused",         17, false),
    row(Kind::Upstream,       "upstream",         -32000, 502, "Upstream",        18, false),
    row(Kind::TooFew,         "too_few",          -32000, 502, "TooFew",          20, false),
    row(Kind::CostLimit,      "cost_limit",       -32000, 402, "CostLimit",       21, false),
    row(Kind::Internal,       "internal",         -32603, 500, "Internal",         1, false),
];

/// Exit codes of the council, where its protocol has its own: 3 too few valid plans, 4 the judge
/// failed and nothing stood in, 5 a budget is used up. What is not found is bad input there.
const COUNCIL_EXITS: &[(Kind, u8)] =
    &[(Kind::NotFound, 2), (Kind::TooFew, 3), (Kind::Upstream, 4), (Kind::CostLimit, 5)];

impl Kind {
    /// Exit code of a council that ended so.
    pub fn council_exit(self) -> u8 {
        let own = COUNCIL_EXITS.iter().find(|(kind, _)| *kind == self);
        own.map_or(self.codes().exit, |(_, exit)| *exit)
    }

    /// This kind's row. Every kind has one: the test below walks the enum.
    pub fn codes(self) -> &'static Codes {
        CODES.iter().find(|row| row.kind == self).unwrap_or(&CODES[CODES.len() - 1])
    }

    pub fn name(self) -> &'static str {
        self.codes().name
    }

    /// What the status of a provider's answer means; none where it tells nothing.
    pub fn of_status(status: u16) -> Option<Kind> {
        match status {
            401 | 403 => Some(Kind::BadKey),
            402 => Some(Kind::NoCredit),
            404 => Some(Kind::UnknownModel),
            408 => Some(Kind::TimedOut),
            413 => Some(Kind::ContextTooLong),
            429 => Some(Kind::RateLimited),
            500 | 502..=504 | 520..=529 => Some(Kind::Overloaded),
            _ => None,
        }
    }

    /// Whether trying the same model again later in the run is pointless: the key, the account or
    /// the name is wrong and stays wrong.
    pub fn is_permanent(self) -> bool {
        matches!(self, Kind::BadKey | Kind::NoCredit | Kind::UnknownModel)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error: `message` is for the person, `source` for the log. Neither ever holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    pub message: String,
    /// How long the other side asked us to wait.
    pub retry_after: Option<Duration>,
    /// HTTP status of the provider's answer, where there was one.
    pub status: Option<u16>,
    /// Tokens that the model takes in one call, where a refusal of a long prompt names them.
    pub context_tokens: Option<u64>,
    /// Tokens that the refused prompt had, where the refusal names them.
    pub prompt_tokens: Option<u64>,
    pub source: Option<String>,
}

impl Fault {
    pub fn new(kind: Kind, message: impl fmt::Display) -> Fault {
        let message = message.to_string();
        Fault {
            kind,
            message,
            retry_after: None,
            status: None,
            context_tokens: None,
            prompt_tokens: None,
            source: None,
        }
    }

    pub fn invalid(message: impl fmt::Display) -> Fault {
        Fault::new(Kind::InvalidParams, message)
    }

    pub fn internal(message: impl fmt::Display) -> Fault {
        Fault::new(Kind::Internal, message)
    }

    pub fn retry_after(mut self, wait: Option<Duration>) -> Fault {
        self.retry_after = wait;
        self
    }

    pub fn status(mut self, status: u16) -> Fault {
        self.status = Some(status);
        self
    }

    /// Adds the limit that the other side named.
    pub fn context_tokens(mut self, tokens: Option<u64>) -> Fault {
        self.context_tokens = tokens;
        self
    }

    /// Adds the length that the other side counted.
    pub fn prompt_tokens(mut self, tokens: Option<u64>) -> Fault {
        self.prompt_tokens = tokens;
        self
    }

    pub fn source(mut self, source: impl fmt::Display) -> Fault {
        self.source = Some(source.to_string());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_row_and_its_serde_name() {
        for (at, row) in CODES.iter().enumerate() {
            assert_eq!(row.kind as usize, at, "rows stand in the order of the enum");
            assert_eq!(row.kind.codes(), row);
        }
        assert_eq!(CODES.len(), Kind::Internal as usize + 1);
    }

    #[test]
    fn distinct_failures_of_a_provider_have_distinct_exit_codes() {
        let mut exits: Vec<u8> =
            CODES.iter().map(|row| row.exit).filter(|exit| *exit >= 10).collect();
        let all = exits.len();
        exits.sort_unstable();
        exits.dedup();
        assert_eq!(exits.len(), all);
    }
}
