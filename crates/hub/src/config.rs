//! What the person set, and where: the process environment over a `.env` file over the TOML file
//! over the defaults. Loading never fails: a wrong value is a warning and the default stands.

mod address;
mod agents;
mod choice;
mod dotenv;
pub(crate) mod edit;
mod extensions;
mod file;
mod key;
mod layers;
mod logins;
pub(crate) mod nearest;
mod own;
mod prices;
mod providers;
mod settings;
mod source;
mod stored;
#[cfg(test)]
mod tests;
mod windows;
mod words;
mod workers;
mod world;

pub use agents::{AGENTS, AgentConfig, agents_on_path};
pub use choice::{Choice, Execution, Format, Synthesizer};
pub use edit::{add_extension, enable_extension, remove_extension};
pub use extensions::{ExtensionConfig, check_name as check_extension_name};
pub use file::{TEMPLATE, init};
pub(crate) use logins::login_flow;
pub use own::HTTP_ADDRESS;
pub(crate) use own::{Announced, Own, TOKEN_FILE};
pub use providers::{Configured, Keyless, ModelEntry};
pub(crate) use settings::is_model_name;
pub use settings::{LANGUAGES, language};
pub use source::{Row, Source, Sourced, Warning};
pub(crate) use stored::base_url;
pub use windows::ModelWindow;
pub use workers::{Start, WorkerConfig};
pub use world::World;

use althing_assembly::floor::Rules;
use althing_gateway::{Limits, Prices};
use althing_stdx::redact::Secret;
use layers::Layers;
use std::path::PathBuf;
use std::time::Duration;

/// Warnings kept; the last one says that there were more.
const WARNINGS_MAX: usize = 100;

/// Every effective value and its source.
#[derive(Debug, Clone)]
pub struct Config {
    /// Turns of the free discussion per model.
    pub rounds_per_agent: Sourced<u32>,
    pub synthesizer: Sourced<Synthesizer>,
    /// Longest silence of a model, at the beginning and between two pieces.
    pub model_timeout_seconds: Sourced<u64>,
    /// A turn that takes longer is lost, however busily the model talks.
    pub turn_seconds_max: Sourced<u64>,
    pub execution_mode: Sourced<Execution>,
    pub report_dir: Sourced<PathBuf>,
    /// Where exports go; none: the current folder.
    pub export_dir: Sourced<Option<PathBuf>>,
    pub export_format: Sourced<Format>,
    pub method: Sourced<String>,
    /// Language of the answers, in English words; none: that of the question.
    pub language: Sourced<Option<String>>,
    /// Tokens that every seat has at most; none: what its model has.
    pub context_tokens: Sourced<Option<u64>>,
    pub max_cost_usd: Sourced<f64>,
    /// How long a model in a file stays loaded without being asked.
    pub local_idle_seconds: Sourced<u64>,
    /// How long faces that pause between phases wait for the person.
    pub pause_seconds: Sourced<u64>,
    /// Other sites whose pages may use the HTTP face, as browsers write them.
    pub http_origins: Sourced<Vec<String>>,
    /// Who sits when nobody is named; empty: chosen from what is found.
    pub models: Sourced<Vec<String>>,
    /// The servers that can be asked, in the order of the provider table.
    pub endpoints: Vec<Configured>,
    /// Those that would be among them with a key.
    pub keyless: Vec<Keyless>,
    /// Functions in other languages, in the order of the file.
    pub workers: Vec<WorkerConfig>,
    /// Programs around the message in the editor, in the order of the file.
    pub extensions: Vec<ExtensionConfig>,
    /// The agents that the file speaks of.
    pub agents: Vec<AgentConfig>,
    /// The person's own prices over the table.
    pub prices: Sourced<Prices>,
    /// Tokens that single models have.
    pub model_context_tokens: Sourced<Vec<ModelWindow>>,
    /// Where the TOML file is, or would be.
    pub file: Sourced<PathBuf>,
    /// The token for Hugging Face.
    pub hub_token: Option<Sourced<Secret>>,
    /// The `.env` file that was read.
    pub dotenv: Option<PathBuf>,
    /// Folder of the database.
    pub data_dir: Sourced<PathBuf>,
    pub warnings: Vec<Warning>,
}

/// Reads the token of Hugging Face's tools, as other keys are read.
fn hub_token(layers: &Layers) -> Option<Sourced<Secret>> {
    let names = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];
    let raw = names.iter().find_map(|name| layers.variable(name))?;
    Some(Sourced { value: Secret::new(&raw.text), source: raw.source })
}

