//! `history`, `show` and `export`: runs that have been.

use super::{Desk, plan, print, tell, tell_cut};
use crate::args;
use crate::printer;
use crate::terminal::council::Lines;
use crate::terminal::table::cut_table;
use crate::watch::View;
use althing_assembly::event::What;
use althing_hub::config::{self, Choice};
use althing_hub::export::{self, Format};
use althing_hub::log::now_ms;
use althing_hub::store::{RunRow, Standing};
use althing_stdx::{Fault, Result, text::one_line};
use std::io::Write;
use std::path::Path;

/// Characters of a question in the list.
const QUESTION_CHARS: usize = 200;

pub async fn list(args: args::History) -> Result<()> {
    let desk = Desk::open();
    let runs = desk.store()?.runs(args.limit).await?;
    if args.json {
        let lines: Result<Vec<String>, _> = runs.iter().map(serde_json::to_string).collect();
        return print(
            &(lines.map_err(Fault::internal)?.join("\n") + if runs.is_empty() { "" } else { "\n" }),
        );
    }
    if runs.is_empty() {
        return print("No runs yet. Begin with: althing ask \"…\"\n");
    }
    let head = ["RUN", "WHEN", "METHOD", "STATE", "COST", "QUESTION"].map(String::from).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(runs.iter().map(row)).collect();
    print(&cut_table(desk.screen, &rows))
}

fn row(run: &RunRow) -> Vec<String> {
    let state = match (run.standing, &run.consensus) {
        (Standing::Completed, Some(consensus)) => format!("done, {consensus}"),
        (standing, _) => state_of(standing).to_string(),
    };
    let cost = match (run.cost_usd, run.unpriced) {
        _ if run.speeches == 0 => "–".to_string(),
        (0.0, 0) => "free".to_string(),
        (cost, 0) => format!("${cost:.4}"),
        (0.0, _) => "unknown".to_string(),
        (cost, _) => format!("over ${cost:.4}"),
    };
    let mark = if run.demo { " (demo)" } else { "" };
    vec![
        run.id.clone(),
        ago(run.started_at_ms),
        format!("{}{mark}", run.method),
        state,
        cost,
        one_line(&run.question, QUESTION_CHARS),
    ]
}

fn state_of(standing: Standing) -> &'static str {
    match standing {
        Standing::Running => "running",
        Standing::Stopped => "interrupted",
        Standing::Completed => "done",
        Standing::Cancelled => "cancelled",
        Standing::Failed => "failed",
    }
}

/// How long ago, in the largest unit that fits.
fn ago(at_ms: u64) -> String {
    let seconds = now_ms().saturating_sub(at_ms) / 1000;
    match seconds {
        0..60 => "now".into(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

pub async fn show(args: args::Show) -> Result<()> {
    let desk = Desk::open();
    let store = desk.store()?;
    let id = store.run(&args.run).await?.id;
    let events = store.events(&id).await?;
    let mut view = match plan::is_council(&events) {
        true => plan::view(args.output, desk.screen, Lines::Shown),
        false => View::new(args.output),
    };
    let seats = events.first().map_or(0, |first| match &first.what {
        What::RunStarted(opening) => opening.seats.len(),
        _ => 0,
    });
    for event in &events {
        printer::wait_for_room().await;
        printer::print(view.on(event)?);
    }
    if view.is_answer_alone(seats) {
        tell_cut(desk.screen, &events);
    }
    Ok(())
}

pub async fn export(args: args::Export) -> Result<()> {
    let desk = Desk::open();
    let format = match &args.format {
        Some(name) => Format::parse(name)?,
        None => own_format(&desk)?,
    };
    let store = desk.store()?;
    let id = store.run(&args.run).await?.id;
    let text = export::export(&store.events(&id).await?, format)?;
    match &args.output {
        None => print(&text),
        Some(path) => write(path, &text),
    }
}

/// The person's own format, where it is one of ours: PDF is for frontends.
fn own_format(desk: &Desk) -> Result<&'static Format> {
    if *desk.config.export_format == config::Format::Pdf {
        let note = "export_format: pdf is not written here, so this is md; html prints well from a \
                    browser";
        tell(desk.screen, note);
        return Format::parse("md");
    }
    Format::parse(desk.config.export_format.name())
}

/// Writes beside the target and moves it there, so that no half file is ever seen. A link stays a
/// link, and what is no file (a device, a pipe) is written to, never replaced.
fn write(path: &Path, text: &str) -> Result<()> {
    let fail = |e: std::io::Error| Fault::invalid(format!("--output {}: {e}", path.display()));
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, text).map_err(fail);
    }
    let mut name =
        path.file_name().ok_or_else(|| Fault::invalid("--output: not a file"))?.to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = std::fs::File::create(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| {
        // Best effort: the error that matters is the one reported.
        let _ = std::fs::remove_file(&part);
        fail(e)
    })
}
