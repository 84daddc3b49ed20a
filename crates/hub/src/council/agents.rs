//! Who plans and who judges: by name, by the task's own list, or chosen from what is found.

use super::{Wanted, programs};
use crate::book::{Book, Library};
use crate::config::Config;
use crate::discover::{self, Found};
use crate::lineup::{self, Lineup, Sitting};
use althing_assembly::council::PLANNERS_MAX;
use althing_assembly::council::task::{Agent, Task};
use althing_assembly::event::SeatInfo;
use althing_stdx::{Fault, Result};
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Seats where nobody says who: three planners and a judge.
const SEATS: usize = 4;
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
    /// A model, and what to call it at the table.
    Model { model: String, name: Option<String> },
    /// A program of the task's own.
    Program(Box<Sitting>),
}

pub(super) async fn seat(wanted: &Wanted, task: &Task, library: &Library) -> Result<Seating> {
    let book = library.book();
    let planners = planners(&wanted.planners, task, &book.config)?;
    let judge = judge(wanted.judge.as_deref(), task, &book.config)?;
    let names: Vec<String> = planners.iter().chain(&judge).filter_map(Called::model).collect();
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
        None if planners.is_empty() && seats.len() > 2 => seats.pop().ok_or_else(nobody)?,
        None => outsider(&seats, found.as_ref(), &book).ok_or_else(nobody)?,
    };
    let mut warnings = Vec::new();
    if seats.iter().any(|seat| seat.id == judge.id) {
        let message = format!("{} judges and has written a plan itself", judge.name);
        warnings.push(("judge_wrote_a_plan".to_string(), message));
    }
    seats.push(Sitting { stance: None, ..judge });
    if seats.len() > PLANNERS_MAX + 1 {
        let count = seats.len() - 1;
        return Err(Fault::invalid(format!("planners: {count} are named; at most {PLANNERS_MAX}")));
    }
    Ok(Seating { lineup: apart(seats), notes: chosen.notes, warnings })
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
                Ok(Sitting { name, stance, ..(**program).clone() })
            }
            _ => lineup::sit_again(seat, book),
        }
    };
    seats.iter().enumerate().map(again).collect()
}

fn planners(named: &[String], task: &Task, config: &Config) -> Result<Vec<Called>> {
    if !named.is_empty() {
        return Ok(named.iter().map(|it| called(it)).collect());
    }
    let agents = task.agents.planners.iter().enumerate();
    agents.map(|(at, agent)| voice_of(agent, &format!("agents.planners[{at}]"), config)).collect()
}

fn judge(named: Option<&str>, task: &Task, config: &Config) -> Result<Option<Called>> {
    match (named, &task.agents.judge) {
        (Some(name), _) => Ok(Some(called(name))),
        (None, Some(agent)) => voice_of(agent, "agents.judge", config).map(Some),
        (None, None) => Ok(None),
    }
}

fn called(model: &str) -> Called {
    Called::Model { model: model.trim().to_string(), name: None }
}

/// Who an agent of a task is: a program, or the name under which the line-up knows a model.
/// `field` is where the task names it.
fn voice_of(agent: &Agent, field: &str, config: &Config) -> Result<Called> {
    if let Some(program) = programs::program(agent, field, config)? {
        return Ok(Called::Program(Box::new(program)));
    }
    let kind = [&agent.kind, &agent.cli, &agent.type_name].into_iter().flatten().next();
    let name = agent.name.clone().filter(|name| !name.trim().is_empty());
    let model = match (&agent.model, kind, &name) {
        (Some(model), Some(kind), _) if !model.contains(':') => format!("{kind}:{model}"),
        (Some(model), _, _) => model.clone(),
        (None, Some(kind), _) => kind.clone(),
        (None, None, Some(name)) => name.clone(),
        (None, None, None) => {
            return Err(Fault::invalid(format!("{field}: it names no model, kind or name")));
        }
    };
    let model = match &agent.reasoning_effort {
        Some(effort) if !model.contains('@') => format!("{model}@{effort}"),
        _ => model,
    };
    Ok(Called::Model { model, name })
}

fn sit(called: &[Called], book: &Book, found: Option<&Found>) -> Result<Vec<Sitting>> {
    let sit = |called: &Called| match called {
        Called::Program(program) => Ok((**program).clone()),
        Called::Model { model, name } => {
            let names = std::slice::from_ref(model);
            let seat = lineup::resolve(names, book, found)?.seats.into_iter().next();
            let seat = seat.ok_or_else(nobody)?;
            Ok(Sitting { name: name.clone().unwrap_or(seat.name.clone()), ..seat })
        }
    };
    called.iter().map(sit).collect()
}

impl Called {
    fn model(&self) -> Option<String> {
        match self {
            Called::Model { model, .. } => Some(model.clone()),
            Called::Program(_) => None,
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
    let others = choose(found, book).seats.into_iter();
    let mut others = others.filter(|it| it.demo == is_demo);
    let is_new = |it: &Sitting| planners.iter().all(|planner| planner.id != it.id);
    others.find(is_new).or_else(|| planners.first().cloned())
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
    use serde_json::{Value, json};

    #[track_caller]
    fn check(agent: Value, want: Result<(&str, Option<&str>), &str>) {
        let agent: Agent = serde_json::from_value(agent).unwrap();
        let world = World { env: Default::default(), cwd: "/".into(), home: "/nowhere".into() };
        let config = Config::load(&world);
        let called = voice_of(&agent, "agents.judge", &config).map(|called| match called {
            Called::Model { model, name } => (model, name),
            Called::Program(program) => panic!("{program:?}"),
        });
        let want = want.map(|(model, name)| (model.to_string(), name.map(String::from)));
        assert_eq!(called.map_err(|fault| fault.message), want.map_err(String::from));
    }

    #[test]
    fn an_agent_means_a_model() {
        check(json!({ "model": "gpt-5.1" }), Ok(("gpt-5.1", None)));
        check(json!({ "model": "gpt-5.1", "kind": "openai" }), Ok(("openai:gpt-5.1", None)));
        check(json!({ "model": "a:b", "kind": "openai", "name": "x" }), Ok(("a:b", Some("x"))));
        check(json!({ "name": "fast" }), Ok(("fast", Some("fast"))));
        check(json!({ "type": "demo:scout" }), Ok(("demo:scout", None)));
        check(json!({ "model": "m", "reasoning_effort": "high" }), Ok(("m@high", None)));
        check(json!({}), Err("agents.judge: it names no model, kind or name"));
    }
}
