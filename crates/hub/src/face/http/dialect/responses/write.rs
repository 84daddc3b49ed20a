//! Deltas become items, each announced, filled and finished before the next begins.

use super::super::{Head, Writer, event};
use super::INPUT;
use crate::face::http::shape::Shape;
use althing_chat::{Answer, Delta, Stop, ToolCall, Usage};
use althing_stdx::Fault;
use serde_json::{Value, json};

/// An answer in items.
pub(super) struct Items {
    head: Head,
    /// Events so far.
    sequence: u64,
    /// Items that are finished.
    done: Vec<Value>,
    open: Option<Open>,
    usage: Option<Usage>,
}

/// The item that is being written.
struct Open {
    kind: Speech,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speech {
    Message,
    Reasoning,
}

impl Items {
    pub(super) fn new(head: Head) -> Items {
        Items { head, sequence: 0, done: vec![], open: None, usage: None }
    }

    fn put(&mut self, out: &mut String, name: &str, mut data: Value) {
        data["type"] = name.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        event(out, Some(name), &data);
    }

    fn begin(&mut self, out: &mut String) {
        if self.sequence == 0 {
            let response = self.response("in_progress", &Usage::default());
            self.put(out, "response.created", json!({ "response": response }));
            self.put(out, "response.in_progress", json!({ "response": response }));
        }
    }

    /// The response as it stands.
    fn response(&self, status: &str, tokens: &Usage) -> Value {
        let mut response = json!({
            "id": format!("resp_{}", self.head.id),
            "object": "response",
            "created_at": self.head.created,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {},
            "model": self.head.model,
            "output": self.done,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "reasoning": { "effort": null, "summary": null },
            "store": false,
            "temperature": null,
            "text": { "format": { "type": "text" } },
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "disabled",
            "usage": null,
        });
        for (key, value) in &self.head.echo.fields {
            response[key] = value.clone();
        }
        if status != "in_progress" {
            response["usage"] = usage(tokens);
        }
        response
    }

    /// The number and the id of the item that is next or open.
    fn place(&self, prefix: &str) -> (usize, String) {
        let at = self.done.len();
        (at, format!("{prefix}_{}_{at}", self.head.id))
    }

    fn words(&mut self, out: &mut String, kind: Speech, text: &str) {
        self.begin(out);
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.finish(out);
            self.start(out, kind);
        }
        let mut data = self.part(kind);
        data["delta"] = text.into();
        self.put(out, &format!("response.{}.delta", kind.text_event()), data);
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
    }

    fn start(&mut self, out: &mut String, kind: Speech) {
        let (at, id) = self.place(kind.prefix());
        let item = kind.item(&id, "in_progress", None);
        self.put(out, "response.output_item.added", json!({ "output_index": at, "item": item }));
        let mut data = self.part(kind);
        data["part"] = kind.spoken("");
        self.put(out, &format!("response.{}.added", kind.part_event()), data);
        self.open = Some(Open { kind, text: String::new() });
    }

    fn finish(&mut self, out: &mut String) {
        let Some(Open { kind, text }) = self.open.take() else { return };
        let (at, id) = self.place(kind.prefix());
        let mut data = self.part(kind);
        data["text"] = text.as_str().into();
        self.put(out, &format!("response.{}.done", kind.text_event()), data);
        let mut data = self.part(kind);
        data["part"] = kind.spoken(&text);
        self.put(out, &format!("response.{}.done", kind.part_event()), data);
        self.item_done(out, at, kind.item(&id, "completed", Some(&text)));
    }

    /// Which part of which item an event is about; every item has one part.
    fn part(&self, kind: Speech) -> Value {
        let (at, id) = self.place(kind.prefix());
        match kind {
            Speech::Message => json!({
                "item_id": id, "output_index": at, "content_index": 0, "logprobs": [],
            }),
            Speech::Reasoning => json!({
                "item_id": id, "output_index": at, "summary_index": 0,
            }),
        }
    }

    fn call(&mut self, out: &mut String, call: &ToolCall) {
        self.begin(out);
        self.finish(out);
        let form = match self.head.echo.is_custom(&call.name) {
            true => &CUSTOM,
            false => &FUNCTION,
        };
        let ((at, id), text) = (self.place(form.prefix), (form.text)(call));
        let item = form.item(&id, call, "in_progress", "");
        self.put(out, "response.output_item.added", json!({ "output_index": at, "item": item }));
        let delta = json!({ "item_id": id, "output_index": at, "delta": text });
        self.put(out, &format!("response.{}.delta", form.event), delta);
        let mut done = json!({ "item_id": id, "output_index": at });
        done[form.field] = text.as_str().into();
        self.put(out, &format!("response.{}.done", form.event), done);
        self.item_done(out, at, form.item(&id, call, "completed", &text));
    }

    fn item_done(&mut self, out: &mut String, at: usize, item: Value) {
        self.put(out, "response.output_item.done", json!({ "output_index": at, "item": item }));
        self.done.push(item);
    }

