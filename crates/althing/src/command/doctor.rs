//! `doctor`: what was looked for, what is there, and what to do next.

use super::workers::offer;
use super::{Desk, attended, print};
use crate::terminal::flow::Flow;
use crate::terminal::{BAD, BOLD, DIM, GOOD, Screen, WARN};
use althing_chat::WindowSource;
use althing_gateway::{PROVIDERS, WORKER};
use althing_hub::agents;
use althing_hub::book::{Library, Means};
use althing_hub::config::{AGENTS, Config};
use althing_hub::discover::{self, Found, FoundModel, FoundProvider, State};
use althing_hub::lineup;
use althing_hub::windows;
use althing_hub::workers::{Trouble, Worker, Workers};
use althing_stdx::{Fault, Kind, Result, text::one_line};
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long providers may take to answer, and then workers to start and to say what they can do;
/// what takes longer is told of and left.
const PATIENCE: Duration = Duration::from_secs(5);
/// Characters of what is wrong with a worker; the advice behind it has to fit too.
const TROUBLE_CHARS_MAX: usize = 200;
/// Models of a provider whose windows are looked at.
const WINDOWS_MAX: usize = 50;
/// Models of a provider that are named for having only the default; the others are counted.
const NAMES_MAX: usize = 6;

/// One finding.
enum Mark {
    Good,
    Bad,
    Off,
}

pub async fn examine() -> Result<()> {
    let desk = Desk::open();
    let library = desk.library_to_read().await?;
    let book = library.book();
    let found = discover::discover(&book, library.gateway(), PATIENCE).await;
    let mut report = Report { screen: desk.screen, text: String::new() };

    report.title("Files");
    files(&desk, &mut report);
    report.title("Providers");
    // Those have a part of their own.
    let is_worker = |it: &&FoundProvider| it.configured.endpoint.provider.name == WORKER.name;
    for provider in found.providers.iter().filter(|it| !is_worker(it)) {
        let entry = book.entry(provider.id());
        examine_provider(provider, entry.and_then(|it| it.login_over.as_deref()), &mut report);
    }
    for entry in &book.entries {
        if let Some(trouble) = &entry.trouble {
            report.line(Mark::Bad, &entry.row.name, trouble);
        }
    }
    // What has no key and no address is not in the configuration at all.
    for row in PROVIDERS.iter().filter(|row| {
        !found.providers.iter().any(|p| p.configured.endpoint.provider.name == row.name)
    }) {
        let hint = match row.needs_key {
            true => format!("no key; {}", row.how_to_open()),
            false => format!("no address; set {}_BASE_URL", row.env_prefix),
        };
        report.line(Mark::Off, row.title, &hint);
    }
    default_windows(&library, &found, &mut report).await;
    agents(library.means(), &book.config, &mut report).await;
    workers(library.workers(), &mut report).await?;
    if !desk.config.warnings.is_empty() {
        report.title("Set wrongly");
        for warning in &desk.config.warnings {
            report.line(Mark::Bad, &warning.name, &warning.to_string());
        }
    }
    report.title("Next");
    let lineup = lineup::choose(&found, 3, &book);
    let names: Vec<&str> = lineup.seats.iter().map(|seat| seat.name.as_str()).collect();
    report.plain(&format!("`althing ask \"…\"` would seat {}.", names.join(", ")));
    if lineup.seats.iter().all(|seat| seat.demo) {
        report.plain(&lineup::how_to_add(&desk.world));
    }
    print(&report.text)
}

/// Names the models whose windows nobody knows: they get the default, which may be too small or too
/// large.
async fn default_windows(library: &Library, found: &Found, report: &mut Report) {
    let windows = windows::found_windows(library, found, WINDOWS_MAX).await;
    let is_default = |model: &&FoundModel| {
        let window = windows.get(&model.id);
        window.is_some_and(|window| window.source == WindowSource::Default)
    };
    let mut is_titled = false;
    for provider in &found.providers {
        let models: Vec<&FoundModel> = provider.models.iter().filter(is_default).collect();
        let Some(window) = models.first().and_then(|model| windows.get(&model.id)) else {
            continue;
        };
        if !is_titled {
            report.title("Context windows that are only the default");
            is_titled = true;
        }
        let names: Vec<&str> =
            models.iter().take(NAMES_MAX).map(|model| model.model.as_str()).collect();
        let more = match models.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "{} tokens for {}{more}; context_tokens sets another number",
            window.tokens,
            names.join(", ")
        );
        report.line(Mark::Off, provider.id(), &text);
    }
}

