//! The servers that can be asked: every row of the provider table that has what it needs, and the
//! person's own sections.

use super::address;
use super::choice::Execution;
use super::key;
use super::layers::{Layers, Raw};
use super::own::Own;
use super::settings::{is_model_name, split_list};
use super::source::{Row, Source, Sourced, Warning, shown};
use althing_gateway::{Endpoint, PROVIDERS, Provider, WORKER, parse_tokens, provider};
use althing_stdx::redact::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Providers that are looked for on this machine without being asked.
const PROBED: &[&str] = &["ollama", "lmstudio", "llamaswap"];
/// Calls at once where the person wants them in parallel and the provider suggests fewer.
const PARALLEL: usize = 8;
/// The most calls at once that a person can ask for.
const PARALLEL_MAX: usize = 64;
/// Models that one list may name; the rest is reported.
const MODELS_MAX: usize = 500;
/// Characters of a section's name.
const ID_CHARS_MAX: usize = 40;
/// Sections of one's own; the rest is reported.
const SECTIONS_MAX: usize = 50;

/// A server that can be asked.
#[derive(Debug, Clone)]
pub struct Configured {
    pub endpoint: Arc<Endpoint>,
    /// The person's own list; empty where there is none.
    pub models: Vec<ModelEntry>,
    pub models_source: Source,
    pub key_source: Option<Source>,
    pub url_source: Source,
    pub parallel_source: Source,
    /// Tokens that each of its models has at most, where the person says so.
    pub context_tokens: Option<Sourced<u64>>,
    /// Whether the person set anything of it. What is not explicit may well not be there.
    pub explicit: bool,
}

/// One model of a person's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    pub id: String,
    pub display: Option<String>,
}

impl Configured {
    /// What is in force, for a person to read.
    pub(super) fn rows(&self) -> Vec<Row> {
        let endpoint = &self.endpoint;
        let row = |key: &str, value: String, source: &Source| {
            Row::new(format!("providers.{}.{key}", endpoint.id), value, source)
        };
        let mut rows = vec![row("base_url", endpoint.base_url.clone(), &self.url_source)];
        if let (Some(key), Some(source)) = (&endpoint.key, &self.key_source) {
            rows.push(row("api_key", key.hint(), source));
        }
        if !self.models.is_empty() {
            let ids: Vec<&str> = self.models.iter().map(|entry| entry.id.as_str()).collect();
            rows.push(row("models", ids.join(", "), &self.models_source));
        }
        rows.push(row("parallel", endpoint.parallel.to_string(), &self.parallel_source));
        if let Some(Sourced { value, source }) = &self.context_tokens {
            rows.push(row("context_tokens", value.to_string(), source));
        }
        rows
    }
}

/// A provider that lacks its key, and the models that the person listed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyless {
    pub provider: &'static str,
    pub models: Vec<ModelEntry>,
}

/// All servers, rows of the table first and in its order, and those that would be among them with a
/// key.
pub(super) fn endpoints(
    layers: &Layers,
    mode: Execution,
    own: &Own,
    warnings: &mut Vec<Warning>,
) -> (Vec<Configured>, Vec<Keyless>) {
    let mut reader = Reader { layers, mode, own, warnings, keyless: vec![] };
    let rows = PROVIDERS.iter().map(|row| (row.name, row)).collect::<Vec<_>>();
    let own = reader.own_sections();
    let all = rows.into_iter().chain(own).filter_map(|(id, row)| reader.configured(id, row));
    let all = without_twins(all.collect());
    (all, reader.keyless)
}

/// A server that the person named is not looked for a second time under another name.
pub(super) fn without_twins(mut all: Vec<Configured>) -> Vec<Configured> {
    let place = |it: &Configured| it.endpoint.base_url.replace("//localhost", "//127.0.0.1");
    let named: Vec<String> = all.iter().filter(|it| it.explicit).map(place).collect();
    all.retain(|it| it.explicit || !named.contains(&place(it)));
    all
}

struct Reader<'a, 'w> {
    layers: &'a Layers<'w>,
    mode: Execution,
    own: &'a Own,
    warnings: &'a mut Vec<Warning>,
    keyless: Vec<Keyless>,
}

/// Where something may stand that opens a provider, best first.
struct Openings {
    addresses: Vec<Raw>,
    keys: Vec<Raw>,
    /// The lowest layer that led back to Althing itself; what it had was taken away.
    own_layer: Option<u8>,
}

