//! The targets of one call, one after another, and what each of them does to the books.

use super::Target;
use super::health::{Health, Pick, Spot};
use althing_stdx::{Fault, Kind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

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
    board: Arc<Board>,
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

impl Line {
    pub(crate) fn new(board: &Arc<Board>, targets: Vec<Target>, affinity: Option<u64>) -> Line {
        let health = board.health();
        let spots: Vec<Spot> = targets.iter().map(|target| health.spot(target)).collect();
        drop(health);
        Line { board: board.clone(), tried: vec![false; spots.len()], targets, spots, affinity }
    }

    /// The next free target that was not asked yet.
    pub(crate) fn next(&mut self) -> Option<Turn> {
        let (now, affinity) = (Instant::now(), self.affinity);
        let pick = self.board.health().pick(&self.spots, &self.tried, affinity, now)?;
        let Pick { at, probe, last } = pick;
        self.tried[at] = true;
        let (board, spot) = (self.board.clone(), self.spots[at]);
        let trial = Trial { board, spot, probe, affinity };
        Some(Turn { target: self.targets[at].clone(), last, trial })
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
        let health = self.board.health();
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
