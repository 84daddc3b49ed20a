//! `althing --ipc`: the backend of Quorum frontends on standard input and output.

use crate::watch::Stops;
use crate::{printer, report, stdio};
use althing_assembly::demo::Pace;
use althing_hub::agents;
use althing_hub::book::Library;
use althing_hub::config::{Config, World};
use althing_hub::face::quorum;
use althing_hub::runs::Runs;
use althing_hub::secrets::Secrets;
use althing_hub::store::Store;
use althing_stdx::{Fault, Result};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// How long workers and agents may take to end: a frontend that is gone is left within a second, and
/// what is told it last takes most of that.
const PARTING_MAX: Duration = Duration::from_millis(150);

/// Whether a frontend started us. Asked before the arguments are parsed: frontends wait for the
/// first line.
pub fn is_wanted() -> bool {
    std::env::args_os().any(|arg| arg == "--ipc")
}

/// Says that it is ready, before anything else is done, and serves until the frontend leaves.
pub fn run() -> ExitCode {
    match check_arguments().and_then(|()| serve()) {
        Ok(()) => {
            printer::finish_telling();
            ExitCode::SUCCESS
        }
        Err(fault) => ExitCode::from(report(&fault)),
    }
}

/// Frontends run `<python> -m quorum --ipc`, whatever stands for the Python.
fn check_arguments() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--ipc").collect();
    match rest[..] {
        [] | ["-m", "quorum"] => Ok(()),
        _ => Err(Fault::invalid(format!(
            "--ipc takes nothing but `-m quorum`, not {}",
            rest.join(" ")
        ))),
    }
}

async fn say_ready(writer: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    let line = quorum::ready() + "\n";
    let said = async {
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await
    };
    said.await.map_err(|e| Fault::internal(format!("standard output: {e}")))
}

fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Fault::internal(format!("no runtime: {e}")))?;
    // A task, since to wake what `block_on` itself drives takes two system calls each time.
    let done = runtime.block_on(async { tokio::spawn(attend()).await.map_err(Fault::internal)? });
    // A read of standard input cannot be cancelled and must not keep us alive.
    runtime.shutdown_background();
    done
}

async fn attend() -> Result<()> {
    // From `ready` on it ends well, however it is asked to.
    let mut stops = Stops::new()?;
    let (reader, mut writer) = (stdio::input(), stdio::output());
    tokio::select! {
        said = say_ready(&mut writer) => said?,
        () = stops.next() => return Ok(()),
    }
    let world = World::real();
    let config = Arc::new(Config::load(&world));
    config.warnings.iter().for_each(tell);
    let store = open(&config)?;
    let secrets = Secrets::open(&config.data_dir, &world);
    let library = Library::new(world.clone(), config, store, secrets);
    let runs = Runs { library: library.clone(), metrics: None, pace: Pace { word_ms: 0 } };
    quorum::serve(runs, world.home, reader, writer, stops.next()).await;
    library.store().hasten();
    // Who has not ended by then is killed.
    let settled = tokio::time::timeout(PARTING_MAX, agents::settle());
    let _ = tokio::join!(library.workers().close_within(PARTING_MAX), settled);
    Ok(())
}

/// The person's store. Where it cannot be opened, one that ends with us: a frontend whose backend
/// is gone stays blank for ever.
fn open(config: &Config) -> Result<Store> {
    Store::open(&config.database()).or_else(|fault| {
        tell(format!("nothing of this session is kept: {}", fault.message));
        Store::in_memory()
    })
}

fn tell(warning: impl std::fmt::Display) {
    let text = althing_stdx::redact::redact(&warning.to_string());
    printer::tell(format!("althing: {}\n", althing_stdx::text::printable(&text)));
}
