//! Whether an answer has begun for real. Until then its bytes are read along; after that they go by
//! unread.

use crate::dialect::{Dialect, anthropic::ANTHROPIC, cut, in_stream, parse};
use crate::framing::{Events, Framing};
use althing_stdx::Result;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Says whether an event is part of the answer; an error event is a fault.
type Rule = fn(&str) -> Result<bool>;

/// Reads a stream up to its first word.
pub(super) struct Gate {
    events: Events,
    rule: Rule,
    open: bool,
}

impl Gate {
    pub(super) fn new(dialect: &'static Dialect, path: &str) -> Gate {
        let rule = match path {
            _ if dialect.name == ANTHROPIC.name => messages,
            _ if path.starts_with("/responses") => responses,
            _ if path.starts_with("/completions") => completions,
            _ => chat,
        };
        Gate { events: Events::new(Framing::Sse), rule, open: false }
    }

    /// Whether the answer has begun with these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<bool> {
        let Gate { events, rule, open } = self;
        events.feed(bytes, |event| {
            *open = *open || rule(event)?;
            Ok(())
        })?;
        Ok(self.open)
    }

    /// The body ended before the answer began. A server that did not stream has sent it whole.
    pub(super) fn end(&mut self) -> Result<()> {
        let rest = self.events.rest()?;
        let whole = self.events.framing() == Framing::Whole;
        if !rest.is_empty() && ((self.rule)(&rest)? || whole) { Ok(()) } else { Err(cut()) }
    }
}

/// Values that say nothing.
fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "\"\"" | "[]" | "{}")
}

#[derive(Deserialize)]
struct ChatEvent<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// Whatever servers put in: text, reasoning under several names, fragments of calls.
    #[serde(borrow)]
    delta: Option<HashMap<Cow<'a, str>, &'a RawValue>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

fn chat(event: &str) -> Result<bool> {
    if event == "[DONE]" {
        return Ok(true);
    }
    let event: ChatEvent<'_> = parse(event)?;
    let choices = event.choices.unwrap_or_default();
    if let Some(error) = event.error.or(choices.iter().find_map(|choice| choice.error)) {
        return Err(in_stream(error));
    }
    Ok(choices.iter().any(|choice| {
        let said = choice.delta.iter().flatten();
        choice.finish_reason.is_some_and(|reason| !is_empty(reason))
            || said.into_iter().any(|(name, value)| name != "role" && !is_empty(value))
    }))
}

#[derive(Deserialize)]
struct TextEvent<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<Vec<TextChoice<'a>>>,
}

#[derive(Deserialize)]
struct TextChoice<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

