//! A request on its way along its targets: the lane, the attempts, the deadlines.

use super::receive::{Begun, Clock, Miss, Opened, receive};
use super::stream::Flow;
use super::tail::Tail;
use super::trim::Trim;
use super::{Declined, PassRequest, Passed, Passing, Streaming};
use crate::access::{self, Wanted};
use crate::call::{Deadline, from_now};
use crate::dialect::anthropic;
use crate::exchange::scrub;
use crate::lane::Place;
use crate::route::{Line, Turn, rule};
use crate::{Endpoint, Gateway, Limits, Target, retry, split_effort};
use althing_stdx::{Fault, Kind, Result};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

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
    place: Place,
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
    let mut line = Line::new(gateway, targets, affinity);
    let mut relay = Relay { gateway, request: &request, failed: 0, spent: Duration::ZERO };
    let Some(mut next) = line.next_placed().await else {
        let none = format!("model: no target of {} speaks {dialect}", request.head.model);
        return Err(if line.is_empty() { Fault::invalid(none) } else { line.resting() }.into());
    };
    loop {
        let declined = match relay.at(next.0, next.1).await {
            Ok(passed) => return Ok(passed),
            Err(declined) => declined,
        };
        let may_go_on = rule(&declined.fault).falls_back && relay.spent < gateway.limits.total;
        let placed = if may_go_on { line.next_placed().await } else { None };
        match placed {
            Some(placed) => next = placed,
            None => return Err(declined),
        }
    }
}

impl Relay<'_> {
    /// One target: its attempts, and what its failure means for it.
    async fn at(&mut self, mut turn: Turn, place: Place) -> Result<Passed, Declined> {
        let endpoint = turn.target.endpoint.clone();
        let quirks = &self.gateway.quirks;
        let mut is_counted = quirks.may_count(self.request, &turn.target);
        let asked = wanted(self.request, &turn.target, is_counted)?;
        let total = self.gateway.limits.total.saturating_sub(self.spent);
        let attempts_max = if turn.last { self.gateway.limits.attempts_max } else { 1 };
        let limits = Limits { total, attempts_max, ..self.gateway.limits };
        let (begun, stay) = (Instant::now(), Stay { place, total_at: from_now(total), limits });
        let mut opened = self.attempts(&mut turn, &endpoint, &asked, &stay).await;
        if let Err(declined) = &opened
            && is_counted
            && quirks.note_uncounted(declined, &turn.target)
        {
            is_counted = false;
            let asked = wanted(self.request, &turn.target, is_counted)?;
            opened = self.attempts(&mut turn, &endpoint, &asked, &stay).await;
        }
        self.spent += begun.elapsed();
        match opened {
            Ok(opened) => {
                turn.trial.answered();
                Ok(self.passed(opened, turn, stay, is_counted.then(Trim::new)))
            }
            Err(mut declined) => {
                if quirks.note_lacking(&declined, self.request, &turn.target) {
                    declined.fault.kind = Kind::UnknownMethod;
                }
                declined.fault = scrub(&endpoint, declined.fault);
                turn.trial.failed(&declined.fault);
                declined.target = Some(turn.target);
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
        receive(incoming, self.request, &clock, stay.total_at).await
    }

    fn passed(&self, opened: Opened, turn: Turn, stay: Stay, trim: Option<Trim>) -> Passed {
        let Opened { status, headers, body } = opened;
        let target = turn.target.clone();
        let body = match body {
            Begun::Whole(bytes, usage) => Passing::Whole(bytes, usage),
            Begun::Stream(held, body) => {
                let Stay { place, total_at, limits } = stay;
                let tail = Tail::new(self.request.dialect);
                let flow = Flow::new(body, turn, tail, limits, total_at, place);
                Passing::Stream(Box::new(Streaming::new(held, flow.trimmed(trim))))
            }
        };
        Passed { status, headers, target, failed: self.failed, body }
    }
}

/// The request as the target gets it; with the count of a stream's tokens where `is_counted`.
fn wanted(request: &PassRequest, target: &Target, is_counted: bool) -> Result<Wanted> {
    let (name, _) = split_effort(&target.model);
    let body = match is_counted {
        true => request.head.splice_counted(&request.body, name)?,
        false => request.head.splice(&request.body, name)?,
    };
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
    Ok(Wanted { path, headers, body: Some(body), context_tokens: None })
}
