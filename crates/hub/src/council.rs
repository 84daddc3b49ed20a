//! A council as a run: who sits, what they read, and the folder that is left behind. The log is the
//! truth; everything else is read from it.

mod agents;
mod context;
mod folder;
mod ignored;
mod programs;
#[cfg(test)]
mod tests;
mod way_on;

use crate::book::Library;
use crate::config::Config;
use crate::lineup::{self, Lineup, Sitting};
use crate::log::{RunLog, now_ms};
use crate::runs::{Run, Runs, seat_info};
use crate::store::new_run_id;
use althing_assembly::council::schema::Problem;
use althing_assembly::council::task::{self, Agent, Task};
use althing_assembly::council::{METHOD, PLANNERS_MAX, Terms};
use althing_assembly::event::{Opening, Quoted, SeatInfo};
use althing_assembly::floor::check_windows;
use althing_assembly::past::Past;
use althing_stdx::{Fault, Result};
pub use folder::folder_of;
pub(crate) use folder::{BATCH, keep};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub use way_on::way_on;

/// How long one attempt may take where nobody says.
pub const ATTEMPT: Duration = Duration::from_secs(300);
/// How long the whole run may take where nobody says.
pub const BUDGET: Duration = Duration::from_secs(1800);
/// Seeds that nobody chose: every program can read these numbers.
const SEED_MAX: i64 = 1 << 53;
/// Problems told of one task; what is wrong beyond them shows when these are mended.
pub const EXAMINED_MAX: usize = 1000;

/// A plan that somebody wants. What is none or empty is as the task says, else as usual.
#[derive(Debug, Default)]
pub struct Wanted {
    /// A `task_spec`.
    pub task: Value,
    pub planners: Vec<String>,
    pub judge: Option<String>,
    pub seed: Option<i64>,
    pub attempt: Option<Duration>,
    /// The root of the repository.
    pub repo: Option<PathBuf>,
    /// A judge who fails ends the run.
    pub no_fallback: bool,
    pub language: Option<String>,
    pub max_cost_usd: Option<f64>,
    /// Tokens of every seat's window that its name gives no other.
    pub context_tokens: Option<u64>,
}

/// A council that has begun.
pub struct Begun {
    pub run: Run,
    /// What the person should know about who sits.
    pub notes: Vec<String>,
    /// Scripted voices speak, since there are no models.
    pub demo: bool,
}

/// A task as it is to be run: read and checked, with what was said beside it.
pub fn check(task: &Value) -> Result<Task> {
    task::read(task).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Fault::invalid(format!("task: {}", lines.join("\n  ")))
    })
}

/// Everything that would keep `wanted` from being held, and what of its task does nothing. At most
/// [`EXAMINED_MAX`] problems.
pub fn examine(wanted: &Wanted, config: &Config) -> (Vec<Problem>, Vec<String>) {
    let task = &wanted.task;
    let mut problems = task::problems_up_to(EXAMINED_MAX, task);
    let (of_agents, told) = agents::examine(&agents_of(task), config);
    problems.extend(of_agents);
    let preferred = task["preferences"]["language"].as_str();
    let language = wanted.language.as_deref().or(preferred).map(language);
    problems.extend(language.and_then(Result::err).map(|fault| problem(&fault)));
    problems.extend(repo_faults(wanted).iter().map(problem));
    problems.truncate(EXAMINED_MAX);
    (problems, told)
}

/// Paths, models and programs of `wanted` that are not there, which takes a look around.
pub async fn find_missing(wanted: &Wanted, library: &Library) -> Vec<Problem> {
    let mut problems = missing_paths(wanted);
    problems.extend(agents::missing(wanted, &agents_of(&wanted.task), library).await);
    problems
}

/// Every agent of a task that can be read, whatever is wrong with the rest, with its field.
fn agents_of(task: &Value) -> Vec<(String, Agent)> {
    let agents = &task["agents"];
    let planners = agents["planners"].as_array().into_iter().flatten().enumerate();
    let planners = planners.map(|(at, agent)| (format!("agents.planners[{at}]"), agent));
    let all = planners.chain([("agents.judge".to_string(), &agents["judge"])]);
    all.filter_map(|(field, agent)| Some((field, serde_json::from_value(agent.clone()).ok()?)))
        .collect()
}

