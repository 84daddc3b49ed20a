//! Models in files on this machine: a supervised runner process per file, loaded on first use and
//! put away when nobody has used it for a while. A crash is an error of the calls under way and
//! nothing more: the next call starts the runner again.

mod file;
mod gguf;
mod place;
mod process;
mod program;
mod tail;

pub(crate) use file::ModelFile;

use crate::book::Means;
use crate::config::{Config, World};
use crate::store::Stored;
use althing_gateway::access::Hold;
use althing_gateway::{Access, Grant, Listed, Need};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::BoxFuture;
use process::Process;
use program::{Program, Wanted};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Tokens of a conversation where nobody says otherwise. More memory would be taken for more.
const CONTEXT_TOKENS_DEFAULT: u32 = 8_192;
/// How long the end of a process that was killed is waited for.
const END_WAIT: Duration = Duration::from_secs(5);

/// What runners work with.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub env: BTreeMap<String, String>,
    pub data_dir: PathBuf,
    /// A runner that nobody uses for so long is put away.
    pub idle: Duration,
    /// Tokens of a conversation as the person wants them; a model that takes less keeps its own.
    pub context_tokens: Option<u32>,
}

impl Options {
    pub(crate) fn new(world: &World, config: &Config) -> Options {
        let idle = Duration::from_secs(*config.local_idle_seconds);
        let context_tokens = config.context_tokens.and_then(|tokens| u32::try_from(tokens).ok());
        let data_dir = config.data_dir.value.clone();
        Options { env: world.env.clone(), data_dir, idle, context_tokens }
    }
}

/// Tells why no model in a file can be run here; none: a program that does so is there.
pub(crate) fn runner_trouble(world: &World, config: &Config) -> Option<String> {
    Runners::new(Options::new(world, config)).trouble()
}

/// Who opens a provider that is a file.
pub(crate) fn open(means: &Means, row: &Stored) -> Result<Arc<dyn Access>> {
    let file = row.local_path.as_deref().ok_or_else(|| Fault::internal("a file without a path"))?;
    Ok(means.runners.runner(Path::new(file)))
}

/// The runners of this process. Clones share them.
#[derive(Debug, Clone)]
pub struct Runners(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: Options,
    known: Mutex<Vec<Weak<Runner>>>,
}

impl Runners {
    pub(crate) fn new(options: Options) -> Runners {
        Runners(Arc::new(Shared { options, known: Mutex::default() }))
    }

    /// Who runs the model in `file`: one for all that want it. Nothing is started yet.
    pub(crate) fn runner(&self, file: &Path) -> Arc<Runner> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|runner| runner.strong_count() > 0);
        let same = known.iter().filter_map(Weak::upgrade).find(|runner| runner.file == file);
        same.unwrap_or_else(|| {
            let runner = Runner::new(file, &self.0.options);
            known.push(Arc::downgrade(&runner));
            runner
        })
    }

    /// Returns the model in a file as a list of models has it.
    pub(crate) fn list(&self, file: &ModelFile) -> Listed {
        file.listed(self.0.options.context_tokens)
    }

    /// Why no model can be loaded now; none: a program that does so is there.
    pub(crate) fn trouble(&self) -> Option<String> {
        Program::find(&self.0.options).err().map(|fault| fault.message)
    }

    /// Ends every runner, for good. Calls under way fail.
    pub async fn close(&self) {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for runner in known.iter().filter_map(Weak::upgrade) {
            runner.close().await;
        }
    }
}

/// One model, running or not.
#[derive(Debug)]
pub(crate) struct Runner {
    me: Weak<Runner>,
    file: PathBuf,
    options: Options,
    /// Locked while the model is loaded, so that it is loaded once, however many wait for it.
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug)]
enum State {
    Idle,
    Running(Running),
    Closed,
}

#[derive(Debug)]
struct Running {
    process: Process,
    /// Tokens of its window.
    context_tokens: u32,
    /// The most that the model can have.
    context_tokens_max: u32,
    /// Calls under way.
    calls: Arc<watch::Sender<usize>>,
    keeper: JoinHandle<()>,
}

impl Running {
    fn is_too_small(&self, need: Option<u32>) -> bool {
        need.is_some_and(|need| need.min(self.context_tokens_max) > self.context_tokens)
    }

    /// Waits for the calls under way.
    async fn be_unused(&self) {
        // Its sender is here, so it can only end well.
        let _ = self.calls.subscribe().wait_for(|calls| *calls == 0).await;
    }
}

/// A call under way; the runner is not put away under it.
struct Use(Arc<watch::Sender<usize>>);

