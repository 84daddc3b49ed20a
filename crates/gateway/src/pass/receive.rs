//! What comes back: read as far as it takes to know that it is an answer.

use super::gate::Gate;
use super::stream::fits;
use super::tail::count;
use super::{Declined, PassRequest};
use crate::call::{Deadline, from_now, late};
use crate::dialect::openai::cached_in_timings;
use crate::dialect::{in_stream, parse};
use crate::http::{Body, Incoming};
use crate::{Endpoint, Limits};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use tokio::time::{Instant, timeout_at};

/// Why an attempt brought nothing.
pub(super) enum Miss {
    /// A deadline of ours. The same server would be as slow again.
    Late(Fault),
    Declined(Declined),
}

impl<E: Into<Declined>> From<E> for Miss {
    fn from(declined: E) -> Miss {
        Miss::Declined(declined.into())
    }
}

/// An answer that has begun for real.
pub(super) struct Opened {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Begun,
}

pub(super) enum Begun {
    Whole(Bytes, Option<Usage>),
    /// What was held, and the rest where there is one.
    Stream(VecDeque<Bytes>, Option<Body>),
}

/// The deadline of an attempt, and whom it is for.
pub(super) struct Clock<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) limits: &'a Limits,
    pub(super) deadline: Deadline,
    pub(super) at: Instant,
}

impl Clock<'_> {
    pub(super) fn late(&self) -> Miss {
        Miss::Late(late(&self.endpoint.who(), self.limits, self.deadline))
    }

    async fn next(&self, body: &mut Body) -> Result<Option<Bytes>, Miss> {
        let next = timeout_at(self.at, body.next()).await.map_err(|_| self.late())?;
        Ok(next.transpose()?)
    }
}

/// Reads an answer until it is clear that it is one.
pub(super) async fn receive(
    incoming: Incoming,
    request: &PassRequest,
    clock: &Clock<'_>,
    total_at: Instant,
) -> Result<Opened, Miss> {
    let Incoming { status, headers, body } = incoming;
    let body = if request.head.stream {
        hold(body, Gate::new(request.dialect, &request.path), clock).await?
    } else {
        let bytes = whole(body, clock, total_at).await?;
        let usage = look(&bytes, request)?;
        Begun::Whole(bytes, usage)
    };
    Ok(Opened { status, headers, body })
}

/// Reads a stream up to its first word. What it holds until then is bounded by what the gate takes
/// for one event, and by the length of an answer.
async fn hold(mut body: Body, mut gate: Gate, clock: &Clock<'_>) -> Result<Begun, Miss> {
    let (mut held, mut heard) = (VecDeque::new(), 0);
    while let Some(bytes) = clock.next(&mut body).await? {
        heard += bytes.len();
        fits(heard, clock.limits, || clock.endpoint.who())?;
        let open = gate.feed(&bytes)?;
        held.push_back(bytes);
        if open {
            return Ok(Begun::Stream(held, Some(body)));
        }
    }
    gate.end()?;
    Ok(Begun::Stream(held, None))
}

/// Reads all of a body. Most come in one piece.
async fn whole(mut body: Body, clock: &Clock<'_>, total_at: Instant) -> Result<Bytes, Miss> {
    let Some(first) = clock.next(&mut body).await? else { return Ok(Bytes::new()) };
    let mut all = Pieces::One(first);
    // It has begun, so that there is no hurry any more.
    let total = Clock { deadline: Deadline::Total, at: total_at, ..*clock };
    loop {
        fits(all.len(), clock.limits, || clock.endpoint.who())?;
        let idle_at = from_now(clock.limits.idle);
        let idle = Clock { deadline: Deadline::Idle, at: idle_at, ..*clock };
        let clock = if idle_at < total_at { &idle } else { &total };
        match clock.next(&mut body).await? {
            Some(bytes) => all.push(&bytes),
            None => return Ok(all.join()),
        }
    }
}

/// Bytes that are joined; one piece alone is not copied.
pub(super) enum Pieces {
    One(Bytes),
    Many(BytesMut),
}

impl Pieces {
    pub(super) fn len(&self) -> usize {
        match self {
            Pieces::One(bytes) => bytes.len(),
            Pieces::Many(bytes) => bytes.len(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Pieces::One(first) = self {
            *self = Pieces::Many(BytesMut::from(&first[..]));
        }
        if let Pieces::Many(all) = self {
            all.extend_from_slice(bytes);
        }
    }

    pub(super) fn join(self) -> Bytes {
        match self {
            Pieces::One(bytes) => bytes,
            Pieces::Many(bytes) => bytes.freeze(),
        }
    }
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
}

/// A whole answer may be an error too, and be cut. What it counts is read on the way.
fn look(body: &[u8], request: &PassRequest) -> Result<Option<Usage>> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Fault::new(Kind::Upstream, "the answer is no text").source(error))?;
    let whole: Whole<'_> = parse(text)?;
    match whole.error {
        Some(error) => Err(in_stream(error)),
        None => {
            let usage = whole.usage.and_then(count(request.dialect));
            let cached = whole.timings.and_then(cached_in_timings).and_then(|it| it.cached);
            // The counts themselves know better.
            Ok(usage.map(|usage| Usage { cached: usage.cached.or(cached), ..usage }))
        }
    }
}
