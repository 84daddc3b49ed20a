//! Agents that behave badly, next to one that does not: nothing is left running, the good plan is
//! never lost, and who failed is told for what it was.

mod stops;
mod unread;

use super::{JUDGE, council, final_plan, folder, is_private, task};
use crate::harness::{Done, Home, is_soak};
use althing_testkit::Upstream;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::time::Instant;

/// Seconds that an attempt has where nothing hangs, and where something does.
const PATIENT: u64 = 30;
const SHORT: u64 = 2;
/// Attempts of a planner.
const ATTEMPTS: u64 = 3;
/// A run that takes so many times the limit of an attempt hangs, and none takes longer than this.
const HANG_TIMES: u64 = 20;
const HANG: Duration = Duration::from_secs(120);
/// Bytes of a flood, and of one in full.
const FLOOD: usize = 3 << 20;
const FLOOD_SOAK: usize = 100 << 20;

fn flood() -> usize {
    if is_soak() { FLOOD_SOAK } else { FLOOD }
}

/// A home with the fake agent and what it says.
fn home(upstream: &Upstream) -> Home {
    let home = Home::with(upstream).set("PATH", "/usr/bin:/bin");
    let program = |name: &str, script: &str| {
        let program = home.path().join(name);
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("agent.sh", include_str!("fakes/agent.sh"));
    for behaviour in ["claude-lines", "claude-logged-out", "claude-choosy", "codex"] {
        let script = format!("#!/bin/sh\nexec \"$HOME/agent.sh\" {behaviour} {behaviour} \"$@\"\n");
        program(behaviour, &script);
    }
    let phases = json!([{ "name": "Work", "goal": "Done", "tasks": [task("Do it")] }]);
    let plan = json!({
        "summary": "Plan of NAME", "phases": phases, "risks": ["It may break"],
        "edge_cases": [], "tests": ["Try it"], "assumptions": [], "rollback": ["Undo it"]
    });
    fs::write(home.path().join("plan.json"), format!("{plan}\n")).unwrap();
    fs::write(home.path().join("phases.json"), phases.to_string()).unwrap();
    home
}

/// The fake agent as a task names it.
fn fake(home: &Home, name: &str, behaviour: &str) -> Value {
    let command = format!("{}/agent.sh {behaviour}", home.path().display());
    json!({ "name": name, "kind": "custom", "command": command })
}

fn spec(planners: &[Value], judge: Option<Value>) -> Value {
    let mut spec = json!({ "task": "Move the shop", "agents": { "planners": planners } });
    if let Some(judge) = judge {
        spec["agents"]["judge"] = judge;
    }
    spec
}

fn write(home: &Home, spec: &Value) {
    fs::write(home.path().join("task.json"), spec.to_string()).unwrap();
}

/// Runs a council with a judge of the upstream, within the time in which nothing hangs.
#[track_caller]
fn run(home: &Home, spec: &Value, seconds: u64) -> Done {
    write(home, spec);
    let hang = HANG.min(Duration::from_secs(HANG_TIMES * seconds));
    let (began, seconds) = (Instant::now(), seconds.to_string());
    let args = ["plan", "task.json", "--seed", "7", "--judge", JUDGE, "--timeout", &seconds];
    let done = home.run(&args);
    assert!(began.elapsed() < hang, "{done:#?}");
    home.is_left();
    assert_eq!(noted(home), 0, "nothing is noted as living");
    done
}

/// Agents that are noted as living.
fn noted(home: &Home) -> usize {
    fs::read_dir(home.data().join("agents")).map_or(0, Iterator::count)
}

/// How often agents were started, by name.
fn starts(home: &Home, name: &str) -> usize {
    let all = fs::read_to_string(home.path().join("starts")).unwrap_or_default();
    all.lines().filter(|line| *line == name).count()
}

/// Whose plans are in the final one.
fn used(plan: &Value) -> Vec<String> {
    let used = plan["metadata"]["used_plans"].clone();
    let mut used: Vec<String> = serde_json::from_value(used).unwrap();
    used.sort();
    used
}

/// What becomes of a planner next to a good one: its plan is used, or it failed with these words.
#[track_caller]
fn check_with(behaviour: &str, more: Value, seconds: u64, failed: Option<&str>) {
    let upstream = council();
    let home = home(&upstream);
    let mut other = fake(&home, "other", behaviour);
    for (field, value) in more.as_object().unwrap() {
        other[field] = value.clone();
    }
    let done = run(&home, &spec(&[fake(&home, "good", "good"), other], None), seconds);
    done.ends(0);
    let plan = final_plan(&home);
    let (used, warnings) = (used(&plan), &plan["metadata"]["warnings"]);
    match failed {
        None => {
            assert_eq!(used, ["good", "other"], "{behaviour}: {warnings}");
            assert_eq!(*warnings, json!([]), "{behaviour}");
        }
        Some(words) => {
            assert_eq!(used, ["good"], "{behaviour}: {warnings}");
            let warnings = warnings.to_string();
            let is_told = warnings.contains("planner_failed: other: ") && warnings.contains(words);
            assert!(is_told, "{behaviour}: no {words} in {warnings}");
        }
    }
    assert_eq!(starts(&home, "good"), 1, "{behaviour}");
}

#[track_caller]
fn check(behaviour: &str, failed: Option<&str>) {
    check_with(behaviour, json!({}), PATIENT, failed);
}

#[test]
fn a_plan_is_found_in_whatever_is_around_it() {
    for behaviour in ["stdin", "fenced", "good other", "noisy", "bytes", "deaf", "good-then-fail"] {
        check(behaviour, None);
    }
    check_with("argument -", json!({ "prompt_mode": "arg" }), PATIENT, None);
}

#[test]
fn a_child_that_holds_the_pipe_holds_nobody_up() {
    check("held", None);
    check("held-outside", None);
}

#[test]
fn nothing_that_an_agent_leaves_behind_survives_it() {
    for (behaviour, seconds, plans) in [("escaped", PATIENT, 2), ("escaping", SHORT, 1)] {
        let upstream = council();
        let home = home(&upstream);
        let planners = [fake(&home, "good", "good"), fake(&home, "other", behaviour)];
        run(&home, &spec(&planners, None), seconds).ends(0);
        assert_eq!(used(&final_plan(&home)).len(), plans, "{behaviour}");
        home.is_named_nowhere();
    }
    let upstream = council();
    let home = home(&upstream);
    write(&home, &spec(&[fake(&home, "other", "escaping")], None));
    let mut child = home.spawn(&["plan", "task.json", "--judge", JUDGE]);
    stops::wait_for(&home, 1, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    home.is_left();
    home.is_named_nowhere();
}

#[test]
fn who_gives_no_plan_is_told_for_what_it_did() {
    check("refuse", Some("the model declined to answer"));
    check("empty", Some("it ended without an answer"));
    check("fail", Some("exit status 1: Error: something broke"));
    check("login", Some("exit status 1: Error: Not logged in"));
    check("headers", Some("there is no JSON object in the answer"));
    check("echo", Some("its answer is no valid one"));
    let missing = json!({ "command": "/nowhere/agent" });
    check_with("", missing, PATIENT, Some("other: /nowhere/agent is not installed"));
}

#[test]
fn who_hangs_costs_its_time_only() {
    check_with("hang", json!({}), SHORT, Some("no answer within 2 s"));
}

#[test]
fn who_only_tries_again_is_told_for_that() {
    let offline = json!({ "output_format": "codex" });
    let words = "only tried again for 1s; connection refused";
    check_with("codex-offline", offline, SHORT, Some(words));
}

#[test]
fn who_hangs_with_children_takes_them_along() {
    check_with("children", json!({}), SHORT, Some("no answer within 2 s"));
}

#[test]
fn soak_a_flood_drowns_nobody() {
    check(&format!("flood {}", flood()), Some("its answer is no valid one"));
    check(&format!("plan-and-flood {}", flood()), None);
}

#[test]
fn a_plan_that_is_too_long_is_told_for_that() {
    check("long 250000", None);
    check("long 300000", Some("the answer is longer than its limit; 254 KB of it were heard"));
}

#[test]
fn each_agents_own_words_are_understood() {
    for (behaviour, format) in
        [("claude-lines", "claude"), ("claude", "claude"), ("codex", "codex"), ("gemini", "gemini")]
    {
        check_with(behaviour, json!({ "output_format": format }), PATIENT, None);
    }
    // The known agents themselves, with another program of theirs.
    for (behaviour, kind) in [("claude-lines", "claude"), ("codex", "codex")] {
        let program = json!({ "kind": kind, "model": "m", "command": format!("./{behaviour}") });
        check_with(behaviour, program, PATIENT, None);
    }
    let claude = json!({ "kind": "claude", "command": "./claude-logged-out" });
    check_with("claude-logged-out", claude, PATIENT, Some("Not logged in"));
}

#[test]
fn a_judge_may_say_something_before_its_verdict() {
    let upstream = council();
    let home = home(&upstream);
    let mut judge = fake(&home, "judy", "codex-judge judy");
    judge["output_format"] = json!("codex");
    write(&home, &spec(&[fake(&home, "good", "good")], Some(judge)));
    home.run(&["plan", "task.json", "--seed", "7"]).ends(0);
    let plan = final_plan(&home);
    assert_eq!(plan["metadata"]["validation"]["judge_valid"], true, "{plan}");
    assert_eq!(plan["metadata"]["warnings"], json!([]));
    assert_eq!(starts(&home, "judy"), 1);
    home.is_left();
}

#[test]
fn another_model_of_an_agent_answers_for_one_that_fails() {
    let choosy = |more: Value| {
        let mut agent = json!({ "kind": "claude", "command": "./claude-choosy", "model": "old" });
        for (field, value) in more.as_object().unwrap() {
            agent[field] = value.clone();
        }
        agent
    };
    let missing = Some("model: old does not exist");
    check_with("claude-choosy", choosy(json!({})), PATIENT, missing);
    let others = json!({ "fallback_models": ["older", "good"] });
    check_with("claude-choosy", choosy(others), PATIENT, None);
    let key = json!({ "auth_mode": "api", "fallback_models": ["good"] });
    check_with("claude-choosy", choosy(key), PATIENT, Some("a key is wanted"));
}

#[test]
fn a_long_task_comes_through() {
    let upstream = council();
    // The judge is a model that nobody knows.
    let home = home(&upstream).set("ALTHING_CONTEXT_TOKENS", "200000");
    let as_argument = |name: &str| {
        let mut agent = fake(&home, name, "argument -");
        agent["prompt_mode"] = json!("arg");
        agent
    };
    let planners = [fake(&home, "good", "stdin good"), as_argument("other")];
    let mut spec = spec(&planners, None);
    spec["task"] = json!(format!("Move the shop {}", "and more ".repeat(16_000)));
    run(&home, &spec, PATIENT).ends(0);
    let warnings = final_plan(&home)["metadata"]["warnings"].to_string();
    assert!(warnings.contains("set prompt_mode to stdin"), "{warnings}");
}

#[test]
fn the_time_of_those_who_hang_does_not_add_up() {
    let upstream = council();
    let home = home(&upstream);
    let mut planners = vec![fake(&home, "good", "good")];
    planners.extend((1..=4).map(|at| fake(&home, &format!("hung {at}"), "hang")));
    let began = Instant::now();
    run(&home, &spec(&planners, None), SHORT).ends(0);
    let added_up = Duration::from_secs(4 * ATTEMPTS * SHORT);
    assert!(began.elapsed() < added_up, "{:?}", began.elapsed());
    assert_eq!(starts(&home, "hang"), 4 * ATTEMPTS as usize);
    assert_eq!(used(&final_plan(&home)), ["good"]);
}

#[test]
fn planners_that_say_much_are_heard_side_by_side() {
    let upstream = council();
    let home = home(&upstream);
    let together = |at| fake(&home, &format!("p{at}"), &format!("together {at}"));
    let planners: Vec<Value> = (1..=3).map(together).collect();
    run(&home, &spec(&planners, None), PATIENT).ends(0);
    assert_eq!(used(&final_plan(&home)), ["p1", "p2", "p3"]);
    assert_eq!((1..=3).map(|at| starts(&home, &at.to_string())).sum::<usize>(), 3);
}

#[test]
fn configured_agents_sit_by_name_and_may_judge() {
    let upstream = council();
    let home = home(&upstream);
    let config = home.path().join(".config/althing");
    fs::create_dir_all(&config).unwrap();
    let section = |name: &str, behaviour: &str| {
        let program = home.path().join("agent.sh").display().to_string();
        format!("[agents.{name}]\ncommand = \"{program} {behaviour}\"\n")
    };
    let text = section("mine", "folder mine") + &section("wise", "judge wise");
    fs::write(config.join("config.toml"), text).unwrap();
    let repo = home.path().join("shop");
    fs::create_dir(&repo).unwrap();
    fs::write(repo.join("main.rs"), "").unwrap();
    let start = ["plan", "--task", "Move the shop", "--planners", "mine,openai:ada"];
    let args = [&start[..], &["--judge", "wise", "--seed", "7"]].concat();
    home.run(&args).ends(0).warns("mine: ready").warns("Judge: wise.");
    let told = |start: &str| {
        let place = folder(&home).join("raw/planner-1-mine").join(start);
        is_private(&place);
        is_private(&place.join("stderr.txt"));
        fs::read_to_string(place.join("stderr.txt")).unwrap()
    };
    assert!(
        told("1").contains("/althing-agent-") && told("1").lines().count() == 1,
        "{}",
        told("1")
    );
    assert!(folder(&home).join("raw/judge-3-wise/1/stdout.txt").is_file());
    assert_eq!(final_plan(&home)["metadata"]["validation"]["judge_valid"], true);
    fs::remove_dir_all(folder(&home)).unwrap();
    home.run(&[&args[..], &["--repo", "shop"]].concat()).ends(0);
    assert_eq!(told("1"), format!("{}\nmain.rs\n", repo.display()));
    home.is_left();
}

#[test]
fn who_is_only_there_is_not_asked() {
    let upstream = council();
    let home = home(&upstream);
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::copy(home.path().join("claude-lines"), bin.join("claude")).unwrap();
    let home = home.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    home.run(&["plan", "--task", "Move the shop", "--seed", "7"]).ends(0);
    assert_eq!(starts(&home, "claude-lines"), 0);
    home.run(&["plan", "--task", "Move the shop", "--planners", "claude-cli"]).ends(0);
    assert_eq!(starts(&home, "claude-lines"), 1);
}

#[test]
fn a_council_never_starts_a_council() {
    let upstream = council();
    let home = home(&upstream).set("ALTHING_AGENT", "1-2");
    let args = ["plan", "--task", "x", "--planners", "openai:ada", "--judge", JUDGE];
    home.run(&args).ends(2).warns("may not start agents");
    assert!(upstream.requests().is_empty());
}
