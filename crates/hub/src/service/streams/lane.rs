//! The bulk lane: replies as JSON lines to a file descriptor of the client's. A slow reader slows
//! the model; one that closes its end cancels the reply.

use super::super::words::Received;
use super::CHUNKS_MAX;
use super::line::{Line, Taking};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use serde_json::{Value, json};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// What a client writes to its end means nothing and is read so that its leaving is seen.
const IGNORED_BYTES: usize = 256;

/// Opens the lane of `line` and gives the client's end, which blocks as pipes do.
pub(super) fn open(line: &Arc<Line>) -> Result<OwnedFd> {
    let taking = line.take_lane()?;
    let (ours, theirs) = pair().map_err(|error| {
        Fault::new(Kind::Busy, format!("no file descriptor can be opened: {error}")).source(error)
    })?;
    tokio::spawn(serve(taking, ours));
    Ok(theirs)
}

fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = Pair::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

/// Writes replies until the reader or the stream is gone. The stream outlives the lane.
async fn serve(taking: Taking, socket: UnixStream) {
    let line = &taking.0;
    let (from, to) = socket.into_split();
    let all = async {
        tokio::select! {
            () = gone(from) => {}
            // The reader is gone, or does not take it any more.
            _ = write(line, to) => {}
        }
    };
    if line.closed.run_until_cancelled(all).await.is_some() {
        line.cancel_reply();
    }
}

/// Returns when the client has closed its end.
async fn gone(mut from: OwnedReadHalf) {
    let mut ignored = [0; IGNORED_BYTES];
    while from.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
}

async fn write(line: &Line, mut to: OwnedWriteHalf) -> io::Result<()> {
    loop {
        let text = lines(line.next(CHUNKS_MAX).await);
        to.write_all(text.as_bytes()).await?;
    }
}

/// What `ReceiveStream` would give, one thing in a line.
fn lines(given: Result<Received>) -> String {
    let all = match given {
        Err(fault) => vec![json!({"error": error(&fault)})],
        Ok(Received { reasoning, chunks, tool_call, done, usage, answered_by }) => {
            let thought = (!reasoning.is_empty()).then(|| json!({"reasoning": reasoning}));
            let chunk = |text| json!({"chunk": {"role": "assistant", "content": text}});
            let call = tool_call.map(|call| {
                json!({"tool_call": {
                    "id": call.id, "name": call.name, "arguments_json": call.arguments,
                }})
            });
            let end = done.then(|| {
                let mut end = json!({"done": true});
                if let Some(usage) = usage {
                    end["usage"] = counted(&usage);
                }
                if let Some(target) = answered_by {
                    end["answered_by"] = target.into();
                }
                end
            });
            thought
                .into_iter()
                .chain(chunks.into_iter().map(chunk))
                .chain(call)
                .chain(end)
                .collect()
        }
    };
    all.iter().map(|line| format!("{line}\n")).collect()
}

fn error(fault: &Fault) -> Value {
    let mut error = json!({"code": fault.kind.name(), "message": fault.message});
    if let Some(wait) = fault.retry_after {
        error["retry_after_ms"] = json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    error
}

/// Only what the provider counted.
fn counted(usage: &Usage) -> Value {
    let total = usage.input.zip(usage.output).map(|(input, output)| input + output);
    let all = [
        ("prompt_tokens", usage.input),
        ("completion_tokens", usage.output),
        ("total_tokens", total),
    ];
    let known = all.into_iter().filter_map(|(name, count)| Some((name.to_string(), count?.into())));
    Value::Object(known.collect())
}
