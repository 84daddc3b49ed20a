//! `althing plan` from the task to the files it leaves, against an upstream that plans and judges.

mod fakes;
mod kill;
mod page;
mod tools;

use crate::harness::{Done, Home, signal, upstream};
use althing_assembly::council::schema::Form;
use althing_assembly::event::What;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PLANNERS: &str = "openai:ada,openai:bob,openai:cyd";
const JUDGE: &str = "openai:judy";

fn task(title: &str) -> Value {
    json!({
        "title": title, "description": "It is needed", "steps": ["Begin", "End"], "inputs": [],
        "outputs": [], "dependencies": [], "acceptance_criteria": ["It is done"], "complexity": 3
    })
}

/// What a model says by itself: the judge judges what it reads, everybody else plans.
fn says(seen: &Seen) -> String {
    let prompt = seen.prompt();
    let phases = json!([{ "name": "Work", "goal": "Done", "tasks": [task("Do it")] }]);
    if !prompt.contains("Write a judge_output:") {
        let summary = format!("Plan of {} at /home/eve/x.rs, made by OpenAI", seen.model);
        return json!({
            "summary": summary, "phases": phases, "risks": ["It may break"], "edge_cases": [],
            "tests": ["Try it"], "assumptions": [], "rollback": ["Undo it"]
        })
        .to_string();
    }
    let labels: Vec<&str> = prompt
        .lines()
        .filter_map(|line| Some(line.strip_prefix('[')?.strip_suffix(']')?.split_once(' ')?.1))
        .filter(|name| name.starts_with("Plan "))
        .collect();
    let score = |label: &&str| {
        json!({
            "label": label, "score": 7, "rationale": "Good", "strengths": [], "weaknesses": []
        })
    };
    // What the first plan says goes into the merged one, so that a different order would show.
    let first = prompt.split("{\"summary\":\"").nth(1).and_then(|it| it.split('"').next());
    json!({
        "scores": labels.iter().map(score).collect::<Vec<_>>(),
        "comparative_analysis": "Alike", "missing_steps": [], "contradictions": [],
        "improvements": [], "selected_plan": labels[0],
        "merged_plan": {
            "overview": first, "phases": phases, "testing": ["Try it"], "risks": ["It may break"],
            "rollback": [], "edge_cases": []
        }
    })
    .to_string()
}

fn council() -> Upstream {
    Upstream::start(Options::default().text(says))
}

fn plan(home: &Home, more: &[&str]) -> Done {
    let start = ["plan", "--task", "Move the shop", "--seed", "7"];
    home.run(&[&start[..], more].concat())
}

/// Goes on with the council that was killed. Between its last event and its exit there is nothing
/// left to do.
#[track_caller]
fn go_on(home: &Home) {
    let done = home.run(&["resume", "last", "-q"]);
    let is_complete = done.code == Some(2) && done.err.contains("is complete");
    assert!(done.code == Some(0) || is_complete, "{done:#?}");
}

/// The folder of the only council in `home`.
fn folder(home: &Home) -> PathBuf {
    let mut all = std::fs::read_dir(home.data().join("councils")).unwrap();
    all.next().unwrap().unwrap().path()
}

