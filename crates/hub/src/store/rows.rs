//! Runs and their events: every statement on them.

use super::file::Trouble;
use althing_assembly::event::{Ending, Event, Opening, Outcome, Parts, Said, What};
use althing_stdx::{Fault, Kind, text};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::Serialize;

/// Runs named in the complaint about a start that fits several.
const MATCHES_SHOWN: usize = 8;
/// What most events have room in; the room is used for all of a batch.
const JSON_BYTES: usize = 4096;
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

/// Adds events behind the last of their runs. What is out of order, or there already, is refused.
pub(super) fn append(db: &Connection, events: &[Event]) -> Result<(), Trouble> {
    events.chunk_by(|one, next| one.run == next.run).try_for_each(|of_one| extend(db, of_one))
}

/// Adds events of one run. Its row is read once and written once, however many they are.
fn extend(db: &Connection, events: &[Event]) -> Result<(), Trouble> {
    let [first, ..] = events else { return Ok(()) };
    if let What::RunStarted(opening) = &first.what {
        open(db, first, opening)?;
    }
    let sql = "SELECT number, events FROM runs WHERE id = ?1";
    let found = db
        .prepare_cached(sql)?
        .query_row([&first.run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (run, mut due): (i64, i64) = found.ok_or_else(|| unopened(first))?;
    let mut add = db.prepare_cached("INSERT INTO events (number, json) VALUES (?1, ?2)")?;
    let mut json = Vec::with_capacity(JSON_BYTES);
    for event in events {
        if event.seq as i64 != due {
            return Err(misplaced(event, due));
        }
        json.clear();
        event.write_json(&mut json).map_err(Fault::internal)?;
        add.execute(params![run << 32 | due, ToSqlOutput::Borrowed(ValueRef::Text(&json))])?;
        due += 1;
    }
    book(db, run, events)
}

fn open(db: &Connection, event: &Event, opening: &Opening) -> Result<(), Trouble> {
    let models: Vec<&str> = opening.seats.iter().map(|seat| seat.model.as_str()).collect();
    let (models, demo) = (to_json(&models)?, opening.seats.iter().any(|seat| seat.demo));
    // Where the run is there already, its next place is not the first.
    let sql = "INSERT OR IGNORE INTO runs
        (id, started_at_ms, updated_at_ms, method, question, models, demo)
        VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6)";
    let (at_ms, method, question) = (event.at_ms as i64, &opening.method, &opening.question);
    change(db, sql, params![event.run, at_ms, method, question, models, demo])
}

fn unopened(event: &Event) -> Trouble {
    let (run, seq) = (&event.run, event.seq);
    let message = format!("run {run}: event {seq} came before the run was opened");
    Trouble::Ours(Fault::internal(message))
}

fn misplaced(event: &Event, due: i64) -> Trouble {
    let (run, seq) = (&event.run, event.seq);
    let message = format!("run {run}: event {seq} came where {due} was due");
    Trouble::Ours(Fault::internal(message))
}

/// What events add to their run's row.
#[derive(Default)]
struct Gain<'a> {
    speeches: u32,
    failures: u32,
    cost_usd: f64,
    unpriced: u32,
    consensus: Option<&'a str>,
    /// The last word on how the run ended: where it was resumed, not at all.
    ending: Option<Option<&'a Ending>>,
}

impl<'a> Gain<'a> {
    fn add(mut self, event: &'a Event) -> Gain<'a> {
        match &event.what {
            What::TurnEnded { outcome: Outcome::Said(said), .. } => self.add_speech(said),
            What::TurnEnded { outcome: Outcome::Failed(_), .. } => self.failures += 1,
            What::RunResumed { .. } => self.ending = Some(None),
            What::RunEnded { ending, .. } => self.ending = Some(Some(ending)),
            _ => {}
        }
        self
    }

    fn add_speech(&mut self, said: &'a Said) {
        self.speeches += 1;
        self.cost_usd += said.cost_usd.unwrap_or(0.0);
        self.unpriced += u32::from(said.cost_usd.is_none());
        if let Parts::Synthesis(synthesis) = &said.parts {
            self.consensus = synthesis.consensus.as_deref();
        }
    }
}

/// Keeps in the run's row what lists show, and how many events there are.
fn book(db: &Connection, run: i64, events: &[Event]) -> Result<(), Trouble> {
    let gain = events.iter().fold(Gain::default(), Gain::add);
    let at_ms = events.last().map(|event| event.at_ms as i64);
    let ending = gain.ending.flatten().map(to_json).transpose()?;
    let sql = "UPDATE runs SET events = events + ?2, updated_at_ms = coalesce(?3, updated_at_ms),
        speeches = speeches + ?4, failures = failures + ?5, cost_usd = cost_usd + ?6,
        unpriced = unpriced + ?7, consensus = coalesce(?8, consensus),
        ending = CASE WHEN ?9 THEN ?10 ELSE ending END WHERE number = ?1";
    let Gain { speeches, failures, cost_usd, unpriced, consensus, .. } = gain;
    let (count, is_told) = (events.len() as i64, gain.ending.is_some());
    change(
        db,
        sql,
        params![
            run, count, at_ms, speeches, failures, cost_usd, unpriced, consensus, is_told, ending
        ],
    )
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
