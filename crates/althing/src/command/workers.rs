//! `workers`: functions in other languages.

use super::{Desk, attended, print};
use crate::args::{Language, Workers};
use crate::terminal::table::{cut_table, headed};
use crate::terminal::{WARN, paragraph};
use althing_hub::export::when;
use althing_hub::workers::{Trouble, Worker};
use althing_stdx::text::printable;
use althing_stdx::{Fault, Kind, Result};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

const STARTER_PY: &str = include_str!("../../../../examples/workers/starter.py");
const STARTER_JS: &str = include_str!("../../../../examples/workers/starter.mjs");
/// Characters of a name that becomes a file and a section.
const NAME_CHARS_MAX: usize = 32;

pub async fn workers(action: Workers) -> Result<()> {
    let desk = Desk::open();
    match action {
        Workers::List { json } => list(&desk, json).await,
        Workers::Call { service, function, arguments, timeout } => {
            call(&desk, &service, &function, &arguments, timeout).await
        }
        Workers::Logs { worker, lines } => logs(&desk, worker.as_deref(), lines).await,
        Workers::New { language, name } => new(&desk, language, &name),
    }
}

async fn list(desk: &Desk, json: bool) -> Result<()> {
    desk.warn();
    let library = desk.library_to_read().await?;
    let workers = library.workers();
    let asked = join_all(workers.all().iter().map(functions));
    let asked = attended(workers, asked.map(Ok)).await?;
    workers.close().await;
    let all: Vec<Asked<'_>> = workers.all().iter().zip(&asked).collect();
    print(&if json { lines(&all) } else { shown(desk, &all, workers.services()) })?;
    let failed = all.iter().filter(|(_, rows)| rows.is_err()).map(|(worker, _)| worker.name());
    let failed: Vec<&str> = failed.collect();
    match failed.is_empty() {
        true => Ok(()),
        false => {
            let text = format!("could not be asked: {}", failed.join(", "));
            Err(Fault::new(Kind::Upstream, text))
        }
    }
}

/// A row for each function, with its description; or why there are none.
type Rows = Result<Vec<[String; 2]>, String>;
type Asked<'a> = (&'a Arc<Worker>, &'a Rows);

async fn functions(worker: &Arc<Worker>) -> Rows {
    match worker.functions().await {
        Ok(all) if all.is_empty() => Ok(vec![["–", "it offers no functions"].map(String::from)]),
        Ok(all) => Ok(all.iter().map(|it| [it.name.clone(), it.description.clone()]).collect()),
        Err(fault) => {
            let Trouble { what, advice } = worker.trouble(&fault);
            Err(format!("{what}; {advice}"))
        }
    }
}

fn lines(all: &[Asked<'_>]) -> String {
    let line = |worker: &Worker, function: &str, about: &str| {
        let (name, start) = (worker.name(), worker.origin());
        let line =
            json!({ "worker": name, "start": start, "function": function, "description": about });
        format!("{line}\n")
    };
    let of_worker = |(worker, rows): &Asked<'_>| match rows {
        Ok(rows) => rows.iter().map(|[name, about]| line(worker, name, about)).collect(),
        Err(trouble) => line(worker, "–", trouble),
    };
    all.iter().map(of_worker).collect()
}

/// A table of what can be called, and below it what is wrong.
fn shown(desk: &Desk, all: &[Asked<'_>], services: Vec<String>) -> String {
    let mut rows = Vec::new();
    let mut troubles = String::new();
    for (worker, functions) in all {
        let name = worker.name();
        match functions {
            Ok(all) => rows
                .extend(all.iter().map(|[it, about]| vec![name.into(), it.clone(), about.clone()])),
            Err(trouble) => {
                let text = format!("{name}: {trouble}");
                troubles.push_str(&paragraph(desk.screen, WARN, &text));
            }
        }
    }
    rows.extend(services.into_iter().map(|service| {
        let hint = offer(&service);
        vec![service, "–".into(), hint]
    }));
    if rows.is_empty() && troubles.is_empty() {
        return "No workers yet. Begin with: althing workers new --language python calc\n".into();
    }
    if rows.is_empty() {
        return troubles;
    }
    rows.insert(0, ["WORKER", "FUNCTION", "DESCRIPTION"].map(String::from).to_vec());
    let gap = if troubles.is_empty() { "" } else { "\n" };
    format!("{}{gap}{troubles}", cut_table(desk.screen, &rows))
}

/// How a service that runs becomes a worker.
pub(super) fn offer(service: &str) -> String {
    format!("somebody else runs it; [workers.NAME] service = \"{service}\" offers it")
}

async fn call(
    desk: &Desk,
    service: &str,
    function: &str,
    arguments: &[String],
    timeout: Option<Duration>,
) -> Result<()> {
    desk.warn();
    let library = desk.library_to_read().await?;
    let workers = library.workers();
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let arguments = arguments.iter().map(value).collect();
    let done = attended(workers, workers.call(service, function, arguments, timeout)).await;
    workers.close().await;
    print(&match done.map_err(|fault| advised(workers, service, fault))? {
        Value::String(text) => printable(&text) + "\n",
        value => format!("{}\n", printable(&value.to_string())),
    })
}

/// A failure with what to do about it.
fn advised(workers: &althing_hub::workers::Workers, service: &str, fault: Fault) -> Fault {
    let worker = workers.find(service).ok();
    match worker.filter(|_| matches!(fault.kind, Kind::Upstream | Kind::TimedOut)) {
        None => fault,
        Some(worker) => {
            let advice = worker.trouble(&fault).advice;
            Fault { message: format!("{}\n{advice}", fault.message), ..fault }
        }
    }
}

async fn logs(desk: &Desk, worker: Option<&str>, lines: usize) -> Result<()> {
    let library = desk.library_to_read().await?;
    let all = library.workers().logs(worker, lines)?;
    let mut rows = Vec::new();
    for (name, lines) in all {
        let row = |line: althing_hub::workers::Line| {
            (vec![when(line.at_ms), name.clone(), line.from], line.text)
        };
        rows.extend(lines.into_iter().map(row));
    }
    if rows.is_empty() {
        return print("No worker has printed anything yet.\n");
    }
    print(&headed(rows))
}

/// Writes a worker to begin with. What is there already is left alone.
fn new(desk: &Desk, language: Language, name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || name.len() > NAME_CHARS_MAX || !name.chars().all(fits) {
        let text = "name: a lower-case letter, and then lower-case letters, digits, - and _";
        return Err(Fault::invalid(format!("{text}, {NAME_CHARS_MAX} at most")));
    }
    let (end, starter, program, needs) = match language {
        Language::Python => ("py", STARTER_PY, "python3", "pip install pyzmq msgpack"),
        Language::Js => ("mjs", STARTER_JS, "node", "npm install zeromq msgpackr"),
    };
    let file = desk.world.cwd.join(format!("{name}.{end}"));
    let shown = file.display();
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    let written = opened.and_then(|mut file| file.write_all(starter.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Fault::invalid(format!("name: {shown} is there already")),
        _ => Fault::internal(format!("{shown}: {error}")),
    })?;
    // A list of texts is the same in TOML.
    let run = json!([program, shown.to_string()]);
    let section = format!("[workers.{name}]\nrun = {run}");
    print(&format!(
        "Wrote {shown}\nIt needs: {needs}\nPut this into {}:\n\n{section}\n\nThen: althing workers \
         call {name} add 1 2\n",
        desk.config.file.display()
    ))
}
