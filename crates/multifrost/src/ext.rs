//! What goes beyond the protocol. A CALL names in `metadata.ext` the extensions that its sender
//! knows, and whoever knows any answers with its own names. Nothing of an extension is sent to a
//! peer that has not named it, so old peers see a list in a field that they do not read.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::msgpack::{self, Reader};
use crate::unpack::whole;

/// What a call without the right token is told, where one is wanted.
pub(crate) const UNAUTHENTICATED: &str = "Authentication required";

/// Something that a peer may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Calls carry a token where the child wants one.
    Auth = 1,
    /// A call that nobody waits for any more is ended.
    Cancel = 2,
    /// An answer may come item by item.
    Stream = 4,
}

const NAMES: &[(Extension, &str)] =
    &[(Extension::Auth, "auth"), (Extension::Cancel, "cancel"), (Extension::Stream, "stream")];

/// Extensions that a peer has named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extensions(u8);

impl Extensions {
    /// Those of this crate.
    pub(crate) const ALL: Extensions =
        Extensions(Extension::Auth as u8 | Extension::Cancel as u8 | Extension::Stream as u8);

    pub(crate) fn has(self, extension: Extension) -> bool {
        self.0 & extension as u8 != 0
    }

    /// Names that we do not know are passed over; what is no list has none.
    fn read(packed: &[u8]) -> Extensions {
        let mut reader = Reader::new(packed);
        let Ok(msgpack::Token::Array(items)) = reader.token() else { return Extensions(0) };
        let names = (0..items).map_while(|_| reader.skip().ok()).filter_map(msgpack::text);
        let known = names.filter_map(|name| NAMES.iter().find(|(_, it)| *it == name));
        Extensions(known.fold(0, |all, (extension, _)| all | *extension as u8))
    }

    fn write(self, out: &mut Vec<u8>) {
        let named = || NAMES.iter().filter(|(extension, _)| self.has(*extension));
        msgpack::put_array(out, named().count());
        named().for_each(|(_, name)| msgpack::put_str(out, name));
    }
}

/// What `metadata` says about extensions; whatever else is there is others' business.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes<'a> {
    /// `ext`: what the sender knows, if it says so.
    pub ext: Option<Extensions>,
    /// `token`, in a CALL or SHUTDOWN.
    pub token: Option<&'a str>,
    /// `stream`, in a CALL whose answer is wanted item by item.
    pub is_stream: bool,
    /// `items`, in the RESPONSE that ends a stream: how many there were.
    pub items: Option<u64>,
    /// `taken`, in a STREAM to the child: how many items the caller has taken so far.
    pub taken: Option<u64>,
}

