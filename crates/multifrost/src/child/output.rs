//! What functions print, sent to the parent. It is sent if there is room; output is never worth a
//! wait, and may be lost under load.

use std::io::{self, Write};
use std::sync::Arc;

use super::Links;
use super::ticket::Ticket;
use crate::envelope::{Draft, Id, Kind};
use crate::id;
use crate::limits::OUTPUT_LINE_BYTES_MAX;

#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    Out,
    Err,
}

/// Writes lines for the parent to print. A clone is a writer of its own.
#[derive(Debug)]
pub struct Printer {
    stream: Stream,
    links: Arc<Links>,
    line: Vec<u8>,
}

impl Printer {
    pub(super) fn new(stream: Stream, links: Arc<Links>) -> Printer {
        Printer { stream, links, line: Vec::new() }
    }

    fn send(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if text.is_empty() {
            return;
        }
        let kind = match self.stream {
            Stream::Out => Kind::Stdout,
            Stream::Err => Kind::Stderr,
        };
        let links = match Ticket::current() {
            Some(ticket) => vec![ticket.link.clone()],
            None => self.links.all(),
        };
        for link in links {
            let draft = Draft::new(kind, Id::Text(&id::fresh())).text("output", &text);
            // Best effort, as the protocol has it.
            let _ = link.try_send(draft.finish());
        }
    }
}

impl Clone for Printer {
    fn clone(&self) -> Printer {
        Printer::new(self.stream, self.links.clone())
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte == b'\n' {
                self.send();
                continue;
            }
            self.line.push(*byte);
            if self.line.len() == OUTPUT_LINE_BYTES_MAX {
                self.send();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send();
        Ok(())
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.send();
    }
}
