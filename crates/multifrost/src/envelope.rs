//! The map that every message is. It is scanned, not unpacked: arguments and results stay packed
//! until somebody wants them, and ids are sent back as they came.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::ext::Notes;
use crate::msgpack::{self, Malformed, Reader, Token};
use crate::zmtp;
use bytes::Bytes;

/// What every message of this protocol says in `app`.
pub const APP: &str = "comlink_ipc_v4";
/// The namespace where none is named.
pub const NAMESPACE: &str = "default";

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function shall run.
    Call,
    /// What it gave.
    Response,
    /// Why it failed.
    Error,
    /// Something it printed.
    Stdout,
    /// Something it printed as an error.
    Stderr,
    /// A sign of life, and the answer to it.
    Heartbeat,
    /// The child shall end.
    Shutdown,
    /// A call need not be answered any more. An extension.
    Cancel,
    /// An item of an answer, and that items were taken. An extension.
    Stream,
}

/// In the order of the enum.
const KINDS: &[(Kind, &str)] = &[
    (Kind::Call, "call"),
    (Kind::Response, "response"),
    (Kind::Error, "error"),
    (Kind::Stdout, "stdout"),
    (Kind::Stderr, "stderr"),
    (Kind::Heartbeat, "heartbeat"),
    (Kind::Shutdown, "shutdown"),
    (Kind::Cancel, "cancel"),
    (Kind::Stream, "stream"),
];

impl Kind {
    fn name(self) -> &'static str {
        KINDS[self as usize].1
    }
}

/// A message with its fields still packed; a field that is nil is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// None for a kind that we do not know.
    pub kind: Option<Kind>,
    /// Any value but nil and the empty text.
    pub id: Option<&'a [u8]>,
    /// CALL: the name of the function.
    pub function: Option<&'a [u8]>,
    /// CALL: its arguments.
    pub args: Option<&'a [u8]>,
    /// CALL: whom it is for.
    pub namespace: Option<&'a [u8]>,
    /// CALL: who calls; `clientName` is the same.
    pub client_name: Option<&'a [u8]>,
    /// RESPONSE and STREAM: what the function gave.
    pub result: Option<&'a [u8]>,
    /// ERROR: what went wrong.
    pub error: Option<&'a [u8]>,
    /// STDOUT and STDERR: what was printed.
    pub output: Option<&'a [u8]>,
    /// Whatever else is to be said.
    pub metadata: Option<&'a [u8]>,
}

impl<'a> Envelope<'a> {
    /// Scans a message. It is an error if it is no msgpack map or not of this protocol.
    pub fn scan(bytes: &'a [u8]) -> Result<Envelope<'a>, Malformed> {
        match Envelope::scan_all(bytes) {
            (Some(envelope), None) => Ok(envelope),
            (_, Some(flaw)) => Err(flaw),
            (None, None) => Err(Malformed("not of this protocol")),
        }
    }

    /// A message if it is of this protocol, and what is wrong with it; then the fields before the
    /// flaw are there: whoever sent a value that we cannot read may be told so.
    pub(crate) fn scan_all(bytes: &'a [u8]) -> (Option<Envelope<'a>>, Option<Malformed>) {
        let (mut envelope, mut app) = (Envelope::default(), None);
        let flaw = envelope.fill(bytes, &mut app).err();
        envelope.id = envelope.id.filter(|id| msgpack::text_bytes(id) != Some(b""));
        (Some(envelope).filter(|_| app == Some(APP.as_bytes())), flaw)
    }

    fn fill(&mut self, bytes: &'a [u8], app: &mut Option<&'a [u8]>) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        let Token::Map(pairs) = reader.token()? else { return Err(Malformed("not a map")) };
        for _ in 0..pairs {
            let key = reader.key()?;
            let value = Some(reader.skip()?).filter(|it| **it != [msgpack::NIL]);
            match key {
                Some(b"app") => *app = value.and_then(msgpack::text_bytes),
                Some(b"type") => self.kind = value.and_then(kind),
                Some(name) => {
                    if let Some(field) = self.field(name) {
                        *field = value;
                    }
                }
                // A key that is no text is a field that we do not know.
                None => {}
            }
        }
        if reader.is_empty() { Ok(()) } else { Err(Malformed("bytes after the message")) }
    }

    fn field(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
        Some(match name {
            b"id" => &mut self.id,
            b"function" => &mut self.function,
            b"args" => &mut self.args,
            b"namespace" => &mut self.namespace,
            b"client_name" | b"clientName" => &mut self.client_name,
            b"result" => &mut self.result,
            b"error" => &mut self.error,
            b"output" => &mut self.output,
            b"metadata" => &mut self.metadata,
            _ => return None,
        })
    }
}

/// Where in a message a field of it is.
pub(crate) fn range(field: &[u8], message: &[u8]) -> Range<usize> {
    let start = field.as_ptr().addr() - message.as_ptr().addr();
    start..start + field.len()
}

fn kind(packed: &[u8]) -> Option<Kind> {
    let name = msgpack::text_bytes(packed)?;
    KINDS.iter().find(|(_, it)| it.as_bytes() == name).map(|(kind, _)| *kind)
}

/// A message that is being written, with room for its framing in front.
#[derive(Debug)]
pub(crate) struct Draft {
    bytes: Vec<u8>,
    fields: u8,
    long: Option<Long>,
}

