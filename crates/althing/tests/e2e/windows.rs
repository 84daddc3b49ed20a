//! Context windows and cached tokens, as a person sees them.

use crate::harness::{Done, Home};
use althing_testkit::upstream::{Options, Upstream, Windows};
use serde_json::Value;

fn server(windows: Windows) -> Upstream {
    Upstream::start(Options::default().windows(windows).cached(7))
}

/// The window of a model in `models --json`, and who says so.
#[track_caller]
fn window(done: &Done, id: &str) -> (u64, String) {
    let lines = done.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("{id}"));
    (line["context_tokens"].as_u64().unwrap(), line["context_source"].as_str().unwrap().into())
}

#[test]
fn models_show_their_windows_and_where_they_come_from() {
    let loaded = Windows { trained: 40_960, loaded: Some(12_000), preset: None, slots: 2 };
    let upstream = server(loaded);
    let idle = server(Windows { loaded: None, ..loaded });
    let v1 = format!("{}/v1", upstream.url());
    let home = Home::with(&upstream)
        .set("OLLAMA_BASE_URL", &upstream.url())
        .set("LLAMACPP_BASE_URL", &v1)
        .set("LMSTUDIO_BASE_URL", &format!("{}/v1", idle.url()))
        .set("OPENAI_MODELS", "gpt-4.1");
    let done = home.run(&["models", "--json"]);
    let of = |id: &str| window(done.ends(0), id);
    assert_eq!(of("ollama:fake-large"), (12_000, "provider".into()));
    assert_eq!(of("llamacpp:fake-large"), (12_000, "provider".into()));
    assert_eq!(of("lmstudio:fake-large"), (4_096, "default".into()));
    assert_eq!(of("openai:gpt-4.1"), (1_047_576, "table".into()));
    assert_eq!(of("openai:fake-large"), (8_192, "default".into()), "a server of one's own");
    let set = home.set("OLLAMA_CONTEXT_TOKENS", "16k");
    let done = set.run(&["models", "--json"]);
    assert_eq!(window(done.ends(0), "ollama:fake-large"), (16_384, "configured".into()));
    set.run(&["models"]).ends(0).says("CONTEXT").says("16384 (set)").says("1047576 (table)");
    set.run(&["doctor"]).ends(0).says("8192 tokens for fake-large, fake-small");
}

#[test]
fn ollama_is_told_how_large_the_window_is() {
    let upstream = server(Windows { trained: 40_960, loaded: None, preset: None, slots: 1 });
    let home = Home::new().set("OLLAMA_BASE_URL", &upstream.url());
    let asked = |args: &[&str]| {
        home.run(&[&["ask", "-q", "Well?"][..], args].concat()).ends(0);
        upstream.requests().pop().unwrap().body["options"]["num_ctx"].as_u64()
    };
    assert_eq!(asked(&["-m", "ollama:fake-large"]), Some(8_192));
    assert_eq!(asked(&["-m", "ollama:fake-large@4k"]), Some(4_096));
    assert_eq!(asked(&["-m", "ollama:fake-large", "--context-tokens", "16384"]), Some(16_384));
    assert_eq!(asked(&["-m", "ollama:fake-large@64k"]), Some(40_960), "no more than it has");
    let wrong = home.run(&["ask", "-m", "ollama:fake-large@100", "Well?"]);
    wrong.ends(2).warns("context_tokens").warns("512 to 10000000");
    let wrong = home.run(&["ask", "-m", "ollama:fake-large", "--context-tokens", "5", "Well?"]);
    wrong.ends(2).warns("--context-tokens").warns("512 to 10000000");
}

#[test]
fn cached_tokens_are_shown() {
    let upstream = server(Windows { trained: 40_960, loaded: None, preset: None, slots: 1 });
    let home = Home::with(&upstream);
    let done = home.run(&["ask", "-m", "openai:ada,openai:bob", "--json", "Well, then?"]);
    let run = done.ends(0).events()[0].run.clone();
    assert!(done.out.contains(r#""cached_tokens":"#), "{done:?}");
    home.run(&["show", &run]).ends(0).says("cached)");
}

/// Where only the answer is printed, standard error says that it is not whole.
#[test]
fn an_answer_that_was_cut_off_is_told_beside_the_pipe() {
    let text = |_: &_| "Tea is good. Tea is fine. ".repeat(400);
    let upstream = Upstream::start(Options::default().text(text));
    let home = Home::with(&upstream);
    let told = "The answer is cut off: it repeated itself.";
    let ask = ["ask", "-m", "openai:fake-large", "Well?"];
    home.run(&ask).ends(0).says("Tea is good.").warns(told);
    home.run(&["ask", "-q", "-m", "openai:fake-large", "Well?"]).ends(0).warns(told);
    home.run(&["show", "last"]).ends(0).warns(told);
    let whole = Upstream::start(Options::default());
    let done = Home::with(&whole).run(&ask);
    assert!(!done.ends(0).err.contains("cut off"), "{}", done.err);
}
