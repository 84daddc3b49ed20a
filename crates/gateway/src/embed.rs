//! Texts as vectors, where a provider has them.

mod wire;

use crate::access::{self, Wanted};
use crate::call::{Deadline, from_now, late};
use crate::dialect::Request;
use crate::exchange::{read, scrub};
use crate::{Endpoint, Gateway, retry};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Texts of one request; more are refused. The largest number any provider takes.
pub const INPUTS_MAX: usize = 2048;
/// The longest answer that is read; a longer one is a fault. `INPUTS_MAX` vectors of 3072 numbers
/// take two thirds of it.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Vectors in the order of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub usage: Option<Usage>,
}

impl Gateway {
    /// The vectors of `inputs` by `model` at `endpoint`; tried again as calls are.
    pub async fn embed(
        &self,
        endpoint: &Arc<Endpoint>,
        model: &str,
        inputs: Vec<String>,
        dimensions: Option<u32>,
    ) -> Result<Embedded> {
        if inputs.is_empty() || inputs.len() > INPUTS_MAX {
            let text = format!("input: 1 to {INPUTS_MAX} texts, not {}", inputs.len());
            return Err(Fault::invalid(text));
        }
        let wire = wire::of(endpoint)?;
        let Request { path, headers, body } = (wire.write)(model, &inputs, dimensions);
        let body = Bytes::from(serde_json::to_vec(&body).map_err(Fault::internal)?);
        let wanted = Wanted { path, headers, body: Some(body) };
        let answer = self.fetch(endpoint, &wanted).await.map_err(|fault| scrub(endpoint, fault))?;
        let embedded = (wire.read)(&answer).map_err(|fault| scrub(endpoint, fault))?;
        let (want, got) = (inputs.len(), embedded.vectors.len());
        if want != got {
            let text = format!("{} gave {got} vectors for {want} texts", endpoint.who());
            return Err(Fault::new(Kind::Upstream, text));
        }
        Ok(embedded)
    }

    async fn fetch(&self, endpoint: &Endpoint, wanted: &Wanted) -> Result<Vec<u8>> {
        let _place = self.lane(endpoint).acquire_owned().await.map_err(Fault::internal)?;
        let total_at = from_now(self.limits.total);
        // Bounded by the pause, which there is only before `attempts_max`.
        for attempt in 1.. {
            let fetched = timeout_at(total_at, self.fetch_once(endpoint, wanted)).await;
            let fault = match fetched {
                Ok(Ok(body)) => return Ok(body),
                Ok(Err(fault)) => fault,
                Err(_) => return Err(late(&endpoint.who(), &self.limits, Deadline::Total)),
            };
            let pause = retry::pause(&fault, attempt, self.limits.attempts_max, fastrand::f64());
            let until = pause.map(|pause| Instant::now() + pause);
            match until.filter(|until| *until < total_at) {
                Some(until) => sleep_until(until).await,
                None => return Err(fault),
            }
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
