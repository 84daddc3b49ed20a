//! Runs and their events: every statement on them.

use super::file::Trouble;
use althing_assembly::event::{Ending, Event, Opening, Outcome, Parts, Said, What};
use althing_stdx::{Fault, Kind, text};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::Serialize;

/// Runs named in the complaint about a start that fits several.
const MATCHES_SHOWN: usize = 8;
/// Characters of a question in that complaint.
const QUESTION_CHARS: usize = 48;

/// A run as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    pub id: String,
    pub started_at_ms: u64,
    /// When its last event happened.
    pub updated_at_ms: u64,
    pub method: String,
    pub question: String,
    /// `provider:model` of each seat.
    pub models: Vec<String>,
    /// Whether a scripted voice sat at the table.
    pub demo: bool,
    pub speeches: u32,
    pub failures: u32,
    /// Sum over the speeches whose price is known.
    pub cost_usd: f64,
    /// Speeches whose price nobody knows: `cost_usd` is a lower bound.
    pub unpriced: u32,
    /// The word the synthesis gave for it.
    pub consensus: Option<String>,
    pub ending: Option<Ending>,
    pub standing: Standing,
}

/// How a run stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A living process writes it.
    Running,
    /// It has no end and nobody writes it: it can be resumed.
    Stopped,
    Completed,
    Cancelled,
    Failed,
}

const SELECT: &str = "SELECT id, started_at_ms, updated_at_ms, method, question, models, demo, \
    speeches, failures, cost_usd, unpriced, consensus, ending FROM runs";

/// Adds one event behind the last. What is out of order, or there already, is refused.
pub(super) fn append(db: &Connection, event: &Event) -> Result<(), Trouble> {
    if let What::RunStarted(opening) = &event.what {
        open(db, event, opening)?;
    }
    let run = claim(db, event)?;
    let sql = "INSERT INTO events (number, json) VALUES (?1 << 32 | ?2, ?3)";
    change(db, sql, params![run, event.seq as i64, to_json(event)?])?;
    book(db, event)
}

fn open(db: &Connection, event: &Event, opening: &Opening) -> Result<(), Trouble> {
    let models: Vec<&str> = opening.seats.iter().map(|seat| seat.model.as_str()).collect();
    let (models, demo) = (to_json(&models)?, opening.seats.iter().any(|seat| seat.demo));
    // Where the run is there already, `claim` refuses.
    let sql = "INSERT OR IGNORE INTO runs
        (id, started_at_ms, updated_at_ms, method, question, models, demo)
        VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6)";
    let (at_ms, method, question) = (event.at_ms as i64, &opening.method, &opening.question);
    change(db, sql, params![event.run, at_ms, method, question, models, demo])
}

/// Takes the event's place in its run, and gives the run's number: places have no gaps and no two
/// writers share one.
fn claim(db: &Connection, event: &Event) -> Result<i64, Trouble> {
    let sql = "UPDATE runs SET events = events + 1, updated_at_ms = ?3
        WHERE id = ?1 AND events = ?2 RETURNING number";
    let (seq, at_ms) = (event.seq as i64, event.at_ms as i64);
    let mut claim = db.prepare_cached(sql)?;
    let number = claim.query_row(params![event.run, seq, at_ms], |row| row.get(0)).optional()?;
    if let Some(number) = number {
        return Ok(number);
    }
    let next: Option<i64> = db
        .query_row("SELECT events FROM runs WHERE id = ?1", [&event.run], |row| row.get(0))
        .optional()?;
    let run = &event.run;
    Err(Trouble::Ours(Fault::internal(match next {
        Some(next) => format!("run {run}: event {seq} came where {next} was due"),
        None => format!("run {run}: event {seq} came before the run was opened"),
    })))
}

/// Keeps in the run's row what lists show.
fn book(db: &Connection, event: &Event) -> Result<(), Trouble> {
    match &event.what {
        What::TurnEnded { outcome: Outcome::Said(said), .. } => book_speech(db, &event.run, said),
        What::TurnEnded { outcome: Outcome::Failed(_), .. } => {
            change(db, "UPDATE runs SET failures = failures + 1 WHERE id = ?1", [&event.run])
        }
        What::RunResumed { .. } => book_ending(db, &event.run, None),
        What::RunEnded { ending, .. } => book_ending(db, &event.run, Some(to_json(ending)?)),
        _ => Ok(()),
    }
}

fn book_speech(db: &Connection, run: &str, said: &Said) -> Result<(), Trouble> {
    let consensus = match &said.parts {
        Parts::Synthesis(synthesis) => Some(&synthesis.consensus),
        _ => None,
    };
    let sql = "UPDATE runs SET speeches = speeches + 1, cost_usd = cost_usd + ?2,
        unpriced = unpriced + ?3, consensus = coalesce(?4, consensus) WHERE id = ?1";
    let (cost_usd, is_unpriced) = (said.cost_usd.unwrap_or(0.0), said.cost_usd.is_none());
    change(db, sql, params![run, cost_usd, is_unpriced, consensus])
}

fn book_ending(db: &Connection, run: &str, ending: Option<String>) -> Result<(), Trouble> {
    change(db, "UPDATE runs SET ending = ?2 WHERE id = ?1", params![run, ending])
}

fn change(db: &Connection, sql: &str, params: impl Params) -> Result<(), Trouble> {
    db.prepare_cached(sql)?.execute(params)?;
    Ok(())
}

