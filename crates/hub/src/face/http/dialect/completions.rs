//! OpenAI's oldest path: a prompt in, the text that follows it out.

use super::field::Field;
use super::openai::{finish, stops, usage};
use super::options::{read_sampling, unread};
use super::{Dialect, Echo, Head, Wanted, Writer, event};
use crate::face::http::shape::Shape;
use althing_chat::{Answer, Ask, Delta, Stop, Usage};
use althing_gateway::LOCAL_FILE;
use althing_gateway::dialect::openai::OPENAI;
use althing_stdx::{Fault, Result};
use serde_json::{Value, json};

pub(in super::super) static DIALECT: Dialect = Dialect {
    path: "/completions",
    shape: Shape::OpenAi,
    upstream: &OPENAI,
    // Our own runner only chats.
    passes: |provider| provider.dialect.name == OPENAI.name && provider.name != LOCAL_FILE.name,
    headers: &[],
    names: &[],
    read,
    writer: |head| Box::new(Pieces { head, begun: false, usage: None }),
};

const KNOWN: &[&str] = &[
    "model",
    "prompt",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "echo",
    "n",
    "best_of",
    "logprobs",
    "suffix",
    "user",
];

/// The prompt is what the user says: the models behind are made for talking.
fn read(body: &Value) -> Result<Wanted> {
    let body = Field::body(body)?;
    refuse_what_is_lost(&body)?;
    let prompt = prompt(&body.get("prompt"))?;
    let prefix = if body.get("echo").flag()? { prompt } else { "" };
    let ask = Ask {
        stop: stops(&body.get("stop"))?,
        max_tokens: body.get("max_tokens").count()?,
        temperature: body.get("temperature").decimal()?,
        sampling: read_sampling(&body)?,
        stream: body.get("stream").flag()?,
        ..Ask::new("", prompt)
    };
    let include_usage = body.get("stream_options").get("include_usage").flag()?;
    let echo = Echo { include_usage, prefix: prefix.into(), ..Echo::default() };
    Ok(Wanted { ask, echo, ignored: unread(&body, KNOWN) })
}

fn refuse_what_is_lost(body: &Field) -> Result<()> {
    for name in ["n", "best_of"] {
        let field = body.get(name);
        let several = field.count()?.is_some_and(|it| it != 1);
        field.refuse_if(several, "this model gives one answer at a time")?;
    }
    let (logprobs, suffix) = (body.get("logprobs"), body.get("suffix"));
    logprobs.refuse_if(!logprobs.is_absent(), "this model does not tell them")?;
    suffix.refuse_if(!suffix.is_absent(), "this model writes only what follows the prompt")
}

/// One text, or a list of just one.
fn prompt<'a>(prompt: &Field<'a>) -> Result<&'a str> {
    if prompt.value.is_array() {
        let all = prompt.list()?;
        let [only] = all.as_slice() else {
            return Err(prompt.bad("this model takes one text at a time"));
        };
        return match only.value.is_string() {
            true => only.wanted_text(),
            false => Err(only.bad("must be a text; tokens of another model mean nothing here")),
        };
    }
    prompt.wanted_text()
}

/// An answer in pieces of text.
struct Pieces {
    head: Head,
    begun: bool,
    usage: Option<Usage>,
}

impl Pieces {
    fn envelope(&self, choices: Value) -> Value {
        let Head { id, model, created, .. } = &self.head;
        json!({
            "id": format!("cmpl-{id}"),
            "object": "text_completion",
            "created": created,
            "model": model,
            "choices": choices,
        })
    }

    fn piece(&self, out: &mut String, text: &str, finish: Option<&str>) {
        let mut chunk = self.envelope(json!([choice(text, finish)]));
        if self.head.echo.include_usage {
            chunk["usage"] = Value::Null;
        }
        event(out, None, &chunk);
    }

    fn begin(&mut self, out: &mut String) {
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first && !self.head.echo.prefix.is_empty() {
            self.piece(out, &self.head.echo.prefix, None);
        }
    }

    fn end(&mut self, out: &mut String, stop: &Stop) {
        self.begin(out);
        self.piece(out, "", Some(finish(stop)));
        if self.head.echo.include_usage {
            let mut last = self.envelope(json!([]));
            last["usage"] = usage(&self.usage.unwrap_or_default());
            event(out, None, &last);
        }
        out.push_str("data: [DONE]\n\n");
    }
}

fn choice(text: &str, finish: Option<&str>) -> Value {
    json!({ "text": text, "index": 0, "logprobs": null, "finish_reason": finish })
}

impl Writer for Pieces {
    fn delta(&mut self, delta: Delta, out: &mut String) {
        match delta {
            Delta::Text(text) => {
                self.begin(out);
                self.piece(out, &text, None);
            }
            Delta::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Delta::Stop(stop) => self.end(out, &stop),
            // There is no place for thoughts, and no tool was offered.
            Delta::Reasoning(_) | Delta::ToolCall(_) | Delta::Ignored(_) => {}
            Delta::Queued | Delta::Started | Delta::Retrying(_) => {}
            Delta::Calling(_) | Delta::Called(_) => {}
        }
    }

    fn fault(&mut self, fault: &Fault, out: &mut String) {
        event(out, None, &Shape::OpenAi.error(fault));
    }

    fn whole(&self, answer: &Answer) -> Value {
        let text = [self.head.echo.prefix.as_str(), &answer.text].concat();
        let finish = finish(answer.stop.as_ref().unwrap_or(&Stop::End));
        let mut whole = self.envelope(json!([choice(&text, Some(finish))]));
        whole["usage"] = usage(&answer.usage.unwrap_or_default());
        whole
    }
}
