//! A request on its way along its targets: the lane, the attempts, the deadlines and what comes
//! back.

use super::gate::Gate;
use super::stream::{Flow, fits};
use super::tail::{Tail, count};
use super::{Declined, PassRequest, Passed, Passing, Streaming};
use crate::access::{self, Wanted};
use crate::call::{Deadline, from_now, late};
use crate::dialect::{anthropic, in_stream, parse};
use crate::exchange::scrub;
use crate::http::{Body, Incoming};
use crate::route::{Line, Turn, rule};
use crate::{Endpoint, Gateway, Limits, Target, retry, split_effort};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Why an attempt brought nothing.
enum Miss {
    /// A deadline of ours. The same server would be as slow again.
    Late(Fault),
    Declined(Declined),
}

impl<E: Into<Declined>> From<E> for Miss {
    fn from(declined: E) -> Miss {
        Miss::Declined(declined.into())
    }
}

/// A request under way.
struct Relay<'a> {
    gateway: &'a Gateway,
    request: &'a PassRequest,
    /// Attempts that failed so far.
    failed: u32,
    /// Time targets had so far, without their lines.
    spent: Duration,
}

/// A server's place in time.
struct Stay {
    permit: OwnedSemaphorePermit,
    begun: Instant,
    total_at: Instant,
    limits: Limits,
}

/// From target to target, as routes do it.
pub(super) async fn pass(
    gateway: &Gateway,
    targets: &[Target],
    request: PassRequest,
    affinity: Option<u64>,
) -> Result<Passed, Declined> {
    let dialect = request.dialect.name;
    let speaks = |target: &&Target| target.endpoint.provider.dialect.name == dialect;
    let targets: Vec<Target> = targets.iter().filter(speaks).cloned().collect();
    let mut line = Line::new(&gateway.board, targets, affinity);
    let mut relay = Relay { gateway, request: &request, failed: 0, spent: Duration::ZERO };
    let Some(mut turn) = line.next() else {
        let none = format!("model: no target of {} speaks {dialect}", request.head.model);
        return Err(if line.is_empty() { Fault::invalid(none) } else { line.resting() }.into());
    };
    loop {
        let declined = match relay.at(turn).await {
            Ok(passed) => return Ok(passed),
            Err(declined) => declined,
        };
        let may_go_on = rule(&declined.fault).falls_back && relay.spent < gateway.limits.total;
        match may_go_on.then(|| line.next()).flatten() {
            Some(next) => turn = next,
            None => return Err(declined),
        }
    }
}

impl Relay<'_> {
    /// One target: its lane, its attempts, and what its failure means for it.
    async fn at(&mut self, mut turn: Turn) -> Result<Passed, Declined> {
        let endpoint = turn.target.endpoint.clone();
        let wanted = wanted(self.request, &turn.target)?;
        let lane = self.gateway.lane(&endpoint);
        let permit = lane.acquire_owned().await.map_err(Fault::internal)?;
        let total = self.gateway.limits.total.saturating_sub(self.spent);
        let attempts_max = if turn.last { self.gateway.limits.attempts_max } else { 1 };
        let limits = Limits { total, attempts_max, ..self.gateway.limits };
        let stay = Stay { permit, begun: Instant::now(), total_at: from_now(total), limits };
        let begun = stay.begun;
        let opened = self.attempts(&mut turn, &endpoint, &wanted, &stay).await;
        self.spent += begun.elapsed();
        match opened {
            Ok(opened) => {
                turn.trial.answered();
                Ok(self.passed(opened, turn, stay))
            }
            Err(mut declined) => {
                declined.fault = scrub(&endpoint, declined.fault);
                turn.trial.failed(&declined.fault);
                Err(declined)
            }
        }
    }

    async fn attempts(
        &mut self,
        turn: &mut Turn,
        endpoint: &Endpoint,
        wanted: &Wanted,
        stay: &Stay,
    ) -> Result<Opened, Declined> {
        // Bounded by the pause, which there is only before `attempts_max`.
        for attempt in 1.. {
            let declined = match self.once(endpoint, wanted, stay).await {
                Ok(opened) => return Ok(opened),
                Err(Miss::Late(fault)) => {
                    self.failed += 1;
                    return Err(fault.into());
                }
                Err(Miss::Declined(declined)) => declined,
            };
            self.failed += 1;
            let max = stay.limits.attempts_max;
            let pause = retry::pause(&declined.fault, attempt, max, fastrand::f64());
            let until = pause.map(|pause| Instant::now() + pause);
            let Some(until) = until.filter(|until| *until < stay.total_at) else {
                return Err(declined);
            };
            turn.trial.stumbled(&declined.fault);
            sleep_until(until).await;
        }
        Err(Fault::internal("attempts have an end").into())
    }

    async fn once(
        &self,
        endpoint: &Endpoint,
        wanted: &Wanted,
        stay: &Stay,
    ) -> Result<Opened, Miss> {
        let first_at = from_now(stay.limits.first_token);
        let stream = self.request.head.stream;
        let (deadline, at) = match stream && first_at < stay.total_at {
            true => (Deadline::FirstToken, first_at),
            false => (Deadline::Total, stay.total_at),
        };
        let clock = Clock { endpoint, limits: &stay.limits, deadline, at };
        let asked = access::ask(&self.gateway.http, endpoint, wanted);
        let incoming = timeout_at(at, asked).await.map_err(|_| clock.late())??;
        let Incoming { status, headers, body } = incoming;
        let body = if stream {
            hold(body, Gate::new(self.request.dialect, &self.request.path), &clock).await?
        } else {
            whole(body, &clock, stay.total_at).await?
        };
        let mut opened = Opened { status, headers, body };
        if let Begun::Whole(bytes, usage) = &mut opened.body {
            *usage = look(bytes, self.request)?;
        }
        Ok(opened)
    }

    fn passed(&self, opened: Opened, turn: Turn, stay: Stay) -> Passed {
        let Opened { status, headers, body } = opened;
        let target = turn.target.clone();
        let body = match body {
            Begun::Whole(bytes, usage) => Passing::Whole(bytes, usage),
            Begun::Stream { held, body, heard } => {
                let Stay { permit, total_at, limits, .. } = stay;
                let (tail, alarm) =
                    (Tail::new(self.request.dialect), Flow::alarm(&limits, total_at));
                let flow = Flow { body, turn, tail, limits, total_at, heard, permit, alarm };
                Passing::Stream(Box::new(Streaming::new(held, flow)))
            }
        };
        Passed { status, headers, target, failed: self.failed, body }
    }
}

