//! What was used, per minute and model, and per day once the minutes are old. Every write adds, so
//! processes that write the same minute add up.

use super::file::Trouble;
use super::{Receipt, Room, Store};
use althing_stdx::{Fault, Result};
use rusqlite::{Connection, Row, params};

/// Minutes of a day; days are those of UTC.
const DAY: i64 = 24 * 60;

/// Which row: a minute since 1970, and who was asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub minute: i64,
    pub provider: String,
    pub model: String,
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    pub requests: i64,
    pub failed: i64,
    pub prompt: i64,
    pub completion: i64,
    pub cost_usd: f64,
    /// Requests whose cost nobody knows.
    pub unpriced: i64,
    /// Of `prompt`: read from a provider's cache.
    pub cached: i64,
}

impl Tally {
    pub fn add(&mut self, more: &Tally) {
        self.requests = self.requests.saturating_add(more.requests);
        self.failed = self.failed.saturating_add(more.failed);
        self.prompt = self.prompt.saturating_add(more.prompt);
        self.completion = self.completion.saturating_add(more.completion);
        self.cost_usd += more.cost_usd;
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
        self.cached = self.cached.saturating_add(more.cached);
    }
}

/// What was used in `minutes` minutes from `key.minute` on; a name that is summed over is empty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub key: Key,
    pub minutes: i64,
    pub tally: Tally,
}

impl Room<'_> {
    /// Queues rows to be added, all or none; `lost` is told on the writer's thread where they
    /// cannot be.
    pub fn add_minutes(
        self,
        rows: Vec<(Key, Tally)>,
        lost: impl Fn(&Fault) + Send + 'static,
    ) -> Receipt<()> {
        self.0.put(move |db| rows.iter().try_for_each(|(key, tally)| add(db, key, tally)), lost)
    }
}

impl Store {
    /// What touches the minutes from `first` to before `end`, all models together, by time.
    pub(crate) async fn used_by_time(&self, first: i64, end: i64) -> Result<Vec<Span>> {
        let sql = used("minute, '', ''", "minutes", "minute, minutes");
        self.read(move |db| spans(db, &sql, first, end)).await
    }

    /// The same for each model, all the time together.
    pub(crate) async fn used_by_model(&self, first: i64, end: i64) -> Result<Vec<Span>> {
        let sql = used("min(minute), provider, model", "0", "provider, model");
        self.read(move |db| spans(db, &sql, first, end)).await
    }

    /// Merges the minutes before `before`, which begins a day, into days. Every sum stays.
    pub(crate) async fn merge_minutes(&self, before: i64) -> Result<()> {
        self.write(move |db| merge(db, before)).await
    }
}

const ADD: &str = "ON CONFLICT DO UPDATE SET
    requests = requests + excluded.requests,
    failed = failed + excluded.failed,
    prompt = prompt + excluded.prompt,
    completion = completion + excluded.completion,
    cost_usd = cost_usd + excluded.cost_usd,
    unpriced = unpriced + excluded.unpriced,
    cached = cached + excluded.cached";

fn add(db: &Connection, key: &Key, tally: &Tally) -> Result<(), Trouble> {
    let sql = format!("INSERT INTO minutes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) {ADD}");
    let Tally { requests, failed, prompt, completion, cost_usd, unpriced, cached } = tally;
    let Key { minute, provider, model } = key;
    let row = params![
        minute, provider, model, requests, failed, prompt, completion, cost_usd, unpriced, cached
    ];
    db.prepare_cached(&sql)?.execute(row)?;
    Ok(())
}

/// A sum over days and minutes, with these columns for the key and the length, in this order.
fn used(key: &str, minutes: &str, by: &str) -> String {
    format!(
        "SELECT {key}, sum(requests), sum(failed), sum(prompt), sum(completion), sum(cost_usd),
            sum(unpriced), {minutes}, sum(cached)
        FROM (SELECT day AS minute, provider, model, requests, failed, prompt, completion, cost_usd,
                unpriced, cached, {DAY} AS minutes FROM days WHERE day > ?1 - {DAY} AND day < ?2
            UNION ALL SELECT *, 1 FROM minutes WHERE minute >= ?1 AND minute < ?2)
        GROUP BY {by} ORDER BY {by}"
    )
}

fn spans(db: &Connection, sql: &str, first: i64, end: i64) -> Result<Vec<Span>, Trouble> {
    let mut query = db.prepare_cached(sql)?;
    let rows = query.query_map([first, end], span)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn span(row: &Row) -> rusqlite::Result<Span> {
    let tally = Tally {
        requests: row.get(3)?,
        failed: row.get(4)?,
        prompt: row.get(5)?,
        completion: row.get(6)?,
        cost_usd: row.get(7)?,
        unpriced: row.get(8)?,
        cached: row.get(10)?,
    };
    let key = Key { minute: row.get(0)?, provider: row.get(1)?, model: row.get(2)? };
    Ok(Span { key, minutes: row.get(9)?, tally })
}

fn merge(db: &Connection, before: i64) -> Result<(), Trouble> {
    let sql = format!(
        "INSERT INTO days SELECT minute - minute % {DAY} AS day, provider, model, sum(requests),
            sum(failed), sum(prompt), sum(completion), sum(cost_usd), sum(unpriced),
            sum(cached)
        FROM minutes WHERE minute < ?1 GROUP BY day, provider, model {ADD}"
    );
    db.execute(&sql, [before])?;
    db.execute("DELETE FROM minutes WHERE minute < ?1", [before])?;
    Ok(())
}
