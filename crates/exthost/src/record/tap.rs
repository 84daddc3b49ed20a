//! A framing that records what passes through it.

use super::{From, Line, Recorder};
use althing_jsonrpc::{ContentLength, Frame, Framing};
use bytes::BytesMut;
use tokio::time::Instant;

#[derive(Clone)]
pub(crate) struct Tap {
    pub(crate) framing: ContentLength,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) extension: String,
    pub(crate) started: Instant,
}

impl Tap {
    fn record(&self, from: From, body: &[u8]) {
        let Some(recorder) = &self.recorder else { return };
        let message = serde_json::from_slice(body)
            .unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into());
        let at_ms = self.started.elapsed().as_millis() as u64;
        recorder(&Line { at_ms, extension: self.extension.clone(), from, message });
    }

    fn heard(&self, frame: Option<Frame>) -> Option<Frame> {
        if let Some(Frame::Body(body)) = &frame {
            self.record(From::Extension, body);
        }
        frame
    }
}

impl Framing for Tap {
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        let frame = self.framing.decode(buf);
        self.heard(frame)
    }

    fn finish(&mut self, buf: &mut BytesMut) -> Option<Frame> {
        let frame = self.framing.finish(buf);
        self.heard(frame)
    }

    fn wants(&self, buf: &BytesMut) -> usize {
        self.framing.wants(buf)
    }

    fn encode(&self, body: &str, out: &mut Vec<u8>) {
        self.record(From::Host, body.as_bytes());
        self.framing.encode(body, out);
    }
}
