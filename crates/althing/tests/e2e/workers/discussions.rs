//! A discussion in which models use a Python tool.

use super::kit::{calls, with_calc, with_odd};
use crate::harness::{Home, THREE, signal, upstream};
use althing_assembly::event::What;
use althing_testkit::upstream::Seen;
use althing_testkit::{Options, Upstream};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const QUESTION: &str = "What are twenty and twenty-two together?";

/// Calls `name` once in every answer of `model`.
fn once(
    model: &'static str,
    name: &'static str,
    arguments: Value,
) -> impl Fn(&Seen) -> Option<(String, Value)> {
    move |seen| {
        let has_tools = seen.body.get("tools").is_some();
        let is_now = seen.model == model && has_tools && seen.results() == 0;
        is_now.then(|| (name.to_string(), arguments.clone()))
    }
}

#[test]
fn a_model_uses_a_python_tool_and_everybody_can_read_it() {
    let options = Options::default().call(once("ada", "calc_add", json!({"a": 20, "b": 22})));
    let upstream = Upstream::start(options);
    let home = Home::with(&upstream);
    let Some(()) = with_calc(&home) else { return };
    let told = r#"called calc_add with {"a":20,"b":22} -> 42"#;
    home.run(&["ask", QUESTION, "--models", THREE]).ends(0).says(told);
    home.run(&["show", "last"]).ends(0).says(told);
    for (format, told) in [
        ("txt", told),
        ("html", "called calc_add with {&quot;a&quot;:20,&quot;b&quot;:22} -&gt; 42"),
        ("md", "called calc\\_add with"),
        ("json", r#""result": "42""#),
    ] {
        home.run(&["export", "last", "--format", format]).ends(0).says(told);
    }
    let seen = upstream.requests();
    let answered = seen.iter().find(|it| it.results() > 0).unwrap();
    let text = answered.body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let text = text.as_str().unwrap();
    assert!(text.starts_with("[result ") && text.contains("]\n42\n[end "), "{text}");
    assert_eq!(answered.body["tools"].as_array().unwrap().len(), 2);

    let done = home.run(&["ask", QUESTION, "--models", THREE, "--json"]);
    let events = done.ends(0).events();
    let What::RunStarted(opening) = &events[0].what else { panic!("{:?}", events[0]) };
    assert_eq!(opening.offered, ["calc_add", "calc_mean"]);
    let calls = calls(&events);
    assert!(!calls.is_empty() && calls.iter().all(|it| it.result == "42" && !it.failed));

    // A single answer is nothing but the answer, and who wants no tools gets none.
    let done = home.run(&["ask", QUESTION, "--models", "openai:ada"]);
    assert!(done.ends(0).out.starts_with("This is answer "), "{done:?}");
    let before = upstream.requests().len();
    home.run(&["ask", QUESTION, "--models", "openai:ada", "--no-workers"]).ends(0);
    assert!(upstream.requests()[before..].iter().all(|it| it.body.get("tools").is_none()));
    home.is_left();
}

#[test]
fn every_dialect_uses_it_and_gemini_gets_its_signature_back() {
    let upstream = upstream();
    let home = Home::with_all(&upstream);
    let Some(()) = with_calc(&home) else { return };
    let models = "openai:ada,anthropic:bob,google:gemini-3-pro,ollama:dan";
    for more in [None, Some("--no-stream")] {
        let args = ["ask", QUESTION, "--models", models, "--json"].into_iter().chain(more);
        let events = home.run(&args.collect::<Vec<_>>()).ends(0).events();
        let calls = calls(&events);
        assert!(calls.len() > 12 && calls.iter().all(|it| it.result == "2"), "{calls:?}");
    }
    let seen = upstream.requests();
    let gemini: Vec<&Seen> =
        seen.iter().filter(|it| it.model == "gemini-3-pro" && it.results() > 0).collect();
    assert!(!gemini.is_empty());
    for seen in gemini {
        let said = &seen.body["contents"].as_array().unwrap();
        let call = said.iter().find(|it| it["role"] == "model").unwrap();
        let signature = call["parts"][0]["thoughtSignature"].as_str().unwrap();
        assert!(signature.starts_with("signature-"), "{call}");
    }
    home.is_left();
}

#[test]
fn a_run_that_goes_on_does_not_call_again() {
    let is_hanging = Arc::new(AtomicBool::new(true));
    let hangs = is_hanging.clone();
    let options = Options::default().call(once("ada", "odd_note", json!({"text": "once"}))).mishap(
        move |seen| (hangs.load(Ordering::Relaxed) && seen.results() > 0).then_some("hang"),
    );
    let upstream = Upstream::start(options);
    let home = Home::with(&upstream);
    let Some(()) = with_odd(&home, 20) else { return };
    let child = home.spawn(&["ask", QUESTION, "--models", "openai:ada", "--json"]);
    upstream.wait_for_sync(|all| all.iter().any(|it| it.results() > 0));
    signal(&child, "INT");
    let stopped = crate::harness::Done::of(child.wait_with_output().unwrap());
    assert_eq!(calls(&stopped.ends(130).events()).len(), 1);
    is_hanging.store(false, Ordering::Relaxed);
    let resumed = home.run(&["resume", "last", "--json"]);
    let again = calls(&resumed.ends(0).events());
    let kept: Vec<bool> = again.iter().map(|it| it.kept).collect();
    assert_eq!(kept.last(), Some(&true), "{again:?}");
    // Beside the configuration, which is where workers are.
    let noted = home.path().join(".config/althing/calls.txt");
    assert_eq!(std::fs::read_to_string(noted).unwrap(), "once\n");
    home.is_left();
}
