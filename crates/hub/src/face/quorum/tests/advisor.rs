//! Which method suits a question.

use super::kit::Machine;
use serde_json::{Value, json};

const ADVICE: &str = concat!(
    r#"{"primary":{"method":"delphi","confidence":95,"reason":"An estimate."},"alternatives":["#,
    r#"{"method":"standard","confidence":60.9,"reason":"It may do."},{"method":"duel"}]}"#,
);

/// What is recommended with these voices validated; the first is asked.
async fn advice(machine: Machine, validated: &[&str]) -> Value {
    let models = json!({"models": validated}).to_string();
    let machine = machine.file(".quorum/validated_models.json", models);
    let params = json!({"question": "How long will this take?"});
    machine.connect().call("analyze_question", params).await
}

fn row(method: &str, confidence: u64, reason: &str) -> Value {
    json!({"method": method, "confidence": confidence, "reason": reason})
}

#[track_caller]
fn check_rules(answer: &Value, advisor: &str, why: &str) {
    let reason = format!("By rule, from the words of the question: {why}.");
    let (delphi, standard) = (row("delphi", 70, &reason), row("standard", 50, &reason));
    let recommendations = json!({"primary": delphi, "alternatives": [standard]});
    assert_eq!(*answer, json!({"advisor_model": advisor, "recommendations": recommendations}));
}

#[tokio::test(start_paused = true)]
async fn a_model_advises_whatever_it_writes_around_it() {
    for text in [ADVICE.to_string(), format!("```json\\n{ADVICE}\\n```"), format!("So: {ADVICE}!")]
    {
        let answer = advice(Machine::new().voice("ada", &text), &["demo:ada"]).await;
        let delphi = row("delphi", 95, "An estimate.");
        let alternatives = [row("standard", 60, "It may do.")];
        let recommendations = json!({"primary": delphi, "alternatives": alternatives});
        let want = json!({"advisor_model": "demo:ada", "recommendations": recommendations});
        assert_eq!(answer, want, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_model_advises_every_time() {
    for validated in [["demo:bob", "demo:ada", "gone"], ["gone", "demo:ada", "demo:bob"]] {
        let answer = advice(Machine::new().voice("ada", ADVICE), &validated).await;
        assert_eq!(answer["advisor_model"], "demo:ada");
    }
}

#[tokio::test(start_paused = true)]
async fn rules_advise_where_no_model_does() {
    let validated = ["demo:ada"];
    let answer = advice(Machine::new(), &[]).await;
    check_rules(&answer, "rules", "no model has been validated yet");
    let answer = advice(Machine::new(), &["nobody"]).await;
    check_rules(&answer, "rules", "no model has been validated yet");
    let answer = advice(Machine::new().voice("ada", "Delphi, of course."), &validated).await;
    check_rules(&answer, "demo:ada", "the advisor's answer could not be read");
    let answer = advice(Machine::new().voice("ada", "!network Gone"), &validated).await;
    check_rules(&answer, "demo:ada", "the advisor failed: Gone");
    let answer = advice(Machine::new().voice("ada", "~"), &validated).await;
    check_rules(&answer, "demo:ada", "the advisor did not answer in time");
}

#[tokio::test(start_paused = true)]
async fn a_long_question_is_cut_for_the_advisor() {
    let models = json!({"models": ["demo:ada"]}).to_string();
    let machine = Machine::new().file(".quorum/validated_models.json", models);
    let question = format!("{}end", "long ".repeat(1000));
    machine.connect().call("analyze_question", json!({"question": question})).await;
    let calls = machine.stage.calls();
    let prompt: String = calls[0].ask.messages.iter().map(|it| it.text.as_str()).collect();
    assert!(prompt.contains("long long") && !prompt.contains("end\n"), "{prompt}");
    assert!(prompt.matches("long ").count() <= 101);
}