fn final_plan(home: &Home) -> Value {
    let text = std::fs::read_to_string(folder(home).join("final-plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(Form::FinalPlan.problems(&plan), []);
    plan
}

#[track_caller]
fn is_private(path: &Path) {
    let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
}

#[test]
fn a_good_run_leaves_a_valid_plan_and_everything_it_came_from() {
    let upstream = council();
    let home = Home::with(&upstream);
    let done = plan(&home, &["--planners", PLANNERS, "--judge", JUDGE]);
    done.ends(0).says("# Plan: Move the shop").says("## How it came about");
    done.warns("Ada: asked, attempt 1").warns("Bob: ready").warns("the judge decides");
    assert_eq!(upstream.requests().len(), 4);
    let plan = final_plan(&home);
    assert_eq!(plan["metadata"]["used_plans"].as_array().unwrap().len(), 3);
    assert_eq!(plan["metadata"]["warnings"], json!([]));
    let overview = plan["final_plan"]["overview"].as_str().unwrap();
    assert!(overview.contains("at /home/eve/x.rs, made by OpenAI"), "put back: {overview}");
    let folder = folder(&home);
    is_private(&folder);
    let names = [
        "task.json",
        "labels.json",
        "judge_input.json",
        "judgement.json",
        "final-plan.md",
        "events.jsonl",
    ];
    let raw = ["attempts/planner-1-ada-1.txt", "attempts/judge-4-judy-1.txt"];
    names.iter().chain(&raw).for_each(|name| is_private(&folder.join(name)));
    let input = std::fs::read_to_string(folder.join("judge_input.json")).unwrap();
    let input: Value = serde_json::from_str(&input).unwrap();
    assert_eq!(Form::JudgeInput.problems(&input), []);
    let summary = input["plans"][0]["plan"]["summary"].as_str().unwrap();
    assert!(!summary.contains("OpenAI") && !summary.contains("/home/eve"), "{summary}");
    let lines = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    assert_eq!(lines, home.run(&["show", "last", "--json"]).out);
    home.run(&["show", "last"]).ends(0).says("# Plan: Move the shop").says("Ada: ready");
    home.run(&["show", "last", "--quiet"]).ends(0).says("# Plan: Move the shop");
    home.run(&["export", "last"]).ends(0).says("# Plan: Move the shop").says("## Participants");
    home.run(&["export", "last", "--format", "html"]).ends(0).says("Move the shop");
    home.run(&["history"]).ends(0).says("council").says("done");
    std::fs::remove_dir_all(&folder).unwrap();
    let done = home.run(&["resume", "last"]);
    done.ends(2).warns("is complete; read its plan with: althing show ");
    done.warns(&format!("its files are in {}", folder.display()));
    assert_eq!(final_plan(&home), plan, "its files are there all the same");
    let on = home.run(&["ask", "--continue", "last", "and then?"]);
    on.ends(2).warns("is a council, which is not asked on; its plan: althing show ");
}

#[test]
fn events_can_be_read_instead_and_constraints_are_heard() {
    let upstream = council();
    let home = Home::with(&upstream);
    let more = ["--constraint", "no downtime", "--constraint", "no money", "--json"];
    let done = plan(&home, &[&["--planners", "openai:ada", "--judge", JUDGE], &more[..]].concat());
    done.ends(0);
    let lines = std::fs::read_to_string(folder(&home).join("events.jsonl")).unwrap();
    assert_eq!(done.out, lines);
    for seen in upstream.requests() {
        assert!(seen.prompt().contains("- no downtime\n- no money\n"), "{}", seen.prompt());
    }
}

#[test]
fn the_judge_reads_no_names_no_paths_and_no_makers() {
    let upstream = council();
    let home = Home::with(&upstream);
    plan(&home, &["--planners", PLANNERS, "--judge", JUDGE, "--quiet"]).ends(0);
    let seen = upstream.requests();
    let judged = seen.iter().find(|seen| seen.model == "judy").unwrap().prompt();
    // The letters of the mark are drawn: they may be anybody's name.
    let mark = judged.split(" question]").next().and_then(|it| it.rsplit('[').next()).unwrap();
    let judged = judged.replace(mark, "");
    for leak in ["ada", "bob", "cyd", "OpenAI", "/home/eve"] {
        assert!(!judged.contains(leak), "{leak} in {judged}");
    }
    assert!(judged.contains("[path-1]"), "{judged}");
}

#[test]
fn without_names_demo_voices_plan_and_say_so() {
    let home = Home::new();
    let done = plan(&home, &[]);
    done.ends(0)
        .says("_Scripted demo voices wrote this")
        .warns("Demo voices: scripted demo voices speak");
    done.warns("For real models").warns("Builder (demo): ready");
    assert_eq!(final_plan(&home)["metadata"]["validation"]["judge_valid"], true);
}

#[test]
fn an_invalid_answer_is_asked_again_with_its_errors() {
    let upstream =
        Upstream::start(Options::default().text(|seen| match (&*seen.model, seen.nth) {
            ("ada", 1) => "Sure! {\"summary\": \"half\"}".into(),
            _ => says(seen),
        }));
    let home = Home::with(&upstream);
    let done = plan(&home, &["--planners", PLANNERS, "--judge", JUDGE]);
    done.ends(0).warns("asked again with the errors");
    assert_eq!((upstream.count("ada"), upstream.count("bob")), (2, 1));
    let again = upstream.requests();
    let again = again.iter().rfind(|seen| seen.model == "ada").unwrap().prompt();
    assert!(again.contains("\"phases\" is a required property"), "{again}");
    assert_eq!(final_plan(&home)["metadata"]["used_plans"].as_array().unwrap().len(), 3);
}

#[test]
fn who_refuses_or_has_a_wrong_key_is_told_and_the_good_plan_is_kept() {
    let upstream = council();
    let home = Home::with(&upstream);
    let planners = "openai:refuse,openai:empty,openai:err-401,openai:ada";
    let done = plan(&home, &["--planners", planners, "--judge", JUDGE]);
    done.ends(0).warns("Refuse: failed").warns("asked again with less to read");
    assert_eq!((upstream.count("refuse"), upstream.count("empty")), (2, 2));
    assert_eq!(upstream.count("err-401"), 1, "a wrong key is not tried again");
    let warnings = final_plan(&home)["metadata"]["warnings"].to_string();
    assert_eq!(warnings.matches("planner_failed").count(), 3, "{warnings}");
}

#[test]
fn a_judge_who_fails_is_replaced_unless_nobody_may() {
    let upstream = council();
    let home = Home::with(&upstream);
    let args = ["--planners", PLANNERS, "--judge", "openai:err-401"];
    plan(&home, &args).ends(0).warns("No judge decided");
    let plan_made = final_plan(&home);
    assert_eq!(plan_made["metadata"]["validation"]["judge_valid"], false);
    assert_eq!(plan_made["metadata"]["used_plans"].as_array().unwrap().len(), 1);
    let done = plan(&home, &[&args[..], &["--no-fallback"]].concat());
    done.ends(4).warns("the judge gave no valid verdict");
    done.warns("Saved. Go on with: althing resume ").warns(" --retry-failed");
}

#[test]
fn each_end_has_its_exit_code() {
    let upstream = council();
    let home = Home::with(&upstream);
    let none = ["--planners", "openai:refuse,openai:err-401", "--judge", JUDGE];
    plan(&home, &none).ends(3).warns("no planner gave a valid plan").warns(" --retry-failed");
    let dear = ["--planners", "openai:gpt-5.1", "--judge", JUDGE, "--max-cost", "0"];
    plan(&home, &dear).ends(5).warns("cost limit").warns(" --max-cost USD");
    plan(&home, &["--planners", "openai:", "--judge", JUDGE]).warns("openai:");
    plan(&home, &["--planners", ",", "--judge", JUDGE]).ends(2).warns("planners: '' is no name");
    plan(&home, &["--planners", "openai:a", "--judge", " "]).ends(2).warns("judge: '' is no name");
    home.run(&["plan", "missing.json"]).ends(2).warns("missing.json");
    home.run(&["plan"]).ends(2);
    home.run(&["plan", "--task", " "]).ends(2).warns("$.task");
    home.run(&["plan", "--task", "x", "--planners", "openai:a", "--judge", "nobody-at-all"])
        .ends(12);
}

#[test]
fn a_hung_planner_costs_its_time_and_not_the_run() {
    let upstream = council();
    let home = Home::with(&upstream);
    let args = ["--planners", "openai:hang,openai:ada", "--judge", JUDGE, "--timeout", "1"];
    plan(&home, &args).ends(0).warns("Hang: failed: no answer within 1 s");
    assert_eq!(upstream.count("hang"), 3);
}

#[test]
fn ctrl_c_cancels_saves_and_goes_on() {
    let upstream = council();
    let home = Home::with(&upstream);
    let args = ["plan", "--task", "x", "--planners", "openai:ada,openai:hang", "--judge", JUDGE];
    let child = home.spawn(&args);
    upstream.wait_for_sync(|seen| seen.len() >= 2 && seen.iter().any(|it| it.model == "hang"));
    signal(&child, "INT");
    let done = Done::of(child.wait_with_output().unwrap());
    done.ends(130).warns("Stopped and saved. Go on with: althing resume");
    upstream.wait_for_sync(|seen| seen.iter().any(|seen| seen.aborted()));
    home.is_left();
    assert!(folder(&home).join("events.jsonl").is_file());
}

#[test]
fn a_task_is_checked_and_every_error_has_its_place() {
    let home = Home::new();
    let file = home.path().join("task.json");
    let bad = json!({
        "task": "", "constraints": ["a", 1], "preferences": { "max_plans": 0, "colour": "red" },
        "agents": { "planners": [] }
    });
    std::fs::write(&file, bad.to_string()).unwrap();
    let done = home.run(&["plan", "--check", "task.json"]);
    done.ends(2).warns("the task has 5 errors");
    for path in ["$.task:", "$.constraints[1]:", "$.preferences.max_plans:", "$.preferences:"] {
        done.says(path);
    }
    done.says("$.agents.planners:");
    home.run(&["plan", "task.json"]).ends(2).warns("$.constraints[1]");
    let bad = json!({
        "task": "x", "constraints": vec![1; 60], "preferences": { "language": "zh_CN" },
        "repo_context": { "paths": ["../../x"] }, "agents": { "planners": [{ "kind": "custom" }] }
    });
    std::fs::write(&file, bad.to_string()).unwrap();
    let done = home.run(&["plan", "--check", "task.json"]);
    done.ends(2).warns("the task has 63 errors").says("$.constraints[59]:");
    done.says("$.preferences.language: must be").says("$.repo_context.paths[0]: '../../x'");
    done.says("$.agents.planners[0].command: a custom agent needs one");
    let gone = json!({ "task": "x", "repo_context": { "root": "gone" } });
    std::fs::write(&file, gone.to_string()).unwrap();
    home.run(&["plan", "--check", "task.json"]).ends(2).says("$.repo_context.root: gone");
    home.run(&["plan", "--check", "task.json", "--repo", "."]).ends(0);
    std::fs::write(&file, "{ no json").unwrap();
    home.run(&["plan", "--check", "task.json"]).ends(2).warns("no JSON");
    std::fs::write(&file, json!({ "task": "x" }).to_string()).unwrap();
    home.run(&["plan", "--check", "task.json"]).ends(0).says("The task is valid.");
    home.run_with_input(&["plan", "--check", "-"], "{}").ends(2).says("\"task\" is a required");
}

#[test]
fn a_check_finds_who_and_what_is_not_there() {
    let upstream = Upstream::start(Options::default().text(says).models(["ada", "judy-20260101"]));
    let home = Home::with(&upstream);
    let write = |spec: &Value| {
        std::fs::write(home.path().join("task.json"), spec.to_string()).unwrap();
    };
    let own = home.path().join("mine");
    std::fs::write(&own, "#!/bin/sh\n").unwrap();
    std::fs::create_dir(home.path().join("shop")).unwrap();
    write(&json!({
        "task": "x", "repo_context": { "root": "shop", "paths": ["gone.rs"] },
        "agents": {
            "planners": [
                { "model": "openai:ada" }, { "model": "openai:bob" }, { "command": own },
                { "command": "no-such-program" }
            ],
            "judge": { "model": "openai:judy", "fallback_models": ["openai:zoe"] }
        }
    }));
    let done = home.run(&["plan", "--check", "task.json"]);
    done.ends(2).warns("the task has 5 errors");
    done.says("$.repo_context.paths[0]: 'gone.rs': No such file");
    done.says("$.agents.planners[1]: openai lists no such model: openai:bob");
    done.says("may not be run; `chmod +x ").says("no-such-program is not installed");
    done.says("$.agents.judge.fallback_models[0]: openai lists no such model: openai:zoe");
    assert!(!done.out.contains("judy: "), "a shorter name may mean the newest: {done:#?}");
    let twice = "{\"task\": \"x\",\n \"task\": \"y\"}";
    std::fs::write(home.path().join("task.json"), twice).unwrap();
    home.run(&["plan", "--check", "task.json"])
        .ends(2)
        .warns("line 2, column 2: 'task' is there twice");
    home.run(&["plan", "task.json"]).ends(2).warns("'task' is there twice");
}

#[test]
fn a_task_file_says_who_plans_how_many_and_what_they_read() {
    let upstream = council();
    let home = Home::with(&upstream);
    let root = home.path().join("shop");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/db.rs"), "fn old_database() {}").unwrap();
    let mut spec = json!({
        "task": "Move the shop", "constraints": ["no downtime"],
        "repo_context": { "root": root, "paths": ["src/db.rs"], "notes": "careful" },
        "preferences": {
            "max_plans": 1, "random_seed": -1, "language": "nl", "time_budget_sec": 77
        },
        "agents": {
            "planners": [
                { "name": "first", "kind": "openai", "model": "ada" },
                { "name": "second", "model": "openai:hang" }
            ],
            "judge": { "name": "the judge", "model": "openai:judy", "reasoning_effort": "high" }
        }
    });
    let write = |spec: &Value| {
        std::fs::write(home.path().join("task.json"), spec.to_string()).unwrap();
    };
    write(&spec);
    home.run(&["plan", "task.json"]).ends(0).warns("first: ready").warns("A plan came too late");
    let seen = upstream.requests();
    let asked = seen.iter().find(|seen| seen.model == "ada").unwrap().prompt();
    for words in ["fn old_database() {}", "- no downtime", "Notes: careful", "Repository: shop"] {
        assert!(asked.contains(words), "no {words} in {asked}");
    }
    assert!(!asked.contains(&root.display().to_string()), "where it lies is nobody's business");
    let judged = seen.iter().find(|seen| seen.model == "judy").unwrap().prompt();
    for prompt in [&asked, &judged] {
        assert!(prompt.contains("Write every text in nl;"), "{prompt}");
    }
    let events = home.events("last");
    let What::RunStarted(opening) = &events[0].what else { panic!("{:?}", events[0]) };
    let terms = opening.council.as_ref().unwrap();
    assert_eq!((terms.budget_ms, terms.seed), (77_000, -1));
    assert_eq!(terms.folders, [home.path().display().to_string()]);
    assert_eq!(final_plan(&home)["metadata"]["used_plans"], json!(["first"]));
    spec["repo_context"]["paths"] = json!(["../task.json"]);
    write(&spec);
    home.run(&["plan", "task.json"]).ends(2).warns("repo_context.paths[0]").warns("outside");
    spec["repo_context"]["paths"] = json!([]);
    spec["agents"]["planners"] = json!([{ "kind": "custom" }]);
    write(&spec);
    home.run(&["plan", "task.json"]).ends(2).warns("agents.planners[0].command");
}

#[test]
fn files_that_do_not_go_along_are_named_to_all() {
    let upstream = council();
    let home = Home::with(&upstream);
    let root = home.path().join("shop");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("long.txt"), "long line\n".repeat(30_000)).unwrap();
    std::fs::write(root.join("last.rs"), "fn never_seen() {}").unwrap();
    let paths = json!({ "root": root, "paths": ["long.txt", "last.rs"] });
    let spec = json!({ "task": "Move the shop", "repo_context": paths });
    std::fs::write(home.path().join("task.json"), spec.to_string()).unwrap();
    let args = ["plan", "task.json", "--planners", "openai:ada@200k", "--judge", JUDGE];
    home.run(&args).ends(0).warns("Files did not go along: long.txt: cut after ");
    let seen = upstream.requests();
    let asked = seen.iter().find(|seen| seen.model == "ada").unwrap().prompt();
    let cut = "long.txt: cut after 262144 of 300000 bytes";
    assert!(asked.contains(&format!("Not shown: {cut}; last.rs: ")), "{cut}");
    assert!(asked.contains("long line\n") && !asked.contains("never_seen"));
    let warnings = final_plan(&home)["metadata"]["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
    let told = warnings[0].as_str().unwrap();
    assert!(told.starts_with(&format!("files_left_out: {cut}; last.rs: ")), "{told}");
}

#[test]
fn a_repository_without_paths_is_told_by_its_names() {
    let upstream = council();
    let home = Home::with(&upstream);
    let root = home.path().join("shop");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/db.rs"), "fn old_database() {}").unwrap();
    std::fs::write(root.join("README.md"), "A shop for hats.").unwrap();
    std::fs::write(root.join(".env"), "hidden").unwrap();
    plan(&home, &["--planners", "openai:ada", "--judge", JUDGE, "--repo", "shop"]).ends(0);
    let asked = upstream.requests();
    let asked = asked.iter().find(|seen| seen.model == "ada").unwrap().prompt();
    for words in [" all files]", "README.md\nsrc/db.rs\n", "A shop for hats."] {
        assert!(asked.contains(words), "no {words} in {asked}");
    }
    for words in ["old_database", ".env", &root.display().to_string()] {
        assert!(!asked.contains(words), "{words} in {asked}");
    }
    assert_eq!(final_plan(&home)["metadata"]["warnings"], json!([]));
}

#[test]
fn another_model_answers_for_one_that_fails_and_what_does_nothing_is_told() {
    let listed = ["ada", "judy", "err-404", "err-500"];
    let upstream = Upstream::start(Options::default().text(says).models(listed));
    let home = Home::with(&upstream);
    let mut spec = json!({
        "task": "Move the shop",
        "agents": {
            "planners": [{
                "name": "first", "kind": "openai", "model": "err-404", "auth_mode": "login",
                "fallback_models": ["err-500", "ada"]
            }],
            "judge": { "model": "openai:judy" }
        }
    });
    let write = |spec: &Value| {
        std::fs::write(home.path().join("task.json"), spec.to_string()).unwrap();
    };
    write(&spec);
    let told = "agents.planners[0].auth_mode: nothing is done with it";
    home.run(&["plan", "--check", "task.json"]).ends(0).says("is valid").warns(told);
    home.run(&["plan", "task.json"]).ends(0).warns(told);
    assert_eq!((upstream.count("err-404"), upstream.count("ada")), (1, 1));
    let warnings = final_plan(&home)["metadata"]["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
    assert!(warnings[0].as_str().unwrap().starts_with(&format!("field_ignored: {told}")));
    spec["agents"]["planners"][0] = json!({ "command": "x", "format": "xml" });
    write(&spec);
    home.run(&["plan", "--check", "task.json"]).ends(2).says("$.agents.planners[0].format: 'xml'");
}

#[test]
fn the_judge_is_one_who_wrote_no_plan_where_there_is_one() {
    let upstream = council();
    let home = Home::with(&upstream);
    let done = plan(&home, &["--planners", "openai:fake-large"]);
    done.ends(0).warns("Judge: Fake Small.");
    assert_eq!((upstream.count("fake-large"), upstream.count("fake-small")), (1, 1));
    plan(&home, &["--planners", "openai:fake-large@high"]).ends(0).warns("Judge: Fake Small.");
    let home =
        home.set("ALTHING_MODELS", "openai:fake-large,openai:fake-small,openai:fake-large@low");
    plan(&home, &[]).ends(0).warns("Judge: Fake Small.");
    let effort = ["--planners", "openai:ada@high", "--judge", "openai:ada"];
    plan(&home, &effort).ends(0).warns("The judge may have written a plan too");
    let upstream = Upstream::start(Options::default().text(says).models(["only"]));
    let home = Home::with(&upstream);
    plan(&home, &[]).ends(0).warns("The judge may have written a plan too").warns("takes all");
    assert_eq!(upstream.count("only"), 4);
}

#[test]
fn a_plan_cannot_drive_the_terminal() {
    let upstream = Upstream::start(
        Options::default()
            .text(|seen| says(seen).replace("Plan of", "\\u001b[31m<script>\\u202e Plan of")),
    );
    let home = Home::with(&upstream);
    let done = plan(&home, &["--planners", "openai:ada", "--judge", JUDGE]);
    done.ends(0);
    assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'), "{done:?}");
    assert!(!done.out.contains('\u{202e}') && done.out.contains("\\<script>"), "{done:?}");
}

#[test]
fn a_plan_that_cannot_be_written_is_a_failure() {
    let upstream = council();
    let home = Home::with(&upstream);
    let args = ["plan", "--task", "x", "--planners", "openai:ada", "--judge", JUDGE, "-q"];
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done = Done::of(home.command(&args).stdout(full).output().unwrap());
    done.ends(1).warns("standard output: ");
    home.run(&["show", "last", "-q"]).ends(0).says("# Plan: x");
}

#[test]
fn seeded_runs_are_the_same() {
    let upstream = council();
    let made = || {
        let home = Home::with(&upstream);
        plan(&home, &["--planners", PLANNERS, "--judge", JUDGE, "--quiet"]).ends(0);
        final_plan(&home)
    };
    assert_eq!(made(), made());
}

#[test]
fn an_unknown_answer_of_everybody_is_too_few() {
    let home = Home::with(&upstream());
    plan(&home, &["--planners", PLANNERS, "--judge", JUDGE]).ends(3);
}
