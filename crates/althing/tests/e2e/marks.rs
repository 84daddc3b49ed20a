//! What was cut off and what was not stated, as a person sees it and as later prompts have it.

use crate::harness::{Home, THREE};
use althing_testkit::{Options, Seen, Upstream};

/// Two of three state no whole position, and the synthesis goes in circles.
fn weak(seen: &Seen) -> String {
    let circles = "Tea is good. ".repeat(200);
    match seen.prompt() {
        prompt if prompt.contains("SYNTHESIS:") => format!("CONSENSUS: YES\nSYNTHESIS: {circles}"),
        prompt if !prompt.contains("POSITION:") => "Well.".into(),
        _ if seen.model == "ada" => "CONFIDENCE: about".into(),
        _ if seen.model == "bob" => format!("POSITION: {circles}"),
        _ => "POSITION: Coffee.".into(),
    }
}

#[test]
fn a_run_shows_what_was_cut_off_and_what_was_not_stated() {
    let upstream = Upstream::start(Options::default().text(weak));
    let home = Home::with(&upstream);
    let told = ["cut off: it repeated itself", "no position stated", "confidence not stated"];
    let done = home.run(&["ask", "Tea?", "--models", THREE]);
    for words in told {
        done.ends(0).says(&format!("({words})"));
    }
    done.says("nobody stated one");
    for format in ["md", "html", "txt"] {
        let done = home.run(&["export", "last", "--format", format]);
        for words in told {
            done.ends(0).says(words);
        }
        done.says("nobody stated one");
    }
    home.run(&["export", "last", "--format", "json"]).ends(0).says(r#""cut": "looping""#);
}

#[test]
fn a_run_that_goes_on_from_another_takes_the_marks_along() {
    let upstream = Upstream::start(Options::default().text(weak));
    let home = Home::with(&upstream);
    home.run(&["ask", "Tea?", "--models", THREE]).ends(0);
    let asked = upstream.requests().len();
    home.run(&["ask", "And now?", "--continue", "last", "--models", THREE]).ends(0);
    let prompt = upstream.requests()[asked].prompt();
    let stands = [
        " Ada]\n(not stated)\n",
        "Bob, cut off: it repeated itself]\nTea is good. Tea is good.\n",
        " Cyd]\nCoffee.",
    ];
    let synthesis =
        "the earlier synthesis]\nTea is good. Tea is good.\n\n(cut off: it repeated itself)\n";
    for words in stands.iter().chain([&synthesis]) {
        assert!(prompt.contains(words), "no '{words}' in {prompt}");
    }
}