/// Which agents are there, their versions, and whether they are logged in.
async fn agents(means: &Means, config: &Config, report: &mut Report) {
    report.title("Agents (they sit only where they are named)");
    let installed = agents::installed(means, config).await;
    for (name, installed) in &installed {
        match installed {
            Err(fault) => report.line(Mark::Bad, name, &fault.message),
            Ok(it) => {
                let version = it.version.as_deref().unwrap_or("version unknown");
                let login = match it.logged_in {
                    Some(true) => ", logged in",
                    Some(false) => ", not logged in",
                    None => "",
                };
                let mark = if it.logged_in == Some(false) { Mark::Bad } else { Mark::Good };
                report.line(mark, name, &format!("{version}{login}, {}", it.program.display()));
            }
        }
    }
    for name in AGENTS {
        let id = format!("{name}-cli");
        if !installed.iter().any(|(known, _)| known == name || *known == id) {
            report.line(Mark::Off, &id, "not there");
        }
    }
}

/// Which workers are declared, whether they start or are found, and what they can do.
async fn workers(workers: &Workers, report: &mut Report) -> Result<()> {
    report.title("Workers (functions that models can call)");
    let asked = attended(workers, join_all(workers.all().iter().map(examine_worker)).map(Ok));
    for (name, mark, text) in asked.await? {
        report.line(mark, &name, &text);
    }
    workers.close().await;
    for service in workers.services() {
        report.line(Mark::Off, &service, &offer(&service));
    }
    if workers.all().is_empty() {
        report.line(Mark::Off, "none", "`althing workers new --language python calc` begins one");
    }
    Ok(())
}

async fn examine_worker(worker: &Arc<Worker>) -> (String, Mark, String) {
    let late = || Fault::new(Kind::TimedOut, format!("no answer within {PATIENCE:?}"));
    let asked = timeout(PATIENCE, worker.functions()).await;
    let (mark, text) = match asked.unwrap_or_else(|_| Err(late())) {
        Ok(functions) => {
            let count = match functions.len() {
                1 => "1 function".to_string(),
                n => format!("{n} functions"),
            };
            let model = if worker.is_model() { ", a model" } else { "" };
            (Mark::Good, format!("{count}{model}, {}", worker.origin()))
        }
        Err(fault) => {
            let Trouble { what, advice } = worker.trouble(&fault);
            (Mark::Bad, format!("{}; {advice}", one_line(&what, TROUBLE_CHARS_MAX)))
        }
    };
    (worker.name().to_string(), mark, text)
}

fn files(desk: &Desk, report: &mut Report) {
    let config = &desk.config;
    let there = |exists: bool| if exists { Mark::Good } else { Mark::Off };
    let file = config.file.display().to_string();
    report.line(there(config.file.exists()), "configuration", &file);
    let dotenv = config.dotenv.as_ref().map(|path| path.display().to_string());
    report.line(there(dotenv.is_some()), ".env", dotenv.as_deref().unwrap_or("none"));
    match desk.store() {
        Ok(_) => report.line(Mark::Good, "history", &config.database().display().to_string()),
        Err(fault) => report.line(Mark::Bad, "history", &fault.message),
    }
}

/// `login_over` says why its login is over, where it is.
fn examine_provider(provider: &FoundProvider, login_over: Option<&str>, report: &mut Report) {
    let endpoint = &provider.configured.endpoint;
    let count = match provider.models.len() {
        1 => "1 model".to_string(),
        n => format!("{n} models"),
    };
    let disabled = match provider.disabled.len() {
        0 => String::new(),
        n => format!(" and {n} disabled"),
    };
    if let Some(why) = login_over {
        return report.line(Mark::Bad, &endpoint.who(), why);
    }
    let (mark, text) = match &provider.state {
        // A file on this machine has no address.
        State::Reachable if endpoint.base_url.is_empty() => {
            (Mark::Good, format!("{count}{disabled}"))
        }
        State::Reachable => (Mark::Good, format!("{count}{disabled} at {}", endpoint.base_url)),
        State::Unreachable(fault) if provider.configured.explicit => {
            (Mark::Bad, fault.message.clone())
        }
        State::Unreachable(_) => (Mark::Off, format!("nothing at {}", endpoint.base_url)),
        State::Stranger => (Mark::Off, format!("another program answers at {}", endpoint.base_url)),
        State::NotProbed => (Mark::Off, "not asked".into()),
    };
    report.line(mark, &endpoint.who(), &text);
}

struct Report {
    screen: Screen,
    text: String,
}

impl Report {
    fn title(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{gap}{}\n", self.screen.paint(BOLD, title)));
    }

    fn line(&mut self, mark: Mark, name: &str, text: &str) {
        let (style, sign) = match mark {
            Mark::Good => (GOOD, "✓"),
            Mark::Bad => (BAD, "✗"),
            Mark::Off => (DIM, "·"),
        };
        let text = one_line(text, 300);
        let text = if matches!(mark, Mark::Bad) { self.screen.paint(WARN, &text) } else { text };
        self.text.push_str(&format!(
            "  {} {:<14} {text}\n",
            self.screen.paint(style, sign),
            one_line(name, 40)
        ));
    }

    fn plain(&mut self, text: &str) {
        let mut flow = Flow::new(self.screen, "  ");
        flow.push(text, &mut self.text);
        flow.end(&mut self.text);
    }
}
