//! What is wanted of a new provider, checked.

use crate::config::{self, Config};
use crate::service::words::AddApiKey;
use althing_gateway::login::{LoginRow, login_row};
use althing_gateway::{Endpoint, PROVIDERS, Provider, provider};
use althing_stdx::redact::Secret;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Result};

/// Characters of a provider's name.
const NAME_CHARS_MAX: usize = 100;
/// Characters of a key.
const KEY_CHARS_MAX: usize = 4_096;
/// Characters of a wrong value that are repeated.
const SHOWN_CHARS_MAX: usize = 40;

/// A provider that can be added.
pub(super) struct Wanted {
    pub name: String,
    pub row: &'static Provider,
    /// None: the row's own.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
}

impl Wanted {
    pub fn read(wanted: AddApiKey) -> Result<Wanted> {
        let AddApiKey { name, provider_type, api_key, base_url } = wanted;
        let name = checked_name(&name)?;
        let row = row(&provider_type)?;
        Ok(Wanted { name, row, base_url: address(row, base_url)?, key: key(row, api_key)? })
    }

    /// The server as it is asked before it has an id.
    pub fn endpoint(&self, config: &Config) -> Endpoint {
        Endpoint {
            id: self.row.name.into(),
            provider: self.row,
            base_url: self.base_url.clone().unwrap_or_else(|| self.row.base_url.into()),
            key: self.key.clone(),
            parallel: config.parallel(self.row),
            access: None,
            headers: vec![],
        }
    }
}

/// A provider's name as it is kept.
pub(crate) fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let chars = name.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&chars) {
        let text = format!("name: 1 to {NAME_CHARS_MAX} characters, not {chars}");
        return Err(Fault::invalid(text));
    }
    if name.chars().any(char::is_control) {
        return Err(Fault::invalid("name: must not hold control characters"));
    }
    Ok(name.into())
}

/// The row called `name`, where a key opens it.
fn row(name: &str) -> Result<&'static Provider> {
    let takes_key = |row: &&Provider| !row.key_env.is_empty();
    provider(name.trim()).filter(takes_key).ok_or_else(|| {
        if let Some(LoginRow { provider, title, .. }) = login_row(name.trim()) {
            return Fault::invalid(format!(
                "provider_type: {title} has no keys; `althing providers add-oauth {provider}` logs in"
            ));
        }
        let names = PROVIDERS.iter().filter(takes_key).map(|row| row.name);
        let names = names.collect::<Vec<_>>().join(", ");
        let wrong = one_line(name, SHOWN_CHARS_MAX);
        Fault::invalid(format!("provider_type: one of {names}, not '{wrong}'"))
    })
}

fn address(row: &Provider, given: Option<String>) -> Result<Option<String>> {
    let given = given.map(|text| text.trim().to_string()).filter(|text| !text.is_empty());
    match given {
        Some(text) => {
            let wrong = |problem| Fault::invalid(format!("base_url: {problem}"));
            config::base_url(row, &text).map(Some).map_err(wrong)
        }
        None if row.base_url.is_empty() => {
            Err(Fault::invalid(format!("base_url: required for '{}'", row.name)))
        }
        None => Ok(None),
    }
}

/// Whether it is right only the provider knows; here, whether it can be sent at all.
fn key(row: &Provider, given: Option<Secret>) -> Result<Option<Secret>> {
    let given = given.map(|key| Secret::new(key.expose().trim()));
    let Some(key) = given.filter(|key| !key.expose().is_empty()) else {
        return match row.needs_key {
            true => Err(Fault::invalid(format!("api_key: required for '{}'", row.name))),
            false => Ok(None),
        };
    };
    let chars = key.expose().chars().count();
    if chars > KEY_CHARS_MAX {
        let text = format!("api_key: 1 to {KEY_CHARS_MAX} characters, not {chars}");
        return Err(Fault::invalid(text));
    }
    if !key.expose().chars().all(|c| c.is_ascii_graphic()) {
        let text = "api_key: letters, digits and signs of ASCII only, without blanks";
        return Err(Fault::invalid(text));
    }
    Ok(Some(key))
}
