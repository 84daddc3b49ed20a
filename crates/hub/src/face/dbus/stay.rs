//! Staying on the bus. Where it goes away, or hangs up, the face comes back to it, and everything
//! else of the service goes on meanwhile.

use super::{BusAddress, Face};
use crate::service::Service;
use althing_stdx::{Fault, Kind, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// The pause before the bus is looked for; each further one is twice as long, up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// After a connection that held so long the next pause is a short one again.
const STEADY: Duration = Duration::from_secs(60);
/// How often a service that is nothing without its bus looks for it; after that it ends.
const TRIES_MAX: u32 = 4;

/// What becomes of the connection, for the person.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It is gone; what follows goes on without it.
    Lost(Fault),
    /// The bus is there, but the face cannot be on it: mostly somebody else has its name by now.
    Barred(Fault),
    /// The name is ours again.
    Back,
}

/// Whose end is the service's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lives {
    /// It goes on, however long the bus is away.
    OnItsOwn,
    /// Nobody else can reach it, or the bus started it for its session: the next one starts its
    /// own.
    WithTheBus,
}

impl Face {
    /// As `run`, and comes back whenever the bus was lost. Ends with `stop`; an error means that
    /// the bus is gone without which the service is nothing.
    pub async fn stay(
        mut self,
        lives: Lives,
        stop: CancellationToken,
        tell: impl Fn(News) + Send,
    ) -> Result<()> {
        let mut pauses = Pauses::default();
        // Bounded by the pauses, which grow where nothing holds.
        loop {
            let (service, address) = (self.service.clone(), self.address.clone());
            let came = Instant::now();
            let Err(lost) = self.run(stop.clone()).await else { return Ok(()) };
            if came.elapsed() >= STEADY {
                pauses = Pauses::default();
            }
            tell(News::Lost(lost));
            let coming = come_back(&service, &address, lives, &mut pauses, &tell);
            self = match stop.run_until_cancelled(coming).await {
                Some(back) => back?,
                None => return Ok(()),
            };
            tell(News::Back);
        }
    }
}

async fn come_back(
    service: &Arc<Service>,
    address: &BusAddress,
    lives: Lives,
    pauses: &mut Pauses,
    tell: &(impl Fn(News) + Send),
) -> Result<Face> {
    let (mut tries, mut is_barred) = (0, false);
    loop {
        sleep(pauses.next()).await;
        let fault = match Face::open(service.clone(), address).await {
            Ok(face) => return Ok(face),
            Err(fault) => fault,
        };
        tries += 1;
        if lives == Lives::WithTheBus && tries >= TRIES_MAX {
            let text = "the session bus is gone, and with it the service, which has only that";
            return Err(Fault::new(Kind::Network, text).source(fault));
        }
        // Said once: it stays so for as long as the other one lives.
        if fault.kind != Kind::Network && !is_barred {
            is_barred = true;
            tell(News::Barred(fault));
        }
    }
}

/// The pauses between attempts.
#[derive(Default)]
struct Pauses {
    /// None before the first one.
    last: Option<Duration>,
}

impl Pauses {
    fn next(&mut self) -> Duration {
        let pause = self.last.map_or(PAUSE_MIN, |last| (last * 2).min(PAUSE_MAX));
        self.last = Some(pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let mut pauses = Pauses::default();
        let all: Vec<u128> = (0..7).map(|_| pauses.next().as_millis()).collect();
        assert_eq!(all, [250, 500, 1000, 2000, 4000, 5000, 5000]);
    }
}
