//! Small things kept by name, as JSON text. Each change is one statement, so no two processes undo
//! each other's.

use super::file::Trouble;
use rusqlite::{Connection, OptionalExtension};

/// The value under `key`, as JSON text.
pub(super) fn get(db: &Connection, key: &str) -> Result<Option<String>, Trouble> {
    let sql = "SELECT value FROM kv WHERE key = ?1";
    Ok(db.query_row(sql, [key], |row| row.get(0)).optional()?)
}

/// Puts a value in the place of the one before.
pub(super) fn set(db: &Connection, key: &str, value: &str) -> Result<(), Trouble> {
    let sql = "INSERT INTO kv VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
    db.execute(sql, [key, value])?;
    Ok(())
}

/// Merges `patch` into an object and gives the whole (RFC 7396: null removes).
pub(super) fn merge(db: &Connection, key: &str, patch: &str) -> Result<String, Trouble> {
    let sql = "INSERT INTO kv VALUES (?1, json_patch('{}', ?2))
        ON CONFLICT DO UPDATE SET value = json_patch(value, ?2) RETURNING value";
    Ok(db.query_row(sql, [key, patch], |row| row.get(0))?)
}

/// Counts one further under `key`, from 0.
pub(super) fn count(db: &Connection, key: &str) -> Result<u64, Trouble> {
    let sql = "INSERT INTO kv VALUES (?1, '0')
        ON CONFLICT DO UPDATE SET value = CAST(value + 1 AS TEXT) RETURNING CAST(value AS INTEGER)";
    Ok(db.query_row(sql, [key], |row| row.get::<_, i64>(0))? as u64)
}
