//! Who plans and who judges: by name, by the task's own list, or chosen from what is found.

use super::{Wanted, ignored, programs};
use crate::agents::Seated;
use crate::book::{Book, Library};
use crate::config::Config;
use crate::discover::{self, Found, State};
use crate::lineup::{self, Lineup, Sitting};
use althing_agents::Adapter;
use althing_assembly::council::PLANNERS_MAX;
use althing_assembly::council::schema::Problem;
use althing_assembly::council::task::{Agent, Task};
use althing_assembly::event::SeatInfo;
use althing_gateway::{split_context, split_effort};
use althing_stdx::{Fault, Result};
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Seats where nobody says who: three planners and a judge.
const SEATS: usize = 4;
/// Models that may answer in an agent's place; more are refused.
const FALLBACKS_MAX: usize = 8;
/// Planners and, behind them, the judge.
pub(super) struct Seating {
    pub lineup: Lineup,
    /// Whole sentences for the person.
    pub notes: Vec<String>,
    /// Code and message, for the plan's own metadata.
    pub warnings: Vec<(String, String)>,
}

/// Somebody asked for.
enum Called {
    /// A model, what to call it at the table, and who answers in its place, with the field that
    /// names them.
    Model { model: String, name: Option<String>, fallbacks: Vec<String>, field: String },
    /// A program of the task's own.
    Program(Box<Sitting>),
}

pub(super) async fn seat(wanted: &Wanted, task: &Task, library: &Library) -> Result<Seating> {
    let book = library.book();
    let planners = planners(&wanted.planners, task, &book.config)?;
    let judge = judge(wanted.judge.as_deref(), task, &book.config)?;
    let names: Vec<String> = planners.iter().chain(&judge).flat_map(Called::models).collect();
    let is_all_said = !planners.is_empty() && judge.is_some();
    let found = match is_all_said && !lineup::needs_discovery(&names, &book) {
        true => None,
        false => Some(discover::discover(&book, library.gateway(), PATIENCE).await),
    };
    let mut chosen = Lineup::default();
    let mut seats = match planners.is_empty() {
        false => sit(&planners, &book, found.as_ref())?,
        true => {
            chosen = choose(found.as_ref(), &book);
            chosen.seats.clone()
        }
    };
    let judge = match judge {
        Some(judge) => sit(&[judge], &book, found.as_ref())?.remove(0),
        None if planners.is_empty() && seats.len() > 2 => seats.remove(apart_from_all(&seats)),
        None => outsider(&seats, found.as_ref(), &book).ok_or_else(nobody)?,
    };
    let told = examine(&named_by(wanted, task), &book.config).1.into_iter();
    let mut warnings: Vec<(String, String)> =
        told.map(|it| ("field_ignored".to_string(), it)).collect();
    if seats.iter().any(|seat| is_same(seat, &judge)) {
        let message = format!("{} judges, and the same model writes a plan", judge.name);
        warnings.push(("judge_wrote_a_plan".to_string(), message));
    }
    seats.push(Sitting { stance: None, ..judge });
    if seats.len() > PLANNERS_MAX + 1 {
        let count = seats.len() - 1;
        return Err(Fault::invalid(format!("planners: {count} are named; at most {PLANNERS_MAX}")));
    }
    Ok(Seating { lineup: apart(seats), notes: chosen.notes, warnings })
}

/// The agents of a task that are asked, and not somebody else in their place; each with its field.
fn named_by(wanted: &Wanted, task: &Task) -> Vec<(String, Agent)> {
    let planners = task.agents.planners.iter().filter(|_| wanted.planners.is_empty());
    let judge = task.agents.judge.iter().filter(|_| wanted.judge.is_none());
    let planners = planners.enumerate();
    let planners = planners.map(|(at, agent)| (format!("agents.planners[{at}]"), agent.clone()));
    planners.chain(judge.map(|agent| ("agents.judge".to_string(), agent.clone()))).collect()
}

/// Agents, each with the field that names it, that cannot be called, and what of the others does
/// nothing.
pub(super) fn examine(agents: &[(String, Agent)], config: &Config) -> (Vec<Problem>, Vec<String>) {
    let (mut problems, mut told) = (Vec::new(), Vec::new());
    for (field, agent) in agents {
        match voice_of(agent, field, config) {
            Ok(called) => told.extend(ignored::fields(agent, field, called.adapter())),
            Err(fault) => problems.push(super::problem(&fault)),
        }
    }
    (problems, told)
}

