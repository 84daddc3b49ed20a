//! One file per command.

mod ask;
mod config;
mod connections;
mod doctor;
mod extensions;
mod history;
mod install;
mod metrics;
mod models;
mod page;
mod plan;
mod providers;
mod pull;
mod quorum;
mod reach;
mod routes;
mod serve;
mod workers;

use crate::args::{Cli, Command};
use crate::printer;
use crate::terminal::{Screen, WARN, paragraph};
use crate::watch;
use althing_assembly::demo::Pace;
use althing_assembly::event::{Event, Outcome, Speech, What};
use althing_hub::book::Library;
use althing_hub::config::{Config, World};
use althing_hub::export;
use althing_hub::runs::Runs;
use althing_hub::secrets::Secrets;
use althing_hub::store::Store;
use althing_hub::workers::Workers;
use althing_stdx::{Fault, Kind, Result};
use clap::CommandFactory;
use std::sync::Arc;

/// Milliseconds of a demo voice per word, where a person watches.
const DEMO_WORD_MS: u64 = 18;

/// Why a command did not do its work, and what it exits with.
pub struct Failed {
    pub fault: Fault,
    pub exit: u8,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Failed {
        Failed { exit: fault.kind.codes().exit, fault }
    }
}

pub async fn run(command: Command) -> Result<(), Failed> {
    match command {
        Command::Plan(args) => plan::plan(*args).await,
        Command::Resume(args) => ask::resume(args).await,
        command => others(command).await.map_err(Failed::from),
    }
}

async fn others(command: Command) -> Result<()> {
    match command {
        Command::Ask(args) => ask::ask(*args).await,
        // Taken above: they have exit codes of their own.
        Command::Plan(_) | Command::Resume(_) => Ok(()),
        Command::History(args) => history::list(args).await,
        Command::Show(args) => history::show(args).await,
        Command::Export(args) => history::export(args).await,
        Command::Models(args) => models::models(args).await,
        Command::Providers(action) => providers::providers(action).await,
        Command::Pull(args) => pull::pull(args).await,
        Command::Routes(action) => routes::routes(action).await,
        Command::Workers(action) => workers::workers(action).await,
        Command::Extensions(action) => extensions::extensions(*action).await,
        Command::Serve(args) => serve::serve(args).await,
        Command::Mcp => serve::mcp().await,
        Command::Quorum(args) => quorum::quorum(&args),
        Command::Metrics(args) => metrics::metrics(args).await,
        Command::Connections(action) => connections::connections(action).await,
        Command::Token => serve::token(),
        Command::Service(action) => install::service(action),
        Command::Doctor => doctor::examine().await,
        Command::Config(args) => config::config(args).await,
        Command::Completions { shell } => completions(shell),
    }
}

/// What every command works with.
struct Desk {
    world: World,
    config: Arc<Config>,
    screen: Screen,
}

impl Desk {
    fn open() -> Desk {
        let world = World::real();
        let config = Arc::new(Config::load(&world));
        Desk { world, config, screen: Screen::stdout() }
    }

    fn store(&self) -> Result<Store> {
        Store::open(&self.config.database())
    }

    /// What is configured and what was added, over the person's store.
    async fn library(&self) -> Result<Arc<Library>> {
        self.library_over(self.store()?).await
    }

    /// The same for commands that only look: where the store cannot be opened, what is configured.
    async fn library_to_read(&self) -> Result<Arc<Library>> {
        match self.library().await {
            Err(fault) => {
                tell(self.screen, &format!("what was added is left out: {}", fault.message));
                self.library_over(Store::in_memory()?).await
            }
            library => library,
        }
    }

    async fn library_over(&self, store: Store) -> Result<Arc<Library>> {
        let secrets = Secrets::open(&self.config.data_dir, &self.world);
        let library = Library::new(self.world.clone(), self.config.clone(), store, secrets);
        library.refresh().await?;
        Ok(library)
    }

    fn runs(&self, library: Arc<Library>) -> Runs {
        let pace = Pace { word_ms: if self.screen.live { DEMO_WORD_MS } else { 0 } };
        Runs { library, metrics: None, pace }
    }

    /// Says on standard error what is set wrongly.
    fn warn(&self) {
        for warning in &self.config.warnings {
            tell(self.screen, &warning.to_string());
        }
    }
}

/// Does what may start workers. They do not hear Ctrl-C themselves, so it ends them first.
async fn attended<T>(workers: &Workers, work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut stops = watch::Stops::new()?;
    tokio::select! {
        done = work => done,
        () = stops.next() => {
            workers.close().await;
            Err(Fault::new(Kind::Cancelled, "stopped"))
        }
    }
}

/// A line for the person on standard error, where it is in nobody's pipe.
fn tell(screen: Screen, text: &str) {
    let text = format!("note: {}", althing_stdx::redact::redact(text));
    printer::tell(paragraph(screen, WARN, &text));
}

/// Says on standard error that the answer may lack its end, where only the answer itself was printed.
fn tell_cut(screen: Screen, events: &[Event]) {
    let answer = events.iter().rev().find_map(|event| match &event.what {
        What::TurnEnded { by, outcome: Outcome::Said(said) } if by.speech == Speech::Synthesis => {
            Some(said)
        }
        _ => None,
    });
    if let Some(cut) = answer.and_then(|said| export::describe_cut(said)) {
        tell(screen, &format!("The answer is {cut}."));
    }
}

/// Prints a finished text. Whether it could be written is known when the command is over.
fn print(text: &str) -> Result<()> {
    printer::print(text);
    Ok(())
}

fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "althing", &mut script);
    print(&String::from_utf8_lossy(&script))
}
