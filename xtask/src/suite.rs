//! The commands that run tests.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::process::Command;

use crate::step::{Run, spawn, spawn_and_read};
use crate::tally::Tally;
use crate::{llama_server, peers, tidy};

/// Everything, cheapest first, so that a small mistake is told in seconds. The peers are installed
/// while cargo builds. What fails does not keep the rest from being tried.
pub(crate) async fn test(run: &Run) {
    check_sources(run).await;
    peers::install_programs(run).await;
    tokio::join!(peers::install_peers(run), build(run));
    // A crate that does not build fails alone.
    let test = with_peers(run, "test --workspace --no-fail-fast");
    run.step("test", "every test, with every peer required", run_tests(test)).await;
}

async fn check_sources(run: &Run) {
    let fmt = run.cargo("fmt --all --check");
    run.step("fmt", "every file is formatted", spawn(fmt)).await;
    tidy::run(run).await;
}

/// The runner of local models among them: the tests start it, and cargo builds only the programs of
/// the crate under test.
async fn build(run: &Run) {
    let clippy = run.cargo("clippy --workspace --all-targets -- -D warnings");
    run.step("clippy", "no warning anywhere", spawn(clippy)).await;
    let runner = run.cargo("build -p althing-llama");
    run.step("build", "the runner of local models", spawn(runner)).await;
    let build = run.cargo("test --workspace --no-run");
    run.step("build", "the programs and their tests", spawn(build)).await;
}

/// The tests named `soak…`: small under `test`, here as large as they were meant.
pub(crate) async fn soak(run: &Run) {
    peers::install(run).await;
    llama_server::install(run).await;
    // The tests start the runner of local models as it is built here.
    let mut runner = run.cargo("build --release -p althing-llama");
    runner.env("CARGO_PROFILE_RELEASE_LTO", "off");
    run.step("build", "the runner of local models", spawn(runner)).await;
    let mut soak =
        with_peers(run, "test --release --workspace --no-fail-fast soak -- --include-ignored");
    // What it takes longer to run without is little beside linking every test with it.
    soak.arg("--nocapture").env("ALTHING_SOAK", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    run.step("soak", "the tests named soak, in full size", run_tests(soak)).await;
}

/// The benchmarks, which `test` runs too, but small.
pub(crate) async fn bench(run: &Run) {
    let bench = run.cargo("bench --workspace");
    run.step("bench", "every benchmark in full size", spawn(bench)).await;
}

/// Runs `cargo test` and ends with how many tests passed and which did not.
async fn run_tests(test: Command) -> Result<()> {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let reader = tally.clone();
    let lock = |tally: &Mutex<Tally>, line: &str| {
        tally.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
    };
    let result = spawn_and_read(test, move |line| lock(&reader, line)).await;
    eprintln!("\n{}", tally.lock().unwrap_or_else(PoisonError::into_inner));
    result
}

/// A missing peer is a failure here; under plain `cargo test` it is a skipped test.
fn with_peers(run: &Run, arguments: &str) -> Command {
    let mut command = run.cargo(arguments);
    command.env("ALTHING_PEERS", "required").env("ALTHING_PEERS_DIR", peers::folder(run));
    command
}
