//! The tables, and how an older file comes to them.

use super::file::{Place, Trouble};
use althing_stdx::Fault;
use rusqlite::{Connection, TransactionBehavior};

/// Steps from one format of the file to the next; `user_version` says how many were taken.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE runs (
        id            TEXT PRIMARY KEY,
        started_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        method        TEXT NOT NULL,
        question      TEXT NOT NULL,
        models        TEXT NOT NULL,
        demo          INTEGER NOT NULL,
        events        INTEGER NOT NULL DEFAULT 0,
        speeches      INTEGER NOT NULL DEFAULT 0,
        failures      INTEGER NOT NULL DEFAULT 0,
        cost_usd      REAL NOT NULL DEFAULT 0,
        unpriced      INTEGER NOT NULL DEFAULT 0,
        consensus     TEXT,
        ending        TEXT
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (started_at_ms, id);
    CREATE TABLE events (
        run   TEXT NOT NULL REFERENCES runs (id),
        seq   INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        json  TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
",
    "
    CREATE TABLE providers (
        id            TEXT PRIMARY KEY,
        name          TEXT NOT NULL,
        kind          INTEGER NOT NULL,
        row           TEXT NOT NULL,
        base_url      TEXT,
        local_path    TEXT,
        enabled       INTEGER NOT NULL DEFAULT 1,
        checked_at_ms INTEGER,
        added_at_ms   INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE models (
        provider     TEXT NOT NULL,
        model        TEXT NOT NULL,
        display      TEXT,
        enabled      INTEGER NOT NULL DEFAULT 1,
        listed_at_ms INTEGER,
        PRIMARY KEY (provider, model)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE routes (
        alias    TEXT NOT NULL,
        position INTEGER NOT NULL,
        provider TEXT NOT NULL,
        model    TEXT NOT NULL,
        PRIMARY KEY (alias, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE minutes (
        minute     INTEGER NOT NULL,
        provider   TEXT NOT NULL,
        model      TEXT NOT NULL,
        requests   INTEGER NOT NULL,
        failed     INTEGER NOT NULL,
        prompt     INTEGER NOT NULL,
        completion INTEGER NOT NULL,
        cost_usd   REAL NOT NULL,
        unpriced   INTEGER NOT NULL,
        PRIMARY KEY (minute, provider, model)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE days (
        day        INTEGER NOT NULL,
        provider   TEXT NOT NULL,
        model      TEXT NOT NULL,
        requests   INTEGER NOT NULL,
        failed     INTEGER NOT NULL,
        prompt     INTEGER NOT NULL,
        completion INTEGER NOT NULL,
        cost_usd   REAL NOT NULL,
        unpriced   INTEGER NOT NULL,
        PRIMARY KEY (day, provider, model)
    ) STRICT, WITHOUT ROWID;
",
    // Events under one number each, which only grows: an event behind the last one touches one page,
    // where a key that begins with the run's name made SQLite move its neighbours.
    "
    CREATE TABLE numbered_runs (
        number        INTEGER PRIMARY KEY,
        id            TEXT NOT NULL UNIQUE,
        started_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        method        TEXT NOT NULL,
        question      TEXT NOT NULL,
        models        TEXT NOT NULL,
        demo          INTEGER NOT NULL,
        events        INTEGER NOT NULL DEFAULT 0,
        speeches      INTEGER NOT NULL DEFAULT 0,
        failures      INTEGER NOT NULL DEFAULT 0,
        cost_usd      REAL NOT NULL DEFAULT 0,
        unpriced      INTEGER NOT NULL DEFAULT 0,
        consensus     TEXT,
        ending        TEXT
    ) STRICT;
    CREATE TABLE numbered_events (
        number INTEGER PRIMARY KEY, -- the run's << 32, and the event's in its run
        json   TEXT NOT NULL
    ) STRICT;
    INSERT INTO numbered_runs SELECT rowid, * FROM runs;
    INSERT INTO numbered_events
        SELECT runs.rowid << 32 | seq, json FROM events JOIN runs ON runs.id = run;
    DROP TABLE events;
    DROP TABLE runs;
    ALTER TABLE numbered_runs RENAME TO runs;
    ALTER TABLE numbered_events RENAME TO events;
    CREATE INDEX runs_by_time ON runs (started_at_ms, id);
",
    // How many tokens a model takes, and how many of a prompt a provider had in its cache.
    "
    ALTER TABLE models ADD COLUMN context_tokens INTEGER;
    ALTER TABLE minutes ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
",
];

/// Brings the file up to the format this program knows.
pub(super) fn migrate(db: &mut Connection, place: &Place) -> Result<(), Trouble> {
    if version(db)? == MIGRATIONS.len() {
        return Ok(());
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again: another process may have done it while this one waited.
    let found = version(&change)?;
    let known = MIGRATIONS.len();
    if found > known {
        return Err(Trouble::Ours(Fault::internal(format!(
            "{place} was written by a newer Althing (format {found}, this one knows {known}): use \
             that one"
        ))));
    }
    for step in &MIGRATIONS[found..] {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "user_version", known as i64)?;
    Ok(change.commit()?)
}

fn version(db: &Connection) -> rusqlite::Result<usize> {
    db.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).map(|it| it as usize)
}
