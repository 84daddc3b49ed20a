//! `kill -9` at random instants: resume comes to the plan of an undisturbed run, and no planner that
//! had finished is asked again.

use super::{JUDGE, PLANNERS, final_plan, go_on, says};
use crate::harness::{Home, is_soak, really_wait};
use althing_assembly::Event;
use althing_assembly::event::{Outcome, What};
use althing_testkit::{Options, Upstream};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Kills of the whole test; `ALTHING_SOAK` makes it the full size.
const KILLS: u64 = 3;
const KILLS_SOAK: u64 = 20;
/// Polls for a first call; each is 10 ms.
const POLLS_MAX: u32 = 2_000;

fn slow() -> Upstream {
    let pace = Options::default().chunks(6).delay(Duration::from_millis(8));
    Upstream::start(pace.text(|seen| match (&*seen.model, seen.nth) {
        // One of the planners needs a second try, whoever asks.
        ("bob", _) if !seen.prompt().contains("could not be used") => "Let me think.".into(),
        _ => says(seen),
    }))
}

const ARGS: &[&str] =
    &["plan", "--task", "Move it", "--seed", "7", "--planners", PLANNERS, "--judge", JUDGE, "-q"];

#[test]
fn soak_kill_dash_nine_comes_to_the_same_plan() {
    let kills = if is_soak() { KILLS_SOAK } else { KILLS };
    let upstream = slow();
    let undisturbed = Home::with(&upstream);
    undisturbed.run(ARGS).ends(0);
    let want = final_plan(&undisturbed);
    let seed: Option<u64> = std::env::var("ALTHING_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    for seed in first..first + kills {
        println!("seed {seed} (ALTHING_SEED={seed} runs it again first)");
        let upstream = slow();
        let home = Home::with(&upstream);
        let is_done = kill(&home, &upstream, &mut fastrand::Rng::with_seed(seed));
        if !is_done {
            go_on(&home);
        }
        assert_eq!(final_plan(&home), want, "seed {seed}");
        check(&home.events("last"), |model| upstream.count(model));
        home.is_left();
    }
}

/// Starts a council and kills it; whether it was done before.
fn kill(home: &Home, upstream: &Upstream, random: &mut fastrand::Rng) -> bool {
    let mut child = home.spawn(ARGS);
    for _ in 0..POLLS_MAX {
        if !upstream.requests().is_empty() || child.try_wait().unwrap().is_some() {
            break;
        }
        really_wait(Duration::from_millis(10));
    }
    let instant = Duration::from_millis(random.u64(0..250));
    really_wait(instant);
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    println!(
        "  {} ms after its first call, {} calls",
        instant.as_millis(),
        upstream.requests().len()
    );
    ended.success()
}

/// The log has no gap, no stored answer was asked for again, nobody who had finished was asked for
/// another, and nobody was called more often than the log knows.
pub(super) fn check(events: &[Event], calls: impl Fn(&str) -> usize) {
    assert!(events.iter().enumerate().all(|(at, event)| event.seq == at as u64), "no gap");
    let mut ended: BTreeSet<(u32, usize, u32)> = BTreeSet::new();
    let mut finished: BTreeSet<usize> = BTreeSet::new();
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::TurnStarted(turn) => {
                let place = (turn.phase, turn.seat, turn.nth);
                assert!(!ended.contains(&place), "{place:?} was stored and is asked again");
                assert!(!finished.contains(&turn.seat), "{place:?} had finished before");
                *asked.entry(turn.model.replace("openai:", "")).or_default() += 1;
            }
            What::TurnEnded { by, outcome } => {
                assert!(ended.insert((by.phase, by.seat, by.nth)), "{by:?} ended twice");
                // All that is no plan and no verdict here is no JSON either.
                if let Outcome::Said(said) = outcome
                    && serde_json::from_str::<Value>(&said.text).is_ok()
                {
                    finished.insert(by.seat);
                }
            }
            _ => {}
        }
    }
    let seats = PLANNERS.split(',').count() + 1;
    assert_eq!(finished.len(), seats, "every planner and the judge");
    for (model, asked) in asked {
        assert!(calls(&model) <= asked, "{model}: more calls than turns");
    }
}
