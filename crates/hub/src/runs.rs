//! Runs: from a request to a living discussion and its log, and back to life after a stop.

mod continued;

use crate::attach::{check_attachments, check_seats};
use crate::book::Library;
use crate::config::{Choice, Synthesizer};
use crate::council::{self, BATCH};
use crate::lineup::{Lineup, Sitting};
use crate::log::{RunLog, now_ms};
use crate::service::chat::Counted;
use crate::service::metrics::Metrics;
use crate::store::new_run_id;
use crate::windows;
use crate::workers::{Offer, Tooled};
use althing_assembly::event::{Continued, Ending, Event, Opening, Quoted, Roles, SeatInfo, What};
use althing_assembly::floor::{Floor, Price, Rules, Seat, check_windows};
use althing_assembly::past::Past;
use althing_assembly::{Method, demo, methods, run};
use althing_chat::{Attachment, Model, Tool, Window};
use althing_gateway::{Target, WORKER};
use althing_stdx::{Fault, Result};
use continued::carry_over;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Characters of a question; a longer one is refused.
pub const QUESTION_CHARS_MAX: usize = 50_000;
/// Bytes of all files given along; more are refused.
pub const CONTEXT_BYTES_MAX: usize = 256 * 1024;
/// Turns of the free discussion, whatever rounds and seats multiply to.
pub const TURNS_MAX: u32 = 100;

/// A discussion that somebody wants.
pub struct Request {
    pub question: String,
    pub context: Vec<Quoted>,
    /// Pictures and documents given along.
    pub attachments: Vec<Attachment>,
    pub method: &'static Method,
    pub lineup: Lineup,
    /// None: the method's own.
    pub roles: Option<Roles>,
    /// Turns of each seat in the free discussion.
    pub rounds: u32,
    /// Turns of all seats together; wins over `rounds`.
    pub turns: Option<u32>,
    pub synthesizer: Synthesizer,
    pub language: Option<String>,
    pub pause: Option<Duration>,
    pub max_cost_usd: Option<f64>,
    pub estimate_usd: Option<f64>,
    /// The run to go on from.
    pub continues: Option<String>,
    /// Functions a single model may ask for; nothing is called.
    pub tools: Vec<Tool>,
    /// Whether the functions of workers are called for models that ask for them. Where there are
    /// `tools` they are not even offered.
    pub workers: bool,
    /// Whether providers are asked to stream.
    pub stream: bool,
}

/// A discussion that is being held.
pub struct Run {
    pub id: String,
    pub seats: usize,
    pub log: Arc<RunLog>,
    pub control: Control,
    /// What the person should know of its beginning: workers that could not be asked.
    pub notes: Vec<String>,
    task: JoinHandle<Result<Ending>>,
}

impl Run {
    pub(crate) fn noting(self, offer: &Offer) -> Run {
        Run { notes: offer.troubles().to_vec(), ..self }
    }

    /// How it ended.
    pub async fn ending(self) -> Result<Ending> {
        self.task.await.map_err(|e| Fault::internal(format!("the run broke: {e}")))?
    }
}

/// The reins of a run; clones hold the same ones.
#[derive(Clone)]
pub struct Control {
    resume: Arc<Notify>,
    cancel: Arc<watch::Sender<bool>>,
    over: watch::Receiver<bool>,
}

impl Control {
    /// Ends a pause, or the next one.
    pub fn go_on(&self) {
        self.resume.notify_one();
    }

    /// Stops: calls under way are dropped, what was said is kept.
    pub fn cancel(&self) {
        // Cannot matter if nobody listens: then it is over already.
        let _ = self.cancel.send(true);
    }

    /// Waits until the run is over and saved.
    pub async fn over(&mut self) {
        // An error means that its task is gone, and so is the run.
        let _ = self.over.wait_for(|is_over| *is_over).await;
    }
}

