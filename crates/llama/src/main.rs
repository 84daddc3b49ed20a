//! The runner of local models: one GGUF file behind one Unix socket, in OpenAI's dialect. It is a
//! process of its own, so that a crash of llama.cpp is the loss of one request and nothing more.
//! It ends when its standard input closes, so it never outlives whoever started it.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program tells why it ends")]

mod args;
mod cores;
mod embedder;
mod engine;
mod grammar;
mod load;
mod logprobs;
mod pattern;
mod pieces;
mod prompt;
mod prompt_cache;
mod refusal;
mod reply;
mod request;
mod sampler;
mod schema;
mod server;
mod template;
mod tool_calls;

use args::{Args, THREADS_VARIABLE, USAGE};
use rustix::process::{Signal, getpid, kill_process};
use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait behind the one at work; more are told to come back later.
const WAITING_MAX: usize = 32;
/// How long a generation under way may take to notice the end. Then the process ends over it.
const END_WAIT: Duration = Duration::from_secs(5);
/// How the runner ends where the model cannot be served.
const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args_os().skip(1), std::env::var_os(THREADS_VARIABLE)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("althing-llama: {wrong}\n{USAGE}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(|error| error.to_string()).and_then(|it| it.block_on(run(args))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("althing-llama: error: {why}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Loads, serves, and leaves nothing behind.
async fn run(args: Args) -> Result<(), String> {
    let closed = stdin_closed();
    let (jobs, waiting) = mpsc::channel(WAITING_MAX);
    let (tell, loaded) = oneshot::channel();
    let (ended, over) = oneshot::channel::<()>();
    let (socket, runtime) = (args.socket.clone(), tokio::runtime::Handle::current());
    // One thread owns the model and its context: neither may be shared.
    std::thread::spawn(move || {
        load::serve(&args, &runtime, tell, waiting);
        drop(ended);
    });
    let about = loaded.await.map_err(|_| "llama.cpp gave up while loading")??;
    let served = server::serve(&socket, about, jobs, closed).await;
    // The server is gone and with it every reader, so the engine ends at its next token.
    if tokio::time::timeout(END_WAIT, over).await.is_err() {
        eprintln!("althing-llama: the generation under way is cut off");
        // Not `exit`: it would take llama.cpp apart while it computes. Cannot fail on oneself.
        let _ = kill_process(getpid(), Signal::KILL);
    }
    served
}

/// Ready when nobody holds the other end of the standard input any more.
fn stdin_closed() -> oneshot::Receiver<()> {
    let (tell, closed) = oneshot::channel();
    std::thread::spawn(move || {
        let mut ignored = [0; 256];
        while std::io::stdin().read(&mut ignored).is_ok_and(|read| read > 0) {}
        drop(tell);
    });
    closed
}
