//! Performs the life of one extension: what its lifecycle decides is done here, and what happens to
//! its process goes there.

mod process;

use crate::extension::{Extension, Notice};
use crate::grant::Grant;
use crate::lifecycle::{Action, Input, Lifecycle, Phase, Reason};
use crate::log::{Level, Source};
use crate::manifest;
use crate::shared::{Event, Shared};
use althing_jsonrpc::{CallError, Peer};
use althing_stdx::text;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use process::Process;
pub(crate) use process::sweep;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// What extensions are told of the host: the version whose extensions it runs.
pub(crate) const HERMES_VERSION: &str = "0.1.0";
pub(crate) const API_VERSION: &str = "1.0";

/// Characters of a foreign text within a reason.
const REASON_CHARS_MAX: usize = 500;

/// Runs until the host is gone. Dropping it ends the process, whatever its state.
pub(crate) async fn supervise(
    shared: Arc<Shared>,
    extension: Arc<Extension>,
    mut control: mpsc::Receiver<Input>,
) {
    let life = Lifecycle::new(extension.entry.restart);
    let mut this = Supervisor { shared, extension, life, process: None, call: pending().boxed() };
    loop {
        let Some(input) = this.next(&mut control).await else { return };
        this.take(input);
    }
}

struct Supervisor {
    shared: Arc<Shared>,
    extension: Arc<Extension>,
    life: Lifecycle,
    process: Option<Process>,
    /// The call that is under way: `initialize` or `shutdown`.
    call: BoxFuture<'static, Input>,
}

impl Supervisor {
    async fn next(&mut self, control: &mut mpsc::Receiver<Input>) -> Option<Input> {
        let gate = self.extension.status().gate.wake();
        let wake = [self.life.wake(), gate].into_iter().flatten().min();
        let ticked = async {
            match wake {
                Some(wake) => sleep_until(wake).await,
                None => pending().await,
            }
        };
        let happened = async {
            match &mut self.process {
                Some(process) => process.next().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            input = control.recv() => input,
            input = &mut self.call => {
                self.call = pending().boxed();
                Some(input)
            }
            input = happened => Some(input),
            () = self.extension.poke.notified() => Some(Input::Tick),
            () = ticked => Some(Input::Tick),
        }
    }

    fn take(&mut self, input: Input) {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            let before = self.life.phase().clone();
            let action = self.life.on(input, Instant::now());
            // First done, then told: who hears of an end finds nothing left of the process.
            next = action.and_then(|action| self.perform(action));
            if *self.life.phase() != before {
                self.entered();
            }
        }
        self.release();
    }

    /// Sends the command whose time has come.
    fn release(&mut self) {
        if *self.life.phase() != Phase::Running {
            return;
        }
        let command = self.extension.status().gate.next(Instant::now());
        if let Some(command) = command {
            self.shared.notify(&self.extension, "command/execute", json!({ "command": command }));
        }
    }

    fn entered(&mut self) {
        let phase = self.life.phase();
        match phase {
            Phase::Failed { reason } => self.log(Level::Error, &format!("failed: {reason}")),
            Phase::Waiting { .. } => self.log(Level::Warning, "crashed; it is started again"),
            Phase::Running => self.log(Level::Info, "running"),
            Phase::Stopped => self.log(Level::Info, "stopped"),
            _ => {}
        }
        for command in self.extension.entered(phase) {
            let what = format!("the command {command:?} is dropped: the extension ended before it");
            self.log(Level::Warning, &what);
        }
        if self.extension.status().feed.is_none() {
            self.shared.close_windows(&self.extension);
        }
        self.shared.touch();
        self.shared.tell(Event::ExtensionChanged { extension: self.extension.id.clone() });
        self.shared.states.send_replace(());
    }

    fn log(&self, level: Level, said: &str) {
        self.shared.log(&self.extension, Source::Host, level, said);
    }

    fn perform(&mut self, action: Action) -> Option<Input> {
        match action {
            Action::Spawn => return Some(self.spawn()),
            Action::Initialize => self.initialize(),
            Action::Shutdown(reason) => self.shutdown(reason),
            Action::CloseStdin => self.process.iter_mut().for_each(Process::close_stdin),
            Action::Terminate => self.process.iter().for_each(Process::terminate),
            Action::Kill => {
                // Whatever its phase says: a process that is to die is not spoken to any more.
                self.process.iter().for_each(Process::kill);
                if !matches!(self.life.phase(), Phase::Stopping { .. }) {
                    self.process = None;
                    self.call = pending().boxed();
                }
            }
        }
        None
    }

    fn spawn(&mut self) -> Input {
        // The old one first: its end must not be taken for the new one's.
        self.process = None;
        self.call = pending().boxed();
        match Process::start(&self.shared, &self.extension) {
            Ok((process, feed)) => {
                let mut status = self.extension.status();
                status.gate = Default::default();
                status.feed = Some(feed);
                drop(status);
                self.process = Some(process);
                Input::Spawned
            }
            Err(reason) => Input::NotSpawned(reason),
        }
    }

    fn initialize(&mut self) {
        let Some(process) = &self.process else { return };
        let mut params = json!({
            "apiVersion": API_VERSION,
            "dataDirectory": process.data_dir().to_string_lossy(),
            "hermesVersion": HERMES_VERSION,
        });
        let may_ask = self.extension.entry.grants.contains(&Grant::Models);
        if may_ask && self.shared.models.is_some() {
            params["capabilities"] = json!({ "ai": ["ai/models", "ai/complete"] });
        }
        let (shared, extension) = (self.shared.clone(), self.extension.clone());
        let peer = process.peer().clone();
        self.call = async move { initialized(&shared, &extension, &peer, params).await }.boxed();
    }

    /// Its windows close first, so that it hears of them while it still listens.
    fn shutdown(&mut self, reason: Reason) {
        self.shared.close_windows(&self.extension);
        let Some(process) = &self.process else { return };
        let peer = process.peer().clone();
        let feed = self.extension.status().feed.clone();
        self.call = async move {
            said(feed).await;
            match peer.call("shutdown", json!({ "reason": reason })).await {
                // Without a connection there is nobody to answer; time goes on.
                Err(CallError::Closed) => pending().await,
                _ => Input::Answered,
            }
        }
        .boxed();
    }
}

/// Waits until all that was to be said is said. To one that does not read nothing more is said.
async fn said(feed: Option<mpsc::Sender<Notice>>) {
    let Some(feed) = feed else { return };
    let (reached, reach) = oneshot::channel();
    // Both fail only when the connection is over, and then the call after this does, too.
    let _ = feed.send(Notice::Reached(reached)).await;
    let _ = reach.await;
}

/// Asks an extension what it is.
async fn initialized(shared: &Shared, extension: &Extension, peer: &Peer, params: Value) -> Input {
    let answer = match peer.call("initialize", params).await {
        Ok(answer) => answer,
        // The end of the process or of the connection says more.
        Err(CallError::Closed) => return pending().await,
        Err(error) => {
            let error = text::one_line(&error.to_string(), REASON_CHARS_MAX);
            return Input::Refused(format!("its answer to initialize is an error: {error}"));
        }
    };
    match manifest::read(&answer) {
        Ok((manifest, warnings)) => {
            for warning in warnings {
                shared.log(extension, Source::Host, Level::Warning, &warning);
            }
            extension.status().manifest = Some(Arc::new(manifest));
            Input::Initialized
        }
        Err(reason) => Input::Refused(reason),
    }
}