/// Starts and resumes runs.
pub struct Runs {
    pub library: Arc<Library>,
    /// Where calls are counted; none: they are not.
    pub metrics: Option<Arc<Metrics>>,
    /// How fast the demo voices speak.
    pub pace: demo::Pace,
    /// Who speaks instead in a test, by the id of the seat.
    #[cfg(test)]
    pub(crate) voices: std::collections::HashMap<String, Arc<dyn Model>>,
}

impl Runs {
    /// Begins a discussion. Everything is checked before the first event is written.
    pub async fn start(&self, request: Request) -> Result<Run> {
        check(&request)?;
        check_seats(&request.lineup.seats, &request.attachments)?;
        let continues = match &request.continues {
            Some(run) => Some(self.continued(run).await?),
            None => None,
        };
        let offer = match request.workers && request.tools.is_empty() {
            true => self.offer(&request.lineup.seats).await,
            false => Arc::default(),
        };
        let seats = self.seats(&request.lineup.seats, &offer).await?;
        let synthesizers = self.synthesizers(request.synthesizer, seats.len()).await?;
        let count = seats.len() as u32;
        let opening = Opening {
            method: request.method.name.to_string(),
            question: request.question,
            mark: String::new(),
            context: request.context,
            attachments: request.attachments,
            continues,
            seats: request.lineup.seats.iter().map(seat_info).collect(),
            roles: request.roles.unwrap_or_else(|| request.method.default_roles(seats.len())),
            turns: request.turns.unwrap_or(request.rounds * count).min(TURNS_MAX),
            synthesizers,
            synthesizer_mode: request.synthesizer.name().to_string(),
            language: request.language,
            pause_ms: request.pause.map(|pause| pause.as_millis() as u64),
            max_cost_usd: request.max_cost_usd,
            estimate_usd: request.estimate_usd,
            tools: request.tools,
            offered: offer.names(),
            stream: request.stream,
            council: None,
        };
        check_windows(&opening, request.method, &seats)?;
        let id = new_run_id(now_ms(), &mut fastrand::Rng::new());
        let lease = self.library.store().lease(&id).await?;
        let log = RunLog::start(self.library.store().clone(), lease);
        Ok(self.spawn(opening, request.method, seats, log, Past::none()).noting(&offer))
    }

    /// Goes on with a run that stopped, with a new cost limit where one is given.
    pub async fn resume(
        &self,
        run: &str,
        max_cost_usd: Option<f64>,
        retry_failed: bool,
    ) -> Result<Run> {
        let id = self.library.store().run(run).await?.id;
        let lease = self.library.store().lease(&id).await?;
        let events = self.library.store().events(&id).await?;
        let mut opening = opening_of(&id, &events)?.clone();
        let data = &self.library.book().config.data_dir;
        let folder = opening.council.as_ref().map(|_| council::folder_of(data, &id));
        if let Some(folder) = folder.clone() {
            // Killed between its last event and its folder, a council still leaves one.
            let stored = events.clone();
            let some = move |seq| stored.iter().skip(seq as usize).take(BATCH).cloned().collect();
            council::keep(folder, some).await?;
        }
        check_resumable(&id, &events, folder.as_deref())?;
        opening.max_cost_usd =
            max_cost_usd.or_else(|| last_limit(&events)).or(opening.max_cost_usd);
        let method = methods::method(&opening.method)?;
        self.library.refresh().await?;
        let sittings: Vec<Sitting> = match &opening.council {
            Some(terms) => council::sit_again(&opening.seats, terms, &self.library, &id)?,
            None => {
                let book = self.library.book();
                let again = |seat| crate::lineup::sit_again(seat, &book);
                opening.seats.iter().map(again).collect::<Result<_>>()?
            }
        };
        let offer = match opening.offered.is_empty() {
            true => Arc::default(),
            false => self.offer(&sittings).await,
        };
        let seats = self.seats(&sittings, &offer).await?;
        check_windows(&opening, method, &seats)?;
        let past = Past::read(&events, retry_failed);
        let log = RunLog::resume(self.library.store().clone(), lease, events);
        Ok(self.spawn(opening, method, seats, log, past).noting(&offer))
    }

