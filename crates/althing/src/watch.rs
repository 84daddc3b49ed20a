//! Watching a run from the terminal: its log to the screen, the person's Ctrl-C and Enter to the run.

use crate::args::Output;
use crate::terminal::Screen;
use crate::terminal::council::Progress;
use crate::terminal::live::{Live, tool_calls};
use althing_assembly::event::{Ending, Event, Outcome, Parts, Speech, What};
use althing_hub::log::now_ms;
use althing_hub::runs::{Control, Run};
use althing_stdx::text::printable;
use althing_stdx::{Fault, Kind, Result};
use std::convert::Infallible;
use std::io::{ErrorKind, Write};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(250);

/// What a run looks like from here.
pub enum View {
    Live(Box<Live>),
    Json,
    /// Only the synthesis, at the end.
    Quiet,
    /// A council: progress in lines, then the plan.
    Council(Box<Progress>),
}

impl View {
    pub fn new(output: Output) -> View {
        match output {
            Output { json: true, .. } => View::Json,
            Output { quiet: true, .. } => View::Quiet,
            Output { .. } => View::Live(Box::new(Live::new(Screen::stdout()))),
        }
    }

    /// Whether nothing but the answer is printed for a run of so many seats.
    pub fn is_answer_alone(&self, seats: usize) -> bool {
        match self {
            View::Quiet => true,
            View::Live(_) => seats == 1 && !Screen::stdout().live,
            View::Json | View::Council(_) => false,
        }
    }

    /// What to print for an event.
    pub fn on(&mut self, event: &Event) -> Result<String> {
        match self {
            View::Live(live) => Ok(live.on(event)),
            View::Json => {
                serde_json::to_string(event).map(|line| line + "\n").map_err(Fault::internal)
            }
            View::Quiet => Ok(quiet(event)),
            View::Council(progress) => Ok(progress.on(event)),
        }
    }

    /// What to print where a person may end a pause.
    fn invite(&self, phase: u32, timeout_ms: u64) -> String {
        match self {
            View::Live(live) => live.invite(phase, timeout_ms),
            View::Json | View::Quiet | View::Council(_) => String::new(),
        }
    }

    fn tick(&mut self) -> String {
        match self {
            View::Live(live) => live.tick(now_ms()),
            View::Json | View::Quiet | View::Council(_) => String::new(),
        }
    }
}

/// The answer of a synthesis, or of a single model, and nothing else.
fn quiet(event: &Event) -> String {
    if let What::PlanSettled(settled) = &event.what {
        return printable(&settled.markdown);
    }
    let What::TurnEnded { outcome: Outcome::Said(said), by } = &event.what else {
        return String::new();
    };
    match &said.parts {
        Parts::Synthesis(synthesis) => printable(&synthesis.synthesis) + "\n",
        _ if by.speech == Speech::Synthesis && said.text.is_empty() => tool_calls(said),
        _ if by.speech == Speech::Synthesis => printable(&said.text) + "\n" + &tool_calls(said),
        _ => String::new(),
    }
}

/// Shows a run until it is over. The first Ctrl-C stops and saves it, the second ends the program.
pub async fn watch(run: Run, view: View, pauses: bool) -> Result<Ending> {
    let control = run.control.clone();
    let shown = async {
        // Whatever became of the screen, the run is saved first.
        let shown = show(&run, view, pauses).await;
        let ending = run.ending().await;
        shown.and(ending)
    };
    tokio::select! {
        ending = shown => ending,
        never = stopped(control) => match never? {},
    }
}

/// Hears Ctrl-C as long as the run is shown or saved.
async fn stopped(control: Control) -> Result<Infallible> {
    let mut stops = Stops::new()?;
    stops.next().await;
    control.cancel();
    stops.next().await;
    std::process::exit(i32::from(Kind::Cancelled.codes().exit))
}

/// The log to the screen, and Enter to the run, until the log is over.
async fn show(run: &Run, mut view: View, pauses: bool) -> Result<()> {
    let mut enter = if pauses { enter_pressed() } else { mpsc::channel(1).1 };
    let mut tick = tokio::time::interval(TICK);
    let (mut seq, mut is_paused) = (0, false);
    loop {
        tokio::select! {
            biased;
            batch = run.log.since(seq) => {
                let Some(last) = batch.last() else { return Ok(()) };
                seq = last.seq + 1;
                let mut text = String::new();
                for event in &batch {
                    text.push_str(&view.on(event)?);
                }
                is_paused = false;
                if let What::PauseStarted { phase, timeout_ms } = last.what {
                    is_paused = true;
                    match pauses {
                        true => text.push_str(&view.invite(phase, timeout_ms)),
                        // Whoever began it paused; here is nobody to press Enter.
                        false => run.control.go_on(),
                    }
                }
                if let Err(e) = print(&text) {
                    run.control.cancel();
                    return unread(&e);
                }
            }
            Some(()) = enter.recv(), if is_paused => {
                // The next one is for the next pause.
                is_paused = false;
                run.control.go_on();
            }
            _ = tick.tick() => {
                // A screen that cannot be written is noticed with the next event.
                let _ = print(&view.tick());
            }
        }
    }
}

/// Where nobody reads any more, as in `| head`, stopping is no failure; what could not be written is.
pub fn unread(error: &std::io::Error) -> Result<()> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Fault::internal(format!("standard output: {error}"))),
    }
}

/// Ctrl-C, a polite request to end, and a terminal that was closed.
pub struct Stops {
    interrupt: Signal,
    terminate: Signal,
    /// Until it comes: the shell and the system both tell of a closed terminal, and a second request
    /// would be an impatient one. None also where the one who started us wants it ignored.
    hangup: Option<Signal>,
}

impl Stops {
    pub fn new() -> Result<Stops> {
        let listen = |kind| signal(kind).map_err(|e| Fault::internal(format!("signals: {e}")));
        let is_heard = !is_hangup_ignored();
        Ok(Stops {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: is_heard.then(|| listen(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up(&mut self.hangup) => self.hangup = None,
        }
    }
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether whoever started this program wants it to outlive the terminal, as `nohup` does. Where the
/// system does not tell, it does not.
fn is_hangup_ignored() -> bool {
    static IS_IGNORED: LazyLock<bool> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let signals = ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
        // The lowest bit is the first signal, which is this one.
        signals.is_some_and(|signals| signals & 1 == 1)
    });
    *IS_IGNORED
}

/// Lines typed at a terminal. The thread ends with the program: a read cannot be cancelled.
fn enter_pressed() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        while std::io::stdin().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {
            if sender.blocking_send(()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Writes to standard output at once.
pub fn print(text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