/// The latest runs, the newest first.
pub(super) fn runs(db: &Connection, limit: u32) -> Result<Vec<RunRow>, Trouble> {
    let sql = format!("{SELECT} ORDER BY started_at_ms DESC, id DESC LIMIT ?1");
    let rows = db.prepare_cached(&sql)?.query_map([limit], read)?.collect::<Result<_, _>>()?;
    Ok(rows)
}

/// The newest run held by `method`.
pub(super) fn newest(db: &Connection, method: &str) -> Result<Option<RunRow>, Trouble> {
    let sql = format!("{SELECT} WHERE method = ?1 ORDER BY started_at_ms DESC, id DESC LIMIT 1");
    Ok(db.prepare_cached(&sql)?.query_row([method], read).optional()?)
}

/// The run called `name`, or the only one whose name starts so, or the `last`.
pub(super) fn run(db: &Connection, name: &str) -> Result<RunRow, Trouble> {
    if name == "last" {
        let none = Fault::new(Kind::NotFound, "there is no run yet: `althing ask` starts one");
        return runs(db, 1)?.pop().ok_or(Trouble::Ours(none));
    }
    if name.is_empty() {
        let message = "run: give a name, the start of one, or `last`; `althing history` lists them";
        return Err(Trouble::Ours(Fault::invalid(message)));
    }
    let whole = db.query_row(&format!("{SELECT} WHERE id = ?1"), [name], read).optional()?;
    if let Some(row) = whole {
        return Ok(row);
    }
    let mut found = starting_with(db, name)?;
    match found.len() {
        0 => Err(Trouble::Ours(unknown(name))),
        1 => Ok(found.remove(0)),
        _ => Err(Trouble::Ours(ambiguous(name, &found))),
    }
}

/// Runs whose name starts so, one more than are shown.
fn starting_with(db: &Connection, start: &str) -> Result<Vec<RunRow>, Trouble> {
    let sql = format!(
        "{SELECT} WHERE substr(id, 1, length(?1)) = ?1 COLLATE NOCASE ORDER BY id LIMIT ?2"
    );
    let limit = MATCHES_SHOWN as i64 + 1;
    let rows = db.prepare(&sql)?.query_map(params![start, limit], read)?.collect::<Result<_, _>>();
    Ok(rows?)
}

fn unknown(name: &str) -> Fault {
    let name = text::one_line(name, QUESTION_CHARS);
    let message = format!("no run is called '{name}': `althing history` lists them");
    Fault::new(Kind::NotFound, message)
}

fn ambiguous(name: &str, found: &[RunRow]) -> Fault {
    let lines: String = found
        .iter()
        .take(MATCHES_SHOWN)
        .map(|row| format!("\n  {}  {}", row.id, text::one_line(&row.question, QUESTION_CHARS)))
        .collect();
    let more = if found.len() > MATCHES_SHOWN { "\n  and more" } else { "" };
    Fault::invalid(format!("run: '{name}' fits several:{lines}{more}"))
}

/// All events of a run. One that cannot be read is named.
pub(super) fn events(db: &Connection, run: &str) -> Result<Vec<Event>, Trouble> {
    let events = events_from(db, run, 0, u32::MAX)?;
    match events.is_empty() {
        true => Err(Trouble::Ours(unknown(run))),
        false => Ok(events),
    }
}

/// At most `most` events of a run from `first` on.
pub(super) fn events_from(
    db: &Connection,
    run: &str,
    first: u64,
    most: u32,
) -> Result<Vec<Event>, Trouble> {
    let sql = "SELECT events.number & 0xffffffff, json FROM runs, events
        WHERE id = ?1 AND events.number >= runs.number << 32 | ?2
        AND events.number < runs.number + 1 << 32 ORDER BY events.number LIMIT ?3";
    let mut query = db.prepare_cached(sql)?;
    let mut rows = query.query(params![run, first as i64, most])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let due = first as usize + events.len();
        let seq: i64 = row.get(0)?;
        let json = row.get_ref(1)?.as_bytes().map_err(|error| damaged(run, due, error))?;
        if seq != due as i64 {
            return Err(damaged(run, due, "it is missing"));
        }
        events.push(serde_json::from_slice(json).map_err(|error| damaged(run, due, error))?);
    }
    Ok(events)
}

fn damaged(run: &str, seq: usize, why: impl std::fmt::Display) -> Trouble {
    let message = format!("run {run}: event {seq} cannot be read ({why}); other runs are unharmed");
    Trouble::Ours(Fault::internal(message))
}

fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let time = |at: usize| row.get::<_, i64>(at).map(|ms| ms as u64);
    // The events are the truth: a list that lacks a detail is better than none.
    let ending = row.get::<_, Option<String>>(12)?;
    let ending: Option<Ending> = ending.and_then(|json| serde_json::from_str(&json).ok());
    Ok(RunRow {
        id: row.get(0)?,
        started_at_ms: time(1)?,
        updated_at_ms: time(2)?,
        method: row.get(3)?,
        question: row.get(4)?,
        models: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        demo: row.get(6)?,
        speeches: row.get(7)?,
        failures: row.get(8)?,
        cost_usd: row.get(9)?,
        unpriced: row.get(10)?,
        consensus: row.get(11)?,
        standing: match &ending {
            None => Standing::Stopped,
            Some(Ending::Completed) => Standing::Completed,
            Some(Ending::Cancelled) => Standing::Cancelled,
            Some(Ending::Failed(_)) => Standing::Failed,
        },
        ending,
    })
}

fn to_json<T: Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(Fault::internal)
}
