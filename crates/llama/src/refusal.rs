//! A request that is not answered, and why.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    /// The client asked for something wrong, or for something that cannot be done here.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal { status: 400, code: "invalid_value", message: message.into() }
    }

    /// The runner failed at something that should have worked.
    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal { status: 500, code: "internal_error", message: message.into() }
    }

    /// More tokens came than the model holds.
    pub fn too_long(what: &str, tokens: usize, most: usize) -> Refusal {
        let message = format!(
            "{what} has {tokens} tokens, and the context of this model holds {most}: shorten it, \
             or give the model a larger context"
        );
        Refusal { status: 400, code: "context_length_exceeded", message }
    }

    pub fn body(&self) -> Value {
        let kind = if self.status < 500 { "invalid_request_error" } else { "server_error" };
        let Refusal { code, message, .. } = self;
        json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
    }
}