impl Config {
    /// Reads everything there is in `world`.
    pub fn load(world: &World) -> Config {
        let mut warnings = Vec::new();
        let layers = Layers::read(world, &mut warnings);
        let mut config = Config::defaults(world, &layers);
        for setting in settings::SETTINGS {
            settings::apply(setting, &mut config, &layers, &mut warnings);
        }
        let (mode, own) = (*config.execution_mode, Own::read(&config.data_dir));
        (config.endpoints, config.keyless) =
            providers::endpoints(&layers, mode, &own, &mut warnings);
        config.hub_token = hub_token(&layers);
        config.workers = workers::read(&layers, &mut warnings);
        config.extensions = extensions::read(&layers, &mut warnings);
        config.agents = agents::read(&layers.file, &mut warnings);
        config.prices = prices::read(&layers.file, &mut warnings);
        config.model_context_tokens = windows::read(&layers.file, &mut warnings);
        layers.file.check_names(&mut warnings);
        config.warnings = cut(warnings);
        config
    }

    fn defaults(world: &World, layers: &Layers) -> Config {
        Config {
            rounds_per_agent: Sourced::default(2),
            synthesizer: Sourced::default(Synthesizer::First),
            model_timeout_seconds: Sourced::default(60),
            turn_seconds_max: Sourced::default(600),
            execution_mode: Sourced::default(Execution::Auto),
            report_dir: Sourced::default(world.home.join("reports")),
            export_dir: Sourced::default(None),
            export_format: Sourced::default(Format::Md),
            method: Sourced::default("standard".into()),
            language: Sourced::default(None),
            context_tokens: Sourced::default(None),
            max_cost_usd: Sourced::default(1.0),
            local_idle_seconds: Sourced::default(300),
            pause_seconds: Sourced::default(300),
            http_origins: Sourced::default(vec![]),
            models: Sourced::default(vec![]),
            endpoints: vec![],
            keyless: vec![],
            workers: vec![],
            extensions: vec![],
            agents: vec![],
            prices: Sourced::default(Prices::default()),
            model_context_tokens: Sourced::default(vec![]),
            file: world.config_file(),
            hub_token: None,
            dotenv: layers.dotenv_path(),
            data_dir: world.data_dir(),
            warnings: vec![],
        }
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.data_dir.join(crate::data_folder::DATABASE)
    }

    /// The endpoint called `id`.
    pub fn endpoint(&self, id: &str) -> Option<&Configured> {
        self.endpoints.iter().find(|configured| configured.endpoint.id == id)
    }

    /// The gateway's limits. Who set no timeout keeps the gateway's longer patience for the first
    /// token: a laptop may have to load the model, and some models think in silence.
    pub fn limits(&self) -> Limits {
        let (base, silence) = (Limits::default(), Duration::from_secs(*self.model_timeout_seconds));
        let is_default = self.model_timeout_seconds.source == Source::Default;
        Limits {
            first_token: if is_default { base.first_token } else { silence },
            idle: silence,
            total: Duration::from_secs(*self.turn_seconds_max),
            ..base
        }
    }

    /// The limits of a turn. Who set a timeout for models has a call end in that time, as a whole.
    pub fn turn_rules(&self) -> Rules {
        let (turn, model) = (&self.turn_seconds_max, &self.model_timeout_seconds);
        let is_set = model.source != Source::Default && **model < **turn;
        let (seconds, setting) = match is_set {
            true => (**model, "model_timeout_seconds, QUORUM_MODEL_TIMEOUT"),
            false => (**turn, Rules::default().setting),
        };
        Rules { turn_max: Duration::from_secs(seconds), setting }
    }

    /// The limit that the person set; none where nobody did: for programs that never heard of one.
    pub fn cost_limit(&self) -> Option<f64> {
        let is_set = self.max_cost_usd.source != Source::Default;
        is_set.then_some(*self.max_cost_usd)
    }

    /// Every effective value for a person to read; of keys only the last characters.
    pub fn rows(&self) -> Vec<Row> {
        let files = [
            Row::new("config_file", self.file.display(), &self.file.source),
            Row::new("data_dir", self.data_dir.display(), &self.data_dir.source),
        ];
        let settings = settings::SETTINGS.iter().map(|setting| {
            let (value, source) = (setting.show)(self);
            Row::new(setting.key, value, &source)
        });
        let providers = self.endpoints.iter().flat_map(Configured::rows);
        let workers = self.workers.iter().flat_map(WorkerConfig::rows);
        let extensions = self.extensions.iter().flat_map(ExtensionConfig::rows);
        let own = providers.chain(workers).chain(extensions).chain(prices::rows(self));
        let own = own.chain(windows::rows(self));
        files.into_iter().chain(settings).chain(own).collect()
    }
}

fn cut(mut warnings: Vec<Warning>) -> Vec<Warning> {
    let more = warnings.len().saturating_sub(WARNINGS_MAX);
    if more > 0 {
        warnings.truncate(WARNINGS_MAX);
        let problem = format!("{more} more warnings are not shown");
        warnings.push(Warning { name: "warnings".into(), source: Source::Default, problem });
    }
    warnings
}