impl Use {
    fn of(calls: &Arc<watch::Sender<usize>>) -> Use {
        calls.send_modify(|calls| *calls += 1);
        Use(calls.clone())
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

impl Access for Runner {
    fn grant<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Grant>> {
        let need = need.context_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        Box::pin(async move {
            let mut state = self.state.lock().await;
            let running = self.running(&mut state, need).await?;
            let hold = Some(Hold(Arc::new(Use::of(&running.calls))));
            Ok(Grant { base_url: Some(running.process.url()), hold, ..Grant::default() })
        })
    }

    /// The file itself knows: nothing is loaded to answer a question about names.
    fn listed(&self) -> BoxFuture<'_, Option<Result<Vec<Listed>>>> {
        Box::pin(async {
            let file = ModelFile::inspect(&self.file).await;
            // A model that nobody here can run is not offered.
            let runnable = file.and_then(|file| Program::find(&self.options).map(|_| file));
            Some(runnable.map(|file| vec![file.listed(self.options.context_tokens)]))
        })
    }
}

impl Runner {
    fn new(file: &Path, options: &Options) -> Arc<Runner> {
        Arc::new_cyclic(|me| Runner {
            me: me.clone(),
            file: file.to_path_buf(),
            options: options.clone(),
            state: tokio::sync::Mutex::new(State::Idle),
        })
    }

    /// The runner as it is, or a new one where there is none, it died, or its window is smaller than
    /// what is needed.
    async fn running<'a>(&self, state: &'a mut State, need: Option<u32>) -> Result<&'a Running> {
        let is_fit = match state {
            State::Closed => {
                return Err(Fault::new(Kind::Cancelled, "the service is closing"));
            }
            State::Idle => false,
            State::Running(running) if running.is_too_small(need) => {
                running.be_unused().await;
                false
            }
            State::Running(running) => running.process.listens().await,
        };
        if !is_fit {
            // First the old one goes: two of them might not fit into memory.
            *state = State::Idle;
            *state = State::Running(self.start(need).await?);
        }
        match state {
            State::Running(running) => Ok(running),
            State::Idle | State::Closed => Err(Fault::internal("a runner that is not there")),
        }
    }

    async fn start(&self, need: Option<u32>) -> Result<Running> {
        // The file may have changed since it was added.
        let file = ModelFile::inspect(&self.file).await?;
        let usual = file.context_tokens(self.options.context_tokens);
        let context_tokens = need.map_or(usual, |_| usual.max(file.context_tokens(need)));
        let context_tokens_max = file.context_tokens(Some(u32::MAX));
        let makes_embeddings = file.makes_embeddings;
        let wanted = Wanted { model: &self.file, context_tokens, makes_embeddings };
        let (process, child) = Process::start(&self.options, &wanted).await?;
        let (calls, watched) = watch::channel(0);
        let keeper = tokio::spawn(keep(self.me.clone(), child, watched, self.options.idle));
        let calls = Arc::new(calls);
        Ok(Running { process, context_tokens, context_tokens_max, calls, keeper })
    }

    /// Puts the runner away if nobody uses it, or if it died. Says whether it is gone.
    async fn put_away(&self, calls: &watch::Receiver<usize>, died: bool) -> bool {
        let mut state = self.state.lock().await;
        let State::Running(running) = &*state else { return true };
        if !running.calls.subscribe().same_channel(calls) {
            return true;
        }
        let goes = died || *calls.borrow() == 0;
        if goes {
            *state = State::Idle;
        }
        goes
    }

    async fn close(&self) {
        let before = std::mem::replace(&mut *self.state.lock().await, State::Closed);
        if let State::Running(Running { process, keeper, .. }) = before {
            drop(process);
            // A process that cannot be killed is the system's affair.
            let _ = timeout(END_WAIT, keeper).await;
        }
    }
}

/// Watches a runner: it is put away after `idle` without a call, and cleared away when it died.
async fn keep(
    runner: Weak<Runner>,
    mut child: Child,
    mut calls: watch::Receiver<usize>,
    idle: Duration,
) {
    loop {
        let died = tokio::select! {
            _ = child.wait() => true,
            () = unused(&mut calls, idle) => false,
        };
        let Some(runner) = runner.upgrade() else { break };
        if runner.put_away(&calls, died).await || died {
            break;
        }
    }
    // It was killed; what is left is to take note of that.
    let _ = child.wait().await;
}

/// Ready when there has been no call for `idle`.
async fn unused(calls: &mut watch::Receiver<usize>, idle: Duration) {
    // The sender is gone with the runner: then nobody uses it either.
    while calls.wait_for(|calls| *calls == 0).await.is_ok() {
        let Ok(Ok(())) = timeout(idle, calls.changed()).await else { return };
    }
}
