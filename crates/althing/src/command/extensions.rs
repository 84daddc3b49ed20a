//! `extensions`: programs around the message in the editor.

mod new;
mod person;
mod play;
mod run;

use super::page::Page;
use super::{Desk, print, tell};
use crate::args::{AddExtension, Extensions, Grant, LogLevel};
use crate::terminal::table::{cut_table, table};
use crate::watch::Stops;
use althing_hub::config::{ExtensionConfig, add_extension, enable_extension, remove_extension};
use althing_hub::export::when;
use althing_hub::extensions::{self as hub, Restart, Studio, Troupe};
use althing_hub::service::Service;
use althing_stdx::{Fault, Kind, Result};
use serde_json::json;
use std::path::Path;

pub async fn extensions(action: Extensions) -> Result<()> {
    let desk = Desk::open();
    match action {
        Extensions::Add(args) => add(&desk, args),
        Extensions::New { name, language } => new::write(&desk.world.cwd, &name, language),
        Extensions::List { json } => list(&desk, json),
        Extensions::Remove { name } => {
            remove_extension(&desk.config.file, &name)?;
            print(&format!("{name} is no longer in {}.\n", desk.config.file.display()))
        }
        Extensions::Enable { name } => enable(&desk, &name, true),
        Extensions::Disable { name } => enable(&desk, &name, false),
        Extensions::Logs { name, lines, level } => logs(&desk, name.as_deref(), lines, level),
        Extensions::Run(args) => run::run(&desk, args).await,
        Extensions::Inspect(args) => run::inspect(&desk, args).await,
        Extensions::Open { file, extensions } => open(&desk, &file, &extensions).await,
        Extensions::Play { recording } => play::play(&recording).await,
    }
}

/// The page of a message, until Ctrl-C.
async fn open(desk: &Desk, file: &Path, names: &[String]) -> Result<()> {
    desk.warn();
    let document = hub::open(file)?;
    let troupe = match names {
        [] => Troupe::enabled(&desk.config),
        names => Troupe::named(&desk.config, &desk.world, names)?,
    };
    if troupe.members.is_empty() {
        let text = "no extension is enabled: althing extensions add NAME -- COMMAND adds one";
        return Err(Fault::new(Kind::NotFound, text));
    }
    let mut stops = Stops::new()?;
    let service = Service::over(desk.library_to_read().await?).await?;
    let studio = Studio::new(troupe, Some(document), &service, desk.world.home.clone());
    // Nothing is there before.
    let _ = service.extensions.set(studio);
    let page = Page::serve(desk, service.clone(), "/ui/extensions").await?;
    tell(desk.screen, "The page stays until Ctrl-C.");
    stops.next().await;
    let ended = tokio::select! {
        ended = page.end() => ended,
        // Asked twice: at once.
        () = stops.next() => Ok(()),
    };
    tell_kept(desk, &service);
    ended
}

/// Says where the changes are that nobody saved.
pub fn tell_kept(desk: &Desk, service: &Service) {
    match service.extensions.get().and_then(Studio::kept) {
        None => {}
        Some(Ok(path)) => {
            let text = format!("The message had changes that were not saved: {}", path.display());
            tell(desk.screen, &text);
        }
        Some(Err(why)) => {
            tell(desk.screen, &format!("Changes that were not saved are lost: {why}"))
        }
    }
}

fn add(desk: &Desk, args: AddExtension) -> Result<()> {
    let words: Vec<String> = args.command.iter().map(|word| whole(&desk.world.cwd, word)).collect();
    let (program, rest) = words.split_first().expect("clap wants one word at least");
    // Alone it would be split as a command line.
    let path = if rest.is_empty() { quoted(program) } else { program.clone() };
    let mut new = ExtensionConfig::of_command(&path, desk.world.home.clone());
    new.name = args.name;
    new.entry.args = rest.to_vec();
    new.entry.env = args.env.into_iter().collect();
    new.entry.inherit = args.inherit;
    new.entry.enabled = !args.disabled;
    new.entry.restart = args.restart.then(Restart::default);
    new.entry.private_data = args.private_data;
    if !args.grant.is_empty() {
        new.entry.grants = args.grant.into_iter().map(grant).collect();
    }
    add_extension(&desk.config.file, &new)?;
    print(&format!("{} is added; it may: {}.\n", new.name, new.grants()))
}

/// A file of the current folder by its whole path: extensions are started from anywhere.
fn whole(cwd: &Path, word: &str) -> String {
    let file = cwd.join(word);
    match file.is_file() {
        true => file.to_string_lossy().into_owned(),
        false => word.into(),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    match word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn grant(grant: Grant) -> hub::Grant {
    match grant {
        Grant::Read => hub::Grant::Read,
        Grant::Change => hub::Grant::Change,
        Grant::Windows => hub::Grant::Windows,
        Grant::Dialogues => hub::Grant::Dialogues,
        Grant::Files => hub::Grant::Files,
        Grant::Models => hub::Grant::Models,
    }
}

fn enable(desk: &Desk, name: &str, enabled: bool) -> Result<()> {
    enable_extension(&desk.config.file, name, enabled)?;
    print(&format!("{name} is {}.\n", if enabled { "enabled" } else { "disabled" }))
}

fn list(desk: &Desk, json: bool) -> Result<()> {
    desk.warn();
    let all = &desk.config.extensions;
    if json {
        return print(&all.iter().map(line).collect::<String>());
    }
    if all.is_empty() {
        return print("No extensions yet. Begin with: althing extensions add NAME -- COMMAND\n");
    }
    let head = ["NAME", "STATE", "MAY", "COMMAND"].map(String::from).to_vec();
    let rows = all.iter().map(|it| {
        let state = if it.entry.enabled { "enabled" } else { "disabled" };
        vec![it.name.clone(), state.into(), it.grants(), it.command()]
    });
    print(&cut_table(desk.screen, &[head].into_iter().chain(rows).collect::<Vec<_>>()))
}

/// Of variables only the names: they may hold keys.
fn line(it: &ExtensionConfig) -> String {
    let names: Vec<&String> = it.entry.env.keys().collect();
    let line = json!({
        "name": it.name, "path": it.entry.path, "args": it.entry.args, "env": names,
        "inherit": it.entry.inherit, "enabled": it.entry.enabled, "grants": it.entry.grants, "restart": it.entry.restart,
        "private_data": it.entry.private_data, "folders": it.folders,
        "frame_bytes_max": it.entry.frame_bytes_max,
    });
    format!("{line}\n")
}

fn logs(desk: &Desk, name: Option<&str>, lines: usize, level: LogLevel) -> Result<()> {
    let mut rows = Vec::new();
    for (name, lines) in hub::logs(&desk.config, name, lines)? {
        for line in lines {
            let (from, found) = line.from.split_once(':').unwrap_or((&line.from, "info"));
            if rank(found) >= level {
                rows.push(vec![
                    when(line.at_ms),
                    name.clone(),
                    found.into(),
                    from.into(),
                    line.text,
                ]);
            }
        }
    }
    match rows.is_empty() {
        true => print("Nothing is logged.\n"),
        false => print(&table(&rows)),
    }
}

fn rank(level: &str) -> LogLevel {
    match level {
        "error" => LogLevel::Error,
        "warning" => LogLevel::Warning,
        _ => LogLevel::Info,
    }
}

#[cfg(test)]
#[test]
fn a_word_alone_stays_one_word() {
    for (word, want) in
        [("echo.py", "echo.py"), ("/a b/c", "'/a b/c'"), ("it's", r"'it'\''s'"), ("", "")]
    {
        assert_eq!(quoted(word), want);
    }
}
