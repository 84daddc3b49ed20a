//! A peer with a small handler, and the raw other end of its stream.

use althing_jsonrpc::{
    Cx, Ended, Error, Frame, Framing, Handler, Options, Peer, RawValue, Trouble, Value, connect,
};
use bytes::BytesMut;
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    sync::Notify,
    task::JoinHandle,
};

/// Bytes that a stream of these tests holds.
pub(crate) const STREAM_BYTES: usize = 64 << 10;

/// What a test sees of the handler.
#[derive(Default)]
pub(crate) struct Probe {
    /// Futures of `wait` that were dropped before their end.
    pub(crate) dropped: AtomicUsize,
    /// Lets every `wait` that runs go on.
    pub(crate) gate: Notify,
    /// How to stop the last `wait`.
    pub(crate) last: Mutex<Option<Cx>>,
    pub(crate) troubles: Mutex<Vec<String>>,
    /// Requests whose answer is on its way.
    pub(crate) answered: AtomicUsize,
}

/// The handler of all these tests; see `request` for its methods.
pub(crate) struct Small(pub(crate) Arc<Probe>);

impl Handler for Small {
    async fn request(&self, cx: Cx, method: &str, params: Box<RawValue>) -> Result<Value, Error> {
        let params: Value = serde_json::from_str(params.get()).map_err(Error::invalid_params)?;
        match method {
            "echo" => Ok(params),
            "fail" => Err(Error { data: Some(params), ..Error::new(-1, "no") }),
            "panic" => panic!("as asked for"),
            "count" => self.count(cx, params["to"].as_u64().unwrap_or(0)).await,
            "relay" => self.relay(cx, params["to"].as_u64().unwrap_or(0)).await,
            "ask" => {
                let answer = cx.peer().call("question", params).await;
                answer.map_err(|error| Error::of(error.kind(), error))
            }
            "wait" => self.wait(cx).await,
            _ => Err(Error::method_not_found(method)),
        }
    }

    fn answered(&self, _: &Peer) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }

    fn trouble(&self, _: &Peer, trouble: Trouble<'_>) {
        self.0.troubles.lock().expect("no panic").push(trouble.to_string());
    }
}

impl Small {
    /// Notifies, then answers.
    async fn count(&self, cx: Cx, to: u64) -> Result<Value, Error> {
        for tick in 0..to {
            cx.notify("tick", json!({ "tick": tick })).await.expect("the connection is open");
        }
        Ok(to.into())
    }

    /// The same, each notification by a task of its own that the next waits for.
    async fn relay(&self, cx: Cx, to: u64) -> Result<Value, Error> {
        for tick in 0..to {
            let peer = cx.peer().clone();
            let task = async move { peer.notify("tick", json!({ "tick": tick })).await };
            tokio::spawn(task).await.expect("no panic").expect("the connection is open");
        }
        Ok(to.into())
    }

    async fn wait(&self, cx: Cx) -> Result<Value, Error> {
        *self.0.last.lock().expect("no panic") = Some(cx);
        let guard = Guard(self.0.clone());
        self.0.gate.notified().await;
        std::mem::forget(guard);
        Ok("waited".into())
    }
}

struct Guard(Arc<Probe>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// A peer that runs, and the raw other end of its stream.
pub(crate) struct Bench {
    pub(crate) peer: Peer,
    pub(crate) probe: Arc<Probe>,
    pub(crate) driver: JoinHandle<Ended>,
    pub(crate) to: To,
    pub(crate) from: From,
}

pub(crate) fn bench(framing: impl Framing + Clone, options: Options) -> Bench {
    let (here, there) = duplex(STREAM_BYTES);
    let (reader, writer) = split(here);
    let probe = Arc::<Probe>::default();
    let small = Small(probe.clone());
    let (peer, driver) = connect(reader, writer, framing.clone(), small, options);
    let (reader, writer) = split(there);
    let to = To { writer, framing: Box::new(framing.clone()) };
    let from = From { reader, framing: Box::new(framing), buf: BytesMut::new() };
    Bench { peer, probe, driver: tokio::spawn(driver), to, from }
}

/// What goes to the peer.
pub(crate) struct To {
    pub(crate) writer: WriteHalf<DuplexStream>,
    framing: Box<dyn Framing>,
}

/// What comes from the peer.
pub(crate) struct From {
    reader: ReadHalf<DuplexStream>,
    framing: Box<dyn Framing>,
    buf: BytesMut,
}

impl To {
    /// Writes a frame; waits while the peer does not read.
    pub(crate) async fn send(&mut self, body: &str) {
        let mut wire = vec![];
        self.framing.encode(body, &mut wire);
        self.writer.write_all(&wire).await.expect("the peer is there");
    }

    /// Sends a request.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string()).await;
    }

    /// Says that nothing more comes.
    pub(crate) async fn end(&mut self) {
        self.writer.shutdown().await.expect("a stream in memory");
    }
}

impl From {
    /// The next body the peer wrote; `None` when it is gone.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            match self.framing.decode(&mut self.buf) {
                Some(Frame::Body(body)) => return Some(String::from_utf8_lossy(&body).into()),
                Some(other) => panic!("the peer wrote {other:?}"),
                None => {}
            }
            if self.reader.read_buf(&mut self.buf).await.expect("a stream in memory") == 0 {
                assert!(self.buf.is_empty(), "half a frame: {:?}", self.buf);
                return None;
            }
        }
    }
}

/// What a server says with `result` to `id`.
pub(crate) fn answer(id: u64, result: impl Into<Value>) -> Option<String> {
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, result.into()))
}
