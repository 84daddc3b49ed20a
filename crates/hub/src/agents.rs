//! CLI agents as voices of this machine.

use crate::book::Means;
use crate::config::{AgentConfig, Config, Source, agents_on_path};
use althing_agents::{Adapter, Agent, Limits, Options};
use althing_stdx::{Fault, Result};
use futures_util::future::join_all;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use althing_agents::{Installed, hold_agents_with, run_holder};

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

/// Why the program of an agent cannot be started; none where it is there.
pub(crate) fn find_missing(means: &Means, config: &Config, seated: &Seated) -> Option<Fault> {
    open(means, config, seated).locate().err()
}

/// How long an agent has. Whoever is given a time at its table may be silent for all of it, unless
/// the person said otherwise: a command may print nothing before its end.
fn limits(config: &Config, given: Option<Duration>) -> Limits {
    let total = given.unwrap_or(Duration::from_secs(*config.turn_seconds_max));
    let is_default = config.model_timeout_seconds.source == Source::Default;
    let idle = match (is_default, given) {
        (false, _) => Duration::from_secs(*config.model_timeout_seconds),
        (true, Some(given)) => given,
        (true, None) => SILENCE.min(total),
    };
    Limits { idle, total }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::World;

    /// Idle and total seconds, where the person set these variables.
    #[track_caller]
    fn check(env: &[(&str, &str)], given: Option<u64>, want: (u64, u64)) {
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let world = World { env: env.collect(), cwd: "/".into(), home: "/nowhere".into() };
        let Limits { idle, total } = limits(&Config::load(&world), given.map(Duration::from_secs));
        assert_eq!((idle.as_secs(), total.as_secs()), want);
    }

    #[test]
    fn who_is_given_time_may_use_it_in_silence() {
        let (turn, silence) = ("ALTHING_TURN_SECONDS_MAX", "QUORUM_MODEL_TIMEOUT");
        check(&[(turn, "900")], None, (300, 900));
        check(&[(turn, "60")], None, (60, 60));
        check(&[], Some(1200), (1200, 1200));
        check(&[], Some(4), (4, 4));
        check(&[(silence, "20")], Some(1200), (20, 1200));
        check(&[(silence, "20"), (turn, "900")], None, (20, 900));
    }
}
