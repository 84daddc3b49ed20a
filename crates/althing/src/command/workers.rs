//! `workers`: functions in other languages.

use super::{Desk, attended, print, tell};
use crate::args::{Language, Workers};
use crate::terminal::table::{cut_table, table};
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
    let mut rows =
        vec![["WORKER", "STARTED BY", "FUNCTION", "DESCRIPTION"].map(String::from).into()];
    let asked = join_all(workers.all().iter().map(functions));
    let asked = attended(workers, asked.map(Ok)).await?;
    workers.close().await;
    let troubles = asked.iter().filter(|functions| functions.is_err()).count();
    let mut lines = String::new();
    for row in asked.into_iter().flat_map(|all| all.unwrap_or_else(|row| vec![row])) {
        lines.push_str(&format!("{}\n", line(&row)));
        rows.push(row.to_vec());
    }
    rows.extend(workers.services().into_iter().map(|service| {
        let hint = offer(&service);
        vec![service, "somebody else".into(), "–".into(), hint]
    }));
    if json {
        print(&lines)?;
    } else if rows.len() == 1 {
        print("No workers yet. Begin with: althing workers new --language python calc\n")?;
    } else {
        print(&cut_table(desk.screen, &rows))?;
    }
    match troubles {
        0 => Ok(()),
        _ => Err(Fault::new(Kind::Upstream, "not every worker could be asked")),
    }
}

/// How a service that runs becomes a worker.
pub(super) fn offer(service: &str) -> String {
    format!("a running service; [workers.NAME] service = \"{service}\" offers it")
}

/// A row for each function, or one that says why there are none.
async fn functions(worker: &Arc<Worker>) -> Result<Vec<[String; 4]>, [String; 4]> {
    let row = |function: &str, about: &str| {
        [worker.name().to_string(), worker.origin(), function.into(), about.into()]
    };
    match worker.functions().await {
        Ok(all) if all.is_empty() => Ok(vec![row("–", "it offers no functions")]),
        Ok(all) => Ok(all.iter().map(|it| row(&it.name, &it.description)).collect()),
        Err(fault) => {
            let Trouble { what, advice } = worker.trouble(&fault);
            Err(row("–", &format!("{what}; {advice}")))
        }
    }
}

fn line([worker, start, function, about]: &[String; 4]) -> Value {
    json!({ "worker": worker, "start": start, "function": function, "description": about })
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
    if matches!(&done, Err(fault) if fault.kind == Kind::Upstream) {
        tell(desk.screen, &format!("`althing workers logs {service}` has all that was said"));
    }
    print(&match done? {
        Value::String(text) => printable(&text) + "\n",
        value => format!("{}\n", printable(&value.to_string())),
    })
}

async fn logs(desk: &Desk, worker: Option<&str>, lines: usize) -> Result<()> {
    let library = desk.library_to_read().await?;
    let all = library.workers().logs(worker, lines)?;
    let mut rows = Vec::new();
    for (name, lines) in all {
        let row = |line: althing_hub::workers::Line| {
            vec![when(line.at_ms), name.clone(), line.from, line.text]
        };
        rows.extend(lines.into_iter().map(row));
    }
    if rows.is_empty() {
        return print("No worker has printed anything yet.\n");
    }
    print(&table(&rows))
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
    let section = format!("[workers.{name}]\nrun = ['{program}', '{shown}']");
    print(&format!(
        "Wrote {shown}\nIt needs: {needs}\nPut this into {}:\n\n{section}\n\nThen: althing workers \
         call {name} add 1 2\n",
        desk.config.file.display()
    ))
}
