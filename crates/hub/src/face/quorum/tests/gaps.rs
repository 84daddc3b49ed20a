//! What comes how long behind what: the terminal frontend of Quorum loses one of two lines that it
//! reads together.

use super::kit::Machine;
use althing_assembly::ALL;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Less than this between the two and the frontend may wait for ever.
const GAP_MIN: Duration = Duration::from_millis(50);
const IDS: [&str; 4] = ["demo:ada", "demo:bob", "demo:cy", "demo:dee"];

/// Gone on at every pause at once, as fast voices and a fast person do: the gaps between each answer
/// to `resume_discussion` and the next end of a phase.
async fn gaps(method: &str, resumes: usize) -> Vec<Duration> {
    let machine = Machine::new();
    let mut client = machine.connect();
    let options = json!({"method": method});
    let params = json!({"question": "Why?", "model_ids": IDS, "options": options});
    let run = client.request("run_discussion", params).await;
    let (mut answered_at, mut gaps) = (None::<Instant>, vec![]);
    loop {
        let line = client.read().await.expect("an event or an answer");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] == "phase_complete" {
            gaps.extend(answered_at.take().map(|at| at.elapsed()));
            for _ in 0..resumes {
                client.request("resume_discussion", json!({})).await;
            }
        }
        match message["id"].as_u64() {
            Some(id) if id == run => return gaps,
            Some(_) => answered_at = Some(Instant::now()),
            None => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_phase_never_ends_right_behind_the_answer_to_resume() {
    for method in ALL {
        let gaps = gaps(method.name, 1).await;
        assert_eq!(gaps.len(), method.phases.len() - 2, "{}", method.name);
        assert!(gaps.iter().all(|gap| *gap >= GAP_MIN), "{}: {gaps:?}", method.name);
        assert!(gaps.iter().all(|gap| *gap < 2 * GAP_MIN), "{}: {gaps:?}", method.name);
    }
}

/// One that comes early ends the next pause; its answer is as dangerous.
#[tokio::test(start_paused = true)]
async fn nor_behind_that_to_one_that_comes_early() {
    let gaps = gaps("standard", 2).await;
    assert!(gaps.iter().all(|gap| *gap >= GAP_MIN), "{gaps:?}");
}