/// Models and programs that are named and are not there. A provider that gives no list may have any
/// model.
pub(super) async fn missing(
    wanted: &Wanted,
    agents: &[(String, Agent)],
    library: &Library,
) -> Vec<Problem> {
    let book = library.book();
    let called = called_by(wanted, agents, &book.config);
    let has_models = called.iter().any(|it| matches!(it, (_, Called::Model { .. })));
    let found = match has_models {
        true => discover::discover(&book, library.gateway(), PATIENCE).await,
        false => Found::default(),
    };
    let mut problems = Vec::new();
    for (field, called) in &called {
        match called {
            Called::Program(program) => {
                let fault = program.agent.as_ref().and_then(|it| absent(it, library));
                problems.extend(fault.map(|it| Problem::new(format!("$.{field}"), it.message)));
            }
            Called::Model { model, fallbacks, field, .. } => {
                let others = fallbacks.iter().enumerate();
                let others = others.map(|(at, it)| (format!("{field}.fallback_models[{at}]"), it));
                for (field, model) in std::iter::once((field.clone(), model)).chain(others) {
                    problems.extend(model_problem(model, &field, &book, &found, library));
                }
            }
        }
    }
    problems
}

/// Why a program cannot be started.
fn absent(seated: &Seated, library: &Library) -> Option<Fault> {
    crate::agents::find_missing(library.means(), &library.book().config, seated)
}

/// Everybody who is asked for, with the field that names them; who cannot be called is told elsewhere.
fn called_by(
    wanted: &Wanted,
    agents: &[(String, Agent)],
    config: &Config,
) -> Vec<(String, Called)> {
    let beside = wanted.planners.iter().map(|it| (String::from("planners"), it));
    let beside = beside.chain(wanted.judge.iter().map(|it| (String::from("judge"), it)));
    let mut all: Vec<(String, Called)> =
        beside.map(|(field, it)| (field.clone(), called(it, &field))).collect();
    let is_asked = |field: &str| match field == "agents.judge" {
        true => wanted.judge.is_none(),
        false => wanted.planners.is_empty(),
    };
    let named = agents.iter().filter(|(field, _)| is_asked(field));
    all.extend(
        named.filter_map(|(field, agent)| {
            Some((field.clone(), voice_of(agent, field, config).ok()?))
        }),
    );
    all
}

/// Why nobody answers to `model`.
fn model_problem(
    model: &String,
    field: &str,
    book: &Book,
    found: &Found,
    library: &Library,
) -> Option<Problem> {
    let seat = match resolved(model, field, book, Some(found)) {
        Ok(seat) => seat,
        Err(fault) => return Some(super::problem(&fault)),
    };
    if let Some(agent) = &seat.agent {
        let fault = absent(agent, library)?;
        return Some(Problem::new(format!("$.{field}"), fault.message));
    }
    let listed = |id: &str| {
        let provider = found.providers.iter().find(|it| id.starts_with(&format!("{}:", it.id())));
        provider.filter(|it| it.state == State::Reachable && !it.models.is_empty())
    };
    let (bare, _) = split_effort(&seat.id);
    let provider = listed(bare)?;
    // Many a list has the dated names only, and not the shorter ones that mean the newest of them.
    let short = bare.strip_suffix("-latest").unwrap_or(bare);
    let mut all = provider.models.iter().chain(&provider.disabled);
    let is_there = all.any(|it| it.id.starts_with(short));
    (!is_there).then(|| {
        let what = format!("{} lists no such model: {bare}", provider.id());
        Problem::new(format!("$.{field}"), what)
    })
}

fn nobody() -> Fault {
    Fault::invalid("planners: nobody is named and nobody is found")
}

