//! `pull`: a model from elsewhere, ready to be asked.

use super::providers::say_trouble;
use super::reach::ask_service;
use super::{Desk, print, tell};
use crate::args;
use crate::terminal::Screen;
use crate::terminal::download::{DownloadView, TICK};
use crate::terminal::shell_word;
use crate::terminal::table::table;
use crate::watch::Stops;
use althing_hub::pull::{
    AS_OF, Arrival, BYTES_MAX, HeldModel, KeptModel, PullRequest, PulledModel, Puller, RECOMMENDED,
    Recommended, find_held, find_kept, format_bytes, free_memory,
};
use althing_hub::service::words::AddLocal;
use althing_stdx::{Fault, Kind, Result};
use std::path::Path;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

pub async fn pull(args: args::Pull) -> Result<()> {
    let desk = Desk::open();
    desk.warn();
    let Some(name) = args.name.clone() else { return list(&desk, args.json) };
    let request = PullRequest {
        name,
        provider_name: args.provider_name.clone(),
        force: args.force,
        download: args.download,
        sha256: args.sha256.clone(),
        bytes_max: args.max_size,
    };
    let pulled = fetch(&desk, &request, &same_command(&args)).await?;
    print(&arrived(&request.name, &pulled))?;
    if args.no_add {
        return Ok(());
    }
    add(&desk, pulled, args.provider_name).await
}

/// Writes the command once more, with everything that was asked for, as a shell takes it.
fn same_command(args: &args::Pull) -> String {
    let mut words = vec!["althing".to_string(), "pull".into()];
    words.extend(args.name.iter().map(|name| shell_word(name)));
    let flags = [("--force", args.force), ("--download", args.download), ("--no-add", args.no_add)];
    words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_string()));
    let max_size = Some(args.max_size).filter(|bytes| *bytes != BYTES_MAX);
    let values = [
        ("--as", args.provider_name.clone()),
        ("--sha256", args.sha256.clone()),
        ("--max-size", max_size.map(|bytes| bytes.to_string())),
    ];
    for (flag, value) in values {
        // As one word: a value may begin with a hyphen.
        words.extend(value.map(|value| format!("{flag}={}", shell_word(&value))));
    }
    words.join(" ")
}

/// Gets the file, with a line of progress. Ctrl-C keeps what has come.
async fn fetch(desk: &Desk, request: &PullRequest, again: &str) -> Result<PulledModel> {
    let puller = Puller::new(&desk.world, &desk.config)?;
    let mut stops = Stops::new()?;
    let view = Mutex::new(DownloadView::new(Screen::stderr()));
    let view = || view.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watch = |event| view().on(event);
    let mut pull = pin!(puller.pull(request, &mut watch));
    let mut ticks = tokio::time::interval(TICK);
    let done = loop {
        tokio::select! {
            done = &mut pull => break done,
            () = stops.next() => break Err(Fault::new(Kind::Cancelled, "stopped")),
            _ = ticks.tick() => view().tick(),
        }
    };
    let has_begun = view().end();
    if let Err(fault) = &done {
        match fault.kind {
            Kind::Cancelled if has_begun => say_again(desk, "Stopped; what", again),
            kind if has_begun && kind.codes().retryable => say_again(desk, "What", again),
            _ => {}
        }
    }
    done
}

/// Says how to go on. The command is a line of its own and never wrapped: it is there to be copied.
fn say_again(desk: &Desk, begin: &str, command: &str) {
    tell(desk.screen, &format!("{begin} has come is kept. Go on with:"));
    crate::printer::tell(format!("{command}\n"));
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
    let path = std::path::absolute(&pulled.path).unwrap_or_else(|_| pulled.path.clone());
    let known = ask_service!(reach, list_providers())?;
    let is_same = |known: &str| is_same_file(Path::new(known), &path);
    let known = known.into_iter().find(|it| it.local_path.as_deref().is_some_and(is_same));
    if let Some(known) = known {
        let id = known.provider_id;
        if name.is_some_and(|name| name != id) {
            let text = format!(
                "--as is left out: the file is the provider {id} already; `althing providers \
                 remove {id}` and this command again give it another name"
            );
            tell(desk.screen, &text);
        }
        pulled.trouble.iter().for_each(|trouble| tell(desk.screen, trouble));
        return print(&next_step(&id, "is its provider already", &pulled));
    }
    let name = name.unwrap_or_else(|| pulled.short_name.clone());
    let model_path = path.to_string_lossy().into_owned();
    let added = ask_service!(reach, add_local(AddLocal { name, model_path }))?;
    say_trouble(desk, &added);
    print(&next_step(&added.provider_id, "is added", &pulled))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real(a) == real(b)
}

fn next_step(id: &str, what: &str, pulled: &PulledModel) -> String {
    let (model, ask) = (&pulled.model, format!("ask it: althing ask --models {id} \"…\""));
    let ask = match pulled.trouble {
        Some(_) => format!("Once a program runs it, {ask}"),
        None => ask.replacen('a', "A", 1),
    };
    format!("{id} {what}; its model is {id}:{model}.\n{ask}\n")
}

