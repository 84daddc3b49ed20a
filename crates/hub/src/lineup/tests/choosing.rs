//! Seats that nobody named, and what they may cost.

use super::*;
use althing_assembly::methods;
use althing_gateway::provider;

/// Keys of these providers, and lists as in `finding`.
#[track_caller]
fn check(keys: &[&str], lists: &[&str], most: usize, want: &[&str], notes: &[&str]) {
    let vars: Vec<(String, &str)> =
        keys.iter().map(|key| (format!("{key}_API_KEY"), KEY)).collect();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, key)| (name.as_str(), *key)).collect();
    check_with(&config(&vars), lists, most, want, notes);
}

#[track_caller]
fn check_with(config: &Book, lists: &[&str], most: usize, want: &[&str], notes: &[&str]) {
    let lineup = choose(&finding(config, lists), most, config);
    assert_eq!(seats(&lineup), want);
    let fits = lineup.notes.iter().zip(notes).all(|(note, part)| note.contains(part));
    assert!(fits && lineup.notes.len() == notes.len(), "{:#?}", lineup.notes);
    assert!(!format!("{lineup:?}").contains(&KEY[..12]));
}

/// The best model of a provider, by the table.
fn best(name: &str) -> &'static str {
    provider(name).unwrap().preferred[0]
}

#[test]
fn different_minds_first() {
    let (gpt, claude) = (best("openai"), best("anthropic"));
    let openai = format!("openai: {gpt}, gpt-5.1, gpt-4o");
    let anthropic = format!("anthropic: {claude}");
    let lists = [openai.as_str(), &anthropic, "ollama: gpt-oss:20b, llama3.2:1b"];
    let display = althing_gateway::display_name;
    let (gpt, claude) = (
        format!("openai:{gpt} = {}", display(gpt)),
        format!("anthropic:{claude} = {}", display(claude)),
    );
    let llama = "ollama:llama3.2:1b = Llama3.2 1b";
    check(&["OPENAI", "ANTHROPIC"], &lists, 3, &[&gpt, &claude, llama], &[]);
    check(&["OPENAI", "ANTHROPIC"], &lists, 2, &[&gpt, &claude], &[]);
    check(&["OPENAI"], &lists[..1], 2, &[&gpt, "openai:gpt-5.1 = GPT 5.1"], &[]);
    check(&[], &lists[2..], 3, &["ollama:gpt-oss:20b = GPT Oss 20b", llama], &[]);
}

#[test]
fn one_reseller_has_many_minds() {
    let lists = [
        "openai: gpt-5.1",
        "openrouter: openai/gpt-5.1, anthropic/claude-sonnet-4.5, google/gemini-2.5-pro",
    ];
    let want = [
        "openai:gpt-5.1 = GPT 5.1",
        "openrouter:anthropic/claude-sonnet-4.5 = Claude Sonnet 4.5",
        "openrouter:google/gemini-2.5-pro = Gemini 2.5 Pro",
    ];
    check(&["OPENAI", "OPENROUTER"], &lists, 3, &want, &[]);
}

#[test]
fn dated_versions_and_unknown_lists() {
    let lists =
        ["anthropic: claude-3-haiku, claude-sonnet-4-5-thinking, claude-sonnet-4-5-20250929"];
    let want = "anthropic:claude-sonnet-4-5-20250929 = Claude Sonnet 4.5";
    check(&["ANTHROPIC"], &lists, 1, &[want], &[]);
    check(&["XAI"], &["xai: new-1, new-2"], 2, &["xai:new-1 = New 1", "xai:new-2 = New 2"], &[]);
}

#[test]
fn ones_own_list_wins_and_so_does_the_line_up() {
    let vars = [("OPENAI_API_KEY", KEY), ("OPENAI_MODELS", "gpt-4o|Mine,gpt-4.1")];
    let own = ["openai:gpt-4o = Mine", "openai:gpt-4.1 = GPT 4.1"];
    check_with(&config(&vars), &["openai: gpt-5.1"], 3, &own, &[]);
    check_with(&config(&vars), &[], 3, &own, &[]);

    let line_up = |models| config(&[("OPENAI_API_KEY", KEY), ("ALTHING_MODELS", models)]);
    let want = ["openai:gpt-9 = GPT 9", "demo:scout = Scout (demo)"];
    check_with(&line_up("gpt-9,demo:scout"), &["openai: gpt-5.1"], 3, &want, &[]);
    let found = ["openai:gpt-5.1 = GPT 5.1", "ollama:phi4 = Phi4"];
    let notes =
        ["(models, environment variable ALTHING_MODELS) cannot sit: 'grok-4': xAI has no key"];
    check_with(&line_up("grok-4"), &["openai: gpt-5.1", "ollama: phi4"], 3, &found, &notes);
}

