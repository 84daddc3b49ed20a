//! The binary: arguments in, exit code out.

mod args;
mod command;
mod input;
mod ipc;
mod printer;
mod stdio;
mod terminal;
mod watch;

use althing_hub::agents;
use althing_stdx::{Fault, Kind};
use args::Cli;
use clap::Parser;
use command::Failed;
use std::process::ExitCode;
use std::time::Duration;

/// How long what still works on other threads at the end is waited for; it ends with the program.
const SHUTDOWN_MAX: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    if let Some(code) = agents::run_holder(std::env::args_os()) {
        return code;
    }
    // Where the system does not tell who we are, agents are started as they are.
    if let Ok(program) = std::env::current_exe() {
        agents::hold_agents_with(program);
    }
    if ipc::is_wanted() {
        return ipc::run();
    }
    let cli = Cli::parse();
    // One thread for a command: its work is waiting for models. The service has many clients.
    let mut runtime = match cli.command {
        args::Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.worker_threads(service_threads()).enable_all().build();
    let done = match runtime {
        Ok(runtime) => {
            let done = runtime.block_on(attend(cli.command));
            runtime.shutdown_timeout(SHUTDOWN_MAX);
            done
        }
        Err(e) => Err(Fault::internal(format!("no runtime: {e}")).into()),
    };
    match done {
        Ok(()) => {
            printer::finish_telling();
            ExitCode::SUCCESS
        }
        Err(failed) => {
            report(&failed.fault);
            ExitCode::from(failed.exit)
        }
    }
}

/// Does a command and ends all that it began, before its last words wait for a reader.
async fn attend(command: args::Command) -> Result<(), Failed> {
    let done = command::run(command).await;
    agents::settle().await;
    let printed = printer::finish(done.is_ok()).await;
    done.and_then(|()| Ok(printed?))
}

/// Half of the cores: the others are for its clients and their models. Where there are few, one more
/// would mostly be woken in vain, which every request waits for.
fn service_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

/// Says what went wrong, on standard error, and gives the usual exit code for it.
fn report(fault: &Fault) -> u8 {
    let message = althing_stdx::text::printable(&althing_stdx::redact::redact(&fault.message));
    if fault.kind != Kind::Cancelled && !message.is_empty() {
        printer::tell(format!("althing: {message}\n"));
    }
    printer::finish_telling();
    fault.kind.codes().exit
}
