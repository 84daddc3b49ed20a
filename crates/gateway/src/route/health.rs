//! How the targets do: which of them rest, which fail too often, and who was answered where. A
//! value; the time is handed in.

mod breaker;
mod pins;
#[cfg(test)]
mod tests;

use super::rules::{Scope, rule};
use super::{Rest, Target};
use althing_stdx::{Fault, Kind};
use breaker::Breaker;
use pins::Pins;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use tokio::time::Instant;

/// Rests kept. Beyond it the ones that end first are forgotten, and those targets are asked again
/// early.
const COOLING_MAX: usize = 4096;
/// Breakers kept; there are only those of servers that failed lately. Beyond it no new one is
/// made, and such a server is asked as if it were well.
const BREAKERS_MAX: usize = 1024;

/// A target, as the books have it. Names and keys are kept as fingerprints only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Endpoint and key.
    account: u64,
    /// Endpoint and model.
    server: u64,
    /// All three.
    place: u64,
}

/// What is known now.
#[derive(Default)]
pub(crate) struct Health {
    cooling: HashMap<u64, Cooling>,
    breakers: HashMap<u64, Breaker>,
    pins: Pins,
    prints: RandomState,
}

struct Cooling {
    until: Instant,
    kind: Kind,
    asked: bool,
}

/// The target to ask next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    pub at: usize,
    /// Whether this call decides if its breaker closes.
    pub probe: bool,
    /// Whether no other one is free.
    pub last: bool,
}

impl Health {
    pub(crate) fn spot(&self, target: &Target) -> Spot {
        let (id, model) = (&target.endpoint.id, &target.model);
        let key = target.endpoint.key.as_ref().map(|key| key.expose());
        let print = |parts: (&str, Option<&str>, &str)| self.prints.hash_one(parts);
        Spot {
            account: print((id, key, "")),
            server: print((id, None, model)),
            place: print((id, key, model)),
        }
    }

    /// The next of `spots` to ask: the conversation's own if it is free, else the first one free.
    pub(crate) fn pick(
        &mut self,
        spots: &[Spot],
        tried: &[bool],
        affinity: Option<u64>,
        now: Instant,
    ) -> Option<Pick> {
        let pinned = affinity.and_then(|conversation| self.pins.get(conversation, now));
        let is_pinned = |at: &usize| pinned == Some(spots[*at].place);
        let mut free = self.free(spots, tried, now);
        let first = free.next()?;
        let second = free.next();
        let at = [first].into_iter().chain(second).chain(free).find(is_pinned).unwrap_or(first);
        let probe = self.admit(&spots[at], now);
        Some(Pick { at, probe, last: second.is_none() })
    }

    /// Those of `spots` that were not tried and do not rest.
    pub(crate) fn free<'a>(
        &'a self,
        spots: &'a [Spot],
        tried: &'a [bool],
        now: Instant,
    ) -> impl Iterator<Item = usize> + 'a {
        let lone = spots.len() == 1;
        let is_free = move |at: &usize| !tried[*at] && self.rest(&spots[*at], lone, now).is_none();
        (0..spots.len()).filter(is_free)
    }

    /// A call goes to a target; says whether it decides if its breaker closes.
    pub(crate) fn admit(&mut self, spot: &Spot, now: Instant) -> bool {
        self.breakers.get_mut(&spot.server).is_some_and(|breaker| breaker.admit(now))
    }

    /// Whether a target rests. One that has no other beside it rests only where its provider asked
    /// for it: there is nothing to gain by not trying.
    pub(crate) fn rest(&self, spot: &Spot, lone: bool, now: Instant) -> Option<Rest> {
        let cooling = [spot.place, spot.account].into_iter().filter_map(|at| {
            let cooling = self.cooling.get(&at)?;
            let counts = cooling.until > now && (cooling.asked || !lone);
            counts.then(|| Rest { wait: cooling.until - now, kind: cooling.kind })
        });
        let breaker = self.breakers.get(&spot.server).filter(|_| !lone);
        let broken = breaker.and_then(|breaker| breaker.wait(now));
        let broken = broken.map(|wait| Rest { wait, kind: Kind::Overloaded });
        cooling.chain(broken).max_by_key(|rest| rest.wait)
    }

    /// The first word of an answer has come; the conversation stays there.
    pub(crate) fn succeed(&mut self, spot: &Spot, affinity: Option<u64>, now: Instant) {
        if let Some(conversation) = affinity {
            self.pins.set(conversation, spot.place, now);
        }
        // A server without failures has no breaker, and needs none.
        if let Some(breaker) = self.breakers.get_mut(&spot.server) {
            breaker.succeed(now);
            if breaker.is_well(now) {
                self.breakers.remove(&spot.server);
            }
        }
    }

    /// An attempt failed, and another one at the same target may follow.
    pub(crate) fn stumble(&mut self, spot: &Spot, probe: bool, fault: &Fault, now: Instant) {
        if !rule(fault).trips {
            // Nothing against the server, and nothing for it: the next call is the probe.
            return if probe {
                self.release(spot, now)
            };
        }
        if self.breakers.len() >= BREAKERS_MAX {
            self.breakers.retain(|_, breaker| !breaker.is_well(now));
        }
        if self.breakers.len() < BREAKERS_MAX || self.breakers.contains_key(&spot.server) {
            self.breakers.entry(spot.server).or_insert_with(Breaker::new).fail(probe, now);
        }
    }

    /// The target failed for good.
    pub(crate) fn fail(&mut self, spot: &Spot, probe: bool, fault: &Fault, now: Instant) {
        self.stumble(spot, probe, fault, now);
        let Some(cool) = rule(fault).cool else { return };
        self.make_room(now);
        let at = if cool.scope == Scope::Account { spot.account } else { spot.place };
        let cooling = Cooling { until: now + cool.wait, kind: fault.kind, asked: cool.asked };
        self.cooling.insert(at, cooling);
    }

    /// A probe ended without telling anything: its client went away.
    pub(crate) fn release(&mut self, spot: &Spot, now: Instant) {
        if let Some(breaker) = self.breakers.get_mut(&spot.server) {
            breaker.release(now);
        }
    }

    fn make_room(&mut self, now: Instant) {
        if self.cooling.len() < COOLING_MAX {
            return;
        }
        self.cooling.retain(|_, cooling| cooling.until > now);
        let mut ends: Vec<Instant> = self.cooling.values().map(|cooling| cooling.until).collect();
        if ends.len() >= COOLING_MAX {
            let (_, median, _) = ends.select_nth_unstable(COOLING_MAX / 2);
            let median = *median;
            self.cooling.retain(|_, cooling| cooling.until > median);
        }
    }
}