#[test]
fn one_model_takes_every_seat() {
    let want = [
        "ollama:phi4 = Phi4 (direct), Give the most",
        "ollama:phi4 = Phi4 (sceptic), Be the sceptic",
        "ollama:phi4 = Phi4 (explorer), Be the explorer",
    ];
    let note = ["Only Phi4 was found, so it takes all 3 seats"];
    check(&[], &["ollama: phi4"], 3, &want, &note);
    check(&[], &["ollama: phi4"], 1, &["ollama:phi4 = Phi4"], &[]);
}

#[test]
fn nobody_there() {
    let want = [
        "demo:builder = Builder (demo)",
        "demo:skeptic = Skeptic (demo)",
        "demo:scout = Scout (demo)",
    ];
    let notes = ["scripted demo voices"];
    check(&[], &[], 3, &want, &notes);
    let notes = ["OpenAI is left out: no list.", notes[0]];
    check(&["OPENAI"], &["openai!bad_key"], 3, &want, &notes);
}

#[test]
fn a_list_that_came_too_late_does_not_cost_the_seat() {
    let gpt = best("openai");
    let seat = format!("openai:{gpt} = {}", althing_gateway::display_name(gpt));
    let note = format!("OpenAI did not list its models (no list); {gpt} is taken unseen.");
    check(&["OPENAI"], &["ollama: phi4"], 3, &[&seat, "ollama:phi4 = Phi4"], &[&note]);
}

#[test]
fn as_many_as_the_method_needs() {
    let config = config(&[]);
    let found = finding(&config, &["ollama: phi4, qwen3"]);
    for method in methods::ALL {
        let lineup = choose_for(&found, method, &config);
        method.check_seats(lineup.seats.len()).unwrap();
        let repeated = lineup.seats.len() > 2;
        assert_eq!(
            lineup.seats.iter().all(|seat| seat.stance.is_some()),
            repeated,
            "{}",
            method.name
        );
        assert_eq!(lineup.notes.len(), usize::from(repeated), "{:?}", lineup.notes);
    }
}

#[track_caller]
fn costs(
    models: &[&str],
    calls: usize,
    chars: usize,
    usd: Option<f64>,
    unpriced: usize,
    free: bool,
) {
    let config = config(&[("OPENAI_API_KEY", KEY), ("CUSTOM_BASE_URL", "http://localhost:9")]);
    let lineup = resolve(&names(models), &config, None).unwrap();
    let got = estimate(&lineup, calls, chars);
    assert_eq!((got.unpriced, got.free), (unpriced, free), "{models:?}");
    let near = |usd: f64| got.usd.is_some_and(|got| (got - usd).abs() < 1e-9);
    assert!(usd.map_or(got.usd.is_none(), near), "{got:?} instead of {usd:?}");
}

#[test]
fn estimates() {
    // 1000 tokens of question, 400 of instructions, 800 out, at 1.25 and 10 dollars a million.
    let call = (1_400.0 * 1.25 + 800.0 * 10.0) / 1e6;
    costs(&["gpt-5.1"], 1, 4_000, Some(call), 0, false);
    costs(&["gpt-5.1", "custom:x"], 2, 4_000, Some(call), 1, false);
    costs(&["gpt-5.1", "ollama:x"], 2, 4_000, Some(call), 0, false);
    costs(&["custom:x"], 9, 4_000, None, 1, false);
    costs(&["ollama:x", "demo:scout"], 9, 4_000, Some(0.0), 0, true);
    let long = (400.0 + 50.0 * 800.0) * 1.25 / 1e6 + 0.008;
    costs(&["gpt-5.1"], 1_000, 0, Some(long * 1_000.0), 0, false);
}
