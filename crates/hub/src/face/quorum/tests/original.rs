//! The faults of the program this one stands in for, each of them gone. Those that need more room:
//!
//! | fault | gone in |
//! |---|---|
//! | batches and other lines are not answered | transcript `envelope` |
//! | odd content in its files blocks every start | `state::odd_files_harm_nobody` |
//! | a hung model blocks some phases despite the limit | transcripts `hung`, `hung_critique` |
//! | an orphan stays after the end during a pause | transcript `leave_pause` |
//! | frontends spoil each other's files | `state::two_frontends_lose_nothing_of_each_other` |
//! | a wrong `message_count`, EVOLUTION within the differences | transcript `standard` |
//! | an agreement in a trade-off is always NO | transcript `tradeoff` |
//! | `IDEA 1:` loses its blank | transcript `brainstorm` |
//! | failures are debated | every transcript: `transcripts::Player::end` |
//! | models of a phase wait for the slowest | transcript `order` |
//! | a throttle | `lines::ten_thousand_requests_at_once` |
//! | a black-holed Ollama delays lists | `models::a_server_that_never_answers_delays_nothing` |
//! | validated models are never removed | `models::what_answers_is_remembered_until_it_does_not` |
//! | nothing is kept, nothing can be resumed | transcripts `leave_call`, `cancel_pause` |

use super::kit::{Event, KEY, Machine, Still, named, nowhere};
use althing_testkit::upstream::State;
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A discussion of these voices without pauses.
async fn run(machine: Machine, ids: &[&str], options: Value) -> (Machine, Vec<Event>) {
    let machine = machine.env("QUORUM_PAUSE_TIMEOUT", "0");
    let (events, answer) = machine.connect().run(ids, options).await;
    assert_eq!(answer["result"], json!({"status": "completed"}), "{answer}");
    (machine, events)
}

