//! Providers that were added, the models that providers list, and the routes over both. Every write
//! counts one further, so that whoever holds a copy knows that it is old.

use super::file::Trouble;
use super::{Store, kv};
use crate::book::naming;
use crate::service::words::{ProviderKind, RouteTarget};
use althing_stdx::{Fault, Kind, Result};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

/// Providers that can be added; one more is refused.
pub const PROVIDERS_MAX: usize = 200;
/// Aliases that can be set; one more is refused.
pub const ALIASES_MAX: usize = 1_000;
/// Where the writes are counted.
const WRITES: &str = "book";
/// Before the ids of providers whose logins are over; the value is why, as JSON text.
const LOGINS_OVER: &str = "login-over/";
/// Behind all of them.
const LOGINS_OVER_END: &str = "login-over0";

/// A provider that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub id: String,
    pub name: String,
    pub kind: ProviderKind,
    /// The row of the gateway's table it is like.
    pub row: String,
    /// None: the row's own.
    pub base_url: Option<String>,
    pub local_path: Option<String>,
    /// False until what it needs is there: its key is kept, its login is done.
    pub enabled: bool,
    /// When it last answered; none: not yet.
    pub checked_at_ms: Option<i64>,
    pub added_at_ms: i64,
}

/// A provider that is about to be added.
#[derive(Debug, Clone)]
pub struct NewProvider {
    pub name: String,
    pub kind: ProviderKind,
    pub row: String,
    pub base_url: Option<String>,
    pub local_path: Option<String>,
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredModel {
    pub model: String,
    pub display: Option<String>,
    pub enabled: bool,
    /// When the provider last listed it; none: it does not.
    pub listed_at_ms: Option<i64>,
    /// Tokens that it takes in one call, by that list.
    pub context_tokens: Option<u64>,
}

/// A model of a list that has just come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListedModel {
    pub model: String,
    pub display: Option<String>,
    pub context_tokens: Option<u64>,
}

/// Everything at one moment.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// How many writes there were before.
    pub writes: i64,
    /// In the order in which they were added.
    pub providers: Vec<Stored>,
    pub models: BTreeMap<String, Vec<StoredModel>>,
    pub routes: BTreeMap<String, Vec<RouteTarget>>,
    /// Why the logins of these providers are over.
    pub logins_over: BTreeMap<String, String>,
}

impl Store {
    /// How many writes there were; -1: none.
    pub async fn book_writes(&self) -> Result<i64> {
        // One row by its key: not worth another thread, unless somebody is reading just now.
        if let Ok(db) = self.0.reader.try_lock() {
            return writes(&db).map_err(|trouble| self.0.place.fault(trouble));
        }
        self.read(writes).await
    }

    /// Everything there is.
    pub async fn shelf(&self) -> Result<Shelf> {
        self.read(shelf).await
    }

    /// Adds a provider that is not enabled yet, under an id and a name that no other has.
    pub async fn add_provider(&self, new: NewProvider, now_ms: i64) -> Result<Stored> {
        self.write(move |db| add(db, new, now_ms)).await
    }

    /// Writes what may change of a provider: address, enabled or not, when it answered. False where
    /// it is gone.
    pub async fn update_provider(&self, row: &Stored) -> Result<bool> {
        let row = row.clone();
        let sql = "UPDATE providers SET base_url = ?2, local_path = ?3, enabled = ?4,
                   checked_at_ms = ?5 WHERE id = ?1";
        self.write(move |db| {
            let values =
                params![row.id, row.base_url, row.local_path, row.enabled, row.checked_at_ms];
            let changed = db.execute(sql, values)?;
            count(db).map(|()| changed > 0)
        })
        .await
    }

    /// Removes a provider, and its models unless another of the same id keeps them. False where
    /// there is none.
    pub async fn remove_provider(&self, id: &str, with_models: bool) -> Result<bool> {
        let id = id.to_string();
        self.write(move |db| {
            let removed = db.execute("DELETE FROM providers WHERE id = ?1", [&id])?;
            if with_models {
                db.execute("DELETE FROM models WHERE provider = ?1", [&id])?;
            }
            note_login_over(db, &id, None)?;
            count(db).map(|()| removed > 0)
        })
        .await
    }