fn completions(event: &str) -> Result<bool> {
    if event == "[DONE]" {
        return Ok(true);
    }
    let event: TextEvent<'_> = parse(event)?;
    if let Some(error) = event.error {
        return Err(in_stream(error));
    }
    let says = |value: Option<&RawValue>| value.is_some_and(|it| !is_empty(it));
    let mut choices = event.choices.into_iter().flatten();
    Ok(choices.any(|choice| says(choice.text) || says(choice.finish_reason)))
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn messages(event: &str) -> Result<bool> {
    let event: Named<'_> = parse(event)?;
    match (&*event.kind, event.error, event.content_block) {
        (_, Some(error), _) => Err(in_stream(error)),
        // Text and thinking begin empty.
        ("content_block_start", _, Some(block)) => Ok(!matches!(&*block.kind, "text" | "thinking")),
        (kind, ..) => Ok(!matches!(kind, "message_start" | "ping")),
    }
}

fn responses(event: &str) -> Result<bool> {
    let raw = event;
    let event: Named<'_> = parse(event)?;
    let error = event.error.or(event.response.and_then(|response| response.error));
    match (&*event.kind, error) {
        (_, Some(error)) => Err(in_stream(error)),
        // Its code and message stand beside the type.
        ("error", None) => Err(in_stream(parse(raw)?)),
        (kind, None) => {
            let early = ["response.created", "response.queued", "response.in_progress"];
            Ok(!early.contains(&kind))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::openai::OPENAI;

    /// How many bytes of the stream pass before the gate opens, however they are cut; or the fault.
    fn opens(dialect: &'static Dialect, path: &str, events: &[&str]) -> String {
        let mut gate = Gate::new(dialect, path);
        for (at, event) in events.iter().enumerate() {
            let wire = format!("data: {event}\n\n");
            for byte in wire.as_bytes().chunks(1) {
                match gate.feed(byte) {
                    Ok(true) => return format!("event {at}"),
                    Ok(false) => {}
                    Err(fault) => return format!("event {at}: {}", fault.kind),
                }
            }
        }
        gate.end().map_or_else(|fault| format!("end: {}", fault.kind), |()| "end".into())
    }

    #[test]
    fn the_first_word_opens() {
        let role =
            r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
        let chats: &[(&[&str], &str)] = &[
            (&[role, r#"{"choices":[{"delta":{"content":"a"}}]}"#], "event 1"),
            (&[role, r#"{"choices":[{"delta":{"reasoning":"a"}}]}"#], "event 1"),
            (&[role, r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}"#], "event 1"),
            (&[role, r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#], "event 1"),
            (&[role, "[DONE]"], "event 1"),
            (&[role, r#"{"error":{"message":"x","type":"server_error"}}"#], "event 1: overloaded"),
            (&[role, r#"{"choices":[{"error":{"code":429}}]}"#], "event 1: rate_limited"),
            (&[role, "<html>"], "event 1: upstream"),
            (&[role], "end: network"),
            (&[], "end: network"),
        ];
        for (events, want) in chats {
            assert_eq!(opens(&OPENAI, "/chat/completions", events), *want, "{events:?}");
        }
        let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#;
        let text = r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#;
        let tool = r#"{"type":"content_block_start","content_block":{"type":"tool_use"}}"#;
        let delta = r#"{"type":"content_block_delta","delta":{"text":"a"}}"#;
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
        let all: &[(&[&str], &str)] = &[
            (&[start, text, r#"{"type":"ping"}"#, delta], "event 3"),
            (&[start, tool], "event 1"),
            (&[start, r#"{"type":"message_delta"}"#], "event 1"),
            (&[start, error], "event 1: overloaded"),
        ];
        for (events, want) in all {
            assert_eq!(opens(&ANTHROPIC, "/messages", events), *want, "{events:?}");
        }
        let texts: &[(&[&str], &str)] = &[
            (&[r#"{"choices":[{"text":""}]}"#, r#"{"choices":[{"text":"a"}]}"#], "event 1"),
            (&[r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#], "event 0"),
            (&[r#"{"error":{"type":"server_error"}}"#], "event 0: overloaded"),
        ];
        for (events, want) in texts {
            assert_eq!(opens(&OPENAI, "/completions", events), *want, "{events:?}");
        }
        let created = r#"{"type":"response.created","response":{"error":null}}"#;
        let failed = r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#;
        let bare = r#"{"type":"error","code":"rate_limit_exceeded","message":"rate limit"}"#;
        let all: &[(&[&str], &str)] = &[
            (&[created, r#"{"type":"response.output_item.added"}"#], "event 1"),
            (&[created, failed], "event 1: overloaded"),
            (&[created, bare], "event 1: rate_limited"),
        ];
        for (events, want) in all {
            assert_eq!(opens(&OPENAI, "/responses", events), *want, "{events:?}");
        }
    }

    #[test]
    fn an_answer_that_was_not_streamed() {
        for (body, want) in [
            (r#"{"choices":[{"message":{"content":"a"}}]}"#, Ok(())),
            (r#"{"error":{"type":"server_error"}}"#, Err(althing_stdx::Kind::Overloaded)),
            ("", Err(althing_stdx::Kind::Network)),
        ] {
            let mut gate = Gate::new(&OPENAI, "/chat/completions");
            assert_eq!(gate.feed(body.as_bytes()), Ok(false));
            assert_eq!(gate.end().map_err(|fault| fault.kind), want, "{body}");
        }
    }
}
