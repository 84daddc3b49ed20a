//! The real binary under a frontend that we did not write: Quorum's own, in a terminal.
//! `peers/quorum/README.md` says how it is driven and what it shows.

mod terminal;

use crate::harness::{Home, on_path, peers, unless_missing};
use althing_testkit::{Options, Seen, Upstream};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use terminal::Terminal;

const PHASES: [&str; 4] = ["Structured Critique", "Discussion", "Final Positions", "Synthesis"];
/// The models think about it for ever.
const ENDLESS: &str = "Is snow wet?";

/// The folder of `quorum`, unless it or what its frontend needs is missing.
fn frontend() -> Option<PathBuf> {
    unless_missing(on_path("tmux"), "tmux")?;
    unless_missing(on_path("node"), "node")?;
    // Where `quorum` is on PATH, its frontend is not far.
    let programs = peers().join("quorum/unpacked/bin");
    unless_missing(programs.join("quorum").exists().then_some(programs), "Quorum frontend")
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
    let options = Options::default().text(says).mishap(is_endless);
    let upstream = Upstream::start(options);
    let home = Home::with(&upstream).set("OPENAI_MODELS", "alpha,beta,gamma");
    let terminal = start(&home, &program);
    terminal.settles_on("› Type /models to select models...");
    select_models(&terminal, "Alpha, Beta, Gamma");
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

/// Voices that answer in no time: whatever comes together at the frontend, it comes to the end.
#[test]
fn fast_voices_leave_no_discussion_hanging() {
    let Some(program) = frontend() else { return };
    let home = Home::new();
    let terminal = start(&home, &program);
    terminal.settles_on("› Type /models to select models...");
    select_models(&terminal, "Builder (demo), Skeptic (demo), Scout (demo)");
    for method in ["standard", "delphi"] {
        terminal.enter(&format!("/{method} Is rain wet?"));
        let ended = "Press ESC to start a new discussion";
        terminal.press_until("Enter", "Press Enter to continue", ended);
        terminal.press_until("Escape", ended, "› Ask a question...");
        terminal.settles_on("› Ask a question...");
    }
    terminal.enter("/quit");
    terminal.sees("ended 0");
    drop(terminal);
    home.is_left();
    let runs = home.run(&["history", "--json"]);
    let runs = runs.ends(0).out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs: Vec<_> = runs.map(|run| json!([run["method"], run["standing"]])).collect();
    let methods = ["delphi", "standard"];
    assert_eq!(runs, methods.map(|method| json!([method, "completed"])));
}

/// A home with what `althing quorum` looks for: a venv on PATH, and programs that only tell how they
/// were called.
fn fakes() -> Home {
    let home = Home::new();
    let package = "venv/lib/python3.11/site-packages/quorum/_frontend/ipc";
    std::fs::create_dir_all(home.path().join(package)).unwrap();
    program(&home, "venv/bin/quorum", "exit 9");
    for file in ["ipc/client.js", "index.js"] {
        let path = home.path().join(package).parent().unwrap().join(file);
        std::fs::write(path, "// the frontend").unwrap();
    }
    program(
        &home,
        "bin/node",
        "echo node $1 for $QUORUM_PYTHON$QUORUM_SIGNAL_FILE; cat $1; exit 7",
    );
    program(
        &home,
        "bin/npm",
        "echo npm $1; /bin/mkdir -p node_modules/ink; \
         echo {} > node_modules/ink/package.json",
    );
    let path = ["venv/bin", "bin"].map(|it| home.path().join(it).display().to_string()).join(":");
    home.set("PATH", &format!("{path}:/usr/bin:/bin")).set("QUORUM_SIGNAL_FILE", "/nowhere")
}

fn program(home: &Home, path: &str, does: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = home.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_frontend_is_found_and_gets_what_it_lacks_once() {
    let home = fakes();
    let (copy, althing) = (home.data().join("quorum"), env!("CARGO_BIN_EXE_althing"));
    let started = format!("node {}/_frontend/index.js for {althing}\n", copy.display());
    let done = home.run(&["quorum"]);
    done.ends(7).says("npm ci").says(&started).says("// the frontend").warns("installed once");
    assert!(copy.join("_frontend/ipc/client.js").exists());
    let again = home.run(&["quorum"]);
    again.ends(7).says(&started);
    assert!(!again.out.contains("npm"), "{again:?}");
    // Where its packages lie beside it, it is started where it is.
    let ink = home.path().join("venv/node_modules/ink");
    std::fs::create_dir_all(&ink).unwrap();
    std::fs::write(ink.join("package.json"), "{}").unwrap();
    home.run(&["quorum"])
        .ends(7)
        .says("venv/lib/python3.11/site-packages/quorum/_frontend/index.js");
    let named = home.run(&["quorum", "--frontend", "venv/lib/python3.11/site-packages"]);
    named.ends(7).says("site-packages/quorum/_frontend/index.js");
}

#[test]
fn what_is_missing_for_the_frontend_is_told_with_what_to_do() {
    let home = fakes();
    std::fs::remove_file(home.path().join("bin/npm")).unwrap();
    let bin = |name: &str| home.path().join(name).display().to_string();
    let run = |path: &str, args: &[&str]| {
        let mut command = home.command(&[&["quorum"], args].concat());
        crate::harness::Done::of(command.env("PATH", path).output().unwrap())
    };
    run(&bin("venv/bin"), &[]).ends(3).warns("Node.js 20").warns("https://nodejs.org");
    run(&bin("bin"), &[]).ends(3).warns("pipx install quorum-cli");
    run(&bin("bin"), &["--frontend", "."]).ends(3).warns("--frontend: . has no");
    run(&format!("{}:{}", bin("bin"), bin("venv/bin")), &[]).ends(3).warns("no `npm` on PATH");
}

/// In a folder of its own, because it writes reports there.
fn start(home: &Home, programs: &Path) -> Terminal {
    let folder = home.path().join("work");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = home.foreign(Path::new("tmux"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).current_dir(folder);
    // What its own launcher leaves behind is not believed.
    command.env("QUORUM_PYTHON", "/nowhere/python");
    let frontend = format!("'{}' quorum 2>../frontend-stderr", env!("CARGO_BIN_EXE_althing"));
    Terminal::start(command, home.path().join("tmux"), &frontend)
}

fn select_models(terminal: &Terminal, names: &str) {
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
    terminal.sees(&format!("Models: {names}"));
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