    fn end(&mut self, out: &mut String, stop: &Stop) {
        self.begin(out);
        self.finish(out);
        let response = self.ended(stop, &self.usage.unwrap_or_default());
        let name = match cut_by(stop) {
            Some(_) => "response.incomplete",
            None => "response.completed",
        };
        self.put(out, name, json!({ "response": response }));
    }

    fn ended(&self, stop: &Stop, tokens: &Usage) -> Value {
        let Some(reason) = cut_by(stop) else { return self.response("completed", tokens) };
        let mut response = self.response("incomplete", tokens);
        response["incomplete_details"] = json!({ "reason": reason });
        response
    }
}

impl Writer for Items {
    fn delta(&mut self, delta: Delta, out: &mut String) {
        match delta {
            Delta::Text(text) => self.words(out, Speech::Message, &text),
            Delta::Reasoning(text) => self.words(out, Speech::Reasoning, &text),
            Delta::ToolCall(call) => self.call(out, &call),
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Delta::Stop(stop) => self.end(out, &stop),
            Delta::Queued | Delta::Started | Delta::Retrying(_) | Delta::Ignored(_) => {}
            Delta::Calling(_) | Delta::Called(_) => {}
        }
    }

    fn fault(&mut self, fault: &Fault, out: &mut String) {
        self.begin(out);
        let error = Shape::OpenAi.inner(fault);
        let mut response = self.response("failed", &self.usage.unwrap_or_default());
        response["error"] = json!({ "code": error["code"], "message": error["message"] });
        self.put(out, "response.failed", json!({ "response": response }));
    }

    fn whole(&self, answer: &Answer) -> Value {
        let mut items = Items::new(self.head.clone());
        // The events are of no use here; the items are what they lead to.
        let mut unused = String::new();
        if !answer.reasoning.is_empty() {
            items.words(&mut unused, Speech::Reasoning, &answer.reasoning);
        }
        if !answer.text.is_empty() || answer.tool_calls.is_empty() {
            items.words(&mut unused, Speech::Message, &answer.text);
        }
        items.finish(&mut unused);
        for call in &answer.tool_calls {
            items.call(&mut unused, call);
        }
        let stop = answer.stop.as_ref().unwrap_or(&Stop::End);
        items.ended(stop, &answer.usage.unwrap_or_default())
    }
}

impl Speech {
    fn prefix(self) -> &'static str {
        match self {
            Speech::Message => "msg",
            Speech::Reasoning => "rs",
        }
    }

    fn text_event(self) -> &'static str {
        match self {
            Speech::Message => "output_text",
            Speech::Reasoning => "reasoning_summary_text",
        }
    }

    fn part_event(self) -> &'static str {
        match self {
            Speech::Message => "content_part",
            Speech::Reasoning => "reasoning_summary_part",
        }
    }

    /// The one part of an item.
    fn spoken(self, text: &str) -> Value {
        match self {
            Speech::Message => {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            }
            Speech::Reasoning => json!({ "type": "summary_text", "text": text }),
        }
    }

    /// The item, with its part once there is one.
    fn item(self, id: &str, status: &str, text: Option<&str>) -> Value {
        let parts: Vec<Value> = text.map(|text| self.spoken(text)).into_iter().collect();
        match self {
            Speech::Message => json!({
                "id": id, "type": "message", "status": status, "role": "assistant",
                "content": parts,
            }),
            Speech::Reasoning => json!({ "id": id, "type": "reasoning", "summary": parts }),
        }
    }
}

/// How a call is written.
struct Form {
    kind: &'static str,
    prefix: &'static str,
    event: &'static str,
    field: &'static str,
    text: fn(&ToolCall) -> String,
}

const FUNCTION: Form = Form {
    kind: "function_call",
    prefix: "fc",
    event: "function_call_arguments",
    field: "arguments",
    text: |call| call.arguments.clone(),
};

/// A tool that takes text, which the model was shown as a function.
const CUSTOM: Form = Form {
    kind: "custom_tool_call",
    prefix: "ctc",
    event: "custom_tool_call_input",
    field: INPUT,
    text: |call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        // A model that wrote something else meant it as the text.
        arguments[INPUT].as_str().unwrap_or(&call.arguments).to_string()
    },
};

impl Form {
    fn item(&self, id: &str, call: &ToolCall, status: &str, text: &str) -> Value {
        let mut item = json!({
            "id": id, "type": self.kind, "status": status, "call_id": call.id, "name": call.name,
        });
        item[self.field] = text.into();
        item
    }
}

/// What cut the answer short.
fn cut_by(stop: &Stop) -> Option<&'static str> {
    match stop {
        Stop::Length => Some("max_output_tokens"),
        Stop::Refused => Some("content_filter"),
        Stop::End | Stop::ToolCalls | Stop::Other(_) => None,
    }
}

fn usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": usage.cached.unwrap_or(0) },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
        "total_tokens": input + output,
    })
}