    /// Notes how a provider's login stands: where its models are, and why it is over where it is.
    /// Counts as a write only where it changes something.
    pub async fn note_login(
        &self,
        id: &str,
        base_url: Option<String>,
        over: Option<String>,
    ) -> Result<()> {
        let id = id.to_string();
        self.write(move |db| {
            let sql = "UPDATE providers SET base_url = ?2
                       WHERE id = ?1 AND ?2 IS NOT NULL AND base_url IS NOT ?2";
            let is_moved = db.execute(sql, params![id, base_url])? > 0;
            let is_noted = note_login_over(db, &id, over.as_deref())?;
            if is_moved || is_noted { count(db) } else { Ok(()) }
        })
        .await
    }

    /// What a provider lists now, with the names to show; to list is to answer. What it does not
    /// list any more is forgotten, unless it is disabled: it may come back.
    pub async fn set_listed(
        &self,
        provider: &str,
        models: Vec<ListedModel>,
        now_ms: i64,
    ) -> Result<()> {
        let provider = provider.to_string();
        self.write(move |db| set_listed(db, &provider, &models, now_ms)).await
    }

    /// Whether a model may be used.
    pub async fn set_enabled(&self, provider: &str, model: &str, enabled: bool) -> Result<()> {
        let (provider, model) = (provider.to_string(), model.to_string());
        let sql = "INSERT INTO models (provider, model, enabled) VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET enabled = excluded.enabled";
        self.write(move |db| {
            db.execute(sql, params![provider, model, enabled])?;
            count(db)
        })
        .await
    }

    /// The targets of an alias; none removes it.
    pub async fn set_route(&self, alias: &str, targets: Vec<RouteTarget>) -> Result<()> {
        let alias = alias.to_string();
        self.write(move |db| set_route(db, &alias, &targets)).await
    }
}

/// Says whether that is news.
fn note_login_over(db: &Connection, id: &str, why: Option<&str>) -> Result<bool, Trouble> {
    let key = format!("{LOGINS_OVER}{id}");
    let Some(why) = why else {
        return Ok(db.execute("DELETE FROM kv WHERE key = ?1", [key])? > 0);
    };
    // A provider that is gone by now leaves nothing behind.
    let sql = "INSERT INTO kv SELECT ?1, json_quote(?2) FROM providers WHERE id = ?3
               ON CONFLICT DO UPDATE SET value = excluded.value WHERE value <> excluded.value";
    Ok(db.execute(sql, [&key, why, id])? > 0)
}

fn logins_over(db: &Connection) -> Result<BTreeMap<String, String>, Trouble> {
    let sql = "SELECT substr(key, 1 + length(?1)), value ->> '$' FROM kv
               WHERE key > ?1 AND key < ?2";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement
        .query_map([LOGINS_OVER, LOGINS_OVER_END], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn count(db: &Connection) -> Result<(), Trouble> {
    kv::count(db, WRITES).map(drop)
}

fn writes(db: &Connection) -> Result<i64, Trouble> {
    Ok(kv::get(db, WRITES)?.and_then(|text| text.parse().ok()).unwrap_or(-1))
}

fn shelf(db: &Connection) -> Result<Shelf, Trouble> {
    // One moment for all tables.
    let all = db.unchecked_transaction()?;
    let mut shelf =
        Shelf { writes: writes(&all)?, providers: providers(&all)?, ..Shelf::default() };
    let sql = "SELECT provider, model, display, enabled, listed_at_ms, context_tokens FROM models
               ORDER BY 1, 2";
    let mut statement = all.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (model, display) = (row.get(1)?, row.get(2)?);
        let (enabled, listed_at_ms) = (row.get(3)?, row.get(4)?);
        // A number that is none was written by somebody else.
        let context_tokens = row.get::<_, Option<i64>>(5)?.and_then(|it| u64::try_from(it).ok());
        let model = StoredModel { model, display, enabled, listed_at_ms, context_tokens };
        shelf.models.entry(row.get(0)?).or_default().push(model);
    }
    let sql = "SELECT alias, provider, model FROM routes ORDER BY alias, position";
    let mut statement = all.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let target = RouteTarget { provider_id: row.get(1)?, model_id: row.get(2)? };
        shelf.routes.entry(row.get(0)?).or_default().push(target);
    }
    shelf.logins_over = logins_over(&all)?;
    Ok(shelf)
}

