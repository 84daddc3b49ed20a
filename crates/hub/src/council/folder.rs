//! What a council leaves on disk, written from its log when it ends: private, each file whole or not
//! there, and under names that lead nowhere else.

use althing_assembly::council::{JUDGE, PLANNER};
use althing_assembly::event::{Event, Outcome, Turn, What};
use althing_stdx::redact::redact;
use althing_stdx::{Fault, Result};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the folders of councils lie, below the data folder.
const FOLDERS: &str = "councils";
/// Events of the log that are taken at once; each may hold a whole answer.
pub(crate) const BATCH: usize = 16;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Characters of an agent's name in a file's name.
const SLUG_CHARS_MAX: usize = 40;

/// The folder of a run below `data`; a run's name is our own, letters and digits only.
pub fn folder_of(data: &Path, run: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    data.join(FOLDERS).join(run.chars().map(safe).collect::<String>())
}

/// Writes the folder of a run. Beside the final files it has every raw answer, the task, the map of
/// labels and the log itself. `events` gives some of the log's events from a number on, in their
/// order, and none behind the last: a long log is never held twice.
pub(crate) async fn keep(
    folder: PathBuf,
    events: impl Fn(u64) -> Vec<Event> + Send + 'static,
) -> Result<()> {
    let write = move || {
        let fail = |e: io::Error| Fault::internal(format!("{}: {e}", folder.display()));
        write(&folder, events).map_err(fail)
    };
    tokio::task::spawn_blocking(write).await.map_err(Fault::internal)?
}

fn write(folder: &Path, events: impl Fn(u64) -> Vec<Event>) -> io::Result<()> {
    let attempts = folder.join("attempts");
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&attempts)?;
    let mut log = Part::new(&folder.join("events.jsonl"))?;
    let mut seq = 0;
    loop {
        let batch = events(seq);
        let Some(last) = batch.last() else { break };
        seq = last.seq + 1;
        for event in &batch {
            for (name, text) in files(event) {
                put(&folder.join(name), &text)?;
            }
            log.write(&serde_json::to_string(event)?)?;
            log.write("\n")?;
        }
    }
    log.done()
}

/// Names below the folder, and texts, of what an event tells.
fn files(event: &Event) -> Vec<(String, String)> {
    match &event.what {
        What::RunStarted(it) => {
            let task = it.council.as_ref().map(|terms| &terms.task);
            task.map(|task| ("task.json".to_string(), pretty(task))).into_iter().collect()
        }
        What::TurnEnded { by, outcome } => vec![(attempt_name(by), said(outcome))],
        What::LabelsSealed(sealed) => {
            let map = json!({
                "seed": sealed.seed, "labels": sealed.labels, "redactions": sealed.redactions
            });
            let mut files = vec![("labels.json".into(), pretty(&map))];
            // Logs from before it was kept do not have it.
            if !sealed.input.is_null() {
                files.push(("judge_input.json".into(), pretty(&sealed.input)));
            }
            files
        }
        What::PlansJudged(judged) => {
            let judged = serde_json::to_value(judged).unwrap_or_default();
            vec![("judgement.json".into(), pretty(&judged))]
        }
        What::PlanSettled(settled) => vec![
            ("final-plan.json".into(), pretty(&settled.plan)),
            ("final-plan.md".into(), settled.markdown.clone()),
        ],
        _ => vec![],
    }
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

fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut part = Part::new(path)?;
    part.write(text)?;
    part.done()
}

/// A file that is written beside its place and moved there, so that no half one is ever seen. It is
/// not forced to the disk: the log is what has to last, and `resume` writes the folder again.
struct Part {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
}

impl Part {
    fn new(path: &Path) -> io::Result<Part> {
        let mut part = path.as_os_str().to_os_string();
        // Nobody else's: another process may be writing the same folder.
        part.push(format!(".{:08x}.part", fastrand::u32(..)));
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&part)?;
        Ok(Part { path: path.to_path_buf(), part, file: BufWriter::new(file) })
    }

    /// Writes a piece of text that ends where no key could go on.
    fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(redact(text).as_bytes())
    }

    fn done(mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.part, &self.path)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Where it was moved there is none any more.
        let _ = fs::remove_file(&self.part);
    }
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
