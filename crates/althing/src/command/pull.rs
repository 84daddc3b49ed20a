//! `pull`: a model from elsewhere, ready to be asked.

use super::providers::say_trouble;
use super::reach::ask_service;
use super::{Desk, print, tell};
use crate::args;
use crate::terminal::Screen;
use crate::terminal::download::DownloadView;
use crate::terminal::table::table;
use crate::watch::Stops;
use althing_hub::pull::{
    AS_OF, Arrival, HeldModel, PullRequest, PulledModel, Puller, RECOMMENDED, Recommended,
    find_held, format_bytes, free_memory, memory_need,
};
use althing_hub::service::words::AddLocal;
use althing_stdx::{Fault, Kind, Result};
use std::path::Path;

pub async fn pull(args: args::Pull) -> Result<()> {
    let desk = Desk::open();
    desk.warn();
    let Some(name) = args.name.clone() else { return list(&desk, args.json) };
    let request = PullRequest {
        name,
        force: args.force,
        download: args.download,
        sha256: args.sha256.clone(),
        bytes_max: args.max_size,
    };
    let pulled = fetch(&desk, &request).await?;
    print(&arrived(&request.name, &pulled))?;
    if args.no_add {
        return Ok(());
    }
    add(&desk, pulled, args.provider_name).await
}

/// Gets the file, with a line of progress. Ctrl-C keeps what has come.
async fn fetch(desk: &Desk, request: &PullRequest) -> Result<PulledModel> {
    let puller = Puller::new(&desk.world, &desk.config)?;
    let mut stops = Stops::new()?;
    let mut view = DownloadView::new(Screen::stderr());
    let mut watch = |event| view.on(event);
    let done = tokio::select! {
        done = puller.pull(request, &mut watch) => done,
        () = stops.next() => Err(Fault::new(Kind::Cancelled, "stopped")),
    };
    let has_begun = view.end();
    if let Err(fault) = &done {
        let again = format!("Go on with: althing pull {}", request.name);
        match fault.kind {
            Kind::Cancelled if has_begun => {
                tell(desk.screen, &format!("Stopped; what has come is kept. {again}"))
            }
            kind if has_begun && kind.codes().retryable => {
                tell(desk.screen, &format!("What has come is kept. {again}"));
            }
            _ => {}
        }
    }
    done
}

fn arrived(name: &str, pulled: &PulledModel) -> String {
    let (bytes, path) = (format_bytes(pulled.bytes), pulled.path.display());
    match pulled.arrival {
        Arrival::Downloaded => format!("{name} is downloaded: {bytes}, {path}\n"),
        Arrival::Present => format!("{name} is here already: {bytes}, {path}\n"),
        Arrival::Held(holder) => {
            format!(
                "{} has {name} already, and it is used from there: {bytes}, {path}\n",
                holder.title()
            )
        }
    }
}

/// Adds the model as a provider, unless its file is one already.
async fn add(desk: &Desk, pulled: PulledModel, name: Option<String>) -> Result<()> {
    let reach = desk.reach().await?;
    let path = pulled.path.canonicalize().unwrap_or_else(|_| pulled.path.clone());
    let known = ask_service!(reach, list_providers())?;
    let is_same = |known: &str| Path::new(known) == path;
    let known = known.into_iter().find(|it| it.local_path.as_deref().is_some_and(is_same));
    if let Some(known) = known {
        return print(&next_step(&known.provider_id, "is its provider already", &pulled.model));
    }
    let name = name.unwrap_or_else(|| pulled.short_name.clone());
    let model_path = path.to_string_lossy().into_owned();
    let added = ask_service!(reach, add_local(AddLocal { name, model_path }))?;
    say_trouble(desk, &added);
    print(&next_step(&added.provider_id, "is added", &pulled.model))
}

fn next_step(id: &str, what: &str, model: &str) -> String {
    format!("{id} {what}; its model is {id}:{model}.\nAsk it: althing ask --models {id} \"…\"\n")
}

/// Shows what is worth pulling, and what need not be.
fn list(desk: &Desk, json: bool) -> Result<()> {
    let (held, free) = (find_held(&desk.world), free_memory());
    if json {
        let lines = RECOMMENDED.iter().map(recommended_line).chain(held.iter().map(held_line));
        return print(&lines.map(|line| format!("{line}\n")).collect::<String>());
    }
    let free_text = match free {
        Some(free) => format!("{} of memory are free", format_bytes(free)),
        None => "how much memory is free is not known".into(),
    };
    let mut text = format!("Recommended models as of {AS_OF}; {free_text}.\n\n");
    let head = ["MODEL", "DOWNLOAD", "MEMORY", "GOOD FOR"].map(String::from).to_vec();
    let rows = RECOMMENDED.iter().map(|it| recommended_row(it, free));
    text.push_str(&table(&[head].into_iter().chain(rows).collect::<Vec<_>>()));
    text.push_str("\nGet one with: althing pull MODEL\n");
    if !held.is_empty() {
        text.push_str("\nOn this machine already; adding one downloads nothing:\n\n");
        let head = ["COMMAND", "SIZE", "MEMORY", "HELD BY"].map(String::from).to_vec();
        let rows = held.iter().map(|it| held_row(it, free));
        text.push_str(&table(&[head].into_iter().chain(rows).collect::<Vec<_>>()));
    }
    print(&text)
}

fn memory_cell(needed: u64, free: Option<u64>) -> String {
    let is_short = free.is_some_and(|free| needed > free);
    let note = if is_short { " (not free)" } else { "" };
    format!("{}{note}", format_bytes(needed))
}

fn recommended_row(it: &Recommended, free: Option<u64>) -> Vec<String> {
    vec![it.name.into(), format_bytes(it.bytes), memory_cell(it.memory(), free), it.note.into()]
}

fn held_row(it: &HeldModel, free: Option<u64>) -> Vec<String> {
    vec![
        add_command(it),
        format_bytes(it.bytes),
        memory_cell(memory_need(it.bytes), free),
        it.holder.title().into(),
    ]
}

/// What adds a held model: its name where it has one, else its path.
fn add_command(it: &HeldModel) -> String {
    match &it.name {
        Some(name) => format!("althing pull {name}"),
        None => format!("althing providers add-local '{}'", it.path.display()),
    }
}

fn recommended_line(it: &Recommended) -> serde_json::Value {
    serde_json::json!({
        "kind": "recommended", "name": it.name, "bytes": it.bytes, "memory": it.memory(),
        "note": it.note, "as_of": AS_OF,
    })
}

fn held_line(it: &HeldModel) -> serde_json::Value {
    serde_json::json!({
        "kind": "held", "name": it.name, "bytes": it.bytes, "memory": memory_need(it.bytes),
        "holder": it.holder.title(), "path": it.path, "command": add_command(it),
    })
}
