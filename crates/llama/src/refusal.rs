//! A request that is not answered, and why.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
    /// Where too many tokens came: how many, and how many the model holds.
    pub tokens: Option<(usize, usize)>,
}

impl Refusal {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { status, code, message: message.into(), tokens: None }
    }

    /// The client asked for something wrong, or for something that cannot be done here.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "invalid_value", message)
    }

    /// The runner failed at something that should have worked.
    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal::new(500, "internal_error", message)
    }

    /// More tokens came than the model holds.
    pub fn too_long(what: &str, tokens: usize, most: usize) -> Refusal {
        let message = format!(
            "{what} has {tokens} tokens, and the context of this model holds {most}: shorten it, \
             or give the model a larger context"
        );
        let refusal = Refusal::new(400, "context_length_exceeded", message);
        Refusal { tokens: Some((tokens, most)), ..refusal }
    }

    pub fn body(&self) -> Value {
        let kind = if self.status < 500 { "invalid_request_error" } else { "server_error" };
        let Refusal { code, message, .. } = self;
        let mut error = json!({ "message": message, "type": kind, "param": null, "code": code });
        if let Some((tokens, most)) = self.tokens {
            // As llama-server has it.
            error["n_prompt_tokens"] = tokens.into();
            error["n_ctx"] = most.into();
        }
        json!({ "error": error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_too_long_tells_the_limit() {
        let body = Refusal::too_long("the prompt", 900, 512).body();
        let error = &body["error"];
        assert_eq!(error["code"], "context_length_exceeded");
        assert_eq!((&error["n_prompt_tokens"], &error["n_ctx"]), (&json!(900), &json!(512)));
        assert_eq!(Refusal::invalid("x").body()["error"].get("n_ctx"), None);
    }
}
