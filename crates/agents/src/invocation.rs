//! One call of an agent as a value: what is started, with which words and which environment.

use crate::agent::{Adapter, Auth, Options};
use crate::custom::{Custom, PromptMode};
use crate::process::Workspace;
use crate::prompt;
use crate::row::{Access, Row};
use althing_chat::Ask;
use althing_stdx::{Fault, Kind, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Set for every agent, and whatever it starts: who has it may not start agents. Its value tells
/// the processes of one call.
pub const GUARD: &str = "ALTHING_AGENT";

/// The longest argument that Linux takes, its end included. A longer prompt is refused.
const ARGUMENT_BYTES_MAX: usize = 128 << 10;
/// The longest prompt; a longer one is refused.
const PROMPT_BYTES_MAX: usize = 16 << 20;

/// What every agent gets of the environment: where things are, how they are written, and how the
/// network is reached. A `*` ends a prefix.
const COMMON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The file that limits an agent, where it wants one. Its name says what it is written in.
const LIMITS: &str = "limits.toml";
/// Nobody draws on a pipe.
const SET: &[(&str, &str)] = &[("TERM", "dumb"), ("NO_COLOR", "1")];

/// Refuses to start agents inside an agent: a council never starts a council.
pub fn guard(environment: &BTreeMap<String, String>) -> Result<()> {
    match environment.contains_key(GUARD) {
        false => Ok(()),
        true => Err(Fault::new(
            Kind::InvalidParams,
            format!("an agent that Althing started may not start agents ({GUARD} is set)"),
        )),
    }
}

/// What is started.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// A name to be looked for on the path, or a path.
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Empty: standard input is.
    pub input: Vec<u8>,
}

impl Invocation {
    /// One question to `adapter`, in `workspace`.
    pub(crate) fn new(
        adapter: &Adapter,
        options: &Options,
        ask: &Ask,
        workspace: &mut Workspace,
    ) -> Result<Invocation> {
        guard(&options.environment)?;
        let prompt = prompt::text(ask);
        if prompt.len() > PROMPT_BYTES_MAX {
            let size = prompt.len();
            let text = format!("prompt: has {size} bytes, at most {PROMPT_BYTES_MAX} are taken");
            return Err(Fault::invalid(text));
        }
        let (program, arguments, input) = match adapter {
            Adapter::Known(row) => {
                let limits = match access(row, options).limits {
                    "" => None,
                    text => Some(workspace.put(LIMITS, text)?),
                };
                let places =
                    [("{folder}", Some(workspace.path())), ("{limits}", limits.as_deref())];
                let arguments = known(row, options, ask.effort.as_deref(), &places);
                (row.name.to_string(), arguments, prompt)
            }
            Adapter::Custom(custom) => own(custom, options, prompt)?,
        };
        let program = options.program.clone().unwrap_or(program);
        let environment = environment(adapter, options)?;
        Ok(Invocation { program, arguments, environment, input: input.into_bytes() })
    }

    /// A question about the agent itself.
    pub(crate) fn probe(row: &Row, options: &Options, arguments: &[&str]) -> Invocation {
        Invocation {
            program: options.program.clone().unwrap_or_else(|| row.name.to_string()),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: passed(options, row.variables.iter().copied(), row.set),
            input: vec![],
        }
    }
}

fn access<'a>(row: &'a Row, options: &Options) -> &'a Access {
    if options.repo.is_some() { &row.reading } else { &row.without_tools }
}

fn known(
    row: &Row,
    options: &Options,
    effort: Option<&str>,
    places: &[(&str, Option<&Path>)],
) -> Vec<String> {
    let fill = |word: &str| {
        let place = places.iter().find(|(mark, _)| *mark == word).and_then(|(_, path)| *path);
        place.map_or(word.to_string(), |path| path.to_string_lossy().into_owned())
    };
    let mut arguments: Vec<String> = row.arguments.iter().map(|word| fill(word)).collect();
    arguments.extend(access(row, options).arguments.iter().map(|word| fill(word)));
    if let Some(model) = &options.model {
        arguments.extend(row.model.iter().map(|word| word.replace("{model}", model)));
    }
    if let Some(effort) = options.effort.as_deref().or(effort) {
        arguments.extend(row.effort.iter().map(|word| word.replace("{effort}", effort)));
    }
    arguments.extend(options.arguments.iter().cloned());
    arguments.extend(row.last.iter().map(ToString::to_string));
    arguments
}

fn own(
    custom: &Custom,
    options: &Options,
    prompt: String,
) -> Result<(String, Vec<String>, String)> {
    let mut words = custom.words.iter().cloned();
    let program = words.next().ok_or_else(|| Fault::invalid("command: is empty"))?;
    let mut arguments: Vec<String> = words.chain(options.arguments.iter().cloned()).collect();
    if custom.prompt == PromptMode::Stdin {
        return Ok((program, arguments, prompt));
    }
    if prompt.len() >= ARGUMENT_BYTES_MAX {
        return Err(Fault::invalid(format!(
            "prompt: has {} bytes, an argument has less than {ARGUMENT_BYTES_MAX}; \
             set prompt_mode to stdin",
            prompt.len()
        )));
    }
    if prompt.contains('\0') {
        return Err(Fault::invalid("prompt: an argument cannot hold a zero byte"));
    }
    arguments.push(prompt);
    Ok((program, arguments, String::new()))
}

fn environment(adapter: &Adapter, options: &Options) -> Result<BTreeMap<String, String>> {
    Ok(match adapter {
        Adapter::Custom(custom) => {
            passed(options, custom.variables.iter().map(String::as_str), &[])
        }
        Adapter::Known(row) => {
            let mut environment = passed(options, row.variables.iter().copied(), row.set);
            environment.extend(owned(access(row, options).variables));
            if let Some(config) = &options.config {
                environment.insert(row.config.into(), config.to_string_lossy().into_owned());
            }
            authorise(row, options, &mut environment)?;
            environment
        }
    })
}

/// Keeps the keys of the person from an agent that shall use its own login, and refuses one that
/// shall use a key and has none. A variable that was named for it is its key.
fn authorise(
    row: &Row,
    options: &Options,
    environment: &mut BTreeMap<String, String>,
) -> Result<()> {
    let is_named = |name: &str| options.variables.iter().any(|listed| matches(listed, name));
    let is_key = |name: &str| row.keys.contains(&name) || is_named(name);
    match options.auth {
        Auth::Any => {}
        Auth::Login => environment.retain(|name, _| !row.keys.contains(&name.as_str())),
        Auth::Key if environment.keys().any(|name| is_key(name)) => {}
        Auth::Key => {
            let keys = row.keys.join(", ");
            return Err(Fault::new(
                Kind::BadKey,
                format!("a key is wanted: none of {keys} is set"),
            ));
        }
    }
    Ok(())
}

/// What of the person's environment is on the list, and what is set besides.
fn passed<'a>(
    options: &'a Options,
    names: impl Iterator<Item = &'a str>,
    set: &[(&str, &str)],
) -> BTreeMap<String, String> {
    let more = options.variables.iter().map(String::as_str);
    let names: Vec<&str> = COMMON.iter().copied().chain(names).chain(more).collect();
    let is_listed = |name: &str| names.iter().any(|listed| matches(listed, name));
    let kept = options.environment.iter().filter(|(name, _)| is_listed(name));
    let mut passed: BTreeMap<String, String> =
        kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    passed.extend(owned(SET));
    passed.extend(owned(set));
    passed
}

fn matches(listed: &str, name: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == listed,
    }
}

fn owned(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests;