impl<'a> Notes<'a> {
    pub(crate) fn read(metadata: Option<&'a [u8]>) -> Notes<'a> {
        let mut notes = Notes::default();
        if let Some(packed) = metadata {
            // What is no map says nothing; what breaks off was refused with its message.
            let _ = notes.fill(packed);
        }
        notes
    }

    fn fill(&mut self, packed: &'a [u8]) -> Result<(), msgpack::Malformed> {
        let mut reader = Reader::new(packed);
        let msgpack::Token::Map(pairs) = reader.token()? else { return Ok(()) };
        for _ in 0..pairs {
            let (key, value) = (reader.key()?, reader.skip()?);
            match key {
                Some(b"ext") => self.ext = Some(Extensions::read(value)),
                Some(b"token") => self.token = msgpack::text(value),
                Some(b"stream") => self.is_stream = *value == [msgpack::TRUE],
                Some(b"items") => self.items = number(value),
                Some(b"taken") => self.taken = number(value),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Notes::default()
    }

    /// As `metadata`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let numbers = [("items", self.items), ("taken", self.taken)];
        let numbers = || numbers.iter().filter_map(|(key, it)| Some((key, (*it)?)));
        let pairs = usize::from(self.ext.is_some())
            + usize::from(self.token.is_some())
            + usize::from(self.is_stream)
            + numbers().count();
        msgpack::put_map(out, pairs);
        if let Some(extensions) = self.ext {
            msgpack::put_str(out, "ext");
            extensions.write(out);
        }
        if let Some(token) = self.token {
            msgpack::put_str(out, "token");
            msgpack::put_str(out, token);
        }
        if self.is_stream {
            msgpack::put_str(out, "stream");
            msgpack::put_bool(out, true);
        }
        for (key, number) in numbers() {
            msgpack::put_str(out, key);
            msgpack::put_u64(out, number);
        }
    }
}

fn number(packed: &[u8]) -> Option<u64> {
    match Reader::new(packed).token() {
        Ok(msgpack::Token::Int(number)) => u64::try_from(number).ok(),
        Ok(msgpack::Token::F64(number)) => u64::try_from(whole(number)?).ok(),
        _ => None,
    }
}

/// What the peer of a connection knows, once its first answer has told.
#[derive(Debug)]
pub(crate) struct Peer(AtomicU8);

/// No set of extensions.
const UNSETTLED: u8 = u8::MAX;

impl Default for Peer {
    fn default() -> Peer {
        Peer(AtomicU8::new(UNSETTLED))
    }
}

impl Peer {
    /// None before the first answer.
    pub(crate) fn known(&self) -> Option<Extensions> {
        Some(self.0.load(Ordering::SeqCst)).filter(|it| *it != UNSETTLED).map(Extensions)
    }

    pub(crate) fn has(&self, extension: Extension) -> bool {
        self.known().is_some_and(|known| known.has(extension))
    }

    /// An answer came with this `metadata`; the first one counts.
    pub(crate) fn settle(&self, metadata: Option<&[u8]>) {
        if self.known().is_none() {
            let known = Notes::read(metadata).ext.unwrap_or_default();
            self.0.store(known.0, Ordering::SeqCst);
        }
    }

    /// The next connection may be to somebody else.
    pub(crate) fn forget(&self) {
        self.0.store(UNSETTLED, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn written(notes: Notes<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        notes.write(&mut out);
        out
    }

    #[test]
    fn s38_notes_are_written_and_read() {
        let full = Notes {
            ext: Some(Extensions::ALL),
            token: Some("secret"),
            is_stream: true,
            items: Some(3),
            taken: Some(1 << 40),
        };
        assert_eq!(Notes::read(Some(&written(full))), full);
        assert!(Notes::default().is_empty() && !full.is_empty());
        let names = written(Notes { ext: Some(Extensions::ALL), ..Notes::default() });
        assert_eq!(names, b"\x81\xa3ext\x93\xa4auth\xa6cancel\xa6stream");
    }

    #[test]
    fn s4_4_metadata_of_others_says_nothing() {
        let metadata = |key: &'static str, value: Value<'static>| {
            let mut out = Vec::new();
            Value::Map(vec![(Value::Int(1), Value::Nil), (key.into(), value)]).write(&mut out);
            out
        };
        for (key, value) in [
            ("timestamp_sent", Value::F64(1.5)),
            ("token", Value::Int(5)),
            ("stream", Value::Int(1)),
            ("items", Value::Int(-1)),
            ("taken", "7".into()),
        ] {
            assert_eq!(Notes::read(Some(&metadata(key, value))), Notes::default(), "{key}");
        }
        for odd in [&b""[..], b"\x90", b"\xa1x", b"\x81\xa3ext"] {
            assert_eq!(Notes::read(Some(odd)), Notes::default());
        }
        let mixed = Value::Array(vec![Value::Int(1), "later".into(), "cancel".into()]);
        let mixed = metadata("ext", mixed);
        let named = Notes::read(Some(&mixed)).ext.unwrap();
        assert_eq!(named, Extensions(Extension::Cancel as u8));
        let none = metadata("ext", "cancel".into());
        assert_eq!(Notes::read(Some(&none)).ext, Some(Extensions(0)));
    }

    #[test]
    fn s38_the_first_answer_settles_what_a_peer_knows() {
        let peer = Peer::default();
        assert!(!peer.has(Extension::Cancel));
        peer.settle(None);
        let all = written(Notes { ext: Some(Extensions::ALL), ..Notes::default() });
        peer.settle(Some(&all));
        assert_eq!(peer.known(), Some(Extensions(0)));
        peer.forget();
        peer.settle(Some(&all));
        assert!(peer.has(Extension::Auth) && peer.has(Extension::Stream));
    }
}
