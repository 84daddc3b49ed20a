//! Which method suits a question: a model's advice, or rules where no model gives any.

use super::params::Params;
use super::{Backend, models};
use althing_assembly::prompt::Prompt;
use althing_assembly::{ALL, Method};
use althing_chat::{Answer, Ask, Model};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::{Result, text::clip};
use serde_json::json;
use std::time::Duration;

/// How long the advisor may take; then the rules speak.
const ADVICE_MAX: Duration = Duration::from_secs(60);
/// Of a question: enough to know its kind.
const QUESTION_CHARS: usize = 500;
/// Of a reason.
const REASON_CHARS_MAX: usize = 500;
/// Of what went wrong with the advisor.
const FAULT_CHARS_MAX: usize = 120;
/// Alternatives that are looked at.
const ALTERNATIVES_MAX: usize = 5;
/// Places in an answer where the JSON may begin.
const STARTS_MAX: usize = 20;
/// Alternatives that rules name.
const RULED_MAX: usize = 3;
/// What a confidence is where none can be read.
const CONFIDENCE: u64 = 50;
/// The advisor's name where it is nobody.
const NOBODY: &str = "rules";

/// What the advisor is asked to write.
const FORM: &str = r#"Do not answer the question. Answer with JSON alone:
{"primary": {"method": "…", "confidence": 0-100, "reason": "one sentence"},
 "alternatives": [the same, at most three]}"#;

/// A method, the words of a question that speak for it, and how much. The first row that fits wins.
type Rule = (&'static str, &'static [&'static str], u64);

#[rustfmt::skip]
const RULES: &[Rule] = &[
    ("delphi", &["how long", "how many", "how much", "how likely", "estimate", "forecast",
                 "when will", "probability"], 70),
    ("tradeoff", &[" vs ", " versus ", "compare", "which ", "trade-off", "tradeoff",
                   "pros and cons", "better"], 65),
    ("brainstorm", &["ideas", "brainstorm", "ways to", "name for", "names for", "creative",
                     "come up with"], 65),
    ("oxford", &["should ", "is it right", "ought ", "agree that"], 60),
    ("advocate", &["what could go wrong", "risk", "our plan", "my plan", "review this",
                   "weakness"], 60),
    ("socratic", &["what is ", "why ", "meaning of", "what does it mean", "define"], 55),
];

/// Recommends a method.
pub(super) async fn analyze(backend: &Backend, _: Cx, params: Params) -> Result<Value> {
    let question = params.question()?;
    backend.refresh().await;
    // The same one every time: the first that can still be asked, in the order of their names.
    let mut tried = backend.memory.validated();
    tried.sort_unstable();
    let advisor = tried.into_iter().find_map(|id| Some((models::voice(backend, &id).ok()?.0, id)));
    let Some((model, id)) = advisor else {
        return Ok(by_rules(question, NOBODY, "no model has been validated yet"));
    };
    Ok(match advice(&*model, question).await {
        Ok(recommendations) => json!({"advisor_model": id, "recommendations": recommendations}),
        Err(why) => by_rules(question, &id, &why),
    })
}

/// What a model recommends, or why it does not.
async fn advice(model: &dyn Model, question: &str) -> Result<Value, String> {
    let answer = Answer::collect(model.speak(ask(question)));
    match tokio::time::timeout(ADVICE_MAX, answer).await {
        Ok(Ok(answer)) => {
            read(&answer.text).ok_or_else(|| "the advisor's answer could not be read".into())
        }
        Ok(Err(fault)) => {
            Err(format!("the advisor failed: {}", clip(&fault.message, FAULT_CHARS_MAX)))
        }
        Err(_) => Err("the advisor did not answer in time".into()),
    }
}

fn ask(question: &str) -> Ask {
    let methods: Vec<String> = ALL.iter().map(|method| describe(method)).collect();
    let prompt = Prompt::new()
        .rule("You know ways to hold a discussion and recommend the one that fits a question.")
        .question(clip(question, QUESTION_CHARS))
        .text(format!("The methods:\n{}", methods.join("\n")))
        .text(FORM);
    Ask { stream: false, ..prompt.ask_whole() }
}

fn describe(method: &Method) -> String {
    let seats = if method.even {
        "an even number of models".into()
    } else {
        format!("{} or more models", method.seats_min)
    };
    format!("- {}: {} ({seats})", method.name, method.about)
}

/// The recommendations in an answer: the first JSON object in it that has a known primary method.
fn read(text: &str) -> Option<Value> {
    let starts = text.char_indices().filter(|(_, c)| *c == '{').map(|(at, _)| at);
    starts.take(STARTS_MAX).find_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let primary = one(value.get("primary")?)?;
        let others = value["alternatives"].as_array().map(Vec::as_slice).unwrap_or_default();
        let others: Vec<Value> = others.iter().take(ALTERNATIVES_MAX).filter_map(one).collect();
        Some(json!({"primary": primary, "alternatives": others}))
    })
}

