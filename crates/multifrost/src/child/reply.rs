//! What a child makes of a message: an answer, a job, or nothing.

use std::sync::Arc;

use super::functions::{Failure, Function};
use super::{Ended, Running};
use crate::envelope::{Draft, Envelope, Id, Kind, Packet, heartbeat_metadata, now};
use crate::id;
use crate::msgpack::{self, EMPTY_ARRAY, Reader, Token};
use crate::socket::Link;
use crate::value::Value;

/// A call that can run.
#[derive(Debug)]
pub(super) struct Job {
    pub link: Arc<Link>,
    id: Vec<u8>,
    function: Function,
    args: Vec<u8>,
}

/// What is to be done about a message.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing: it is not for us.
    Ignore,
    /// This is the answer.
    Answer(Packet),
    /// A function is to run.
    Run(Job),
    /// This is the end.
    End,
}

impl Running {
    /// Judges a message, in the order that the libraries do: protocol, namespace, kind, call.
    pub(super) fn judge(&self, message: &[u8], link: &Arc<Link>) -> Step {
        let (Some(envelope), flaw) = Envelope::scan_all(message) else { return Step::Ignore };
        let is_ours = |packed| msgpack::text(packed) == Some(&self.namespace);
        if !envelope.namespace.is_none_or(is_ours) {
            return Step::Ignore;
        }
        match (envelope.kind, flaw) {
            (Some(Kind::Call), Some(_)) if envelope.id.is_none() => Step::Ignore,
            (Some(Kind::Call), Some(flaw)) => {
                Step::Answer(error(&envelope, &Failure::new("ValueError", flaw)))
            }
            (_, Some(_)) => Step::Ignore,
            (Some(Kind::Call), None) => match self.job(&envelope, link) {
                Ok(job) => Step::Run(job),
                Err(text) => Step::Answer(error_text(&envelope, &text)),
            },
            (Some(Kind::Heartbeat), None) => Step::Answer(heartbeat(&envelope)),
            (Some(Kind::Shutdown), None) => Step::End,
            _ => Step::Ignore,
        }
    }

    /// The function and its arguments, or what to say against the call. Whether a name is private
    /// is asked before whether there is one: what is private is nobody's to know.
    fn job(&self, call: &Envelope<'_>, link: &Arc<Link>) -> Result<Job, String> {
        let id = call.id.ok_or("Message missing 'id' field")?.to_vec();
        let name = call.function.ok_or("Message missing 'function' field")?;
        let name = msgpack::text(name).ok_or("TypeError: 'function' must be a string")?;
        if name.is_empty() {
            return Err("Message missing 'function' field".into());
        }
        if name.starts_with('_') {
            return Err(format!("Cannot call private method '{name}'"));
        }
        let function = self.functions.get(name);
        let function = function.ok_or_else(|| format!("Function '{name}' not found"))?;
        let args = call.args.unwrap_or(&[EMPTY_ARRAY]).to_vec();
        if !matches!(Reader::new(&args).token(), Ok(Token::Array(_))) {
            return Err("TypeError: 'args' must be an array".into());
        }
        Ok(Job { link: link.clone(), id, function, args })
    }

    /// Runs a job and says what to answer.
    pub(super) fn answer(&self, job: &Job) -> Packet {
        let draft = match job.function.run(&job.args, &self.tokio) {
            Ok(result) => Draft::new(Kind::Response, Id::Packed(&job.id)).packed("result", &result),
            Err(failure) => failed(&job.id, failure.text()),
        };
        let (bytes, max) = (draft.len(), self.message_bytes_max);
        if bytes <= max {
            return draft.finish();
        }
        let why = format!("ValueError: the answer has {bytes} bytes, {max} at most");
        failed(&job.id, &why).finish()
    }

    /// The end, because of a message.
    pub(super) fn shut_down(&self) {
        self.links.end(Ended::Shutdown);
    }
}

fn failed(id: &[u8], text: &str) -> Draft {
    Draft::new(Kind::Error, Id::Packed(id)).text("error", text)
}

fn error(call: &Envelope<'_>, failure: &Failure) -> Packet {
    error_text(call, failure.text())
}

/// A call without an id is answered under a fresh one: its sender may at least log it.
fn error_text(call: &Envelope<'_>, text: &str) -> Packet {
    match call.id {
        Some(id) => failed(id, text).finish(),
        None => Draft::new(Kind::Error, Id::Text(&id::fresh())).text("error", text).finish(),
    }
}

/// The same id, the time that was sent as a float, and a mark that it is the answer.
fn heartbeat(message: &Envelope<'_>) -> Packet {
    let metadata = message.metadata.and_then(|packed| Value::read(packed).ok());
    let sent = match metadata.as_ref().and_then(|it| it.get("hb_timestamp")) {
        Some(Value::F64(sent)) => *sent,
        Some(Value::F32(sent)) => (*sent).into(),
        Some(Value::Int(sent)) => *sent as f64,
        _ => now(),
    };
    let fresh = id::fresh();
    let id = message.id.map_or(Id::Text(&fresh), Id::Packed);
    let draft = Draft::new(Kind::Heartbeat, id);
    draft.packed("metadata", &heartbeat_metadata(sent, true)).finish()
}
