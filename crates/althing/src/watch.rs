//! Watching a run from the terminal: its log to the screen, the person's Ctrl-C and Enter to the run.

use crate::args::Output;
use crate::printer;
use crate::terminal::Screen;
use crate::terminal::council::Progress;
use crate::terminal::live::{Live, tool_calls};
use althing_assembly::event::{Ending, Event, Outcome, Parts, Speech, What};
use althing_hub::log::{RunLog, now_ms};
use althing_hub::runs::{Control, Run};
use althing_stdx::text::printable;
use althing_stdx::{Fault, Kind, Result};
use std::convert::Infallible;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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
            View::Council(progress) => progress.tick(now_ms()),
            View::Json | View::Quiet => String::new(),
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
/// Who reads too slowly or not at all holds up the screen and nothing else.
pub async fn watch(run: Run, view: View, pauses: bool) -> Result<Ending> {
    let (control, log) = (run.control.clone(), run.log.clone());
    let (mut stops, is_stopped) = (Stops::new()?, CancellationToken::new());
    let shown = async {
        // Whatever became of the screen, the run is saved first.
        let (shown, ending) =
            tokio::join!(show(&log, &control, view, pauses, &is_stopped), run.ending());
        shown.and(ending)
    };
    let ending = tokio::select! {
        ending = shown => ending,
        never = stopped(&mut stops, &control, &is_stopped) => match never {},
    };
    stops.listen_on();
    if is_stopped.is_cancelled() {
        // Whoever wants it to stop does not want to wait for a reader.
        printer::finish(false).await?;
        if printer::is_given_up() && matches!(ending, Ok(Ending::Completed)) {
            return Err(Fault::new(Kind::Cancelled, "stopped"));
        }
    }
    ending
}

/// Hears Ctrl-C as long as the run is shown or saved.
async fn stopped(
    stops: &mut Stops,
    control: &Control,
    is_stopped: &CancellationToken,
) -> Infallible {
    stops.next().await;
    control.cancel();
    is_stopped.cancel();
    stops.next().await;
    std::process::exit(i32::from(Kind::Cancelled.codes().exit))
}

/// Shows the run to its end, or to the point where it is over and nobody reads it. The whole of an
/// answer waits for its reader until somebody stops it.
async fn show(
    log: &RunLog,
    control: &Control,
    view: View,
    pauses: bool,
    is_stopped: &CancellationToken,
) -> Result<()> {
    let unread = async {
        control.clone().over().await;
        if is_completed(log) {
            is_stopped.cancelled().await;
        }
        printer::wait_until_unread().await;
    };
    tokio::select! {
        shown = show_events(log, control, view, pauses) => shown,
        () = unread => {
            printer::give_up();
            match is_completed(log) {
                true => Err(Fault::new(Kind::Cancelled, "stopped")),
                false => Ok(()),
            }
        }
    }
}

fn is_completed(log: &RunLog) -> bool {
    let last = log.so_far().pop().map(|event| event.what);
    matches!(last, Some(What::RunEnded { ending: Ending::Completed, .. }))
}

/// The log to the screen, and Enter to the run, until the log is over.
async fn show_events(log: &RunLog, control: &Control, mut view: View, pauses: bool) -> Result<()> {
    let mut enter = if pauses { enter_pressed() } else { mpsc::channel(1).1 };
    let mut tick = tokio::time::interval(TICK);
    let (mut seq, mut is_paused) = (0, false);
    loop {
        tokio::select! {
            biased;
            failure = printer::failed() => {
                control.cancel();
                return printer::fault_of(failure);
            }
            batch = next_events(log, seq) => {
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
                        false => control.go_on(),
                    }
                }
                printer::print(text);
            }
            Some(()) = enter.recv(), if is_paused => {
                // The next one is for the next pause.
                is_paused = false;
                control.go_on();
            }
            _ = tick.tick() => {
                // A screen that takes nothing needs no new status either.
                if printer::is_idle() {
                    printer::print(view.tick());
                }
            }
        }
    }
}

/// What happened from `seq` on, once there is room to show it.
async fn next_events(log: &RunLog, seq: u64) -> Vec<Event> {
    printer::wait_for_room().await;
    log.since(seq).await
}

/// Ctrl-C, Ctrl-\, a polite request to end, and a terminal that was closed.
pub struct Stops {
    interrupt: Signal,
    /// By itself it would end this program and nothing that it started.
    quit: Signal,
    terminate: Signal,
    /// Until it comes: the shell and the system both tell of a closed terminal, and a second request
    /// would be an impatient one. None also where the one who started us wants it ignored.
    hangup: Option<Signal>,
}

/// Listens since a run was over, so that nothing is missed until somebody waits again.
static LISTENING: Mutex<Option<Stops>> = Mutex::new(None);

impl Stops {
    /// Keeps what comes from now on for [`Stops::since_run`].
    fn listen_on(self) {
        *LISTENING.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    /// Those that have come since a run was over, and those to come.
    pub fn since_run() -> Result<Stops> {
        let kept = LISTENING.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(Stops::new, Ok)
    }

    pub fn new() -> Result<Stops> {
        let listen = |kind| signal(kind).map_err(|e| Fault::internal(format!("signals: {e}")));
        let is_heard = !is_hangup_ignored();
        Ok(Stops {
            interrupt: listen(SignalKind::interrupt())?,
            quit: listen(SignalKind::quit())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: is_heard.then(|| listen(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
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
