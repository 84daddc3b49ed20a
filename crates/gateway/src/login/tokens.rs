//! What a login leaves behind, and how it is kept: as one secret text. Nothing here prints itself.

use super::answers::Granted;
use super::flow::Flow;
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use serde::{Deserialize, Serialize};

/// How long a token lives whose end nobody named.
const LIFE_MS: i64 = 60 * 60 * 1000;

/// What opens a provider's endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(with = "plain")]
    pub access: Secret,
    /// What new ones are had with.
    #[serde(with = "plain_option", default)]
    pub refresh: Option<Secret>,
    pub expires_at_ms: i64,
    /// Where they are to be used; none: at the provider's usual address.
    pub base_url: Option<String>,
}

/// A login under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    #[serde(with = "plain")]
    pub code: Secret,
    #[serde(with = "plain_option", default)]
    pub verifier: Option<Secret>,
    pub expires_at_ms: i64,
    pub interval_ms: u64,
}

/// What is kept of a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    Pending(Device),
    Done(Tokens),
}

impl Kept {
    /// As a text to keep.
    pub fn to_secret(&self) -> Result<Secret> {
        serde_json::to_string(self).map(Secret::new).map_err(Fault::internal)
    }

    pub fn from_secret(secret: &Secret) -> Result<Kept> {
        // The parser's own words would quote the text.
        let damaged = |_| Fault::internal("what is kept of the login is damaged: log in again");
        serde_json::from_str(secret.expose()).map_err(damaged)
    }
}

impl Tokens {
    /// What the token endpoint gave; what it left out stays as it was.
    pub(super) fn granted(
        flow: &Flow,
        granted: Granted,
        old: Option<&Tokens>,
        now_ms: i64,
    ) -> Result<Tokens> {
        let named = granted.resource_url.map(|url| flow.base_url(&url)).transpose()?;
        let life_ms = granted.expires_in.map_or(LIFE_MS, |seconds| seconds.saturating_mul(1000));
        Ok(Tokens {
            access: granted.access,
            refresh: granted.refresh.or_else(|| old?.refresh.clone()),
            expires_at_ms: now_ms.saturating_add(life_ms),
            base_url: named.or_else(|| old?.base_url.clone()),
        })
    }
}

/// A secret in the one text that is sealed before it is written anywhere.
mod plain {
    use althing_stdx::redact::Secret;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(it: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(it.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

mod plain_option {
    use althing_stdx::redact::Secret;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(it: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        it.as_ref().map(Secret::expose).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}
