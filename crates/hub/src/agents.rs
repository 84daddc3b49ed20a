//! CLI agents as voices of this machine.

use crate::book::Means;
use crate::config::{AgentConfig, Config, Source, agents_on_path};
use althing_agents::{Adapter, Agent, Limits, Options};
use althing_stdx::Result;
use futures_util::future::join_all;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use althing_agents::Installed;

/// How long an agent may be silent where the person set nothing: some think without a word.
const SILENCE: Duration = Duration::from_secs(300);

/// Ends agents of processes that were killed.
pub(crate) fn sweep(data_dir: &Path) {
    althing_agents::sweep(&ledger(data_dir));
}

/// Where living agents are noted.
fn ledger(data_dir: &Path) -> PathBuf {
    data_dir.join("agents")
}

/// An agent that was called to a table, and what it has there.
#[derive(Debug, Clone)]
pub struct Seated {
    pub config: AgentConfig,
    pub place: Place,
}

/// What an agent has. By itself nothing but words: it works without tools in an empty folder.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// An absolute folder it may read.
    pub repo: Option<PathBuf>,
    /// Where what it writes is kept.
    pub raw: Option<PathBuf>,
    /// Its time from start to end, where that is not the configuration's.
    pub total: Option<Duration>,
}

/// Refuses to go on inside an agent: a council never starts a council.
pub(crate) fn guard(means: &Means) -> Result<()> {
    althing_agents::guard(&means.world.env)
}

/// Waits until nothing is left of the agents that were ended; for the end of a program.
pub async fn settle() {
    althing_agents::settle().await;
}

/// The agent that sits there.
pub(crate) fn open(means: &Means, config: &Config, seated: &Seated) -> Agent {
    let Seated { config: wanted, place } = seated.clone();
    let options = Options {
        model: wanted.model,
        fallbacks: wanted.fallbacks,
        auth: wanted.auth,
        effort: wanted.effort,
        program: wanted.program,
        arguments: wanted.arguments,
        repo: place.repo,
        config: wanted.config_dir,
        environment: means.world.env.clone(),
        variables: wanted.variables,
        limits: limits(config, place.total),
        ledger: ledger(&means.data_dir),
        raw: place.raw,
    };
    Agent::new(wanted.adapter, options)
}

fn limits(config: &Config, total: Option<Duration>) -> Limits {
    let total = total.unwrap_or(Duration::from_secs(*config.turn_seconds_max));
    let is_default = config.model_timeout_seconds.source == Source::Default;
    let idle = Duration::from_secs(*config.model_timeout_seconds);
    Limits { idle: if is_default { SILENCE.min(total) } else { idle }, total }
}

/// Every agent that is on this machine or configured, and what is known of it; all at once.
pub async fn installed(means: &Means, config: &Config) -> Vec<(String, Result<Installed>)> {
    let on_path = agents_on_path(&means.world);
    let found = on_path.iter().filter_map(|(name, _)| config.agent(&format!("{name}-cli")));
    let is_found = |it: &&AgentConfig| match &it.adapter {
        Adapter::Known(row) => on_path.iter().any(|(name, _)| *name == row.name),
        Adapter::Custom(_) => false,
    };
    let more = config.agents.iter().filter(|it| !is_found(it)).cloned();
    let probes = found.chain(more).map(|wanted| async move {
        let name = wanted.name.clone();
        let seated = Seated { config: wanted, place: Place::default() };
        (name, open(means, config, &seated).probe().await)
    });
    join_all(probes).await
}