/// A value that is too long to be copied, and before which of the other bytes it belongs.
#[derive(Debug)]
struct Long {
    value: Bytes,
    at: usize,
}

/// Room for the framing and for the head of the map, and what every message begins with.
const BEGIN: &[u8; zmtp::HEAD_ROOM + 20] = b"\0\0\0\0\0\0\0\0\0\0\0\0\xa3app\xaecomlink_ipc_v4";

/// What most messages have room in.
const DRAFT_BYTES: usize = 384;
/// A value that is longer is sent from where it is.
const COPY_BYTES_MAX: usize = 32 << 10;

/// A message as it goes over the wire, framing included.
#[derive(Debug)]
pub(crate) struct Packet {
    bytes: Vec<u8>,
    long: Option<Long>,
    /// What of it all is not to be sent, or is sent already.
    start: usize,
}

impl Packet {
    /// Bytes that are sent as they are.
    pub(crate) fn raw(bytes: Vec<u8>) -> Packet {
        Packet { bytes, long: None, start: 0 }
    }

    /// What is still to be sent, one after the other.
    pub(crate) fn rest(&self) -> [&[u8]; 3] {
        let (value, at) = match &self.long {
            Some(long) => (&long.value[..], long.at),
            None => (&[][..], self.bytes.len()),
        };
        let (before, after) = self.bytes.split_at(at);
        let mut skipped = self.start;
        [before, value, after].map(|part| {
            let rest = &part[skipped.min(part.len())..];
            skipped -= part.len() - rest.len();
            rest
        })
    }

    /// Whether it is long and nothing of it is sent.
    pub(crate) fn is_long_whole(&self) -> bool {
        self.long.is_some() && self.start == 0
    }

    /// How much that is.
    pub(crate) fn len(&self) -> usize {
        let long = self.long.as_ref().map_or(0, |long| long.value.len());
        self.bytes.len() + long - self.start
    }

    /// Its memory, empty.
    pub(crate) fn into_room(mut self) -> Vec<u8> {
        self.bytes.clear();
        self.bytes
    }

    /// Some of its bytes are sent.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.start += bytes;
    }
}

impl Draft {
    /// The fields that every message has, in the order that the libraries write them in.
    pub(crate) fn new(kind: Kind, id: Id<'_>) -> Draft {
        let mut bytes = Vec::with_capacity(DRAFT_BYTES);
        bytes.extend_from_slice(BEGIN);
        let draft = Draft { bytes, fields: 1, long: None };
        let draft = match id {
            Id::Text(id) => draft.text("id", id),
            Id::Packed(id) => draft.packed("id", id),
        };
        draft.text("type", kind.name()).number("timestamp", now())
    }

    #[inline]
    pub(crate) fn text(mut self, key: &str, value: &str) -> Draft {
        self.key(key);
        msgpack::put_str(&mut self.bytes, value);
        self
    }

    pub(crate) fn packed(mut self, key: &str, value: &[u8]) -> Draft {
        self.key(key);
        self.bytes.extend_from_slice(value);
        self
    }

    /// As [`Draft::packed`]; one value of a message may be long.
    pub(crate) fn long(mut self, key: &str, value: &Bytes) -> Draft {
        if value.len() <= COPY_BYTES_MAX {
            return self.packed(key, value);
        }
        self.key(key);
        self.long = Some(Long { value: value.clone(), at: self.bytes.len() });
        self
    }

    /// What there is to say about extensions, if anything.
    pub(crate) fn notes(mut self, notes: &Notes<'_>) -> Draft {
        if !notes.is_empty() {
            self.key("metadata");
            notes.write(&mut self.bytes);
        }
        self
    }

    fn number(mut self, key: &str, value: f64) -> Draft {
        self.key(key);
        msgpack::put_f64(&mut self.bytes, value);
        self
    }

    #[inline]
    fn key(&mut self, key: &str) {
        self.fields += 1;
        msgpack::put_str(&mut self.bytes, key);
    }

    /// How long the message is.
    pub(crate) fn len(&self) -> usize {
        let long = self.long.as_ref().map_or(0, |long| long.value.len());
        self.bytes.len() - zmtp::HEAD_ROOM + long
    }

    /// Nothing is added any more.
    pub(crate) fn finish(mut self) -> Packet {
        // No message of ours has more than fifteen fields.
        self.bytes[zmtp::HEAD_ROOM] = 0x80 | self.fields;
        let length = self.len();
        let start = zmtp::frame(&mut self.bytes, length);
        Packet { bytes: self.bytes, long: self.long, start }
    }

    /// The message without its framing.
    #[cfg(test)]
    pub(crate) fn payload(self) -> Vec<u8> {
        let wire = self.finish();
        let head = zmtp::HEAD_ROOM - wire.start;
        wire.rest().concat().split_off(head)
    }
}

/// The id of a message that is being written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Id<'a> {
    Text(&'a str),
    Packed(&'a [u8]),
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// `{hb_timestamp, hb_response}` packed, as the libraries write them.
pub(crate) fn heartbeat_metadata(timestamp: f64, is_response: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    msgpack::put_map(&mut out, 1 + usize::from(is_response));
    msgpack::put_str(&mut out, "hb_timestamp");
    msgpack::put_f64(&mut out, timestamp);
    if is_response {
        msgpack::put_str(&mut out, "hb_response");
        msgpack::put_bool(&mut out, true);
    }
    out
}
