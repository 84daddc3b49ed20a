//! Frontends that leave without a word, do not read, or ask for what does not end.

use super::kit::{Client, KEY, Machine, Still, named};
use crate::runs::opening_of;
use crate::store::Standing;
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// Requests of a frontend that does not read: their answers are many gigabytes.
const REQUESTS: usize = 100_000;

async fn standing(machine: &Machine) -> Standing {
    machine.store.run("last").await.unwrap().standing
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_does_not_keep_us() {
    let machine = Machine::new().voice("ada", "~");
    let mut client = machine.connect();
    client.request("validate_model", json!({"model_id": "demo:ada"})).await;
    client.close().await;
    assert_eq!(client.rest().await, Vec::<String>::new());
    assert!(machine.stage.calls()[0].dropped());
}

/// A frontend that asks for ever and never reads.
async fn flood(machine: &Machine) -> Client {
    let mut client = machine.connect();
    client.call("add_to_input_history", json!({"input": "x".repeat(50_000)})).await;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"get_input_history"}"#;
    let flood = async {
        for _ in 0..REQUESTS {
            client.write(format!("{request}\n")).await;
        }
    };
    // Past what the pipe and the backend hold, nothing is taken.
    assert!(timeout(Duration::from_secs(60), flood).await.is_err());
    client
}

#[tokio::test(start_paused = true)]
async fn a_frontend_that_never_reads_does_not_keep_us() {
    let machine = Machine::new();
    flood(&machine).await.gone().await;
    let mut client = flood(&machine).await;
    client.stop();
    client.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_frontend_that_breaks_off_leaves_a_saved_discussion() {
    for turn in ["thesis", "~"] {
        let machine = Machine::new().voice("ada", turn);
        let mut client = machine.connect();
        let options = json!({"method": "socratic"});
        let params =
            json!({"question": "Why?", "model_ids": ["demo:ada", "demo:bob"], "options": options});
        client.request("run_discussion", params).await;
        while client.read_within(Duration::from_secs(1)).await.is_some() {}
        assert_eq!(standing(&machine).await, Standing::Running);
        client.gone().await;
        assert_eq!(standing(&machine).await, Standing::Cancelled);
        let run = machine.runs().resume("last", None, false).await.unwrap();
        run.control.cancel();
        run.ending().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_discussion_that_nobody_waited_for_is_cancelled_in_order() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let params = json!({"question": "Why?", "model_ids": ["demo:ada", "demo:bob"]});
    client.request("run_discussion", params).await;
    client.close().await;
    let lines = client.rest().await;
    let [.., event, answer] = &lines[..] else { panic!("{lines:?}") };
    assert!(event.contains(r#""method":"discussion_cancelled""#), "{event}");
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{"status":"completed"}}"#);
    assert_eq!(standing(&machine).await, Standing::Cancelled);
}

/// Another process keeps the store: that it was cancelled is told once, and nothing else of it.
#[tokio::test(start_paused = true)]
async fn a_cancelled_discussion_does_not_wait_to_be_saved() {
    let machine = Machine::on_disk();
    let mut client = machine.connect();
    client.call("get_config", json!({})).await;
    let other = rusqlite::Connection::open(machine.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let params = json!({"question": "Why?", "model_ids": ["demo:ada", "demo:bob"]});
    let run = client.request("run_discussion", params).await;
    let cancel = client.request("cancel_discussion", json!({})).await;
    let event: Value = serde_json::from_str(&client.read().await.unwrap()).unwrap();
    assert_eq!(event["method"], "discussion_cancelled");
    for (id, status) in [(run, "completed"), (cancel, "cancellation_requested")] {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"status": status}});
        assert_eq!(client.read().await.unwrap(), answer.to_string());
    }
    other.execute_batch("ROLLBACK").unwrap();
    client.close().await;
    assert_eq!(client.rest().await, Vec::<String>::new());
    assert_eq!(standing(&machine).await, Standing::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_discussion_that_cannot_be_saved_is_held_and_says_so() {
    let machine = Machine::on_disk().env("QUORUM_PAUSE_TIMEOUT", "0");
    let mut client = machine.connect();
    client.call("get_config", json!({})).await;
    let db = rusqlite::Connection::open(machine.database()).unwrap();
    db.execute("DROP TABLE events", []).unwrap();
    // And there is room for the next.
    for _ in 0..2 {
        let (events, answer) = client.run(&["demo:ada", "demo:bob"], json!({})).await;
        assert_eq!(answer["result"], json!({"status": "completed"}), "{answer}");
        let synthesis = named(&events, "synthesis")[0]["synthesis"].as_str().unwrap();
        assert!(synthesis.contains("**Not saved**") && synthesis.contains("events"), "{synthesis}");
        let complete = named(&events, "discussion_complete")[0];
        assert!(complete["unsaved"].as_str().unwrap().contains("is not saved"), "{complete}");
    }
}

/// What the latest run was given as its limit, and whether it concludes there.
async fn limit(machine: &Machine) -> (Option<f64>, bool) {
    let id = machine.store.run("last").await.unwrap().id;
    let events = machine.store.events(&id).await.unwrap();
    let opening = opening_of(&id, &events).unwrap();
    (opening.max_cost_usd, opening.concludes_at_limit)
}

/// Frontends never heard of a limit: there is none but the person's, and where that is hit, what was
/// paid for is not thrown away.
#[tokio::test(start_paused = true)]
async fn only_a_limit_that_somebody_set_ends_a_discussion_and_it_concludes() {
    let _still = Still::hold();
    let upstream = Upstream::start(Options::default());
    let paid = || {
        let v1 = format!("{}/v1", upstream.url());
        let machine = Machine::new().env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &v1);
        machine.env("QUORUM_PAUSE_TIMEOUT", "0")
    };
    let machine = paid();
    let ids = ["openai:gpt-5.1", "openai:gpt-4.1"];
    let (events, _) = machine.connect().run(&ids, json!({})).await;
    assert_eq!(limit(&machine).await, (None, true));
    let synthesis = named(&events, "synthesis")[0]["synthesis"].as_str().unwrap();
    assert!(!synthesis.contains("Concluded early"), "{synthesis}");

    let machine = paid().env("ALTHING_MAX_COST", "0.02");
    let (events, answer) = machine.connect().run(&ids, json!({})).await;
    assert_eq!(answer["result"], json!({"status": "completed"}), "{answer}");
    assert_eq!(limit(&machine).await, (Some(0.02), true));
    let synthesis = named(&events, "synthesis")[0]["synthesis"].as_str().unwrap();
    assert!(synthesis.contains("**Concluded early**"), "{synthesis}");
    assert!(synthesis.contains("max_cost_usd (ALTHING_MAX_COST"), "{synthesis}");

    // With 0 nobody is asked who costs anything.
    let before = upstream.requests().len();
    let machine = paid().env("ALTHING_MAX_COST", "0");
    let (_, answer) = machine.connect().run(&ids, json!({})).await;
    let error = answer["error"]["message"].as_str().unwrap();
    assert!(error.contains("max_cost_usd (ALTHING_MAX_COST"), "{error}");
    let asked = upstream.requests().split_off(before);
    assert!(asked.iter().all(|seen| matches!(seen.route, Route::List(_))), "{asked:?}");
}
