//! Texts as vectors, where a provider has them.

mod wire;

use crate::access::{self, Wanted};
use crate::call::{Deadline, from_now, late};
use crate::dialect::Request;
use crate::exchange::{Declined, read, scrub};
use crate::route::{Line, Turn, rule};
use crate::{Endpoint, Gateway, Target, retry, split_effort};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Texts of one request; more are refused. The largest number any provider takes.
pub const INPUTS_MAX: usize = 2048;
/// The longest answer that is read; a longer one is a fault. `INPUTS_MAX` vectors of 3072 numbers
/// take two thirds of it.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

/// What is wanted as vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    pub inputs: Vec<String>,
    /// How many numbers a vector shall have; none: as many as the model gives.
    pub dimensions: Option<u32>,
}

/// Vectors in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub usage: Option<Usage>,
}

impl Gateway {
    /// The vectors of `texts` by the first of `targets` that gives them, by the rules of routes, and
    /// who that was.
    pub async fn embed(
        &self,
        targets: &[Target],
        texts: &Texts,
    ) -> Result<(Target, Embedded), Declined> {
        if texts.inputs.is_empty() || texts.inputs.len() > INPUTS_MAX {
            let text = format!("input: 1 to {INPUTS_MAX} texts, not {}", texts.inputs.len());
            return Err(Fault::invalid(text).into());
        }
        let mut line = Line::new(self, targets.to_vec(), None);
        let Some((mut turn, mut place)) = line.next_placed().await else {
            let none = || Fault::new(Kind::NotFound, "there is nobody to ask");
            return Err(if line.is_empty() { none() } else { line.resting() }.into());
        };
        // The time that targets had so far, without their lines.
        let mut spent = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let total = self.limits.total.saturating_sub(spent);
            let embedded = self.embed_at(&mut turn, texts, from_now(total)).await;
            drop(place);
            spent += begun.elapsed();
            let fault = match embedded {
                Ok(embedded) => return Ok((turn.target, embedded)),
                Err(fault) => scrub(&turn.target.endpoint, fault),
            };
            turn.trial.failed(&fault);
            let may_go_on = rule(&fault).falls_back && spent < self.limits.total;
            let next = if may_go_on { line.next_placed().await } else { None };
            match next {
                Some(next) => (turn, place) = next,
                None => return Err(Declined { fault, answer: None, target: Some(turn.target) }),
            }
        }
    }

    /// One target, tried again as calls are.
    async fn embed_at(
        &self,
        turn: &mut Turn,
        texts: &Texts,
        total_at: Instant,
    ) -> Result<Embedded> {
        let Target { endpoint, model } = turn.target.clone();
        let wire = wire::of(&endpoint)?;
        let Texts { inputs, dimensions } = texts;
        let request = (wire.write)(split_effort(&model).0, inputs, *dimensions);
        let Request { path, headers, body, .. } = request;
        let body = Bytes::from(serde_json::to_vec(&body).map_err(Fault::internal)?);
        let wanted = Wanted { path, headers, body: Some(body), context_tokens: None };
        let answer = self.fetch(turn, &wanted, total_at).await?;
        let embedded = (wire.read)(&answer)?;
        let (want, got) = (inputs.len(), embedded.vectors.len());
        if want != got {
            let text = format!("{} gave {got} vectors for {want} texts", endpoint.who());
            return Err(Fault::new(Kind::Upstream, text));
        }
        turn.trial.answered();
        Ok(embedded)
    }

    async fn fetch(&self, turn: &mut Turn, wanted: &Wanted, total_at: Instant) -> Result<Vec<u8>> {
        let endpoint = &turn.target.endpoint;
        // One that has others beside it is not waited for.
        let attempts_max = if turn.last { self.limits.attempts_max } else { 1 };
        // Bounded by the pause, which there is only before `attempts_max`.
        for attempt in 1.. {
            let fetched = timeout_at(total_at, self.fetch_once(endpoint, wanted)).await;
            let fault = match fetched {
                Ok(Ok(body)) => return Ok(body),
                Ok(Err(fault)) => fault,
                Err(_) => return Err(late(&endpoint.who(), &self.limits, Deadline::Total)),
            };
            let pause = retry::pause(&fault, attempt, attempts_max, fastrand::f64());
            let until = pause.map(|pause| Instant::now() + pause);
            let Some(until) = until.filter(|until| *until < total_at) else { return Err(fault) };
            turn.trial.stumbled(&fault);
            sleep_until(until).await;
        }
        Err(Fault::internal("attempts have an end"))
    }

    async fn fetch_once(&self, endpoint: &Endpoint, wanted: &Wanted) -> Result<Vec<u8>> {
        let incoming = access::open(&self.http, endpoint, wanted).await?;
        match read(incoming.body, ANSWER_BYTES_MAX).await {
            (body, Ok(true)) => Ok(body),
            (_, Ok(false)) => {
                let who = endpoint.who();
                let text = format!("the answer of {who} is longer than {ANSWER_BYTES_MAX} bytes");
                Err(Fault::new(Kind::Upstream, text))
            }
            (_, Err(fault)) => Err(fault),
        }
    }
}