/// The seats of a council that stopped, as they sat then. Its task says which were programs of
/// its own.
pub(super) fn sit_again(seats: &[SeatInfo], task: &Task, book: &Book) -> Result<Vec<Sitting>> {
    let mut called = planners(&[], task, &book.config)?;
    called.truncate(seats.len().saturating_sub(1));
    let judge = judge(None, task, &book.config)?;
    let is_judge = |at: usize| at + 1 == seats.len();
    let again = |(at, seat): (usize, &SeatInfo)| {
        let called = if is_judge(at) { judge.as_ref() } else { called.get(at) };
        match called {
            Some(Called::Program(program)) => {
                let (name, stance) = (seat.name.clone(), seat.stance.clone());
                let context_tokens = seat.context_tokens;
                Ok(Sitting { name, stance, context_tokens, ..(**program).clone() })
            }
            // Whoever answers in its place is named by the task alone.
            Some(model @ Called::Model { fallbacks, .. }) if !fallbacks.is_empty() => {
                let (name, stance) = (seat.name.clone(), seat.stance.clone());
                let again = sit(std::slice::from_ref(model), book, None)?.remove(0);
                Ok(Sitting { name, stance, context_tokens: seat.context_tokens, ..again })
            }
            _ => lineup::sit_again(seat, book),
        }
    };
    seats.iter().enumerate().map(again).collect()
}

fn planners(named: &[String], task: &Task, config: &Config) -> Result<Vec<Called>> {
    if !named.is_empty() {
        return Ok(named.iter().map(|it| called(it, "planners")).collect());
    }
    let agents = task.agents.planners.iter().enumerate();
    agents.map(|(at, agent)| voice_of(agent, &format!("agents.planners[{at}]"), config)).collect()
}

fn judge(named: Option<&str>, task: &Task, config: &Config) -> Result<Option<Called>> {
    match (named, &task.agents.judge) {
        (Some(name), _) => Ok(Some(called(name, "judge"))),
        (None, Some(agent)) => voice_of(agent, "agents.judge", config).map(Some),
        (None, None) => Ok(None),
    }
}

/// A model that is named beside the task, in `field`.
fn called(model: &str, field: &str) -> Called {
    let model = model.trim().to_string();
    Called::Model { model, name: None, fallbacks: vec![], field: field.to_string() }
}

/// Who an agent of a task is: a program, or the name under which the line-up knows a model.
/// `field` is where the task names it.
fn voice_of(agent: &Agent, field: &str, config: &Config) -> Result<Called> {
    if agent.fallback_models.len() > FALLBACKS_MAX {
        let count = agent.fallback_models.len();
        let text = format!("{field}.fallback_models: {count} are named; at most {FALLBACKS_MAX}");
        return Err(Fault::invalid(text));
    }
    if let Some(program) = programs::program(agent, field, config)? {
        return Ok(Called::Program(Box::new(program)));
    }
    let kind = [&agent.kind, &agent.cli, &agent.type_name].into_iter().flatten().next();
    let name = agent.name.clone().filter(|name| !name.trim().is_empty());
    let at = |model: &String| match kind {
        Some(kind) if !model.contains(':') => format!("{kind}:{model}"),
        _ => model.clone(),
    };
    let model = match (&agent.model, kind, &name) {
        (Some(model), _, _) => at(model),
        (None, Some(kind), _) => kind.clone(),
        (None, None, Some(name)) => name.clone(),
        (None, None, None) => {
            return Err(Fault::invalid(format!("{field}: it names no model, kind or name")));
        }
    };
    let with_effort = |model: String| match &agent.reasoning_effort {
        Some(effort) if !has_effort(&model) => format!("{model}@{effort}"),
        _ => model,
    };
    let fallbacks = agent.fallback_models.iter().map(|model| with_effort(at(model))).collect();
    Ok(Called::Model { model: with_effort(model), name, fallbacks, field: field.to_string() })
}

/// Tells whether a name says how hard to think; it may say how large the window is, too.
fn has_effort(model: &str) -> bool {
    let bare = split_context(model).map_or(model.into(), |(bare, _)| bare);
    split_effort(&bare).1.is_some()
}

fn sit(called: &[Called], book: &Book, found: Option<&Found>) -> Result<Vec<Sitting>> {
    let sit = |called: &Called| match called {
        Called::Program(program) => Ok((**program).clone()),
        Called::Model { model, name, fallbacks, field } => {
            let mut seat = resolved(model, field, book, found)?;
            for (at, fallback) in fallbacks.iter().enumerate() {
                let field = format!("{field}.fallback_models[{at}]");
                let other = resolved(fallback, &field, book, found)?;
                if seat.targets.is_empty() || other.targets.is_empty() {
                    let text = format!("{field}: only models have others");
                    return Err(Fault::invalid(text));
                }
                seat = seat.or(other);
            }
            Ok(Sitting { name: name.clone().unwrap_or(seat.name.clone()), ..seat })
        }
    };
    called.iter().map(sit).collect()
}

