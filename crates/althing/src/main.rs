//! The binary: arguments in, exit code out.

mod args;
mod command;
mod input;
mod ipc;
mod stdio;
mod terminal;
mod watch;

use althing_hub::agents;
use althing_stdx::{Fault, Kind};
use args::Cli;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
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
        Ok(runtime) => runtime.block_on(async {
            let done = command::run(cli.command).await;
            agents::settle().await;
            done
        }),
        Err(e) => Err(Fault::internal(format!("no runtime: {e}")).into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            report(&failed.fault);
            ExitCode::from(failed.exit)
        }
    }
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
        // Nobody left to tell if this fails.
        let _ = writeln!(std::io::stderr(), "althing: {message}");
    }
    fault.kind.codes().exit
}
