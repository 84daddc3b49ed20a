//! `plan`: a task in, one checked plan out.

use super::page::Page;
use super::{Desk, Failed, print, tell};
use crate::args;
use crate::terminal::Screen;
use crate::terminal::council::{Lines, Progress};
use crate::watch::{self, View};
use althing_assembly::council::loose_json;
use althing_assembly::event::{Ending, Event, What};
use althing_hub::council::{self, Wanted};
use althing_hub::lineup;
use althing_hub::runs::Run;
use althing_stdx::{Fault, Kind, Result};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Bytes of a task file; a longer one is refused.
const TASK_BYTES_MAX: u64 = 1024 * 1024;

pub async fn plan(args: args::Plan) -> Result<(), Failed> {
    let task = read(&args).map_err(failed)?;
    if args.check {
        let desk = Desk::open();
        return check(&wanted(args, task, &desk), &desk).await.map_err(failed);
    }
    let desk = Desk::open();
    desk.warn();
    // Making ready the check takes as long as opening the history does.
    let checked = task.clone();
    let checked = tokio::task::spawn_blocking(move || council::check(&checked));
    let library = desk.library().await;
    checked.await.map_err(Fault::internal).flatten().map_err(failed)?;
    let library = library?;
    let (output, ui) = (args.output, args.ui);
    let wanted = wanted(args, task, &desk);
    let page = if ui { Some(Page::open(library.clone()).await?) } else { None };
    let runs = desk.runs(library.clone());
    let begun = runs.plan(wanted).await.map_err(failed)?;
    if let Some(page) = &page {
        page.show_run(&desk, &begun.run.id);
    }
    if !output.quiet {
        begun.notes.iter().for_each(|note| tell(desk.screen, note));
    }
    let done = finish(&desk, begun.run, output).await;
    library.workers().close().await;
    if begun.demo && done.is_ok() {
        tell(desk.screen, &lineup::how_to_add(&desk.world));
    }
    if let Some(page) = page {
        page.close(&desk).await?;
    }
    done
}

/// With the exit codes of the council.
fn failed(fault: Fault) -> Failed {
    Failed { exit: fault.kind.council_exit(), fault }
}

/// Whether a run is a council's.
pub fn is_council(events: &[Event]) -> bool {
    let first = events.first().map(|event| &event.what);
    matches!(first, Some(What::RunStarted(opening)) if opening.council.is_some())
}

/// How a council looks from here.
pub fn view(output: args::Output, screen: Screen, lines: Lines) -> View {
    match output {
        args::Output { json: false, quiet: false } => {
            let told = if lines == Lines::Told { Screen::stderr() } else { screen };
            View::Council(Box::new(Progress::new(told, lines)))
        }
        other => View::new(other),
    }
}

/// Watches a council to its end.
pub async fn finish(desk: &Desk, run: Run, output: args::Output) -> Result<(), Failed> {
    let id = run.id.clone();
    let ending = watch::watch(run, view(output, desk.screen, Lines::Told), false).await;
    match ending.map_err(failed)? {
        Ending::Completed => {
            if !output.json && !output.quiet {
                let folder = council::folder_of(&desk.config.data_dir, &id);
                tell(desk.screen, &format!("saved in {}", folder.display()));
            }
            Ok(())
        }
        ending => {
            let way_on = council::way_on(&id, &ending);
            let (what, fault) = match ending {
                Ending::Failed(it) => ("Saved", Fault::new(it.kind, it.message)),
                _ => ("Stopped and saved", Fault::new(Kind::Cancelled, "stopped")),
            };
            if let Some(way_on) = way_on {
                tell(desk.screen, &format!("{what}. Go on with: {way_on}"));
            }
            Err(failed(fault))
        }
    }
}

/// The task as it was given: a file, or words.
fn read(args: &args::Plan) -> Result<Value> {
    let mut task = match (&args.file, &args.task) {
        (Some(path), _) => read_file(path)?,
        (None, words) => json!({ "task": words.clone().unwrap_or_default() }),
    };
    if !args.constraint.is_empty() {
        let more = args.constraint.iter().map(|it| Value::from(it.as_str()));
        if task.is_object() && task.get("constraints").is_none() {
            task["constraints"] = json!([]);
        }
        // What is no list is told when the task is checked.
        if let Some(given) = task.get_mut("constraints").and_then(Value::as_array_mut) {
            given.extend(more);
        }
    }
    Ok(task)
}

fn read_file(path: &Path) -> Result<Value> {
    let shown = path.display();
    let wrong = |why: String| Fault::invalid(format!("{shown}: {why}"));
    let mut text = String::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().take(TASK_BYTES_MAX + 1).read_to_string(&mut text),
        false => std::fs::File::open(path)
            .and_then(|file| file.take(TASK_BYTES_MAX + 1).read_to_string(&mut text)),
    };
    read.map_err(|e| wrong(e.to_string()))?;
    if text.len() as u64 > TASK_BYTES_MAX {
        return Err(wrong(format!("more than {TASK_BYTES_MAX} bytes")));
    }
    let task = serde_json::from_str(&text).map_err(|e| wrong(format!("no JSON: {e}")))?;
    match repeated_names(&text) {
        names if names.is_empty() => Ok(task),
        names => Err(wrong(names.join("\n  "))),
    }
}

/// Names that an object has twice, with their places: only one of the two would count.
fn repeated_names(text: &str) -> Vec<String> {
    let start = text.len() - text.trim_start().len();
    let repeated = loose_json::read_value(text, start).map_or(vec![], |read| read.repeated_names);
    let told = |flaw: &loose_json::Flaw| {
        let (line, column) = loose_json::find_place(text, flaw.at);
        format!("line {line}, column {column}: {}", flaw.what)
    };
    repeated.iter().map(told).collect()
}

/// Names every error with its place, and what does nothing.
async fn check(wanted: &Wanted, desk: &Desk) -> Result<()> {
    let library = desk.library_to_read().await?;
    let (mut problems, ignored) = council::examine(wanted, &desk.config);
    problems.extend(council::find_missing(wanted, &library).await);
    ignored.iter().for_each(|line| tell(desk.screen, line));
    if problems.is_empty() {
        return print("The task is valid.\n");
    }
    let lines: String = problems.iter().map(|it| format!("{it}\n")).collect();
    print(&althing_stdx::text::printable(&lines))?;
    Err(Fault::invalid(match problems.len() {
        1 => "the task has 1 error".to_string(),
        council::EXAMINED_MAX => format!("the task has {} errors or more", council::EXAMINED_MAX),
        count => format!("the task has {count} errors"),
    }))
}

fn wanted(args: args::Plan, task: Value, desk: &Desk) -> Wanted {
    let names_paths = task["repo_context"]["paths"].as_array().is_some_and(|it| !it.is_empty());
    let has_root = task["repo_context"]["root"].is_string();
    // Paths without a root are those of the folder one stands in.
    let here = (names_paths && !has_root).then(|| desk.world.cwd.clone());
    Wanted {
        task,
        planners: args.planners,
        judge: args.judge,
        seed: args.seed,
        attempt: args.timeout.map(Duration::from_secs),
        repo: args.repo.or(here),
        no_fallback: args.no_fallback,
        language: None,
        max_cost_usd: args.max_cost,
        context_tokens: args.context_tokens,
    }
}
