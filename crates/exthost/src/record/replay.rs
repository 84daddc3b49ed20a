//! A recording played again, in the place of the extension.

use super::{From, Line};
use althing_jsonrpc::{ContentLength, Frame, Framing};
use bytes::BytesMut;
use serde_json::Value;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Where the host says something else than it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The line of the recording, from 0.
    pub line: usize,
    /// What the host said then.
    pub recorded: Value,
    /// What it says now; none if it ended.
    pub found: Option<Value>,
}

/// Says what the extension said, each time after the host has said as much as then, and compares
/// what it says. What differs from run to run by its nature (folders, names of windows) is told of
/// like all else.
pub async fn replay(
    lines: &[Line],
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<Vec<Difference>> {
    let mut framing = ContentLength::default();
    let mut buf = BytesMut::new();
    let mut differences = vec![];
    for (at, line) in lines.iter().enumerate() {
        if line.from == From::Extension {
            let mut wire = vec![];
            framing.encode(&line.message.to_string(), &mut wire);
            writer.write_all(&wire).await?;
            writer.flush().await?;
            continue;
        }
        let found = next(&mut framing, &mut reader, &mut buf).await?;
        if found.as_ref() != Some(&line.message) {
            let recorded = line.message.clone();
            let is_over = found.is_none();
            differences.push(Difference { line: at, recorded, found });
            if is_over {
                break;
            }
        }
    }
    Ok(differences)
}

async fn next(
    framing: &mut ContentLength,
    reader: &mut (impl AsyncRead + Unpin),
    buf: &mut BytesMut,
) -> io::Result<Option<Value>> {
    loop {
        while let Some(frame) = framing.decode(buf) {
            if let Frame::Body(body) = frame {
                return Ok(Some(serde_json::from_slice(&body).unwrap_or(Value::Null)));
            }
        }
        if reader.read_buf(buf).await? == 0 {
            return Ok(None);
        }
    }
}
