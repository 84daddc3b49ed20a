//! What a council leaves on disk, written from its log when it ends: private, each file whole or not
//! there, and under names that lead nowhere else.

use althing_assembly::council::{JUDGE, PLANNER};
use althing_assembly::event::{Event, Outcome, Turn, What};
use althing_stdx::redact::redact;
use althing_stdx::{Fault, Result};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the folders of councils lie, below the data folder.
const FOLDERS: &str = "councils";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Characters of an agent's name in a file's name.
const SLUG_CHARS_MAX: usize = 40;

/// The folder of a run below `data`; a run's name is our own, letters and digits only.
pub fn folder_of(data: &Path, run: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    data.join(FOLDERS).join(run.chars().map(safe).collect::<String>())
}

/// Writes the folder of the run with these events. Beside the final files it has every raw answer,
/// the task, the map of labels and the log itself.
pub(crate) async fn keep(folder: PathBuf, events: Vec<Event>) -> Result<()> {
    let write = move || {
        let fail = |e: io::Error| Fault::internal(format!("{}: {e}", folder.display()));
        write(&folder, &events).map_err(fail)
    };
    tokio::task::spawn_blocking(write).await.map_err(Fault::internal)?
}

fn write(folder: &Path, events: &[Event]) -> io::Result<()> {
    let attempts = folder.join("attempts");
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&attempts)?;
    for (name, text) in files(events) {
        put(&folder.join(name), &redact(&text))?;
    }
    Ok(())
}

/// Names below the folder, and texts.
fn files(events: &[Event]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for event in events {
        match &event.what {
            What::RunStarted(it) => {
                let task = it.council.as_ref().map(|terms| &terms.task);
                files.extend(task.map(|task| ("task.json".to_string(), pretty(task))));
            }
            What::TurnEnded { by, outcome } => files.push((attempt_name(by), said(outcome))),
            What::LabelsSealed(sealed) => {
                let map = json!({
                    "seed": sealed.seed, "labels": sealed.labels, "redactions": sealed.redactions
                });
                files.push(("labels.json".into(), pretty(&map)));
            }
            What::PlansJudged(judged) => {
                let judged = serde_json::to_value(judged).unwrap_or_default();
                files.push(("judgement.json".into(), pretty(&judged)));
            }
            What::PlanSettled(settled) => {
                files.push(("final-plan.json".into(), pretty(&settled.plan)));
                files.push(("final-plan.md".into(), settled.markdown.clone()));
            }
            _ => {}
        }
    }
    let lines = events.iter().filter_map(|event| serde_json::to_string(event).ok());
    files.push(("events.jsonl".into(), lines.map(|line| line + "\n").collect()));
    files
}

/// `attempts/planner-1-ada-1.txt`.
fn attempt_name(turn: &Turn) -> String {
    let is_judge = turn.role.as_deref() == Some(JUDGE);
    format!("attempts/{}-{}.txt", seat_name(is_judge, turn.seat, &turn.name), turn.nth + 1)
}

/// Where an agent's own output is kept below the folder of a run: `raw/planner-1-ada`, with a
/// numbered folder for each time it was started.
pub(super) fn raw_name(is_judge: bool, seat: usize, name: &str) -> String {
    format!("raw/{}", seat_name(is_judge, seat, name))
}

/// `planner-1-ada`: the seat's number keeps names apart that look alike.
fn seat_name(is_judge: bool, seat: usize, name: &str) -> String {
    let role = if is_judge { JUDGE } else { PLANNER };
    format!("{role}-{}-{}", seat + 1, slug(name))
}

/// Small letters, digits and single hyphens: nothing that a path could be made of.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().take(SLUG_CHARS_MAX) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "agent".into() } else { slug.to_string() }
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Said(said) => said.text.clone(),
        Outcome::Failed(failure) => format!("failed ({}): {}\n", failure.kind, failure.message),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Writes beside the target and moves it there, so that no half file is ever seen.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut part = path.as_os_str().to_os_string();
    // Nobody else's: another process may be writing the same folder.
    part.push(format!(".{:08x}.part", fastrand::u32(..)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&part)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        // Best effort: the error that matters is the one given back.
        let _ = fs::remove_file(&part);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for (name, want) in [
            ("Ada (demo)", "ada-demo"),
            ("../../escaped", "escaped"),
            ("/etc/passwd", "etc-passwd"),
            ("..", "agent"),
            ("東京", "agent"),
            ("a\0b\nc", "a-b-c"),
        ] {
            assert_eq!(slug(name), want, "{name:?}");
        }
        assert_eq!(slug(&"x".repeat(500)).len(), SLUG_CHARS_MAX);
    }
}
