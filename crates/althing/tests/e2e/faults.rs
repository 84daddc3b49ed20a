//! What goes wrong upstream, seen from the command line: the right kind, the right exit code, and
//! nothing lost.

use crate::harness::{Home, THREE, upstream};
use althing_assembly::event::{Ending, Note, What};
use althing_stdx::Kind;

#[test]
fn every_fault_of_a_provider_has_its_own_end() {
    let upstream = upstream();
    let key = "sk-test-0123456789abcdef";
    let home = Home::with_all(&upstream);
    #[rustfmt::skip]
    let cases = [
        ("err-401", Kind::BadKey), ("err-402", Kind::NoCredit), ("err-404", Kind::UnknownModel),
        ("err-429", Kind::RateLimited), ("err-413", Kind::ContextTooLong), ("err-500", Kind::Overloaded),
        ("err-503", Kind::Overloaded), ("err-529", Kind::Overloaded), ("err-400", Kind::Upstream),
        ("cut", Kind::Network), ("html", Kind::Upstream), ("redirect", Kind::Upstream),
        ("empty", Kind::Upstream), ("refuse", Kind::Refused),
    ];
    for provider in ["openai", "anthropic", "google", "ollama"] {
        for (model, kind) in cases {
            // Ollama has no refusal, no credit and no 413 of its own.
            if provider == "ollama" && matches!(model, "refuse" | "err-402" | "err-413") {
                continue;
            }
            let name = format!("{provider}:{model}");
            let done = home.run(&["ask", "Hello?", "--json", "--models", &name]);
            let events = done.events();
            let Some(What::RunEnded { ending: Ending::Failed(failure), .. }) =
                events.last().map(|e| &e.what)
            else {
                panic!("{name}: {done:#?}");
            };
            assert_eq!(failure.kind, kind, "{name}: {}", failure.message);
            done.ends(i32::from(kind.codes().exit));
            assert!(!done.err.contains(key) && !done.out.contains(key), "{name} shows the key");
        }
    }
}

#[test]
fn a_rate_limit_is_waited_out_and_told() {
    let upstream = upstream();
    let done =
        Home::with(&upstream).run(&["ask", "Hello?", "--json", "--models", "openai:flaky-2"]);
    let events = done.ends(0).events();
    let retries = events.iter().filter(|e| matches!(&e.what, What::TurnNoted { note: Note::Retrying(retry), .. } if retry.kind == Kind::RateLimited));
    assert_eq!(retries.count(), 2);
    assert_eq!(upstream.count("flaky-2"), 3);
}

#[test]
fn nothing_is_retried_after_the_first_token() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    for model in ["cut", "err-midstream"] {
        let done = home.run(&["ask", "Hello?", "--models", &format!("openai:{model}")]);
        assert_ne!(done.code, Some(0));
        assert_eq!(upstream.count(model), 1, "{model}");
    }
}

#[test]
fn a_failing_model_loses_its_turn_not_the_discussion() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let done = home.run(&["ask", "Hello?", "--models", "openai:ada,openai:err-401,openai:cyd"]);
    done.ends(0).says("lost this turn").says("Consensus");
    assert_eq!(upstream.count("err-401"), 1, "a wrong key is not tried again");
    let prompts = upstream.requests().iter().map(|seen| seen.prompt()).collect::<String>();
    assert!(
        !prompts.contains("Incorrect API key") && !prompts.contains("invalid_api_key"),
        "no error text in a prompt"
    );
}

#[test]
fn whoever_is_left_concludes_with_every_reason() {
    let upstream = upstream();
    let done = Home::with(&upstream).run(&[
        "ask",
        "Hello?",
        "--models",
        "openai:err-401,openai:err-404,openai:cyd",
    ]);
    done.ends(0).says("Concluded early").says("needs 2 living models").says("Consensus");
}

#[test]
fn a_run_in_which_nobody_is_left_fails_with_every_reason() {
    let upstream = upstream();
    let models = "openai:err-401,openai:err-404";
    let done = Home::with(&upstream).run(&["ask", "Hello?", "--models", models]);
    done.ends(20).says("needs 2 living models and 0 are left").says("althing resume");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = Home::new()
        .set("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        .set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    home.run(&["ask", "Hello?", "--models", "openai:ada"]).ends(16).warns("127.0.0.1:9");
}

#[test]
fn a_proxy_of_the_environment_is_used_but_for_what_it_excepts() {
    let home = Home::new()
        .set("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        .set("OPENAI_BASE_URL", "https://api.invalid/v1")
        .set("HTTPS_PROXY", "http://ada:secret@127.0.0.1:9");
    let ask = ["ask", "Hello?", "--models", "openai:ada"];
    let done = home.run(&ask);
    done.ends(16).warns("the proxy at http://127.0.0.1:9 does not help");
    assert!(!done.err.contains("secret"), "{done:?}");
    let done = home.set("NO_PROXY", "api.invalid").run(&ask);
    done.ends(16).warns("no host is called api.invalid");
}

#[test]
fn an_unknown_model_or_provider_is_named_with_what_to_do() {
    let home = Home::new();
    home.run(&["ask", "q", "--models", "nope-9,demo:builder"]).ends(12).warns("nope-9");
    home.run(&["ask", "q", "--models", "gpt-5.1"]).ends(10).warns("OPENAI_API_KEY");
    home.run(&["ask", "q", "--models", "nowhere:x"]).ends(12).warns("nowhere");
    home.run(&["ask", "q", "--method", "duel"]).ends(2).warns("standard");
    home.run(&["ask", "q", "--method", "advocate", "--models", "demo:a,demo:b"])
        .ends(20)
        .warns("at least 3");
    home.run(&["ask", "q", "--method", "oxford", "--models", "demo:a,demo:b,demo:c"])
        .ends(20)
        .warns("even number");
    home.run(&["ask", &"x".repeat(50_001), "--models", "demo:a,demo:b"]).ends(2).warns("50000");
    home.run(&["ask", " ", "--models", "demo:a"]).ends(2).warns("empty");
}

#[test]
fn the_cost_limit_stops_and_the_run_goes_on_with_more() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    // Priced by the table; the upstream answers to any name.
    let models = "openai:gpt-5.1,openai:gpt-5,openai:gpt-4.1";
    let done = home.run(&["ask", "Hello?", "--models", models, "--max-cost", "0.03"]);
    done.ends(21).says("max_cost").says("althing resume");
    let before = upstream.requests().len();
    assert!(before > 0);
    let kept = home.events("last");
    home.run(&["resume", "last", "--max-cost", "5"]).ends(0).says("Consensus");
    let ended = |events: &[althing_assembly::Event]| {
        events.iter().filter(|e| matches!(e.what, What::TurnEnded { .. })).count()
    };
    let after = home.events("last");
    assert_eq!(
        upstream.requests().len() - before,
        ended(&after) - ended(&kept),
        "no turn was asked twice"
    );
    assert!(
        home.run(&["ask", "Hello?", "--models", THREE, "--max-cost", "0"]).code == Some(0),
        "no known price, no limit"
    );
    let mixed = home.run(&["ask", "Hello?", "--models", "demo:builder,openai:ada"]);
    mixed.ends(0).says("price unknown");
    assert!(!mixed.out.contains("free"), "what nobody knows is not free");
}
