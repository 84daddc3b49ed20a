//! From an added provider to a server that can be asked.

use crate::config::{Config, Own, World};
use crate::local::{self, Runners};
use crate::secrets::Secrets;
use crate::service::logins;
use crate::service::words::ProviderKind;
use crate::store::{Store, Stored};
use althing_gateway::{Access, Endpoint, Gateway, LOCAL_FILE, Provider, provider};
use althing_stdx::Result;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What those who open providers work with. Clones share everything.
#[derive(Clone)]
pub struct Means {
    pub world: World,
    pub data_dir: PathBuf,
    pub secrets: Secrets,
    pub gateway: Gateway,
    pub runners: Runners,
    pub store: Store,
}

/// Who opens the providers of a kind whose address or key changes; the others have an address and a
/// key that stay.
type Open = fn(&Means, &Stored) -> Result<Arc<dyn Access>>;
const OPENERS: &[(ProviderKind, Open)] =
    &[(ProviderKind::OAuth, logins::open), (ProviderKind::Local, local::open)];

/// Where the key of an added provider is kept.
pub(crate) fn key_id(provider_id: &str) -> String {
    format!("provider/{provider_id}")
}

/// Where the tokens of a login are kept.
pub(crate) fn login_id(provider_id: &str) -> String {
    format!("login/{provider_id}")
}

/// Makes servers, and keeps who opens them for as long as their providers stay as they are: a
/// runner and a fresh token outlive the book they were made for.
pub(super) struct Openers {
    means: Means,
    known: Mutex<HashMap<String, Known>>,
}

/// Who opens a provider, and the provider as it was then.
struct Known {
    row: Stored,
    access: Arc<dyn Access>,
}

impl Openers {
    pub fn new(means: Means) -> Openers {
        Openers { means, known: Mutex::default() }
    }

    pub fn means(&self) -> &Means {
        &self.means
    }

    /// The server of `row`, or why there is none.
    pub async fn endpoint(&self, config: &Config, row: &Stored) -> Result<Arc<Endpoint>, String> {
        if !row.enabled {
            return Err(unfinished(row.kind).into());
        }
        let Some(like) = like(row) else {
            return Err(format!("this Althing does not know the provider type '{}'", row.row));
        };
        let access = self.access(row).map_err(|fault| fault.message)?;
        let key = match row.kind {
            ProviderKind::ApiKey => self.means.secrets.get(&key_id(&row.id)).await,
            ProviderKind::OAuth | ProviderKind::Local => Ok(None),
        };
        let key = key.map_err(|fault| format!("its key cannot be read: {fault}"))?;
        if like.needs_key && key.is_none() && access.is_none() {
            return Err("its key is gone; remove it and add it again".into());
        }
        let base_url = row.base_url.clone().unwrap_or_else(|| like.base_url.into());
        if let Some(why) = Own::read(&self.means.data_dir).leads_here(&base_url, key.as_ref()) {
            return Err(format!("not used: {why}; remove it"));
        }
        Ok(Arc::new(Endpoint {
            id: row.id.clone(),
            provider: like,
            base_url,
            key,
            parallel: config.parallel(like),
            access,
            headers: vec![],
        }))
    }

    /// Lets go of those whose providers are gone.
    pub fn keep(&self, rows: &[Stored]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|id, _| rows.iter().any(|row| row.id == *id));
    }

    fn access(&self, row: &Stored) -> Result<Option<Arc<dyn Access>>> {
        let Some((_, open)) = OPENERS.iter().find(|(kind, _)| *kind == row.kind) else {
            return Ok(None);
        };
        // A panic elsewhere cannot leave the map half changed.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&row.id).filter(|known| is_same(&known.row, row)) {
            return Ok(Some(known.access.clone()));
        }
        let access = open(&self.means, row)?;
        known.insert(row.id.clone(), Known { row: row.clone(), access: access.clone() });
        Ok(Some(access))
    }
}

/// Whether nothing changed that matters to who opens it. A provider that was removed and added
/// again is another one.
fn is_same(a: &Stored, b: &Stored) -> bool {
    let of =
        |it: &Stored| (it.row.clone(), it.base_url.clone(), it.local_path.clone(), it.added_at_ms);
    of(a) == of(b)
}

fn like(row: &Stored) -> Option<&'static Provider> {
    match row.kind {
        ProviderKind::Local => Some(&LOCAL_FILE),
        ProviderKind::ApiKey | ProviderKind::OAuth => provider(&row.row),
    }
}

fn unfinished(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OAuth => "its login is not finished",
        ProviderKind::ApiKey | ProviderKind::Local => {
            "adding it was broken off; remove it and add it again"
        }
    }
}