/// One recommendation; none where its method is unknown.
fn one(value: &Value) -> Option<Value> {
    let method = value["method"].as_str()?.to_lowercase();
    ALL.iter().find(|known| known.name == method)?;
    let confidence = value["confidence"].as_f64().filter(|it| (0.0..=100.0).contains(it));
    let reason = value["reason"].as_str().unwrap_or("AI recommendation");
    Some(json!({
        "method": method,
        "confidence": confidence.map_or(CONFIDENCE, |it| it as u64),
        "reason": clip(reason, REASON_CHARS_MAX),
    }))
}

/// What the words of the question speak for, said to be that.
fn by_rules(question: &str, advisor: &str, why: &str) -> Value {
    let words = format!(" {} ", question.to_lowercase());
    let fits = |(_, signs, _): &&Rule| signs.iter().any(|sign| words.contains(sign));
    let row = |(method, confidence): (&str, u64)| {
        let reason = format!("By rule, from the words of the question: {why}.");
        json!({"method": method, "confidence": confidence, "reason": reason})
    };
    let fitting = RULES.iter().filter(fits).map(|(method, _, confidence)| (*method, *confidence));
    let mut rows = fitting.chain([("standard", CONFIDENCE)]).map(row);
    let primary = rows.next();
    let alternatives: Vec<Value> = rows.take(RULED_MAX).collect();
    json!({
        "advisor_model": advisor,
        "recommendations": {"primary": primary, "alternatives": alternatives},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_read_out_of_whatever_is_around_it() {
        #[track_caller]
        fn check(text: &str, want: Option<(&str, u64, usize)>) {
            let got = read(text);
            let got = got.as_ref().map(|it| {
                let primary = &it["primary"];
                let method = primary["method"].as_str().unwrap();
                (
                    method,
                    primary["confidence"].as_u64().unwrap(),
                    it["alternatives"].as_array().unwrap().len(),
                )
            });
            assert_eq!(got, want, "{text}");
        }
        let plain = r#"{"primary":{"method":"delphi","confidence":95,"reason":"r"},
            "alternatives":[{"method":"standard"}]}"#;
        check(plain, Some(("delphi", 95, 1)));
        check(&format!("```json\n{plain}\n```"), Some(("delphi", 95, 1)));
        check(&format!("Sure {{thing}}! {plain} Hope that helps."), Some(("delphi", 95, 1)));
        check(r#"{"primary":{"method":"DELPHI","confidence":"high"}}"#, Some(("delphi", 50, 0)));
        check(
            r#"{"primary":{"method":"oxford","confidence":999},
                "alternatives":[{"method":"duel"},7]}"#,
            Some(("oxford", 50, 0)),
        );
        check(r#"{"primary":{"method":"duel"}}"#, None);
        check("I would take delphi.", None);
        check("", None);
        check(&"{".repeat(100_000), None);
    }

    #[test]
    fn rules_say_that_they_are_rules() {
        #[track_caller]
        fn check(question: &str, want: &str) {
            let advice = by_rules(question, NOBODY, "nobody was there");
            let primary = &advice["recommendations"]["primary"];
            assert_eq!(primary["method"], want, "{question}");
            assert!(primary["reason"].as_str().unwrap().contains("By rule"));
        }
        check("How long will this migration take?", "delphi");
        check("Postgres vs MySQL?", "tradeoff");
        check("Ideas for a party", "brainstorm");
        check("Should we tax robots?", "oxford");
        check("Why is there something?", "socratic");
        check("Plan my holiday", "standard");
    }
}