fn providers(db: &Connection) -> Result<Vec<Stored>, Trouble> {
    let sql = "SELECT id, name, kind, row, base_url, local_path, enabled, checked_at_ms,
               added_at_ms FROM providers ORDER BY added_at_ms, id";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([], stored)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// None where a later Althing wrote a kind that this one does not know.
fn stored(row: &Row) -> rusqlite::Result<Option<Stored>> {
    let number: i64 = row.get(2)?;
    let kind = ProviderKind::ALL.iter().find(|(kind, _)| *kind as i64 == number);
    let Some((kind, _)) = kind else { return Ok(None) };
    Ok(Some(Stored {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: *kind,
        row: row.get(3)?,
        base_url: row.get(4)?,
        local_path: row.get(5)?,
        enabled: row.get(6)?,
        checked_at_ms: row.get(7)?,
        added_at_ms: row.get(8)?,
    }))
}

fn add(db: &Connection, new: NewProvider, now_ms: i64) -> Result<Stored, Trouble> {
    let known = providers(db)?;
    if known.len() >= PROVIDERS_MAX {
        let text = format!("there are {PROVIDERS_MAX} providers already; remove one first");
        return Err(Fault::new(Kind::Busy, text).into());
    }
    let is_id = |id: &str| known.iter().any(|it| it.id == id);
    let is_name = |name: &str| known.iter().any(|it| it.name == name);
    let row = Stored {
        id: naming::free_id(&naming::slug(&new.name, &new.row), is_id),
        name: naming::free_name(&new.name, is_name),
        kind: new.kind,
        row: new.row,
        base_url: new.base_url,
        local_path: new.local_path,
        enabled: false,
        checked_at_ms: None,
        added_at_ms: now_ms,
    };
    let sql = "INSERT INTO providers (id, name, kind, row, base_url, local_path, enabled,
               added_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)";
    let kind = row.kind as i64;
    let values = params![row.id, row.name, kind, row.row, row.base_url, row.local_path, now_ms];
    db.execute(sql, values)?;
    count(db).map(|()| row)
}

fn set_listed(
    db: &Connection,
    provider: &str,
    models: &[ListedModel],
    now_ms: i64,
) -> Result<(), Trouble> {
    db.execute("UPDATE models SET listed_at_ms = NULL WHERE provider = ?1", [provider])?;
    let sql = "INSERT INTO models (provider, model, display, listed_at_ms, context_tokens)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT DO UPDATE SET display = excluded.display,
               listed_at_ms = excluded.listed_at_ms, context_tokens = excluded.context_tokens";
    let mut statement = db.prepare_cached(sql)?;
    for ListedModel { model, display, context_tokens } in models {
        let tokens = context_tokens.and_then(|tokens| i64::try_from(tokens).ok());
        statement.execute(params![provider, model, display, now_ms, tokens])?;
    }
    let gone = "DELETE FROM models WHERE provider = ?1 AND listed_at_ms IS NULL AND enabled = 1";
    db.execute(gone, [provider])?;
    let checked = "UPDATE providers SET checked_at_ms = ?2 WHERE id = ?1";
    db.execute(checked, params![provider, now_ms])?;
    count(db)
}

fn set_route(db: &Connection, alias: &str, targets: &[RouteTarget]) -> Result<(), Trouble> {
    let known = "SELECT 1 FROM routes WHERE alias = ?1 LIMIT 1";
    let is_known = db.query_row(known, [alias], |_| Ok(())).optional()?.is_some();
    let all = "SELECT COUNT(DISTINCT alias) FROM routes";
    let count_of = db.query_row(all, [], |row| row.get::<_, i64>(0))?;
    if !is_known && !targets.is_empty() && count_of >= ALIASES_MAX as i64 {
        let text = format!("alias: there are {ALIASES_MAX} already; remove one first");
        return Err(Fault::new(Kind::Busy, text).into());
    }
    db.execute("DELETE FROM routes WHERE alias = ?1", [alias])?;
    let sql = "INSERT INTO routes (alias, position, provider, model) VALUES (?1, ?2, ?3, ?4)";
    for (position, target) in targets.iter().enumerate() {
        let position = position as i64;
        db.execute(sql, params![alias, position, target.provider_id, target.model_id])?;
    }
    count(db)
}
