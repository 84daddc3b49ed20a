//! `ask` and `resume`: a question in, a discussion out.

use super::{Desk, Failed, attended, plan, tell, tell_cut};
use crate::args;
use crate::input::{self, Input};
use crate::watch::{self, View};
use althing_assembly::event::Ending;
use althing_assembly::{Method, methods};
use althing_chat::{Attachment, Tool};
use althing_hub::book::Library;
use althing_hub::config::{self, Config, Synthesizer};
use althing_hub::discover;
use althing_hub::lineup::{self, Lineup};
use althing_hub::runs::{Request, Run};
use althing_stdx::{Fault, Kind, Result};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Bytes of a file of tools.
const TOOLS_BYTES_MAX: u64 = 1024 * 1024;

pub async fn ask(args: args::Ask) -> Result<()> {
    let desk = Desk::open();
    if args.pause && !std::io::stdin().is_terminal() {
        return Err(Fault::invalid("--pause: waits for Enter, and standard input is no terminal"));
    }
    let input = input::read(args.question.as_deref(), &args.file)?;
    desk.warn();
    let names = if args.models.is_empty() { &desk.config.models.value } else { &args.models };
    let method = method(&args, &desk.config, names)?;
    let library = desk.library().await?;
    let lineup = seat(&args.models, method, &library).await?;
    let lineup = lineup.with_context_tokens(args.context_tokens);
    if !args.output.quiet {
        lineup.notes.iter().for_each(|note| tell(desk.screen, note));
    }
    let is_demo = lineup.seats.iter().all(|seat| seat.demo) && names.is_empty();
    let request = request(&args, &desk.config, input, method, lineup)?;
    let runs = desk.runs(library.clone());
    let run = attended(library.workers(), runs.start(request)).await?;
    finish(&desk, &library, run, args.output, args.pause).await?;
    if is_demo {
        tell(desk.screen, &lineup::how_to_add(&desk.world));
    }
    Ok(())
}

pub async fn resume(args: args::Resume) -> Result<(), Failed> {
    let desk = Desk::open();
    desk.warn();
    let library = desk.library().await?;
    let runs = desk.runs(library.clone());
    let run = runs.resume(&args.run, args.max_cost, args.retry_failed).await?;
    if plan::is_council(&run.log.so_far()) {
        let done = plan::finish(&desk, run, args.output).await;
        library.workers().close().await;
        return done;
    }
    let pauses = std::io::stdin().is_terminal();
    Ok(finish(&desk, &library, run, args.output, pauses).await?)
}

/// Watches a run to its end; an end that is not completion is an error with its own exit code.
async fn finish(
    desk: &Desk,
    library: &Library,
    run: Run,
    output: args::Output,
    pauses: bool,
) -> Result<()> {
    run.notes.iter().for_each(|note| tell(desk.screen, note));
    let is_told = !output.json && !output.quiet && run.seats > 1;
    let (id, log, view) = (run.id.clone(), run.log.clone(), View::new(output));
    let is_answer_alone = view.is_answer_alone(run.seats);
    let ending = watch::watch(run, view, pauses).await;
    library.workers().close().await;
    match ending? {
        Ending::Completed => {
            if is_answer_alone {
                tell_cut(desk.screen, &log.so_far());
            }
            Ok(())
        }
        Ending::Cancelled => {
            if !is_told {
                tell(desk.screen, &format!("Stopped and saved. Go on with: althing resume {id}"));
            }
            Err(Fault::new(Kind::Cancelled, "stopped"))
        }
        // Where the view has said it, only the exit code is left to give.
        Ending::Failed(failure) if is_told => Err(Fault::new(failure.kind, "")),
        Ending::Failed(failure) => Err(Fault::new(failure.kind, failure.message)),
    }
}

/// One name alone is a plain answer; otherwise the method asked for or configured.
fn method(args: &args::Ask, config: &Config, names: &[String]) -> Result<&'static Method> {
    match &args.method {
        Some(name) => methods::method(name),
        None if names.len() == 1 => Ok(methods::ANSWER),
        None => methods::method(&config.method),
    }
}

/// The line-up asked for, else the configured one, else one chosen from what is found. A wrong name
/// in the configuration is told and does not keep others from sitting.
async fn seat(asked: &[String], method: &Method, library: &Library) -> Result<Lineup> {
    let book = library.book();
    let names = if asked.is_empty() { &book.config.models.value } else { asked };
    if !names.is_empty() && !lineup::needs_discovery(names, &book) {
        let lineup = lineup::resolve(names, &book, None);
        if lineup.is_ok() || !asked.is_empty() {
            return lineup;
        }
    }
    let found = discover::discover(&book, library.gateway(), PATIENCE).await;
    if asked.is_empty() {
        return Ok(lineup::choose_for(&found, method, &book));
    }
    lineup::resolve(asked, &book, Some(&found))
}

fn request(
    args: &args::Ask,
    config: &Config,
    input: Input,
    method: &'static Method,
    lineup: Lineup,
) -> Result<Request> {
    let rounds = args.rounds.unwrap_or(*config.rounds_per_agent);
    let seats = lineup.seats.len();
    let calls = (method.calls)(seats, seats * rounds as usize);
    let context: usize = input.context.iter().map(|file| file.text.len()).sum();
    let beside: usize = input.attachments.iter().map(Attachment::as_chars).sum();
    let estimate = lineup::estimate(&lineup, calls, input.question.len() + context + beside);
    Ok(Request {
        question: input.question,
        context: input.context,
        attachments: input.attachments,
        method,
        lineup,
        roles: None,
        rounds,
        turns: None,
        synthesizer: args.synthesizer.map_or(*config.synthesizer, |mode| match mode {
            args::Synthesizer::First => Synthesizer::First,
            args::Synthesizer::Random => Synthesizer::Random,
            args::Synthesizer::Rotate => Synthesizer::Rotate,
        }),
        language: language(args, config)?,
        pause: args.pause.then(|| Duration::from_secs(*config.pause_seconds)),
        max_cost_usd: Some(args.max_cost.unwrap_or(*config.max_cost_usd)),
        // A part of the price would pass for the whole.
        estimate_usd: estimate.usd.filter(|_| estimate.unpriced == 0),
        continues: args.continues.clone(),
        tools: args
            .tools
            .as_deref()
            .map(|path| tools(path, seats))
            .transpose()?
            .unwrap_or_default(),
        workers: !args.no_workers,
        stream: !args.no_stream,
    })
}

/// A code or a name, by the same rule as in the configuration: it becomes part of every prompt.
fn language(args: &args::Ask, config: &Config) -> Result<Option<String>> {
    let Some(text) = &args.language else { return Ok(config.language.value.clone()) };
    let language = config::language(text.trim());
    language.map(Some).map_err(|problem| Fault::invalid(format!("--language: {problem}")))
}

/// Reads a JSON list of `{name, description, parameters}`.
fn tools(path: &Path, seats: usize) -> Result<Vec<Tool>> {
    if seats != 1 {
        return Err(Fault::invalid("--tools: goes with exactly one model in --models"));
    }
    let wrong = |why: String| Fault::invalid(format!("--tools {}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    if size > TOOLS_BYTES_MAX {
        return Err(wrong(format!("more than {TOOLS_BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_str(&text)
        .map_err(|e| wrong(format!("want a list of {{name, description, parameters}}: {e}")))
}
