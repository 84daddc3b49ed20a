//! What the readers of all dialects share: bytes to events, the order of an answer, and its end.

use super::Reader;
use crate::framing::{Events, Framing};
use althing_chat::{Delta, Stop, ToolCall, Usage};
use althing_stdx::{Fault, Kind, Result};
use serde::de::{Deserialize, IgnoredAny};
use std::mem;

/// What a dialect makes of its events. A whole answer is a stream of one event.
pub(super) trait Parser: Send {
    fn event(&mut self, event: &str, out: &mut Out) -> Result<()>;
    /// The body ended and no `Stop` was said: says what is left, or that the answer was cut.
    fn end(&mut self, out: &mut Out) -> Result<()>;
}

/// What was understood so far.
#[derive(Default)]
pub(super) struct Out {
    said: Vec<Result<Delta>>,
    usage: Usage,
    calls: usize,
    stopped: bool,
}

impl Out {
    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.said.push(Ok(Delta::Text(text)));
        }
    }

    pub(super) fn reasoning(&mut self, text: String) {
        if !text.is_empty() {
            self.said.push(Ok(Delta::Reasoning(text)));
        }
    }

    /// A whole call. Servers that give calls no id get `call_0`, `call_1`, ….
    pub(super) fn call(&mut self, id: String, name: String, arguments: String) {
        self.signed_call(id, name, arguments, None);
    }

    /// A whole call with what the provider wants back beside it.
    pub(super) fn signed_call(
        &mut self,
        id: String,
        name: String,
        arguments: String,
        signature: Option<String>,
    ) {
        let id = if id.is_empty() { format!("call_{}", self.calls) } else { id };
        let arguments = if arguments.trim().is_empty() { "{}".into() } else { arguments };
        self.calls += 1;
        self.said.push(Ok(Delta::ToolCall(ToolCall { id, name, arguments, signature })));
    }

    /// Counts so far; said only where they tell something new.
    pub(super) fn usage(&mut self, later: Usage) {
        let mut usage = self.usage;
        usage.update(later);
        if usage != self.usage {
            self.usage = usage;
            self.said.push(Ok(Delta::Usage(usage)));
        }
    }

    /// The end. Many servers write `stop` behind tool calls: the model still waits for results.
    pub(super) fn stop(&mut self, stop: Stop) {
        let waits = stop == Stop::End && self.calls > 0;
        self.said.push(Ok(Delta::Stop(if waits { Stop::ToolCalls } else { stop })));
        self.stopped = true;
    }
}

/// A dialect's reader: framing before, parser behind.
pub(super) struct Body<P> {
    events: Events,
    parser: P,
    out: Out,
    over: bool,
}

/// The reader of a dialect with parser `P`.
pub(super) fn reader<P: Parser + Default + 'static>(framing: Framing) -> Box<dyn Reader> {
    let (parser, out) = (P::default(), Out::default());
    Box::new(Body { events: Events::new(framing), parser, out, over: false })
}

impl<P: Parser> Reader for Body<P> {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Result<Delta>> {
        if self.over {
            return vec![];
        }
        let Body { events, parser, out, .. } = self;
        let result =
            events.feed(bytes, |event| if out.stopped { Ok(()) } else { parser.event(event, out) });
        self.deliver(result)
    }

    fn end(&mut self) -> Vec<Result<Delta>> {
        if self.over {
            return vec![];
        }
        let result = match self.events.framing() {
            Framing::Whole => self.end_whole(),
            Framing::Sse | Framing::Ndjson => self.end_stream(),
        };
        let said = self.deliver(result);
        self.over = true;
        said
    }
}

impl<P: Parser> Body<P> {
    fn end_stream(&mut self) -> Result<()> {
        let rest = self.events.rest()?;
        if parse::<IgnoredAny>(&rest).is_ok() {
            self.parser.event(&rest, &mut self.out)?;
        }
        if self.out.stopped { Ok(()) } else { self.parser.end(&mut self.out) }
    }

    fn end_whole(&mut self) -> Result<()> {
        let body = self.events.rest()?;
        match body.trim_start().chars().next() {
            None => return Err(Fault::new(Kind::Upstream, "the provider's answer is empty")),
            Some('<') => {
                let text = "the provider answered with a web page: the address may be wrong";
                return Err(Fault::new(Kind::Upstream, text));
            }
            Some(_) => self.parser.event(&body, &mut self.out)?,
        }
        if self.out.stopped {
            return Ok(());
        }
        let unknown = |fault| garbled("no answer in it").source(fault);
        self.parser.end(&mut self.out).map_err(unknown)
    }

    /// What was understood since the last time. Nothing comes after the stop or the first error.
    fn deliver(&mut self, result: Result<()>) -> Vec<Result<Delta>> {
        let mut said = mem::take(&mut self.out.said);
        self.over = self.out.stopped;
        if let Err(fault) = result
            && !self.over
        {
            said.push(Err(fault));
            self.over = true;
        }
        said
    }
}

/// The event as a `T`. JSON that ends in the middle was cut on its way.
pub(crate) fn parse<'a, T: Deserialize<'a>>(event: &'a str) -> Result<T> {
    serde_json::from_str(event)
        .map_err(|error| if error.is_eof() { cut().source(error) } else { garbled(error) })
}

/// The stream ended before its own end mark.
pub(crate) fn cut() -> Fault {
    Fault::new(Kind::Network, "the answer broke off")
}

fn garbled(source: impl std::fmt::Display) -> Fault {
    Fault::new(Kind::Upstream, "the provider's answer cannot be understood").source(source)
}
