//! The commands that run tests.

use anyhow::Result;
use tokio::process::Command;

use crate::step::{Run, spawn};
use crate::{llama_server, peers, tidy};

/// Everything, cheapest first, so that a small mistake is told in seconds. The peers are installed
/// while cargo builds; the first failure of either ends both.
pub(crate) async fn test(run: &Run) -> Result<()> {
    looks(run).await?;
    peers::needs(run).await?;
    tokio::try_join!(peers::fill(run), builds(run))?;
    let test = with_peers(run, "test --workspace");
    run.step("test", "every test, with every peer required", spawn(test)).await
}

async fn looks(run: &Run) -> Result<()> {
    let fmt = run.cargo("fmt --all --check");
    run.step("fmt", "every file is formatted", spawn(fmt)).await?;
    tidy::run(run).await
}

/// The runner of local models among them: the tests start it, and cargo builds only the programs of
/// the crate under test.
async fn builds(run: &Run) -> Result<()> {
    let clippy = run.cargo("clippy --workspace --all-targets -- -D warnings");
    run.step("clippy", "no warning anywhere", spawn(clippy)).await?;
    let runner = run.cargo("build -p althing-llama");
    run.step("build", "the runner of local models", spawn(runner)).await?;
    let build = run.cargo("test --workspace --no-run");
    run.step("build", "the programs and their tests", spawn(build)).await
}

/// The tests named `soak…`: small under `test`, here as large as they were meant.
pub(crate) async fn soak(run: &Run) -> Result<()> {
    peers::install(run).await?;
    llama_server::install(run).await?;
    // The tests start the runner of local models as it is built here.
    let mut runner = run.cargo("build --release -p althing-llama");
    runner.env("CARGO_PROFILE_RELEASE_LTO", "off");
    run.step("build", "the runner of local models", spawn(runner)).await?;
    let mut soak = with_peers(run, "test --release --workspace soak -- --include-ignored");
    // What it takes longer to run without is little beside linking every test with it.
    soak.arg("--nocapture").env("ALTHING_SOAK", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    run.step("soak", "the tests named soak, in full size", spawn(soak)).await
}

/// The benchmarks, which `test` runs too, but small.
pub(crate) async fn bench(run: &Run) -> Result<()> {
    let bench = run.cargo("bench --workspace");
    run.step("bench", "every benchmark in full size", spawn(bench)).await
}

/// A missing peer is a failure here; under plain `cargo test` it is a skipped test.
fn with_peers(run: &Run, arguments: &str) -> Command {
    let mut command = run.cargo(arguments);
    command.env("ALTHING_PEERS", "required").env("ALTHING_PEERS_DIR", peers::folder(run));
    command
}
