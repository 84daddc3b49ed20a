//! The real binary under a frontend that we did not write: Quorum's own, in a terminal.
//! `peers/quorum/README.md` says how it is driven and what it shows.

mod terminal;

use crate::harness::{Home, on_path, peers, unless_missing};
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use terminal::Terminal;

const PHASES: [&str; 4] = ["Structured Critique", "Discussion", "Final Positions", "Synthesis"];
/// How long a model takes. The frontend forgets a pause that begins before it has read the answer
/// to its last `resume_discussion`, and it reads as slowly as it draws.
const LATENCY: Duration = Duration::from_millis(300);
/// The models think about it for ever.
const ENDLESS: &str = "Is snow wet?";

/// The frontend's program, unless it or what it needs is missing.
fn frontend() -> Option<PathBuf> {
    unless_missing(on_path("tmux"), "tmux")?;
    unless_missing(on_path("node"), "node")?;
    let program = peers().join("quorum/unpacked/quorum/_frontend/index.js");
    unless_missing(program.exists().then_some(program), "Quorum frontend")
}

/// What the models say: advice as JSON to whoever asks for that, else every label there is.
fn says(seen: &Seen) -> String {
    if seen.prompt().contains("\"primary\"") {
        let reason = "It is a matter of degree.";
        let primary = json!({"method": "delphi", "confidence": 91, "reason": reason});
        let other = json!({"method": "tradeoff", "confidence": 40, "reason": reason});
        return json!({"primary": primary, "alternatives": [other]}).to_string();
    }
    let model = &seen.model;
    format!(
        "{model} holds that it is wet.\n\n**AGREEMENTS:** {model} agrees.\nDISAGREEMENTS: none\n\
         MISSING: a towel\nPOSITION: {model} is sure.\n**CONFIDENCE:** HIGH\nCONSENSUS: YES\n\
         SYNTHESIS: All of them find it wet.\nDIFFERENCES: How wet.\n"
    )
}

#[test]
fn the_terminal_frontend_of_quorum() {
    let Some(program) = frontend() else { return };
    let is_endless = |seen: &Seen| seen.prompt().contains(ENDLESS).then_some("hang");
    let options = Options::default().latency(LATENCY).text(says).mishap(is_endless);
    let upstream = Upstream::start(options);
    let home = Home::with(&upstream).set("OPENAI_MODELS", "alpha,beta,gamma");
    let terminal = start(&home, &program);
    terminal.settles_on("› Type /models to select models...");
    select_models(&terminal);
    discuss(&terminal, &home);
    cancel(&terminal, &upstream);
    ask_the_advisor(&terminal);
    terminal.enter("/quit");
    terminal.sees("ended 0");
    drop(terminal);
    home.is_left();
    is_in_the_history(&home);
    comes_back(&home, &program);
}

/// In a folder of its own, because it writes reports there.
fn start(home: &Home, program: &Path) -> Terminal {
    let folder = home.path().join("work");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = home.foreign(Path::new("tmux"));
    command.env("QUORUM_PYTHON", env!("CARGO_BIN_EXE_althing")).current_dir(folder);
    let frontend = format!("node '{}' 2>../frontend-stderr", program.display());
    Terminal::start(command, home.path().join("tmux"), &frontend)
}

fn select_models(terminal: &Terminal) {
    terminal.enter("/models");
    for ticked in 0..3 {
        terminal.sees(&format!("Selected: {ticked}"));
        if ticked > 0 {
            terminal.press("Down");
            terminal.sees("@○");
        }
        terminal.press("Space");
    }
    terminal.sees("Selected: 3");
    terminal.press("Enter");
    terminal.loses("Select Models");
    terminal.sees("Models: Alpha, Beta, Gamma");
}

/// Through every pause to the synthesis, and the report that the frontend writes of it.
fn discuss(terminal: &Terminal, home: &Home) {
    terminal.enter("Is rain wet?");
    for phase in PHASES {
        terminal.sees(&format!("Press Enter to continue to {phase}..."));
        terminal.press("Enter");
    }
    terminal.sees("Press ESC to start a new discussion");
    terminal.sees("Consensus: YES (synthesized by Alpha)");
    let report = terminal.waits_for("a whole report", || {
        let mut files = std::fs::read_dir(home.path().join("work/reports")).ok()?;
        let report = std::fs::read_to_string(files.next()?.ok()?.path()).ok()?;
        report.contains("Synthesized by").then_some(report)
    });
    for words in ["Is rain wet?", "All of them find it wet.", "How wet.", "a towel"] {
        assert!(report.contains(words), "no '{words}' in {report}");
    }
    for model in ["alpha", "beta", "gamma"] {
        for words in ["holds that it is wet.", "agrees.", "is sure."] {
            assert!(report.contains(&format!("{model} {words}")), "{model} {words}: {report}");
        }
    }
    terminal.press("Escape");
    terminal.sees("› Ask a question...");
}

/// While the models think, and in a pause.
fn cancel(terminal: &Terminal, upstream: &Upstream) {
    let about_it = |seen: &Seen| seen.prompt().contains(ENDLESS);
    terminal.enter(ENDLESS);
    terminal.sees("Independent Answers in progress...");
    upstream.wait_for_sync(|seen| seen.iter().filter(|seen| about_it(seen)).count() == 3);
    terminal.press("Escape");
    terminal.sees("› Ask a question...");
    upstream
        .wait_for_sync(|seen| seen.iter().filter(|seen| about_it(seen)).all(|seen| seen.aborted()));
    terminal.enter("Is ice wet?");
    terminal.sees("Press Enter to continue to Structured Critique...");
    terminal.press("Escape");
    terminal.sees("› Ask a question...");
}

fn ask_the_advisor(terminal: &Terminal) {
    terminal.press("Tab");
    terminal.sees("METHOD ADVISOR");
    terminal.enter("Is fog wet?");
    terminal.sees("RECOMMENDED:");
    for words in ["● Delphi (91%)", "○ Tradeoff (40%)", "matter of degree", "Analyzed by alpha"]
    {
        terminal.sees(words);
    }
    terminal.press("Enter");
    terminal.loses("METHOD ADVISOR");
    terminal.sees("Method: delphi");
    terminal.sees("› Is fog wet?");
    terminal.press("C-r");
    terminal.sees("› Ask a question...");
}

fn is_in_the_history(home: &Home) {
    let runs = home.run(&["history", "--json"]);
    let runs = runs.ends(0).out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs: Vec<_> = runs.map(|run| json!([run["question"], run["standing"]])).collect();
    let want =
        [["Is ice wet?", "cancelled"], [ENDLESS, "cancelled"], ["Is rain wet?", "completed"]];
    assert_eq!(runs, want.map(|run| json!(run)));
    home.run(&["resume", "last"]).ends(0).says("All of them find it wet.");
}

/// What was chosen is chosen still, and a backend that is told to end does.
fn comes_back(home: &Home, program: &Path) {
    let terminal = start(home, program);
    terminal.settles_on("› Ask a question...");
    terminal.sees("Models: Alpha, Beta, Gamma");
    terminal.sees("Method: delphi");
    terminal.press("C-c");
    terminal.sees("ended 0");
    drop(terminal);
    home.is_left();
}
