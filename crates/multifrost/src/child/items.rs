//! Where the items of a stream go: to a caller that takes them one by one, or into a list for one
//! that knows nothing of streams.

use std::sync::Arc;

use super::Running;
use super::functions::Failure;
use super::ticket::{Ticket, cancelled, gone};
use crate::envelope::{Draft, Id, Kind};
use crate::ext::{Extensions, Notes};
use crate::msgpack;

pub(super) struct Items<'a> {
    child: &'a Arc<Running>,
    ticket: &'a Arc<Ticket>,
    message_bytes_max: usize,
    count: u64,
    /// The items so far, where they are collected.
    list: Vec<u8>,
}

impl<'a> Items<'a> {
    pub(super) fn new(child: &'a Arc<Running>, ticket: &'a Arc<Ticket>) -> Items<'a> {
        let message_bytes_max = child.message_bytes_max;
        Items { child, ticket, message_bytes_max, count: 0, list: Vec::new() }
    }

    /// One more item; an error ends the stream.
    pub(super) fn add(&mut self, item: &[u8]) -> Result<(), Failure> {
        if self.ticket.is_cancelled() {
            return Err(cancelled());
        }
        self.count += 1;
        if self.ticket.is_stream { self.send(item) } else { self.collect(item) }
    }

    fn send(&self, item: &[u8]) -> Result<(), Failure> {
        let ticket = self.ticket;
        if !ticket.has_room()? {
            self.child.wait_aside(ticket, || ticket.wait_for_room())?;
        }
        let draft = Draft::new(Kind::Stream, Id::Packed(&ticket.id)).packed("result", item);
        if draft.len() > self.message_bytes_max {
            return Err(too_long(draft.len(), self.message_bytes_max));
        }
        ticket.sent(item.len());
        ticket.link.post(draft.finish()).map_err(|_| gone())
    }

    /// A stream without an end stops here too.
    fn collect(&mut self, item: &[u8]) -> Result<(), Failure> {
        let bytes = self.list.len() + item.len();
        if bytes > self.message_bytes_max {
            return Err(too_long(bytes, self.message_bytes_max));
        }
        self.list.extend_from_slice(item);
        Ok(())
    }

    /// The answer after the last item.
    pub(super) fn end(self) -> Draft {
        let draft = Draft::new(Kind::Response, Id::Packed(&self.ticket.id));
        if self.ticket.is_stream {
            let ext = Some(Extensions::ALL);
            let notes = Notes { ext, items: Some(self.count), ..Notes::default() };
            return draft.notes(&notes).packed("result", &[msgpack::NIL]);
        }
        let mut list = Vec::with_capacity(self.list.len() + 5);
        msgpack::put_array(&mut list, usize::try_from(self.count).unwrap_or(usize::MAX));
        list.extend_from_slice(&self.list);
        draft.notes(&offer(self.ticket)).packed("result", &list)
    }
}

/// A call that named extensions is answered with ours.
pub(super) fn offer(ticket: &Ticket) -> Notes<'static> {
    offer_if(ticket.is_offered)
}

pub(super) fn offer_if(is_offered: bool) -> Notes<'static> {
    Notes { ext: is_offered.then_some(Extensions::ALL), ..Notes::default() }
}

pub(super) fn too_long(bytes: usize, max: usize) -> Failure {
    Failure::ours("ValueError", format!("the answer has {bytes} bytes, {max} at most"))
}