/// Shows what is worth pulling, what need not be, and what was pulled.
fn list(desk: &Desk, json: bool) -> Result<()> {
    let (kept, free) = (find_kept(&desk.config), free_memory());
    // A broken file is no use to anybody.
    let held = find_held(&desk.world).into_iter();
    let held: Vec<(HeldModel, u64)> =
        held.filter_map(|it| it.memory().map(|memory| (it, memory))).collect();
    if json {
        let lines = RECOMMENDED.iter().map(recommended_line);
        let lines = lines.chain(held.iter().map(held_line)).chain(kept.iter().map(kept_line));
        return print(&lines.map(|line| format!("{line}\n")).collect::<String>());
    }
    let free_text = match free {
        Some(free) => format!("{} of memory are free for a model", format_bytes(free)),
        None => "how much memory is free is not known".into(),
    };
    let mut text = format!("Recommended models as of {AS_OF}; {free_text}.\n\n");
    let rows = RECOMMENDED.iter().map(|it| recommended_row(it, free));
    add_table(&mut text, ["MODEL", "DOWNLOAD", "MEMORY", "GOOD FOR"], rows);
    text.push_str("\nGet one with: althing pull MODEL\n");
    if !held.is_empty() {
        text.push_str("\nOn this machine already; adding one downloads nothing:\n\n");
        let rows = held.iter().map(|(it, memory)| held_row(it, *memory, free));
        add_table(&mut text, ["COMMAND", "SIZE", "MEMORY", "HELD BY"], rows);
    }
    for (title, is_whole) in [("Pulled:", true), ("Begun; the same command goes on:", false)] {
        let rows: Vec<_> = kept.iter().filter(|it| it.is_whole == is_whole).map(kept_row).collect();
        if !rows.is_empty() {
            text.push_str(&format!("\n{title}\n\n"));
            add_table(&mut text, ["COMMAND", "SIZE", "FILE"], rows.into_iter());
        }
    }
    print(&text)
}

fn add_table<const N: usize>(
    text: &mut String,
    head: [&str; N],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let head = head.map(String::from).to_vec();
    text.push_str(&table(&[head].into_iter().chain(rows).collect::<Vec<_>>()));
}

fn kept_row(it: &KeptModel) -> Vec<String> {
    let size = match it.is_whole {
        true => format_bytes(it.bytes),
        false => format!("{} of {}", format_bytes(it.here), format_bytes(it.bytes)),
    };
    vec![format!("althing pull {}", shell_word(&it.name)), size, it.path.display().to_string()]
}

fn kept_line(it: &KeptModel) -> serde_json::Value {
    let kind = if it.is_whole { "pulled" } else { "begun" };
    serde_json::json!({
        "kind": kind, "name": it.name, "bytes": it.bytes, "here": it.here, "path": it.path,
    })
}

fn memory_cell(needed: u64, free: Option<u64>) -> String {
    let is_short = free.is_some_and(|free| needed > free);
    let note = if is_short { " (not free)" } else { "" };
    format!("{}{note}", format_bytes(needed))
}

fn recommended_row(it: &Recommended, free: Option<u64>) -> Vec<String> {
    vec![it.name.into(), format_bytes(it.bytes), memory_cell(it.memory(), free), it.note.into()]
}

fn held_row(it: &HeldModel, memory: u64, free: Option<u64>) -> Vec<String> {
    vec![
        add_command(it),
        format_bytes(it.bytes),
        memory_cell(memory, free),
        it.holder.title().into(),
    ]
}

/// What adds a held model: its name where it has one, else its path.
fn add_command(it: &HeldModel) -> String {
    match &it.name {
        Some(name) => format!("althing pull {}", shell_word(name)),
        None => {
            let path = it.path.to_string_lossy();
            format!("althing providers add-local {}", shell_word(&path))
        }
    }
}

fn recommended_line(it: &Recommended) -> serde_json::Value {
    serde_json::json!({
        "kind": "recommended", "name": it.name, "bytes": it.bytes, "memory": it.memory(),
        "note": it.note, "as_of": AS_OF,
    })
}

fn held_line((it, memory): &(HeldModel, u64)) -> serde_json::Value {
    serde_json::json!({
        "kind": "held", "name": it.name, "bytes": it.bytes, "memory": memory,
        "holder": it.holder.title(), "path": it.path, "command": add_command(it),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn the_command_comes_again_as_it_was() {
        #[track_caller]
        fn check(words: &[&str], want: &str) {
            let cli = Cli::try_parse_from([&["althing", "pull"], words].concat()).unwrap();
            let Command::Pull(args) = cli.command else { panic!("another command") };
            assert_eq!(same_command(&args), want);
        }
        check(&["tiny:1b"], "althing pull tiny:1b");
        let sum = "a".repeat(64);
        check(
            &["https://a.test/x?a=1&b=2", "--sha256", &sum, "--force", "--as", "it's mine"],
            &format!(
                "althing pull 'https://a.test/x?a=1&b=2' --force --as='it'\\''s mine' --sha256={sum}"
            ),
        );
        check(
            &["x", "--download", "--no-add", "--max-size", "1GB"],
            "althing pull x --download --no-add --max-size=1000000000",
        );
    }
}