impl<'a> Reader<'a, '_> {
    fn warn(&mut self, id: &str, key: &str, source: &Source, problem: impl std::fmt::Display) {
        self.warnings.push(Warning::new(&format!("providers.{id}.{key}"), source, problem));
    }

    /// The sections of the TOML file that are no rows of the table, and the rows they are like.
    fn own_sections(&mut self) -> Vec<(&'a str, &'static Provider)> {
        let is_worker = |id: &&str| {
            let like = self.layers.file.of_provider(id, "provider").and_then(Result::ok);
            like.is_some_and(|raw| raw.text == WORKER.name)
        };
        let ids = self.layers.file.provider_ids().filter(|id| provider(id).is_none());
        // Those are with the workers.
        let ids: Vec<&str> = ids.filter(|id| !is_worker(id)).collect();
        ids.iter().enumerate().filter_map(|(at, id)| Some((*id, self.likeness(at, id)?))).collect()
    }

    fn likeness(&mut self, at: usize, id: &str) -> Option<&'static Provider> {
        let source = self.layers.file.source();
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if at >= SECTIONS_MAX {
            let problem = format!("is one section too many; there may be {SECTIONS_MAX}");
            self.warn(&shown(id, ID_CHARS_MAX), "provider", &source, problem);
            return None;
        }
        if ["demo", WORKER.name].contains(&id)
            || id.is_empty()
            || id.len() > ID_CHARS_MAX
            || !id.chars().all(word)
        {
            let problem = "cannot be a provider's name: lower-case letters, digits, - and _ can";
            self.warn(&shown(id, ID_CHARS_MAX), "provider", &source, problem);
            return None;
        }
        let name = self.in_file(id, "provider").map_or("custom".into(), |raw| raw.text);
        let row = provider(&name);
        if row.is_none() {
            let names = PROVIDERS.iter().chain([&WORKER]).map(|row| row.name);
            let names: Vec<&str> = names.collect();
            let problem = format!("must be one of {}", names.join(", "));
            self.warn(id, "provider", &source, problem);
        }
        row
    }

    fn configured(&mut self, id: &str, row: &'static Provider) -> Option<Configured> {
        let mut openings = self.openings(id, row);
        self.pass_over_own(id, row, &mut openings);
        let own_layer = openings.own_layer;
        let url = self.base_url(id, row, openings.addresses);
        let key = self.key(id, row, openings.keys);
        let models = self.models(id, row);
        let parallel = self.parallel(id, row);
        let context_tokens = self.context_tokens(id, row);
        let is_row = id == row.name;
        let url_source = url.as_ref().map_or_else(|warning| &warning.source, |url| &url.source);
        let url_is_given = *url_source != Source::Default;
        let explicit = !is_row || url_is_given || key.is_some() || !models.is_empty();
        if row.needs_key && key.is_none() {
            if !is_row && own_layer.is_none() {
                let problem = format!("{} wants a key: set api_key or api_key_env", row.title);
                self.warn(id, "api_key", &self.layers.file.source(), problem);
            } else if !models.value.is_empty() {
                self.keyless.push(Keyless { provider: row.name, models: models.value });
            }
            return None;
        }
        if !explicit && !PROBED.contains(&row.name) {
            return None;
        }
        if own_layer.is_some() && url.is_err() {
            // That was told already.
            return None;
        }
        let url = url.map_err(|warning| self.warnings.push(warning)).ok()?;
        // A key from above an address that was passed over was meant for it, and for no other.
        let is_above = |key: &Sourced<Secret>| Some(key.source.layer()) < own_layer;
        let is_meant = url.source != Source::Default || !key.as_ref().is_some_and(is_above);
        // What is only looked for may be at our own port.
        if !is_meant || self.own.is_address(&url.value) {
            return None;
        }
        let key = key.map_or((None, None), |key| (Some(key.value), Some(key.source)));
        self.check_key_may_go(id, row, &url, key.1.as_ref())?;
        let base_url = url.value;
        let endpoint = Endpoint {
            id: id.into(),
            provider: row,
            base_url,
            key: key.0,
            parallel: parallel.value,
            access: None,
            headers: vec![],
        };
        Some(Configured {
            endpoint: Arc::new(endpoint),
            models: models.value,
            models_source: models.source,
            key_source: key.1,
            url_source: url.source,
            parallel_source: parallel.source,
            context_tokens,
            explicit,
        })
    }

    /// A key never goes to an address that a file in the current folder chose, unless that file
    /// holds the key as well: anybody's folder could collect keys otherwise.
    fn check_key_may_go(
        &mut self,
        id: &str,
        row: &Provider,
        url: &Sourced<String>,
        key_source: Option<&Source>,
    ) -> Option<()> {
        let key_source = key_source.filter(|key| url.source.is_local() && !key.is_local());
        let Some(key_source) = key_source else { return Some(()) };
        let problem = format!(
            "{} is not used: its address comes from a file in the current folder but its key does \
             not ({key_source}), and a folder must not be able to collect keys; put the address \
             where the key is, or take it out of ./.env",
            row.title
        );
        self.warn(id, "base_url", &url.source, problem);
        None
    }

    /// A value of the TOML file; one of the wrong type is reported here.
    fn in_file(&mut self, id: &str, key: &str) -> Option<Raw> {
        match self.layers.file.of_provider(id, key)? {
            Ok(raw) => Some(raw),
            Err(warning) => {
                self.warnings.push(warning);
                None
            }
        }
    }

    /// `<PREFIX>_<END>` where `id` is the row itself, else the file's `key`.
    fn value(&mut self, id: &str, row: &Provider, end: &str, key: &str) -> Option<Raw> {
        let name = format!("{}_{end}", row.env_prefix);
        let variable = (id == row.name).then(|| self.layers.variable(&name)).flatten();
        variable.or_else(|| self.in_file(id, key))
    }

    /// Every address and key that stands anywhere.
    fn openings(&mut self, id: &str, row: &Provider) -> Openings {
        let (is_row, variable) = (id == row.name, format!("{}_BASE_URL", row.env_prefix));
        let is_set = |raw: &Raw| !raw.text.is_empty();
        let mut addresses: Vec<Raw> =
            self.layers.variables(&variable).filter(|raw| is_row && is_set(raw)).collect();
        addresses.extend(self.in_file(id, "base_url"));
        let hosts =
            self.layers.variables("OLLAMA_HOST").filter(|raw| id == "ollama" && is_set(raw));
        addresses.extend(hosts.map(|raw| Raw { text: address::ollama_host(&raw.text), ..raw }));
        Openings { addresses, keys: self.keys(id, row), own_layer: None }
    }

    /// Takes away what leads back to Althing itself: whoever points other programs here by a
    /// variable does so for Althing too. What stands beside it, in the same environment or file, is
    /// meant for the same place and goes with it; what stands below it is used.
    fn pass_over_own(&mut self, id: &str, row: &Provider, openings: &mut Openings) {
        let Openings { addresses, keys, .. } = &*openings;
        let is_own_address = |raw: &&Raw| {
            let url = address::base_url(row, &raw.text, false);
            url.is_ok_and(|url| self.own.is_address(&url))
        };
        let is_own_token = |raw: &&Raw| self.own.is_token(&raw.text);
        let variable = format!("{}_AUTH_TOKEN", row.env_prefix);
        let tokens = self.layers.variables(&variable);
        let tokens: Vec<Raw> = tokens.filter(|_| id == row.name).collect();
        let own = addresses.iter().filter(is_own_address);
        let own = own.chain(keys.iter().chain(&tokens).filter(is_own_token));
        let mut passed: BTreeMap<u8, Source> = BTreeMap::new();
        for raw in own {
            passed.entry(raw.source.layer()).or_insert_with(|| raw.source.clone());
        }
        let stays = |raw: &Raw| !passed.contains_key(&raw.source.layer());
        openings.addresses.retain(stays);
        openings.keys.retain(stays);
        openings.own_layer = passed.keys().next_back().copied();
        for source in passed.values() {
            let problem = format!(
                "leads to Althing itself, which is for other programs; it is passed over here, with \
                 what is set beside it for {}",
                row.title
            );
            self.warn(id, "base_url", source, problem);
        }
    }

    /// The address. A wrong one is no reason to send things to another: then there is none, and
    /// the warning is for whoever would have used it.
    fn base_url(
        &mut self,
        id: &str,
        row: &Provider,
        addresses: Vec<Raw>,
    ) -> Result<Sourced<String>, Warning> {
        let raw = addresses.into_iter().next();
        let place = format!("providers.{id}.base_url");
        match raw {
            Some(Raw { text, source }) => match address::base_url(row, &text, source.is_local()) {
                Ok(value) => Ok(Sourced { value, source }),
                Err(problem) => {
                    let problem = format!("{problem}; {} is not used", row.title);
                    Err(Warning::new(&place, &source, problem))
                }
            },
            None if row.base_url.is_empty() => {
                let problem = "is not set, so this server is not used";
                Err(Warning::new(&place, &Source::Default, problem))
            }
            None => Ok(Sourced::default(row.base_url.to_string())),
        }
    }

    /// Whatever is set as a key.
    fn keys(&mut self, id: &str, row: &Provider) -> Vec<Raw> {
        let named = self.in_file(id, "api_key_env");
        let names: Vec<&str> = match &named {
            Some(raw) => vec![raw.text.as_str()],
            None if id == row.name => row.key_env.to_vec(),
            None => vec![],
        };
        let mut raws: Vec<Raw> =
            names.iter().flat_map(|name| self.layers.variables(name)).collect();
        // Process before `.env` whatever the variable's name; names in the row's order.
        raws.sort_by_key(|raw| !matches!(raw.source, Source::Process(_)));
        raws.extend(self.in_file(id, "api_key"));
        if let Some(raw) = named.filter(|raw| raws.is_empty() && !row.key_env.contains(&&*raw.text))
        {
            // What it names is not shown: people put the key itself here by mistake.
            self.warn(id, "api_key_env", &raw.source, "names a variable that is not set");
        }
        raws
    }

    /// The first usable key; every unusable one above it is a warning.
    fn key(&mut self, id: &str, row: &Provider, keys: Vec<Raw>) -> Option<Sourced<Secret>> {
        keys.into_iter().find_map(|raw| match key::key(row, &raw.text) {
            Ok(value) => Some(Sourced { value, source: raw.source }),
            Err(problem) => {
                self.warn(id, "api_key", &raw.source, problem);
                None
            }
        })
    }

    fn models(&mut self, id: &str, row: &Provider) -> Sourced<Vec<ModelEntry>> {
        let Some(raw) = self.value(id, row, "MODELS", "models") else {
            return Sourced::default(vec![]);
        };
        let mut models: Vec<ModelEntry> = Vec::new();
        for entry in split_list(&raw.text).map(model_entry) {
            let bad =
                !is_model_name(&entry.id) || !entry.display.iter().all(|it| is_model_name(it));
            if bad || models.len() >= MODELS_MAX {
                let name = shown(&entry.id, ID_CHARS_MAX);
                let problem = match bad {
                    true => format!("'{name}' cannot be the name of a model; it is left out"),
                    false => {
                        format!("more than {MODELS_MAX} models; '{name}' and more are left out")
                    }
                };
                self.warn(id, "models", &raw.source, problem);
                if !bad {
                    break;
                }
            } else if models.iter().all(|known| known.id != entry.id) {
                models.push(entry);
            }
        }
        Sourced { value: models, source: raw.source }
    }

    /// Tokens of its models; a wrong number is a warning, and none is set.
    fn context_tokens(&mut self, id: &str, row: &Provider) -> Option<Sourced<u64>> {
        let raw = self.value(id, row, "CONTEXT_TOKENS", "context_tokens")?;
        match parse_tokens(&raw.text) {
            Ok(value) => Some(Sourced { value, source: raw.source }),
            Err(problem) => {
                self.warn(id, "context_tokens", &raw.source, problem);
                None
            }
        }
    }

    /// Calls at once: the person's own number, else by the mode, else what suits the provider.
    fn parallel(&mut self, id: &str, row: &Provider) -> Sourced<usize> {
        let by_mode = calls_at_once(self.mode, row);
        let Some(raw) = self.in_file(id, "parallel") else { return Sourced::default(by_mode) };
        match raw.text.parse().ok().filter(|number| (1..=PARALLEL_MAX).contains(number)) {
            Some(value) => Sourced { value, source: raw.source },
            None => {
                let problem = format!("must be a whole number from 1 to {PARALLEL_MAX}");
                self.warn(id, "parallel", &raw.source, problem);
                Sourced::default(by_mode)
            }
        }
    }
}

/// Calls at once where the person gave no number.
pub(super) fn calls_at_once(mode: Execution, row: &Provider) -> usize {
    match mode {
        Execution::Auto => row.parallel,
        Execution::Parallel => row.parallel.max(PARALLEL),
        Execution::Sequential => 1,
    }
}

/// `id|Display Name`.
fn model_entry(text: &str) -> ModelEntry {
    match text.split_once('|') {
        None => ModelEntry { id: text.into(), display: None },
        Some((id, display)) => {
            let display = display.trim();
            let display = (!display.is_empty()).then(|| display.to_string());
            ModelEntry { id: id.trim().into(), display }
        }
    }
}
