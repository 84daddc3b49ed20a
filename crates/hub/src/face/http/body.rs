//! The body of a request: all of it, not too long, and not too slowly.

use super::Limits;
use althing_stdx::{Fault, Result};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::timeout;

/// Of a body that is too long so many times the limit is read and thrown away: a client that is
/// still sending does not read the answer.
const DRAINED_TIMES_MAX: u64 = 2;

/// Reads a body to its end.
pub(super) async fn read<B>(body: B, limits: &Limits) -> Result<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
{
    match timeout(limits.body, collect(body, limits.body_bytes_max)).await {
        Ok(done) => done,
        Err(_) => {
            let seconds = limits.body.as_secs();
            Err(Fault::invalid(format!("the body took more than {seconds} s")).status(408))
        }
    }
}

async fn collect<B: Body<Data = Bytes> + Unpin>(mut body: B, most: usize) -> Result<Bytes> {
    let drained_max = most as u64 * DRAINED_TIMES_MAX;
    if body.size_hint().lower() > drained_max {
        return Err(too_long(most));
    }
    let (mut first, mut more, mut length) = (Bytes::new(), BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Fault::invalid("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len() as u64;
        match length {
            _ if length > drained_max => return Err(too_long(most)),
            _ if length > most as u64 => more.clear(),
            // Most bodies come in one piece, which is not copied.
            _ if first.is_empty() => first = data,
            _ => {
                if more.is_empty() {
                    more.extend_from_slice(&first);
                }
                more.extend_from_slice(&data);
            }
        }
    }
    match length > most as u64 {
        true => Err(too_long(most)),
        false if more.is_empty() => Ok(first),
        false => Ok(more.freeze()),
    }
}

fn too_long(most: usize) -> Fault {
    Fault::invalid(format!("the body is too long: at most {most} bytes")).status(413)
}
