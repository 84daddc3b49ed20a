//! The runner of local models: one GGUF file behind one Unix socket, in OpenAI's dialect. It is a
//! process of its own, so that a crash of llama.cpp is the loss of one request and nothing more.
//! It ends when its standard input closes, so it never outlives whoever started it.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program tells why it ends")]

mod args;
mod cores;
mod embedder;
mod engine;
mod grammar;
mod job_line;
mod load;
mod logprobs;
mod memory;
mod pattern;
mod pieces;
mod prompt;
mod prompt_cache;
mod pulse;
mod refusal;
mod reply;
mod request;
mod sampler;
mod schema;
mod server;
mod template;
mod thoughts;
mod tokenizer;
mod tool_calls;

use args::{Args, THREADS_VARIABLE, USAGE};
use engine::Job;
use job_line::JobLine;
use load::About;
use pulse::Pulse;
use rustix::process::{Signal, getpid, kill_process};
use server::{Listener, Routes};
use std::io::Read;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Requests that wait behind the one at work; more are told to come back later.
const WAITING_MAX: usize = 32;
/// llama.cpp reads grammars by recursion.
const STACK_BYTES: usize = 16 << 20;
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
            // The reason comes last: whoever started it may show the last line alone.
            eprintln!("{USAGE}\n\nalthing-llama: error: {wrong}");
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
    let listener = Listener::bind(&args.socket)?;
    let jobs = Arc::new(JobLine::new(WAITING_MAX));
    let pulse = Arc::new(Pulse::default());
    let about = OnceLock::new();
    let routes = Arc::new(Routes { about, jobs: jobs.clone(), pulse: pulse.clone() });
    let end = wait_for_end()?;
    let mut engine = EngineThread::start(args, &jobs, &pulse)?;
    let ended = tokio::select! {
        () = end => Ok(()),
        why = engine.supervise(&routes) => Err(why),
        why = server::serve(&listener, &routes) => Err(why),
    };
    // The connections are gone and with them every reader, so the engine ends at its next token.
    drop(listener);
    jobs.close();
    if !engine.has_ended(routes.about.get().is_some()).await {
        if let Err(why) = &ended {
            eprintln!("althing-llama: error: {why}");
        }
        eprintln!("althing-llama: what llama.cpp is at is cut off");
        // Not `exit`: it would take llama.cpp apart while it computes. Cannot fail on oneself.
        let _ = kill_process(getpid(), Signal::KILL);
    }
    ended
}

/// The one thread that owns the model and its context: neither may be shared.
struct EngineThread {
    loaded: Option<oneshot::Receiver<Result<About, String>>>,
    /// Ready when the thread is gone.
    over: oneshot::Receiver<()>,
}

impl EngineThread {
    fn start(
        args: Args,
        jobs: &Arc<JobLine<Job>>,
        pulse: &Arc<Pulse>,
    ) -> Result<EngineThread, String> {
        let (tell, loaded) = oneshot::channel();
        let (ended, over) = oneshot::channel::<()>();
        let (jobs, pulse) = (jobs.clone(), pulse.clone());
        let engine = std::thread::Builder::new().name("engine".into()).stack_size(STACK_BYTES);
        let work = move || {
            // Dropped at the end, and where the thread panics.
            let _ended = ended;
            load::serve(&args, tell, &jobs, &pulse);
        };
        engine.spawn(work).map_err(|error| format!("no thread for the model: {error}"))?;
        Ok(EngineThread { loaded: Some(loaded), over })
    }

    /// Waits until the model cannot be served any more, and says why.
    async fn supervise(&mut self, routes: &Routes) -> String {
        let Some(loaded) = self.loaded.take() else { return "it was loaded before".into() };
        match loaded.await {
            // Nothing was there before it.
            Ok(Ok(about)) => _ = routes.about.set(about),
            Ok(Err(why)) => return why,
            Err(_) => return "llama.cpp gave up while loading".into(),
        }
        tokio::select! {
            _ = &mut self.over => "the model's thread ended".into(),
            why = routes.pulse.watch() => why,
        }
    }

    /// Gives the thread a moment to end; while it loads it cannot.
    async fn has_ended(&mut self, is_loaded: bool) -> bool {
        let wait = if is_loaded { END_WAIT } else { Duration::ZERO };
        self.over.is_terminated() || tokio::time::timeout(wait, &mut self.over).await.is_ok()
    }
}

/// Ready when nobody holds the other end of the standard input any more, or the system says so.
fn wait_for_end() -> Result<impl Future<Output = ()>, String> {
    let heard = |kind| signal(kind).map_err(|error| format!("no signals: {error}"));
    let (mut terminate, mut interrupt) =
        (heard(SignalKind::terminate())?, heard(SignalKind::interrupt())?);
    let closed = stdin_closed();
    Ok(async move {
        tokio::select! {
            _ = closed => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
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