/// The request as the target gets it.
fn wanted(request: &PassRequest, target: &Target) -> Result<Wanted> {
    let (name, _) = split_effort(&target.model);
    let body = request.head.splice(&request.body, name)?;
    let mut headers = request.headers.clone();
    let path = if request.dialect.name != anthropic::ANTHROPIC.name {
        request.path.clone().into_owned()
    } else {
        let (version, value) = anthropic::VERSION;
        if headers.iter().all(|(name, _)| *name != version) {
            headers.push((version, value.to_string()));
        }
        // Its base URL is the server itself.
        format!("/v1{}", request.path)
    };
    Ok(Wanted { path, headers, body: Some(body) })
}

/// An answer that has begun for real.
struct Opened {
    status: u16,
    headers: hyper::HeaderMap,
    body: Begun,
}

enum Begun {
    Whole(Bytes, Option<Usage>),
    Stream { held: VecDeque<Bytes>, body: Option<Body>, heard: usize },
}

/// The deadline of an attempt, and whom it is for.
struct Clock<'a> {
    endpoint: &'a Endpoint,
    limits: &'a Limits,
    deadline: Deadline,
    at: Instant,
}

impl Clock<'_> {
    fn late(&self) -> Miss {
        Miss::Late(late(&self.endpoint.who(), self.limits, self.deadline))
    }

    async fn next(&self, body: &mut Body) -> Result<Option<Bytes>, Miss> {
        let next = timeout_at(self.at, body.next()).await.map_err(|_| self.late())?;
        Ok(next.transpose()?)
    }
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
            return Ok(Begun::Stream { held, body: Some(body), heard });
        }
    }
    gate.end()?;
    Ok(Begun::Stream { held, body: None, heard })
}

/// Reads all of a body. Most come in one piece, which is not copied.
async fn whole(mut body: Body, clock: &Clock<'_>, total_at: Instant) -> Result<Begun, Miss> {
    let Some(first) = clock.next(&mut body).await? else {
        return Ok(Begun::Whole(Bytes::new(), None));
    };
    let mut all = Pieces::One(first);
    loop {
        fits(all.len(), clock.limits, || clock.endpoint.who())?;
        let idle_at = from_now(clock.limits.idle);
        let idle = Clock { deadline: Deadline::Idle, at: idle_at, ..*clock };
        let clock = if idle_at < total_at { &idle } else { clock };
        match clock.next(&mut body).await? {
            Some(bytes) => all.push(&bytes),
            None => return Ok(Begun::Whole(all.join(), None)),
        }
    }
}

enum Pieces {
    One(Bytes),
    Many(BytesMut),
}

impl Pieces {
    fn len(&self) -> usize {
        match self {
            Pieces::One(bytes) => bytes.len(),
            Pieces::Many(bytes) => bytes.len(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Pieces::One(first) = self {
            *self = Pieces::Many(BytesMut::from(&first[..]));
        }
        if let Pieces::Many(all) = self {
            all.extend_from_slice(bytes);
        }
    }

    fn join(self) -> Bytes {
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
}

/// A whole answer may be an error too, and be cut. What it counts is read on the way.
fn look(body: &[u8], request: &PassRequest) -> Result<Option<Usage>> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Fault::new(Kind::Upstream, "the answer is no text").source(error))?;
    let whole: Whole<'_> = parse(text)?;
    match whole.error {
        Some(error) => Err(in_stream(error)),
        None => Ok(whole.usage.and_then(count(request.dialect))),
    }
}