/// What is wrong with the repository of a task, and with each path in it.
fn repo_faults(wanted: &Wanted) -> Vec<Fault> {
    let repo = &wanted.task["repo_context"];
    let paths = repo["paths"].as_array().map(Vec::as_slice).unwrap_or_default();
    let given = repo["root"].as_str().map(PathBuf::from);
    match wanted.repo.clone().or(given) {
        None if paths.is_empty() || !repo["root"].is_null() => vec![],
        None => vec![no_root()],
        Some(root) => match context::root_of(&root) {
            Err(fault) => vec![fault],
            Ok(root) => {
                let paths = paths.iter().enumerate();
                let paths = paths.filter_map(|(at, path)| Some((at, path.as_str()?)));
                paths.filter_map(|(at, path)| context::inside(&root, at, path).err()).collect()
            }
        },
    }
}

/// Paths of a task that lead to nothing: they would be left out.
fn missing_paths(wanted: &Wanted) -> Vec<Problem> {
    let repo = &wanted.task["repo_context"];
    let given = repo["root"].as_str().map(PathBuf::from);
    let root = wanted.repo.clone().or(given).and_then(|root| context::root_of(&root).ok());
    let (Some(root), Some(paths)) = (root, repo["paths"].as_array()) else { return vec![] };
    let missing = |(at, path): (usize, &Value)| {
        let path = path.as_str()?;
        let why = context::inside(&root, at, path).ok()?.err()?;
        Some(Problem::new(format!("$.repo_context.paths[{at}]"), format!("'{path}': {why}")))
    };
    paths.iter().enumerate().filter_map(missing).collect()
}

/// A fault whose message begins with the field, as a problem at that place.
fn problem(fault: &Fault) -> Problem {
    let (field, what) = fault.message.split_once(": ").unwrap_or(("", &fault.message));
    Problem::new(format!("$.{field}"), what)
}

fn no_root() -> Fault {
    Fault::invalid("repo_context.root: paths are given and no root for them")
}

fn language(text: &str) -> Result<String> {
    crate::config::language(text)
        .map_err(|problem| Fault::invalid(format!("preferences.language: {problem}")))
}

impl Runs {
    /// Begins a council. Everything is checked before the first event is written.
    pub async fn plan(&self, wanted: Wanted) -> Result<Begun> {
        crate::agents::guard(self.library.means())?;
        let mut task = check(&wanted.task)?;
        let seating = agents::seat(&wanted, &task, &self.library).await?;
        let root = root(&wanted, &task)?;
        let recorded = recorded(&wanted, root.as_deref(), &self.library.means().world.cwd);
        task.repo_context.root = root.as_ref().map(|root| root.display().to_string());
        let mut lineup = seating.lineup.with_context_tokens(wanted.context_tokens);
        // A program in the folder looks for itself.
        let mut planners = lineup.seats.iter().rev().skip(1);
        let is_blind = planners.any(|seat| seat.agent.is_none());
        let (files, left_out) = read_files(root, &task, is_blind).await?;
        let demo = lineup.seats.iter().any(|seat| seat.demo);
        let config = self.library.book().config.clone();
        let preferences = &task.preferences;
        let seed = wanted.seed.or(preferences.random_seed);
        let budget = preferences.time_budget_sec.map_or(BUDGET, Duration::from_secs);
        let mut terms = Terms {
            task: recorded,
            seed: seed.unwrap_or_else(|| fastrand::i64(0..SEED_MAX)),
            attempt_ms: millis(wanted.attempt.unwrap_or(ATTEMPT).min(budget)),
            budget_ms: millis(budget),
            plans_max: preferences.max_plans.unwrap_or(PLANNERS_MAX),
            fallback: !wanted.no_fallback,
            left_out,
            notes: seating.warnings,
            names: models(&lineup.seats),
            folders: vec![self.library.means().world.home.display().to_string()],
        };
        if demo {
            let message = "scripted demo voices speak, which know nothing".to_string();
            terms.notes.push(("demo".into(), message));
        }
        let language = wanted.language.or_else(|| preferences.language.clone());
        let language = language.as_deref().map(self::language).transpose()?;
        let id = new_run_id(now_ms(), &mut fastrand::Rng::new());
        programs::place(&mut lineup.seats, &terms, &config.data_dir, &id);
        let mut opening = opening(&task, terms, files, &lineup);
        opening.language = language.or_else(|| config.language.value.clone());
        opening.max_cost_usd = Some(wanted.max_cost_usd.unwrap_or(*config.max_cost_usd));
        let offer = self.offer(&lineup.seats).await;
        opening.offered = offer.names();
        let seats = self.seats(&lineup.seats, &offer).await?;
        check_windows(&opening, &METHOD, &seats)?;
        let lease = self.library.store().lease(&id).await?;
        let log = RunLog::start(self.library.store().clone(), lease);
        let run = self.spawn(opening, &METHOD, seats, log, Past::none()).noting(&offer);
        Ok(Begun { run, notes: seating.notes, demo })
    }
}