    pub(crate) fn spawn(
        &self,
        opening: Opening,
        method: &'static Method,
        seats: Vec<Seat>,
        log: RunLog,
        past: Past,
    ) -> Run {
        let (log, resume, count) = (Arc::new(log), Arc::new(Notify::new()), seats.len());
        let (cancel, mut cancelled) = watch::channel(false);
        let (tell_over, over) = watch::channel(false);
        let config = &self.library.book().config;
        let seconds = Duration::from_secs(*config.turn_seconds_max);
        // A council holds its planners on a leash of its own, which is the shorter one.
        let attempt = opening.council.as_ref().map(|it| Duration::from_millis(it.attempt_ms));
        let rules = Rules { turn_max: attempt.map_or(seconds, |attempt| attempt * 2) };
        let folder = attempt.map(|_| council::folder_of(&config.data_dir, log.run()));
        let floor = Floor::new(opening, method, seats, log.clone(), past, rules, resume.clone());
        let (closing, store) = (log.clone(), self.library.store().clone());
        let task = tokio::spawn(async move {
            let stop = async move {
                // An error means that the reins are gone: nobody can cancel any more.
                if cancelled.wait_for(|is_cancelled| *is_cancelled).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let mut ending = run::hold(&floor, stop).await;
            if let Some(folder) = folder {
                let log = closing.clone();
                let kept = council::keep(folder, move |seq| log.some(seq, BATCH));
                let (kept, ()) = tokio::join!(kept, store.fold());
                ending = kept.and(ending);
            }
            closing.close();
            // Nobody may be waiting for it.
            let _ = tell_over.send(true);
            ending
        });
        let control = Control { resume, cancel: Arc::new(cancel), over };
        Run { id: log.run().to_string(), seats: count, log, control, notes: vec![], task }
    }

    /// What workers offer, where somebody sits who could ask for it.
    pub(crate) async fn offer(&self, sittings: &[Sitting]) -> Arc<Offer> {
        match sittings.iter().any(takes_tools) {
            true => self.library.workers().offer().await,
            false => Arc::default(),
        }
    }

    pub(crate) async fn seats(
        &self,
        sittings: &[Sitting],
        offer: &Arc<Offer>,
    ) -> Result<Vec<Seat>> {
        let windows = windows::seat_windows(&self.library, sittings).await;
        let seats = sittings.iter().zip(windows).enumerate();
        let seat = |(index, (sitting, window))| self.seat(index, sitting, window, offer);
        seats.map(seat).collect()
    }

    fn seat(
        &self,
        index: usize,
        sitting: &Sitting,
        window: Window,
        offer: &Arc<Offer>,
    ) -> Result<Seat> {
        let price = sitting.price.map(|price| {
            let price: Price = Arc::new(move |usage| price.cost(usage).unwrap_or(0.0));
            price
        });
        let (name, stance) = (sitting.name.clone(), sitting.stance.clone());
        let mut model = self.sized_voice(sitting, Some(window.tokens))?;
        if takes_tools(sitting) {
            model = Tooled::over(model, offer.clone());
        }
        Ok(Seat { index, name, stance, model, price, window })
    }

    /// The model that sits there.
    pub(crate) fn voice(&self, sitting: &Sitting) -> Result<Arc<dyn Model>> {
        self.sized_voice(sitting, None)
    }

    /// The model that sits there, asked for a window of so many tokens where a request does not say
    /// otherwise.
    fn sized_voice(
        &self,
        sitting: &Sitting,
        context_tokens: Option<u64>,
    ) -> Result<Arc<dyn Model>> {
        #[cfg(test)]
        if let Some(voice) = self.voices.get(&sitting.id) {
            return Ok(voice.clone());
        }
        let voice = Counted::seated(&self.library, sitting, self.pace)?.sized(context_tokens);
        Ok(Arc::new(match &self.metrics {
            Some(metrics) => voice.by(metrics.clone()),
            None => voice,
        }))
    }

    /// The seats in the order in which they are asked to conclude.
    async fn synthesizers(&self, mode: Synthesizer, seats: usize) -> Result<Vec<usize>> {
        let first = match mode {
            Synthesizer::First => 0,
            Synthesizer::Random => fastrand::usize(..seats),
            Synthesizer::Rotate => self.library.store().rotate(seats).await?,
        };
        Ok((0..seats).map(|seat| (first + seat) % seats).collect())
    }

    /// What a new run takes over from an old one.
    async fn continued(&self, run: &str) -> Result<Continued> {
        let id = self.library.store().run(run).await?.id;
        let events = self.library.store().events(&id).await?;
        let opening = opening_of(&id, &events)?;
        if opening.council.is_some() {
            return Err(Fault::invalid(format!(
                "continue: run {id} is a council, which is not asked on; \
                 its plan: althing show {id}"
            )));
        }
        carry_over(&id, opening, &events).ok_or_else(|| {
            Fault::invalid(format!(
                "continue: run {id} has no synthesis yet; first: althing resume {id} --retry-failed"
            ))
        })
    }
}

/// A scripted voice and a worker call nothing.
fn takes_tools(sitting: &Sitting) -> bool {
    let is_worker = |it: &Target| it.endpoint.provider.name == WORKER.name;
    !sitting.targets.is_empty() && !sitting.targets.iter().any(is_worker)
}

fn check(request: &Request) -> Result<()> {
    let chars = request.question.chars().count();
    if request.question.trim().is_empty() {
        return Err(Fault::invalid("question: it is empty"));
    }
    if chars > QUESTION_CHARS_MAX {
        return Err(Fault::invalid(format!(
            "question: {chars} characters; at most {QUESTION_CHARS_MAX}"
        )));
    }
    let bytes: usize = request.context.iter().map(|file| file.text.len()).sum();
    if bytes > CONTEXT_BYTES_MAX {
        return Err(Fault::invalid(format!(
            "files: {bytes} bytes together; at most {CONTEXT_BYTES_MAX}"
        )));
    }
    check_attachments(&request.attachments)?;
    request.method.check_seats(request.lineup.seats.len())?;
    match &request.roles {
        Some(roles) => request.method.check_roles(roles, request.lineup.seats.len()),
        None => Ok(()),
    }
}

pub(crate) fn seat_info(sitting: &Sitting) -> SeatInfo {
    SeatInfo {
        model: sitting.id.clone(),
        name: sitting.name.clone(),
        stance: sitting.stance.clone(),
        demo: sitting.demo,
        context_tokens: sitting.context_tokens,
    }
}

/// The first event of a run.
pub fn opening_of<'a>(id: &str, events: &'a [Event]) -> Result<&'a Opening> {
    match events.first().map(|event| &event.what) {
        Some(What::RunStarted(opening)) => Ok(opening),
        _ => Err(Fault::internal(format!("run {id} does not begin with its opening"))),
    }
}

/// A run that is complete has nothing left to do. `folder` is where a council's files are.
fn check_resumable(id: &str, events: &[Event], folder: Option<&Path>) -> Result<()> {
    let last = events.last().map(|event| &event.what);
    if !matches!(last, Some(What::RunEnded { ending: Ending::Completed, .. })) {
        return Ok(());
    }
    let next = match folder {
        Some(folder) => {
            format!("read its plan with: althing show {id}; its files are in {}", folder.display())
        }
        None => format!("ask on with: althing ask --continue {id} \"…\""),
    };
    Err(Fault::invalid(format!("run {id} is complete; {next}")))
}

fn last_limit(events: &[Event]) -> Option<f64> {
    events.iter().rev().find_map(|event| match &event.what {
        What::RunResumed { max_cost_usd, .. } => *max_cost_usd,
        _ => None,
    })
}