/// Who `model` is; `field` is where it is named.
fn resolved(model: &String, field: &str, book: &Book, found: Option<&Found>) -> Result<Sitting> {
    let here = |mut fault: Fault| {
        if let Some(what) = fault.message.strip_prefix("models: ") {
            fault.message = format!("{field}: {what}");
        }
        fault
    };
    let seats = lineup::resolve(std::slice::from_ref(model), book, found).map_err(here)?.seats;
    seats.into_iter().next().ok_or_else(nobody)
}

impl Called {
    /// How it is called, where it is a program.
    fn adapter(&self) -> Option<&Adapter> {
        match self {
            Called::Program(program) => program.agent.as_ref().map(|it| &it.config.adapter),
            Called::Model { .. } => None,
        }
    }

    /// The models it means, in order; none where it is a program.
    fn models(&self) -> Vec<String> {
        match self {
            Called::Model { model, fallbacks, .. } => {
                std::iter::once(model).chain(fallbacks).cloned().collect()
            }
            Called::Program(_) => vec![],
        }
    }
}

/// As many as there are, up to three planners and a judge.
fn choose(found: Option<&Found>, book: &Book) -> Lineup {
    let found = found.unwrap_or(book.found());
    let lineup = lineup::choose(found, SEATS, book);
    // Every demo voice once: then the judge has written no plan.
    match lineup.seats.iter().all(|seat| seat.demo) {
        true => lineup::choose(found, SEATS - 1, book),
        false => lineup,
    }
}

/// Somebody who wrote no plan; a planner where there is nobody else.
fn outsider(planners: &[Sitting], found: Option<&Found>, book: &Book) -> Option<Sitting> {
    let is_demo = planners.iter().all(|seat| seat.demo);
    // One more than plan, so that somebody is left.
    let seats = SEATS.max(planners.len() + 1);
    let others = lineup::choose(found.unwrap_or(book.found()), seats, book).seats.into_iter();
    let mut others = others.filter(|it| it.demo == is_demo);
    let is_new = |it: &Sitting| planners.iter().all(|planner| !is_same(planner, it));
    others.find(is_new).or_else(|| planners.first().cloned())
}

/// The last of `seats` that shares its model with no other; the last where each does.
fn apart_from_all(seats: &[Sitting]) -> usize {
    let is_alone = |at: &usize| {
        let mut others = seats.iter().enumerate().filter(|(other, _)| other != at);
        others.all(|(_, other)| !is_same(other, &seats[*at]))
    };
    (0..seats.len()).rev().find(is_alone).unwrap_or(seats.len() - 1)
}

/// Whether one model may speak for both, whatever they are called and however hard it thinks.
fn is_same(one: &Sitting, other: &Sitting) -> bool {
    if let (Some(one), Some(other)) = (command(one), command(other)) {
        return one == other;
    }
    let others = other.models();
    one.models().iter().any(|model| others.contains(model))
}

/// What is started where somebody sits by a command of the person's own: that tells who it is,
/// whatever it is called.
fn command(seat: &Sitting) -> Option<(&[String], &[String])> {
    let config = &seat.agent.as_ref()?.config;
    match &config.adapter {
        Adapter::Custom(custom) => Some((&custom.words, &config.arguments)),
        Adapter::Known(_) => None,
    }
}

