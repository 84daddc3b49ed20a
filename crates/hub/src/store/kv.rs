//! Small things kept by name, as JSON text. Each change is one transaction, so no two processes undo
//! each other's. A list has a row for each value, named by the list, a slash and a number.

use super::file::Trouble;
use rusqlite::{Connection, OptionalExtension, params};

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

/// The values of a list, in order.
pub(super) fn list(db: &Connection, list: &str) -> Result<Vec<String>, Trouble> {
    let (from, to) = rows_of(list);
    let sql = "SELECT value FROM kv WHERE key > ?1 AND key < ?2 ORDER BY key";
    let rows = db.prepare(sql)?.query_map([from, to], |row| row.get(0))?.collect::<Result<_, _>>();
    Ok(rows?)
}

/// Puts `value` at the end of a list, where it may stand already, and lets go of the first beyond
/// `max`.
pub(super) fn push(db: &Connection, list: &str, value: &str, max: u32) -> Result<(), Trouble> {
    let (from, to) = rows_of(list);
    let sql = "DELETE FROM kv WHERE key > ?1 AND key < ?2 AND value = ?3";
    db.execute(sql, [&from, &to, value])?;
    let sql = "INSERT INTO kv
        SELECT ?1 || printf('%018d', 1 + coalesce(max(substr(key, 1 + length(?1))), 0)), ?3
        FROM kv WHERE key > ?1 AND key < ?2";
    db.execute(sql, [&from, &to, value])?;
    let sql = "DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE key > ?1 AND key < ?2
        ORDER BY key DESC LIMIT -1 OFFSET ?3)";
    db.execute(sql, params![from, to, max])?;
    Ok(())
}

/// What the names of a list's rows stand between; `0` comes behind `/`.
fn rows_of(list: &str) -> (String, String) {
    (format!("{list}/"), format!("{list}0"))
}
