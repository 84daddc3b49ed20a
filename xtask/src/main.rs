//! The project's own commands. `cargo xtask help` lists them.
#![allow(clippy::print_stderr, reason = "a command line program that reports to its caller")]

mod llama_server;
mod peers;
mod step;
mod suite;
mod tally;
mod tidy;

use std::pin::Pin;
use std::process::ExitCode;

use step::Run;

/// A command at work; boxed, because commands are rows of one table. What fails is in the summary.
type Running<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One row per command: adding one here is all there is to it.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&Run) -> Running<'_>,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "install the peers and run every check and test; what CI runs",
        run: |run| Box::pin(suite::test(run)),
    },
    Task {
        name: "tidy",
        about: "the layering, the doors and the house rules alone",
        run: |run| Box::pin(tidy::run(run)),
    },
    Task {
        name: "peers",
        about: "install the foreign programs that the tests talk to",
        run: |run| Box::pin(peers::install(run)),
    },
    Task {
        name: "llama-server",
        about: "build llama.cpp's own server, which soak and benches compare with",
        run: |run| Box::pin(llama_server::install(run)),
    },
    Task {
        name: "soak",
        about: "the tests that grow under ALTHING_SOAK, in full size and release mode",
        run: |run| Box::pin(suite::soak(run)),
    },
    Task {
        name: "bench",
        about: "every benchmark in full size",
        run: |run| Box::pin(suite::bench(run)),
    },
];

/// Exit codes: 0 all well, 1 something failed, 2 no such command.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or("help".into());
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        let known = matches!(name.as_str(), "help" | "--help" | "-h");
        let complaint = if known { String::new() } else { format!("no command `{name}`\n\n") };
        eprint!("{complaint}{}", help());
        return ExitCode::from(if known { 0 } else { 2 });
    };
    match perform(task).await {
        Ok(summary) => eprintln!("\nxtask {name}: {summary}"),
        Err(summary) => {
            eprintln!("\nxtask {name}: FAILED: {summary}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn perform(task: &Task) -> Result<String, String> {
    let run = Run::new().map_err(|error| format!("{error:#}"))?;
    (task.run)(&run).await;
    run.summary()
}

fn help() -> String {
    let rows = TASKS.iter().map(|task| format!("  {:<12} {}\n", task.name, task.about));
    format!("cargo xtask <command>\n\n{}  help         this list\n", rows.collect::<String>())
}