/// The same seats under names that differ.
fn apart(seats: Vec<Sitting>) -> Lineup {
    let mut lineup = Lineup::default();
    let last = seats.len().saturating_sub(1);
    for (at, mut seat) in seats.into_iter().enumerate() {
        let is_taken = |name: &str, lineup: &Lineup| lineup.seats.iter().any(|it| it.name == name);
        let base = match at == last && is_taken(&seat.name, &lineup) {
            true => format!("{} (judge)", seat.name),
            false => seat.name.clone(),
        };
        // There are fewer seats than numbers.
        let numbered = (2..).map(|number| format!("{base} ({number})"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        seat.name = names.find(|name| !is_taken(name, &lineup)).unwrap_or_default();
        lineup.seats.push(seat);
    }
    lineup
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::World;
    use crate::service::words::RouteTarget;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(agent: Value, want: Result<(&[&str], Option<&str>), &str>) {
        let agent: Agent = serde_json::from_value(agent).unwrap();
        let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
        let config = Config::load(&world);
        let called = voice_of(&agent, "agents.judge", &config).map(|called| match called {
            Called::Model { ref name, .. } => (called.models(), name.clone()),
            Called::Program(program) => panic!("{program:?}"),
        });
        let owned = |models: &[&str]| models.iter().map(|it| it.to_string()).collect();
        let want = want.map(|(models, name)| (owned(models), name.map(String::from)));
        assert_eq!(called.map_err(|fault| fault.message), want.map_err(String::from));
    }

    #[test]
    fn an_agent_means_a_model() {
        check(json!({ "model": "gpt-5.1" }), Ok((&["gpt-5.1"], None)));
        check(json!({ "model": "gpt-5.1", "kind": "openai" }), Ok((&["openai:gpt-5.1"], None)));
        check(json!({ "model": "a:b", "kind": "openai", "name": "x" }), Ok((&["a:b"], Some("x"))));
        check(json!({ "name": "fast" }), Ok((&["fast"], Some("fast"))));
        check(json!({ "type": "demo:scout" }), Ok((&["demo:scout"], None)));
        check(json!({ "model": "m", "reasoning_effort": "high" }), Ok((&["m@high"], None)));
        check(
            json!({
                "model": "m", "kind": "openai", "fallback_models": ["n", "xai:o@low"],
                "reasoning_effort": "high"
            }),
            Ok((&["openai:m@high", "openai:n@high", "xai:o@low"], None)),
        );
        let many = json!({ "model": "m", "fallback_models": vec!["n"; 9] });
        check(many, Err("agents.judge.fallback_models: 9 are named; at most 8"));
        check(json!({}), Err("agents.judge: it names no model, kind or name"));
    }

    /// Whether two agents of a task are one.
    #[track_caller]
    fn check_same(one: Value, other: Value, want: bool) {
        let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
        let config = Config::load(&world);
        let [one, other] = [one, other].map(|agent| {
            let agent: Agent = serde_json::from_value(agent).unwrap();
            programs::program(&agent, "agents.judge", &config).unwrap().unwrap()
        });
        assert_eq!(is_same(&one, &other), want, "{one:?} {other:?}");
    }

    #[test]
    fn commands_are_told_apart_by_what_is_started() {
        let own = |name: &str, command: &str| json!({ "name": name, "command": command });
        check_same(own("x", "./a plan"), own("x", "./a judge"), false);
        check_same(own("x", "./a plan"), own("y", "./a plan"), true);
        let more = json!({ "name": "x", "command": "./a", "extra_args": ["judge"] });
        check_same(own("x", "./a"), more, false);
        let claude = |model: &str| json!({ "kind": "claude", "model": model });
        check_same(claude("m"), claude("m"), true);
        check_same(claude("m"), claude("n"), false);
        check_same(claude("m"), own("x", "claude"), false);
    }

    /// Which of `seats` judges the others; `fast` is an alias.
    #[track_caller]
    fn check_judge(seats: &[&str], want: &str) {
        let env = [("OPENAI_API_KEY".to_string(), "sk-proj-abcdefghijklmnop-1234".to_string())];
        let world = World { env: env.into(), cwd: "/".into(), home: "/nowhere".into() };
        let mut book = Book::from(&Config::load(&world));
        let target =
            |model: &str| RouteTarget { provider_id: "openai".into(), model_id: model.into() };
        book.routes.insert("fast".into(), vec![target("gpt-5.1"), target("gpt-4")]);
        let names: Vec<String> = seats.iter().map(|it| it.to_string()).collect();
        let seats = lineup::resolve(&names, &book, None).unwrap().seats;
        assert_eq!(seats[apart_from_all(&seats)].id, want, "{names:?}");
    }

    #[test]
    fn who_judges_is_a_model_that_plans_nowhere() {
        check_judge(&["openai:a", "openai:b"], "openai:b");
        check_judge(&["openai:a", "openai:b", "openai:a@high"], "openai:b");
        check_judge(&["openai:a", "openai:gpt-5.1@low", "fast"], "openai:a");
        check_judge(&["openai:a", "openai:gpt-4", "fast"], "openai:a");
        check_judge(&["openai:a", "openai:a@low"], "openai:a@low");
        check_judge(&["openai:a", "codex-cli:a", "codex-cli:a@high"], "openai:a");
    }
}
