//! `kill -9` at random instants: the history stays whole, resume finishes, and the upstream counts
//! no turn twice that was stored.

use crate::harness::{Home, THREE, really_wait};
use althing_assembly::Event;
use althing_assembly::event::{Ending, What};
use althing_testkit::{Options, Seen, Upstream};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Rounds of the whole test; `ALTHING_SOAK` makes it the full size.
const ROUNDS: u64 = 3;
const ROUNDS_SOAK: u64 = 100;
/// Kills before a run is left to finish.
const KILLS: u32 = 4;

#[test]
fn soak_kill_dash_nine_loses_nothing() {
    let rounds = if std::env::var_os("ALTHING_SOAK").is_some() { ROUNDS_SOAK } else { ROUNDS };
    let first: u64 = std::env::var("ALTHING_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..1 << 32));
    for seed in first..first + rounds {
        println!("seed {seed} (ALTHING_SEED={seed} runs it again first)");
        round(&mut fastrand::Rng::with_seed(seed));
    }
}

fn round(random: &mut fastrand::Rng) {
    let pace = Options::default().chunks(6).delay(Duration::from_millis(4));
    let upstream = Upstream::start(pace);
    let home = Home::with(&upstream);
    for kill in 0..KILLS {
        let is_begun = home.run(&["history", "--json"]).out.contains("openai:ada");
        let args: &[&str] =
            if is_begun { &["resume", "last"] } else { &["ask", "Hello?", "--models", THREE] };
        let mut child = home.spawn(args);
        // Not before its first call, or most kills would fall into the start of the program.
        let before = upstream.requests().len();
        let instant = Duration::from_millis(random.u64(0..200));
        wait_for_request_or_end(&upstream, before, &mut child);
        really_wait(instant);
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        if ended.success() {
            println!("  finished before kill {kill}");
            break;
        }
        println!(
            "  killed {} ms after its first call, {} calls seen",
            instant.as_millis(),
            upstream.requests().len()
        );
    }
    if !matches!(
        home.events("last").last().map(|e| &e.what),
        Some(What::RunEnded { ending: Ending::Completed, .. })
    ) {
        home.run(&["resume", "last"]).ends(0).says("Consensus");
    }
    check(&home.events("last"), &upstream);
    home.run(&["export", "last"]).ends(0);
}

fn wait_for_request_or_end(upstream: &Upstream, before: usize, child: &mut std::process::Child) {
    for _ in 0..400 {
        if upstream.requests().len() > before || child.try_wait().unwrap().is_some() {
            return;
        }
        really_wait(Duration::from_millis(10));
    }
    panic!("no call and no end");
}

/// The log is whole and every stored turn was asked once.
fn check(events: &[Event], upstream: &Upstream) {
    assert!(
        events.iter().enumerate().all(|(at, event)| event.seq == at as u64),
        "no gap in the log"
    );
    let mut ended: BTreeSet<(u32, usize, u32)> = BTreeSet::new();
    let mut open: BTreeMap<u32, (u32, usize, u32)> = BTreeMap::new();
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    let mut interrupted = 0;
    for event in events {
        match &event.what {
            What::TurnStarted(turn) => {
                let place = (turn.phase, turn.seat, turn.nth);
                assert!(!ended.contains(&place), "{place:?} was stored and is asked again");
                open.insert(turn.turn, place);
                *asked.entry(turn.model.replace("openai:", "")).or_default() += 1;
            }
            What::TurnInterrupted { turn } => {
                assert!(open.remove(turn).is_some());
                interrupted += 1;
            }
            What::TurnEnded { by, .. } => {
                assert!(open.remove(&by.turn).is_some());
                assert!(ended.insert((by.phase, by.seat, by.nth)), "{by:?} ended twice");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "an open turn was never told: {open:?}");
    for (model, asked) in asked {
        let seen = upstream.count(&model);
        assert!(seen <= asked, "{model}: {seen} calls for {asked} turns");
    }
    // The same prompt twice is a turn asked twice: as often as turns were interrupted, not more.
    let prompts: Vec<String> = upstream.requests().iter().map(prompt_of).collect();
    let different: BTreeSet<&String> = prompts.iter().collect();
    let repeated = prompts.len() - different.len();
    assert!(repeated <= interrupted, "{repeated} calls repeated, {interrupted} turns interrupted");
}

/// A prompt and who it is for. Its marks are kept in the log, so a resumed run has them too.
fn prompt_of(seen: &Seen) -> String {
    format!("{} {}", seen.model, seen.prompt())
}
