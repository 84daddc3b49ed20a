//! The settings, one row each: what lists, reads, checks or shows them walks [`SETTINGS`].

use super::choice::{Choice, Format};
use super::layers::{Layers, Raw};
use super::source::{Source, Sourced, Warning, shown};
use super::{Config, World};
use althing_assembly::methods;
use althing_gateway::parse_tokens;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

/// Characters of a wrong value that a warning shows.
const WRONG_CHARS_MAX: usize = 40;
/// Sites whose pages may ask.
const ORIGINS_MAX: usize = 100;
/// Characters of a language's name.
const LANGUAGE_CHARS_MAX: usize = 40;
/// Characters of a model's name; see also the lists of providers.
const MODEL_CHARS_MAX: usize = 200;

/// One setting.
pub(super) struct Setting {
    pub key: &'static str,
    pub env: &'static str,
    /// Whether `./.env` may set it. Not what protects the person's money.
    local: bool,
    set: fn(&mut Config, &Raw, &World) -> Result<(), String>,
    pub show: fn(&Config) -> (String, Source),
}

/// A setting of the field of the same name, read by `$read` and shown by `$show`.
macro_rules! setting {
    ($key:ident, $env:literal, $local:literal, $read:expr, $show:expr) => {
        Setting {
            key: stringify!($key),
            env: $env,
            local: $local,
            set: |config, raw, world| put(&mut config.$key, raw, world, $read),
            show: |config| ($show(&config.$key.value), config.$key.source.clone()),
        }
    };
}

/// Every setting, in the order of the template.
#[rustfmt::skip]
pub(super) static SETTINGS: &[Setting] = &[
    setting!(method, "QUORUM_METHOD", true, |it| method(it.text), String::clone),
    setting!(models, "ALTHING_MODELS", true, |it| model_names(it.text), list),
    setting!(rounds_per_agent, "QUORUM_ROUNDS_PER_AGENT", true, |it| whole(it.text, 1..=10), text),
    setting!(synthesizer, "QUORUM_SYNTHESIZER", true, |it| choice(it.text), name),
    setting!(language, "QUORUM_DEFAULT_LANGUAGE", true, |it| language(it.text).map(Some), maybe),
    setting!(context_tokens, "ALTHING_CONTEXT_TOKENS", true,
             |it| parse_tokens(it.text).map(Some), maybe_number),
    setting!(max_cost_usd, "ALTHING_MAX_COST", false, |it| dollars(it.text), text),
    setting!(model_timeout_seconds, "QUORUM_MODEL_TIMEOUT", true,
             |it| whole(it.text, 10..=600), text),
    setting!(turn_seconds_max, "ALTHING_TURN_SECONDS_MAX", true,
             |it| whole(it.text, 10..=3_600), text),
    setting!(local_idle_seconds, "ALTHING_LOCAL_IDLE_SECONDS", true,
             |it| whole(it.text, 1..=86_400), text),
    setting!(http_origins, "ALTHING_HTTP_ORIGINS", false, |it| origins(it.text), list),
    setting!(pause_seconds, "QUORUM_PAUSE_TIMEOUT", true, |it| whole(it.text, 0..=86_400), text),
    setting!(execution_mode, "QUORUM_EXECUTION_MODE", true, |it| choice(it.text), name),
    setting!(report_dir, "QUORUM_REPORT_DIR", true, folder, path),
    setting!(export_dir, "QUORUM_EXPORT_DIR", true, |it| folder(it).map(Some), maybe_path),
    setting!(export_format, "QUORUM_EXPORT_FORMAT", true, |it| format(it.text), name),
];

/// A value and the world it is read in.
struct Given<'a> {
    text: &'a str,
    source: &'a Source,
    world: &'a World,
}

fn put<T>(
    slot: &mut Sourced<T>,
    raw: &Raw,
    world: &World,
    read: impl Fn(&Given) -> Result<T, String>,
) -> Result<(), String> {
    let value = read(&Given { text: &raw.text, source: &raw.source, world })?;
    *slot = Sourced { value, source: raw.source.clone() };
    Ok(())
}

/// Takes the highest value that is set; a wrong one is a warning, and the default stands.
pub(super) fn apply(
    setting: &Setting,
    config: &mut Config,
    layers: &Layers,
    warnings: &mut Vec<Warning>,
) {
    let mut warn = |source: &Source, problem: String| {
        warnings.push(Warning::new(setting.key, source, problem));
    };
    let mut variables = layers.variables(setting.env).filter(|raw| !raw.text.is_empty());
    let raw = variables.find(|raw| {
        let allowed = setting.local || !raw.source.is_local();
        if !allowed {
            let problem = "a file in the current folder may not set this; it is ignored".into();
            warn(&raw.source, problem);
        }
        allowed
    });
    let raw = raw.map(Ok).or_else(|| layers.file.setting(setting.key));
    match raw {
        None => {}
        Some(Err(warning)) => warnings.push(warning),
        Some(Ok(raw)) => {
            if let Err(problem) = (setting.set)(config, &raw, layers.world) {
                warn(&raw.source, problem);
            }
        }
    }
}

fn choice<T: Choice>(text: &str) -> Result<T, String> {
    let found = T::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        format!("must be one of {}, not {}", names.join(", "), wrong(text))
    })
}