/// Who sits in a council that goes on, with what they had.
pub(crate) fn sit_again(
    seats: &[SeatInfo],
    terms: &Terms,
    library: &Library,
    run: &str,
) -> Result<Vec<Sitting>> {
    crate::agents::guard(library.means())?;
    let book = library.book();
    let mut seats = agents::sit_again(seats, &check(&terms.task)?, &book)?;
    programs::place(&mut seats, terms, &book.config.data_dir, run);
    Ok(seats)
}

/// The task as it is held: who was named beside it sits instead of whom it names, its repository is
/// the one that is read and its programs are those that `here` has, so that the log alone tells how
/// to go on, from whatever folder.
fn recorded(wanted: &Wanted, root: Option<&Path>, here: &Path) -> Value {
    let mut task = wanted.task.clone();
    if let Some(agents) = task.get_mut("agents").and_then(Value::as_object_mut) {
        if !wanted.planners.is_empty() {
            agents.remove("planners");
        }
        if wanted.judge.is_some() {
            agents.remove("judge");
        }
    }
    if let Some(root) = root {
        task["repo_context"]["root"] = root.display().to_string().into();
    }
    programs::anchor(&mut task, here);
    task
}

/// The folder of the repository, if there is one.
fn root(wanted: &Wanted, task: &Task) -> Result<Option<PathBuf>> {
    let given = task.repo_context.root.as_ref().map(PathBuf::from);
    wanted.repo.clone().or(given).map(|root| context::root_of(&root)).transpose()
}

/// The models that may speak from `seats` and that no seat is called by.
fn models(seats: &[Sitting]) -> Vec<String> {
    let is_new = |model: &String| seats.iter().all(|seat| seat.id != *model);
    seats.iter().flat_map(Sitting::models).filter(is_new).collect()
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}

fn opening(task: &Task, terms: Terms, context: Vec<Quoted>, lineup: &Lineup) -> Opening {
    let seats = lineup.seats.len();
    let chars = task.brief(false).len() + context.iter().map(|it| it.text.len()).sum::<usize>();
    let estimate = lineup::estimate(lineup, (METHOD.calls)(seats, 0), chars);
    Opening {
        attachments: vec![],
        method: METHOD.name.to_string(),
        question: task.task.clone(),
        mark: String::new(),
        context,
        continues: None,
        seats: lineup.seats.iter().map(seat_info).collect(),
        roles: METHOD.default_roles(seats),
        turns: 0,
        synthesizers: vec![],
        synthesizer_mode: "first".into(),
        language: None,
        pause_ms: None,
        max_cost_usd: None,
        concludes_at_limit: false,
        // A part of the price would pass for the whole.
        estimate_usd: estimate.usd.filter(|_| estimate.unpriced == 0),
        tools: vec![],
        offered: vec![],
        stream: true,
        council: Some(Box::new(terms)),
    }
}

/// What goes along: the files that were named, or for those who cannot look, what there is.
async fn read_files(
    root: Option<PathBuf>,
    task: &Task,
    is_blind: bool,
) -> Result<(Vec<Quoted>, Vec<String>)> {
    let paths = task.repo_context.paths.clone();
    match root {
        None if paths.is_empty() => Ok((vec![], vec![])),
        None => Err(no_root()),
        Some(_) if paths.is_empty() && !is_blind => Ok((vec![], vec![])),
        Some(root) => {
            let read = move || match paths.is_empty() {
                true => context::survey(&root),
                false => context::read(&root, &paths),
            };
            tokio::task::spawn_blocking(read).await.map_err(Fault::internal)?
        }
    }
}
