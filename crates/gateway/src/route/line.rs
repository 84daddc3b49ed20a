//! The targets of one call, one after another, and what each of them does to the books. One whose
//! server has no place is passed over while another has one; where none has, the first place that
//! gets free is taken.

use super::Target;
use super::health::{Health, Pick, Spot};
use crate::lane::Place;
use crate::{Gateway, Limits};
use althing_stdx::{Fault, Kind};
use futures_util::future::select_all;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The longest wait that a target may ask for and gets. Whoever called can come back by themselves
/// after a longer one, and is told how long it is.
const CALLER_WAIT_MAX: Duration = Duration::from_secs(5);

/// The books of all routes of a gateway.
#[derive(Default)]
pub(crate) struct Board(Mutex<Health>);

impl Board {
    pub(crate) fn health(&self) -> MutexGuard<'_, Health> {
        // A panic elsewhere cannot leave the books half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who is asked, in order.
pub(crate) struct Line {
    gateway: Gateway,
    targets: Vec<Target>,
    spots: Vec<Spot>,
    tried: Vec<bool>,
    affinity: Option<u64>,
}

/// A target's turn.
pub(crate) struct Turn {
    pub target: Target,
    /// Whether no other one is free: then it is worth waiting for.
    pub last: bool,
    pub trial: Trial,
}

impl Turn {
    /// What the target may take of a call that has `spent` so much already. One that has others
    /// behind it is asked once and has to begin in time; a wait it asks for is theirs.
    pub(crate) fn limits(&self, gateway: &Gateway, spent: Duration) -> Limits {
        let limits = gateway.limits;
        let wait = limits.retry_after_max;
        Limits {
            total: limits.total.saturating_sub(spent),
            attempts_max: if self.last { limits.attempts_max } else { 1 },
            retry_after_max: if gateway.is_patient { wait } else { wait.min(CALLER_WAIT_MAX) },
            has_next: !self.last,
            ..limits
        }
    }
}

/// What comes next.
pub(crate) enum Next {
    /// A target, with its server's place for the call.
    Turn(Turn, Place),
    /// A wait: targets are free, but their servers have no place.
    Wait,
    /// Nothing: every target was asked or rests.
    Nobody,
}

impl Line {
    pub(crate) fn new(gateway: &Gateway, targets: Vec<Target>, affinity: Option<u64>) -> Line {
        let health = gateway.board.health();
        let spots: Vec<Spot> = targets.iter().map(|target| health.spot(target)).collect();
        drop(health);
        Line { gateway: gateway.clone(), tried: vec![false; spots.len()], targets, spots, affinity }
    }

    /// The next free target that was not asked yet and has a place.
    pub(crate) fn next(&mut self) -> Next {
        let mut full = vec![];
        // Bounded by the targets, each of which is picked once.
        let next = loop {
            let Some(pick) = self.pick() else {
                break if full.is_empty() { Next::Nobody } else { Next::Wait };
            };
            let turn = self.turn(pick);
            match self.gateway.lane(&turn.target.endpoint).try_acquire_owned() {
                Ok(place) => break Next::Turn(turn, place),
                Err(_) => full.push(pick.at),
            }
        };
        full.into_iter().for_each(|at| self.tried[at] = false);
        next
    }

    /// Stands in line for all free targets at once and takes the first place there is. None where
    /// nobody is free any more.
    pub(crate) async fn wait(&mut self) -> Option<(Turn, Place)> {
        // Every round waits for a place, and leaves out who began to rest in the one before.
        loop {
            let free = self.free();
            let lanes = free.iter().map(|at| self.gateway.lane(&self.targets[*at].endpoint));
            let places: Vec<_> = lanes.map(|lane| Box::pin(lane.acquire_owned())).collect();
            if places.is_empty() {
                return None;
            }
            let (place, nth, _) = select_all(places).await;
            // Never an error: nobody closes a lane.
            if let (Ok(place), true) = (place, self.free().contains(&free[nth])) {
                let (at, last) = (free[nth], free.len() == 1);
                let probe = self.gateway.board.health().admit(&self.spots[at], Instant::now());
                return Some((self.turn(Pick { at, probe, last }), place));
            }
        }
    }

    /// As `next`, waiting where that is next.
    pub(crate) async fn next_placed(&mut self) -> Option<(Turn, Place)> {
        match self.next() {
            Next::Turn(turn, place) => Some((turn, place)),
            Next::Wait => self.wait().await,
            Next::Nobody => None,
        }
    }

    fn pick(&self) -> Option<Pick> {
        let mut health = self.gateway.board.health();
        health.pick(&self.spots, &self.tried, self.affinity, Instant::now())
    }

    /// Who could be asked, places aside.
    fn free(&self) -> Vec<usize> {
        let health = self.gateway.board.health();
        health.free(&self.spots, &self.tried, Instant::now()).collect()
    }

    fn turn(&mut self, pick: Pick) -> Turn {
        let Pick { at, probe, last } = pick;
        self.tried[at] = true;
        let (board, spot) = (self.gateway.board.clone(), self.spots[at]);
        let trial = Trial { board, spot, probe, affinity: self.affinity };
        Turn { target: self.targets[at].clone(), last, trial }
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    pub(crate) fn is_single(&self) -> bool {
        self.targets.len() == 1
    }

    /// Why nobody could be asked. It is worth waiting for those whose rest ends by itself; where
    /// there are none the first one's reason stands.
    pub(crate) fn resting(&self) -> Fault {
        let (now, lone) = (Instant::now(), self.is_single());
        let health = self.gateway.board.health();
        let rests = self.targets.iter().zip(&self.spots);
        let rests =
            rests.filter_map(|(target, spot)| Some((target, health.rest(spot, lone, now)?)));
        let rests: Vec<_> = rests.collect();
        let passing = rests.iter().filter(|(_, rest)| !rest.kind.is_permanent());
        let wait = passing.map(|(_, rest)| rest.wait).min();
        let reasons = rests.iter().map(|(target, rest)| {
            format!("{} ({}, {} s)", target.id(), rest.kind, rest.wait.as_secs_f64().ceil())
        });
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let kind = match rests.first() {
            Some((_, rest)) if wait.is_none() => rest.kind,
            _ => Kind::RateLimited,
        };
        Fault::new(kind, format!("all targets rest: {reasons}")).retry_after(wait)
    }
}

/// One target at work. Dropped before it answered or failed it says nothing about the target: the
/// client went away.
pub(crate) struct Trial {
    board: Arc<Board>,
    spot: Spot,
    probe: bool,
    affinity: Option<u64>,
}

impl Trial {
    /// The first word is there.
    pub(crate) fn answered(&mut self) {
        self.probe = false;
        self.board.health().succeed(&self.spot, self.affinity, Instant::now());
    }

    /// An attempt failed and the target is asked once more.
    pub(crate) fn stumbled(&mut self, fault: &Fault) {
        let probe = std::mem::take(&mut self.probe);
        self.board.health().stumble(&self.spot, probe, fault, Instant::now());
    }

    /// The target failed, before or after its first word.
    pub(crate) fn failed(&mut self, fault: &Fault) {
        let probe = std::mem::take(&mut self.probe);
        self.board.health().fail(&self.spot, probe, fault, Instant::now());
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if self.probe {
            self.board.health().release(&self.spot, Instant::now());
        }
    }
}
