//! What a child makes of a message: an answer, a job, or nothing.

use std::ops::Range;
use std::sync::Arc;

use super::functions::{Failure, Function};
use super::items::{Items, offer, offer_if, too_long};
use super::ticket::{Ticket, cancelled};
use super::{Ended, Running};
use crate::envelope::{Draft, Envelope, Id, Kind, Packet, heartbeat_metadata, now, range};
use crate::ext::{Notes, UNAUTHENTICATED};
use crate::id;
use crate::limits::WAITING_CALL_BYTES;
use crate::msgpack::{self, EMPTY_ARRAY, Reader, Token};
use crate::socket::Link;
use crate::token::Token as Secret;
use crate::value::Value;
use bytes::Bytes;

/// A call that can run.
#[derive(Debug)]
pub(super) struct Job {
    pub ticket: Arc<Ticket>,
    function: Function,
    /// What was read, and where its arguments are; they may be long, and are not copied.
    message: Bytes,
    args: Option<Range<usize>>,
}

impl Job {
    /// What it takes as long as it waits.
    pub(super) fn bytes(&self) -> usize {
        self.message.len() + WAITING_CALL_BYTES
    }

    fn args(&self) -> Bytes {
        let empty = Bytes::from_static(&[EMPTY_ARRAY]);
        self.args.clone().map_or(empty, |range| self.message.slice(range))
    }
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
    /// A call is not wanted any more.
    Cancel(Arc<Ticket>),
    /// A caller has taken so many items of its answer.
    Taken(Arc<Ticket>, u64),
}

impl Running {
    /// Judges a message, in the order that the libraries do: protocol, namespace, kind, call.
    pub(super) fn judge(&self, message: Vec<u8>, link: &Arc<Link>) -> Step {
        let mut step = self.scan(&message, link);
        if let Step::Run(job) = &mut step {
            job.message = message.into();
        }
        step
    }

    fn scan(&self, message: &[u8], link: &Arc<Link>) -> Step {
        let (Some(envelope), flaw) = Envelope::scan_all(message) else { return Step::Ignore };
        let is_ours = |packed| msgpack::text_bytes(packed) == Some(self.namespace.as_bytes());
        if !envelope.namespace.is_none_or(is_ours) {
            return Step::Ignore;
        }
        let notes = Notes::read(envelope.metadata);
        match (envelope.kind, flaw) {
            (Some(Kind::Call), _) if !self.lets_in(&notes) => {
                Step::Answer(refusal(&envelope, &notes, UNAUTHENTICATED))
            }
            (Some(Kind::Call), Some(_)) if envelope.id.is_none() => Step::Ignore,
            (Some(Kind::Call), Some(flaw)) => {
                let failure = Failure::ours("ValueError", flaw);
                Step::Answer(refusal(&envelope, &notes, failure.text()))
            }
            (_, Some(_)) => Step::Ignore,
            (Some(Kind::Call), None) => match self.job(message, &envelope, &notes, link) {
                Ok(job) => Step::Run(job),
                Err(text) => Step::Answer(refusal(&envelope, &notes, &text)),
            },
            (Some(Kind::Heartbeat), None) => Step::Answer(heartbeat(&envelope)),
            // Whoever spawned us ends us anyway, by ending the connection.
            (Some(Kind::Shutdown), None) if self.is_spawned || self.lets_in(&notes) => Step::End,
            (Some(Kind::Cancel), None) => {
                self.ticket(&envelope, link).map_or(Step::Ignore, Step::Cancel)
            }
            (Some(Kind::Stream), None) => match (self.ticket(&envelope, link), notes.taken) {
                (Some(ticket), Some(total)) => Step::Taken(ticket, total),
                _ => Step::Ignore,
            },
            _ => Step::Ignore,
        }
    }

    /// Whether a message has the token, where one is wanted.
    fn lets_in(&self, notes: &Notes<'_>) -> bool {
        let is_right = |token: &Secret| notes.token.is_some_and(|it| token.is(it));
        self.token.as_ref().is_none_or(is_right)
    }

    /// The call that a message is about.
    fn ticket(&self, message: &Envelope<'_>, link: &Arc<Link>) -> Option<Arc<Ticket>> {
        self.desk.find(link, message.id?)
    }

    /// The function and its arguments, or what to say against the call. Whether a name is private
    /// is asked before whether there is one: what is private is nobody's to know.
    fn job(
        &self,
        message: &[u8],
        call: &Envelope<'_>,
        notes: &Notes<'_>,
        link: &Arc<Link>,
    ) -> Result<Job, String> {
        let id = call.id.ok_or("Message missing 'id' field")?;
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
        let is_list = |args| matches!(Reader::new(args).token(), Ok(Token::Array(_)));
        if !call.args.is_none_or(is_list) {
            return Err("TypeError: 'args' must be an array".into());
        }
        let args = call.args.map(|args| range(args, message));
        let ticket = Arc::new(Ticket::new(link, id, notes));
        Ok(Job { ticket, function, message: Bytes::new(), args })
    }

    /// Runs a job and says what to answer; the items of a stream go before it.
    pub(super) fn answer(self: &Arc<Running>, job: &Job) -> Packet {
        let (ticket, max) = (&job.ticket, self.message_bytes_max);
        if ticket.is_cancelled() {
            return failed(ticket, &cancelled()).finish();
        }
        let mut items = Items::new(self, ticket);
        let draft = match job.function.run(job.args(), &self.tokio, ticket, &mut items) {
            Ok(Some(result)) => {
                let draft = Draft::new(Kind::Response, Id::Packed(&ticket.id));
                draft.notes(&offer(ticket)).long("result", &result)
            }
            Ok(None) => items.end(),
            Err(failure) => failed(ticket, &failure),
        };
        match draft.len() {
            bytes if bytes <= max => draft.finish(),
            bytes => failed(ticket, &too_long(bytes, max)).finish(),
        }
    }

    /// What is said to a call for which the system has no thread.
    pub(super) fn refuse(&self, ticket: &Ticket) -> Packet {
        failed(ticket, &Failure::ours("Busy", "the system starts no more threads")).finish()
    }

    /// The end, because of a message.
    pub(super) fn shut_down(&self) {
        self.links.end(Ended::Shutdown);
    }
}

fn failed(ticket: &Ticket, failure: &Failure) -> Draft {
    let draft = Draft::new(Kind::Error, Id::Packed(&ticket.id)).notes(&offer(ticket));
    draft.text("error", failure.text())
}

/// What is said against a call. One without an id is answered under a fresh one: its sender may at
/// least log it.
fn refusal(call: &Envelope<'_>, notes: &Notes<'_>, text: &str) -> Packet {
    let fresh = id::fresh();
    let draft = Draft::new(Kind::Error, call.id.map_or(Id::Text(&fresh), Id::Packed));
    draft.notes(&offer_if(notes.ext.is_some())).text("error", text).finish()
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
