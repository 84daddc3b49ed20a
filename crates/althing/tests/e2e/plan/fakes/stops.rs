//! A council of agents that is stopped, politely or not: no agent outlives it, and it goes on as if
//! nothing had happened.

use super::super::{go_on, kill::check};
use super::{Home, council, fake, final_plan, home, noted, spec, starts, write};
use crate::harness::{Done, is_soak, really_wait, signal};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Kills of the whole test; `ALTHING_SOAK` makes it the full size.
const KILLS: u64 = 3;
const KILLS_SOAK: u64 = 20;
/// Polls for a first start; each is 10 ms.
const POLLS_MAX: u32 = 3_000;

/// Waits until this many agents were started, or the council is over.
pub(super) fn wait_for(home: &Home, count: usize, child: &mut Child) {
    let all = || std::fs::read_to_string(home.path().join("starts")).unwrap_or_default();
    for _ in 0..POLLS_MAX {
        if all().lines().count() >= count || child.try_wait().unwrap().is_some() {
            return;
        }
        really_wait(Duration::from_millis(10));
    }
    panic!("no start and no end");
}

#[test]
fn a_signal_ends_every_agent() {
    for name in ["INT", "TERM", "HUP", "QUIT"] {
        let upstream = council();
        let home = home(&upstream);
        let planners = [fake(&home, "a", "hang"), fake(&home, "b", "children")];
        write(&home, &spec(&planners, Some(fake(&home, "judy", "judge judy"))));
        let mut child = home.spawn(&["plan", "task.json"]);
        wait_for(&home, 2, &mut child);
        signal(&child, name);
        let done = Done::of(child.wait_with_output().unwrap());
        done.ends(130).warns("Stopped and saved. Go on with: althing resume");
        home.is_left();
        assert_eq!(noted(&home), 0, "{name}");
    }
}

#[test]
fn who_is_to_outlive_the_terminal_does() {
    let upstream = council();
    let home = home(&upstream);
    write(&home, &spec(&[fake(&home, "ada", "together 1")], Some(fake(&home, "judy", "judge"))));
    let council = home.command(&["plan", "task.json", "-q"]);
    let words = [council.get_program()].into_iter().chain(council.get_args());
    let mut child = home.foreign(Path::new("nohup"));
    child.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    wait_for(&home, 1, &mut child);
    signal(&child, "HUP");
    for other in ["written-2", "written-3"] {
        std::fs::write(home.path().join(other), "").unwrap();
    }
    Done::of(child.wait_with_output().unwrap()).ends(0).says("# Plan: Move the shop");
    home.is_left();
}

#[test]
fn a_council_goes_on_from_another_folder() {
    let upstream = council();
    let home = home(&upstream);
    let agent = |name: &str, behaviour: &str| json!({ "name": name, "command": format!("./agent.sh {behaviour}") });
    // It waits for two others, who come when the council goes on.
    write(&home, &spec(&[agent("ada", "together 1")], Some(agent("judy", "judge"))));
    let mut child = home.spawn(&["plan", "task.json"]);
    wait_for(&home, 1, &mut child);
    signal(&child, "INT");
    Done::of(child.wait_with_output().unwrap()).ends(130);
    for other in ["written-2", "written-3"] {
        std::fs::write(home.path().join(other), "").unwrap();
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let mut resume = home.command(&["resume", "last", "-q"]);
    Done::of(resume.current_dir(elsewhere.path()).output().unwrap()).ends(0);
    let metadata = &final_plan(&home)["metadata"];
    assert_eq!(metadata["warnings"], json!([]));
    assert_eq!(metadata["validation"]["judge_valid"], true);
    home.is_left();
}

/// Planners that take their time, one of them twice, and a judge: programs all.
fn slow(home: &Home) -> Value {
    let planner = |name: &str, behaviour: &str| fake(home, name, &format!("{behaviour} {name}"));
    let planners = [planner("ada", "good"), planner("bob", "slow"), planner("cyd", "late")];
    spec(&planners, Some(planner("judy", "judge")))
}

const ARGS: &[&str] = &["plan", "task.json", "--seed", "7", "-q"];

#[test]
fn soak_kill_dash_nine_leaves_no_agent_and_loses_no_plan() {
    let kills = if is_soak() { KILLS_SOAK } else { KILLS };
    let upstream = council();
    let undisturbed = home(&upstream);
    write(&undisturbed, &slow(&undisturbed));
    undisturbed.run(ARGS).ends(0);
    let want = final_plan(&undisturbed);
    let seed: Option<u64> = std::env::var("ALTHING_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    for seed in first..first + kills {
        println!("seed {seed} (ALTHING_SEED={seed} runs it again first)");
        let home = home(&upstream);
        write(&home, &slow(&home));
        let is_done = kill(&home, &mut fastrand::Rng::with_seed(seed));
        if !is_done {
            go_on(&home);
        }
        assert_eq!(final_plan(&home), want, "seed {seed}");
        check(&home.events("last"), |name| starts(&home, name));
        home.is_left();
        assert_eq!(noted(&home), 0);
    }
}

/// Starts a council and kills it after its first agent was started; whether it was done before.
fn kill(home: &Home, random: &mut fastrand::Rng) -> bool {
    let mut child = home.spawn(ARGS);
    wait_for(home, 1, &mut child);
    let instant = Duration::from_millis(random.u64(0..700));
    really_wait(instant);
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    println!("  {} ms after the first start", instant.as_millis());
    ended.success()
}