#[tokio::test(start_paused = true)]
async fn a_bad_key_blocks_everything_and_is_shown() {
    for key in ["sk-...", "", "sk-secret.with.dots-0123456789", "tiny1", "  "] {
        let machine = Machine::new()
            .env("OPENAI_API_KEY", key)
            .env("OPENAI_BASE_URL", &nowhere())
            .file(".env", "XAI_API_KEY=\n");
        let mut client = machine.connect();
        for method in ["list_models", "get_config", "get_user_settings", "get_input_history"] {
            assert!(client.call(method, json!({})).await["code"].is_null(), "{key} {method}");
        }
        let answer = client.call("validate_model", json!({"model_id": "gpt-5.1"})).await;
        let error = answer["error"].as_str().unwrap();
        let is_usable = key.starts_with("sk-secret");
        assert!(is_usable || error.contains("OPENAI_API_KEY"), "{error}");
        assert!(key.trim().len() < 3 || !error.contains(key), "{error}");
        let answer = client.call("validate_model", json!({"model_id": "demo:ada"})).await;
        assert_eq!(answer["valid"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_surrogate_in_the_history_blocks_every_start() {
    let history = r#"{"history":["good","\ud800 bad"]}"#;
    let machine = Machine::new().file(".quorum/history.json", history);
    for _ in 0..2 {
        let answer = machine.connect().call("get_input_history", json!({})).await;
        assert_eq!(answer, json!({"history": ["good", "\u{fffd} bad"]}));
    }
}

#[tokio::test(start_paused = true)]
async fn random_and_rotate_choose_twice() {
    let machine = Machine::new().env("QUORUM_PAUSE_TIMEOUT", "0");
    let mut client = machine.connect();
    let ids = ["demo:ada", "demo:bob", "demo:cy"];
    let options = |mode: &str| json!({"max_turns": 1, "synthesizer_mode": mode});
    for mode in ["rotate", "random"] {
        let mut chosen = Vec::new();
        for _ in 0..6 {
            let (events, _) = client.run(&ids, options(mode)).await;
            let synthesis = &named(&events, "synthesis")[0]["synthesizer_model"];
            assert_eq!(named(&events, "thinking").last().unwrap()["model"], *synthesis);
            chosen.push(synthesis.as_str().unwrap().to_string());
        }
        if mode == "rotate" {
            assert_eq!(chosen, [ids, ids].concat());
        } else {
            // Always the same one comes up once in 3^23 times.
            for _ in 6..24 {
                let (events, _) = client.run(&ids, options(mode)).await;
                chosen.push(named(&events, "synthesis")[0]["synthesizer_model"].to_string());
            }
            assert!(chosen.iter().collect::<HashSet<_>>().len() > 1, "{chosen:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disagreements_first_fill_agreements_too() {
    let machine =
        Machine::new().voice("ada", "x").voice("ada", "DISAGREEMENTS: no\\nAGREEMENTS: yes");
    let (_, events) = run(machine, &["demo:ada", "demo:bob"], json!({"max_turns": 1})).await;
    let critique = named(&events, "critique")[0];
    assert_eq!(
        (&critique["agreements"], &critique["disagreements"]),
        (&json!("yes"), &json!("no"))
    );
}

#[tokio::test(start_paused = true)]
async fn bold_labels_are_not_recognised() {
    let turns = [
        "x",
        "**AGREEMENTS:** yes\\n**Disagreement**: no\\n## Missing\\nall",
        "talk",
        "**POSITION:** Stand.\\n**CONFIDENCE:** HIGH",
        "**CONSENSUS:** YES\\n**SYNTHESIS:** So.\\n**DIFFERENCES:** None",
    ];
    let machine = turns.iter().fold(Machine::new(), |machine, turn| machine.voice("ada", turn));
    let (_, events) = run(machine, &["demo:ada", "demo:bob"], json!({"max_turns": 1})).await;
    assert_eq!(named(&events, "critique")[0]["agreements"], "yes");
    let position = named(&events, "final_position")[0];
    assert_eq!(
        (&position["position"], &position["confidence"]),
        (&json!("Stand."), &json!("HIGH"))
    );
    let synthesis = named(&events, "synthesis")[0];
    assert_eq!((&synthesis["consensus"], &synthesis["synthesis"]), (&json!("YES"), &json!("So.")));
    assert_eq!(synthesis["differences"], "None");
    assert_eq!(synthesis["confidence_breakdown"]["demo:ada"], 85);
}

#[tokio::test(start_paused = true)]
async fn ids_that_look_alike_overwrite_each_other() {
    let ids = ["demo:alpha.1", "demo:alpha_1", "demo:ada", "demo:ada"];
    let machine = Machine::new().voice("alpha.1", "dot").voice("alpha_1", "line");
    let (machine, events) = run(machine, &ids, json!({"max_turns": 4})).await;
    for (name, field) in [("independent_answer", "content"), ("final_position", "position")] {
        let said = named(&events, name);
        let sources: Vec<&Value> = said.iter().map(|it| &it["source"]).collect();
        assert_eq!(sources, ids, "{name}");
        let texts: HashSet<&str> = said.iter().map(|it| it[field].as_str().unwrap()).collect();
        assert_eq!(texts.len(), 4, "{texts:?}");
    }
    let contents: Vec<&Value> =
        named(&events, "independent_answer").iter().map(|it| &it["content"]).take(2).collect();
    assert_eq!(contents, ["dot", "line"]);
    assert_eq!(named(&events, "synthesis")[0]["message_count"], 16);
    // Four participants under four names.
    let calls = machine.stage.calls();
    let tasks = calls.iter().flat_map(|call| call.ask.messages[1].text.lines());
    let tasks = tasks.filter(|line| line.starts_with("You are "));
    let names: HashSet<&str> = tasks.filter_map(|line| line.split(". ").next()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_debater_judges_its_own_debate() {
    let ids = ["demo:ada", "demo:bob"];
    let (machine, _) = run(Machine::new(), &ids, json!({"method": "oxford"})).await;
    let judgement = machine.stage.calls().pop().unwrap();
    let prompt: String = judgement.ask.messages.iter().map(|it| it.text.as_str()).collect();
    // It cannot know which side was its own.
    for name in ["Ada", "Bob", "demo:"] {
        assert!(!prompt.contains(name), "{prompt}");
    }
    assert!(prompt.contains("FOR 1") && prompt.contains("AGAINST 1"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn delphi_ignores_the_sequential_mode() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default());
    let machine = Machine::new()
        .env("CUSTOM_BASE_URL", &format!("{}/v1", upstream.url()))
        .env("CUSTOM_MODELS", "a,b,c")
        .env("QUORUM_EXECUTION_MODE", "sequential");
    run(machine, &["a", "b", "c"], json!({"method": "delphi"})).await;
    assert_eq!(upstream.count("a") + upstream.count("b") + upstream.count("c"), 10);
    assert_eq!(upstream.peak_in_flight(), 1);
}

/// One call at a time is meant for all servers together.
#[tokio::test(start_paused = true)]
async fn the_sequential_mode_is_one_line_before_all_servers() {
    for (mode, want) in [("sequential", false), ("auto", true)] {
        let _still = Still::hold();
        let one = Arc::new(Upstream::start(Options::default().latency(Duration::from_millis(50))));
        let (busy, has_met) = (one.clone(), Arc::new(AtomicBool::new(false)));
        let meets = has_met.clone();
        // Lists are fetched beside it.
        let is_asked = |seen: &Seen| !seen.model.is_empty() && seen.state == State::Open;
        let other = Upstream::start(Options::default().mishap(move |seen| {
            let meets_now = !seen.model.is_empty() && busy.requests().iter().any(is_asked);
            meets.fetch_or(meets_now, Ordering::Relaxed);
            None
        }));
        let machine = Machine::new()
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", &format!("{}/v1", one.url()))
            .env("CUSTOM_BASE_URL", &format!("{}/v1", other.url()))
            .env("QUORUM_EXECUTION_MODE", mode);
        let ids = ["openai:a", "openai:b", "custom:c"];
        run(machine, &ids, json!({"method": "delphi"})).await;
        assert_eq!(has_met.load(Ordering::Relaxed), want, "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_local_model_makes_the_others_wait() {
    let _still = Still::hold();
    let (local, cloud) = (Upstream::start(Options::default()), Upstream::start(Options::default()));
    let machine = Machine::new()
        .env("OLLAMA_BASE_URL", &local.url())
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", &format!("{}/v1", cloud.url()));
    let mut client = machine.connect();
    let params = json!({"question": "Why?", "model_ids": ["ollama:hang", "openai:a", "openai:b"]});
    client.request("run_discussion", params).await;
    let mut done = HashSet::new();
    while done.len() < 2 {
        let line: Value = serde_json::from_str(&client.read().await.unwrap()).unwrap();
        if line["method"] == "thinking_complete" {
            done.insert(line["params"]["model"].as_str().unwrap().to_string());
        }
    }
    assert_eq!(done, HashSet::from(["openai:a", "openai:b"].map(String::from)));
}

#[tokio::test(start_paused = true)]
async fn a_hung_server_takes_longer_than_it_may() {
    let upstream = Upstream::start(Options::default());
    let machine = Machine::new()
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", &format!("{}/v1", upstream.url()))
        .env("QUORUM_MODEL_TIMEOUT", "20")
        .env("QUORUM_PAUSE_TIMEOUT", "0");
    let mut client = machine.connect();
    let (still, began) = (Still::hold(), Instant::now());
    let params = json!({"question": "Why?", "model_ids": ["openai:hang", "demo:ada", "demo:bob"]});
    client.request("run_discussion", params).await;
    upstream.wait_for(|seen| seen.iter().any(|seen| seen.model == "hang")).await;
    drop(still);
    let answer = loop {
        let line: Value = serde_json::from_str(&client.read().await.unwrap()).unwrap();
        if line["method"] == "independent_answer" {
            break line["params"].clone();
        }
    };
    assert_eq!((&answer["source"], &answer["failed"]), (&json!("openai:hang"), &json!(true)));
    assert!(
        answer["content"]
            .as_str()
            .unwrap()
            .contains("within 20 s (model_timeout_seconds, QUORUM_MODEL_TIMEOUT)"),
        "{answer}"
    );
    assert_eq!(began.elapsed().as_secs(), 20, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn every_message_waits() {
    let began = Instant::now();
    run(Machine::new(), &["demo:ada", "demo:bob"], json!({})).await;
    // Twelve calls one after the other at most, of one or two milliseconds each.
    assert!(began.elapsed().as_millis() < 50, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_throttle_delays_cancel_and_resume() {
    let mut client = Machine::new().connect();
    let began = Instant::now();
    for _ in 0..100 {
        client.call("resume_discussion", json!({})).await;
        client.call("cancel_discussion", json!({})).await;
    }
    assert!(began.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_chosen_ollama_model_is_forgotten() {
    let machine = Machine::new().env("OLLAMA_BASE_URL", &nowhere());
    let selected = json!({"selected_models": ["ollama:llama3.2:1b", "nobody"]});
    machine.connect().call("save_user_settings", selected).await;
    let settings = machine.connect().call("get_user_settings", json!({})).await;
    assert_eq!(settings["selected_models"], json!(["ollama:llama3.2:1b"]));
}
