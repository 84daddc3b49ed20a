//! Who plans and who judges: by name, by the task's own list, or chosen from what is found.

use super::Wanted;
use crate::book::{Book, Library};
use crate::discover::{self, Found};
use crate::lineup::{self, Lineup, Sitting};
use althing_assembly::council::PLANNERS_MAX;
use althing_assembly::council::task::{Agent, Task};
use althing_stdx::{Fault, Result};
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Seats where nobody says who: three planners and a judge.
const SEATS: usize = 4;
/// Programs that a task may name as agents.
const PROGRAMS: &[&str] = &["claude", "codex", "gemini", "opencode", "custom"];

/// Planners and, behind them, the judge.
pub(super) struct Seating {
    pub lineup: Lineup,
    /// Whole sentences for the person.
    pub notes: Vec<String>,
    /// Code and message, for the plan's own metadata.
    pub warnings: Vec<(String, String)>,
}

/// Somebody asked for, and what to call them at the table.
struct Called {
    model: String,
    name: Option<String>,
}

pub(super) async fn seat(wanted: &Wanted, task: &Task, library: &Library) -> Result<Seating> {
    let planners = planners(wanted, task)?;
    let judge = judge(wanted, task)?;
    let book = library.book();
    let names: Vec<String> = planners.iter().chain(&judge).map(|it| it.model.clone()).collect();
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

fn planners(wanted: &Wanted, task: &Task) -> Result<Vec<Called>> {
    if !wanted.planners.is_empty() {
        return Ok(wanted.planners.iter().map(|it| called(it)).collect());
    }
    let agents = task.agents.planners.iter().enumerate();
    agents.map(|(at, agent)| voice_of(agent, &format!("agents.planners[{at}]"))).collect()
}

fn judge(wanted: &Wanted, task: &Task) -> Result<Option<Called>> {
    match (&wanted.judge, &task.agents.judge) {
        (Some(name), _) => Ok(Some(called(name))),
        (None, Some(agent)) => voice_of(agent, "agents.judge").map(Some),
        (None, None) => Ok(None),
    }
}

fn called(model: &str) -> Called {
    Called { model: model.trim().to_string(), name: None }
}

/// The name under which the line-up knows an agent of a task. This is the one place where an agent
/// that is a program will be looked up; `field` is where the task names it.
fn voice_of(agent: &Agent, field: &str) -> Result<Called> {
    let kind = [&agent.kind, &agent.cli, &agent.type_name].into_iter().flatten().next();
    let name = agent.name.clone().filter(|name| !name.trim().is_empty());
    let is_program = |it: &String| PROGRAMS.contains(&it.as_str());
    if agent.command.is_some() || kind.is_some_and(is_program) {
        let kind = kind.map_or("custom", String::as_str);
        return Err(Fault::invalid(format!(
            "{field}.kind: '{kind}' is a program; name an API model such as openai:gpt-5.1"
        )));
    }
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
    Ok(Called { model, name })
}

fn sit(called: &[Called], book: &Book, found: Option<&Found>) -> Result<Vec<Sitting>> {
    let names: Vec<String> = called.iter().map(|it| it.model.clone()).collect();
    let seats = lineup::resolve(&names, book, found)?.seats;
    let named = |(seat, called): (Sitting, &Called)| match &called.name {
        Some(name) => Sitting { name: name.clone(), ..seat },
        None => seat,
    };
    Ok(seats.into_iter().zip(called).map(named).collect())
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
    use serde_json::{Value, json};

    #[track_caller]
    fn check(agent: Value, want: Result<(&str, Option<&str>), &str>) {
        let agent: Agent = serde_json::from_value(agent).unwrap();
        let called = voice_of(&agent, "agents.judge").map(|it| (it.model, it.name));
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
        for program in [json!({ "cli": "codex" }), json!({ "command": "./mine", "kind": "codex" })]
        {
            check(
                program,
                Err("agents.judge.kind: 'codex' is a program; name an API model such as \
                     openai:gpt-5.1"),
            );
        }
    }
}