/// Quorum's `text` is our `txt`.
fn format(text: &str) -> Result<Format, String> {
    if text.eq_ignore_ascii_case("text") { Ok(Format::Txt) } else { choice(text) }
}

fn whole<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + Display,
{
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("must be a whole number from {least} to {most}, not {}", wrong(text))
    })
}

/// The most that a cost limit can be.
const DOLLARS_MAX: f64 = 10_000.0;

fn dollars(text: &str) -> Result<f64, String> {
    let number = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    number.filter(|usd| (0.0..=DOLLARS_MAX).contains(usd)).ok_or_else(|| {
        format!("must be an amount in US dollars from 0 to {DOLLARS_MAX}, not {}", wrong(text))
    })
}

fn method(text: &str) -> Result<String, String> {
    let found = methods::ALL.iter().find(|method| method.name.eq_ignore_ascii_case(text));
    found.map(|method| method.name.to_string()).ok_or_else(|| {
        let names: Vec<&str> = methods::ALL.iter().map(|method| method.name).collect();
        format!("must be one of {}, not {}", names.join(", "), wrong(text))
    })
}

/// The languages that have a code: code, and name as prompts write it.
pub const LANGUAGES: &[(&str, &str)] = &[
    ("en", "English"),
    ("sv", "Swedish"),
    ("de", "German"),
    ("fr", "French"),
    ("es", "Spanish"),
    ("it", "Italian"),
];

/// A code or a language's name. It becomes part of every prompt, so it holds letters only.
pub fn language(text: &str) -> Result<String, String> {
    if let Some((_, name)) = LANGUAGES.iter().find(|(code, _)| code.eq_ignore_ascii_case(text)) {
        return Ok(name.to_string());
    }
    let letters = text.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '-'));
    if letters && (1..=LANGUAGE_CHARS_MAX).contains(&text.chars().count()) {
        return Ok(text.to_string());
    }
    Err(format!("must be a language such as de or German, not {}", wrong(text)))
}

fn model_names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = split_list(text).map(str::to_string).collect();
    if names.len() > methods::SEATS_MAX {
        let most = methods::SEATS_MAX;
        return Err(format!("names {} models; at most {most} can sit", names.len()));
    }
    match names.iter().find(|name| !is_model_name(name)) {
        Some(name) => Err(format!("{} cannot be the name of a model", wrong(name))),
        None => Ok(names),
    }
}

/// Sites whose pages may ask. Every site at once is nobody's wish: any page could use the models.
fn origins(text: &str) -> Result<Vec<String>, String> {
    let all: Vec<&str> = split_list(text).collect();
    if all.len() > ORIGINS_MAX {
        return Err(format!("names {} sites; at most {ORIGINS_MAX} are kept", all.len()));
    }
    all.into_iter().map(origin).collect()
}

/// An origin as browsers write it: in small letters, and without a port that is the usual one.
fn origin(text: &str) -> Result<String, String> {
    let lower = text.trim_end_matches('/').to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]_+".contains(c);
    let parts = lower.split_once("://").filter(|(scheme, host)| {
        let fit = |part: &str| !part.is_empty() && part.chars().all(is_plain);
        fit(scheme) && fit(host)
    });
    let Some((scheme, host)) = parts else {
        let wrong = wrong(text);
        return Err(format!("must be sites such as https://app.example, not {wrong}"));
    };
    let usual = [("http", ":80"), ("https", ":443")];
    let port = usual.iter().find(|(it, _)| *it == scheme).map_or("", |(_, port)| port);
    Ok(format!("{scheme}://{}", host.strip_suffix(port).unwrap_or(host)))
}

/// The entries of a comma list, trimmed, without the empty ones.
pub(super) fn split_list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Whether a model can be called so: not too long, and nothing that drives a terminal.
pub(crate) fn is_model_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= MODEL_CHARS_MAX
        && althing_stdx::text::printable(name) == name
        && !name.contains(['\n', '\t'])
}

/// A folder. One that `./.env` names must lie in the home or in the current folder: files are
/// written there.
fn folder(given: &Given) -> Result<PathBuf, String> {
    let Given { text, source, world } = given;
    if text.chars().any(char::is_control) {
        return Err("must be a folder".into());
    }
    let path = world.path(text);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let inside = !climbs && (path.starts_with(&world.home) || path.starts_with(&world.cwd));
    if source.is_local() && !inside {
        return Err("./.env may name only folders in the home or the current folder".into());
    }
    Ok(path)
}

fn wrong(text: &str) -> String {
    format!("'{}'", shown(text, WRONG_CHARS_MAX))
}

fn text(value: &impl Display) -> String {
    value.to_string()
}

fn name<T: Choice>(value: &T) -> String {
    value.name().to_string()
}

fn list(values: &[String]) -> String {
    values.join(", ")
}

fn maybe(value: &Option<String>) -> String {
    value.clone().unwrap_or_default()
}

fn maybe_number(value: &Option<u64>) -> String {
    value.map(|number| number.to_string()).unwrap_or_default()
}

fn path(value: &Path) -> String {
    value.display().to_string()
}

fn maybe_path(value: &Option<PathBuf>) -> String {
    value.as_deref().map(path).unwrap_or_default()
}
