//! The council: several planners draft alone and at the same time, their plans are made anonymous,
//! a judge who wrote none of them compares and merges, and what comes out is one checked plan. Pure:
//! the planners and the judge are seats of a [`Floor`](crate::Floor), so the log, replay, cost and
//! resume are those of a discussion.

pub mod anonymise;
mod attempt;
mod course;
pub mod extract;
pub mod judge;
mod leash;
pub mod loose_json;
pub mod markdown;
pub mod merge;
pub mod plan;
pub mod prompt;
pub mod schema;
pub mod score;
pub mod task;
#[cfg(test)]
mod tests;
mod words;

use crate::event::Opening;
use crate::floor::Seat;
use crate::methods::{Method, Shown};
use crate::prompt::Prompt;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Planners of one run, and plans that a judge compares.
pub const PLANNERS_MAX: usize = 16;

/// The roles of the seats.
pub const PLANNER: &str = "planner";
pub const JUDGE: &str = "judge";

/// The council as the floor runs it: every seat but the last plans, the last one judges.
pub static METHOD: Method = Method {
    name: "council",
    about: "planners draft alone, a judge compares and merges",
    seats_min: 1,
    even: false,
    phases: &["planning", "judging", "finalizing"],
    roles: |seats| {
        let last = seats.saturating_sub(1);
        vec![(PLANNER, (0..last).collect()), (JUDGE, (last..seats).collect())]
    },
    calls: |seats, _| seats,
    shown: Shown::NOTHING,
    run: |floor| Box::pin(course::run(floor)),
};

/// What a council was started with, besides its seats: enough to hold it again from the log alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The `task_spec` as it was given and checked.
    pub task: Value,
    /// Draws the labels; recorded where nobody gave one.
    #[serde(deserialize_with = "read_seed")]
    pub seed: i64,
    /// How long one attempt may take.
    pub attempt_ms: u64,
    /// How long the whole run may take, each time it is held.
    pub budget_ms: u64,
    /// Valid plans that reach the judge: the first so many to be finished.
    pub plans_max: usize,
    /// Whether the best-scored plan stands in where the judge fails.
    pub fallback: bool,
    /// Files that were asked for and did not go along, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What the person should know from the start, as code and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(String, String)>,
    /// The models behind the seats' own names, which the judge may not read either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Folders of the person, beside the repository, that no plan may tell the judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

/// Reads a seed. Older logs have a negative one as the large number with the same bits.
pub(crate) fn read_seed<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    let seed = number.as_i64().or_else(|| number.as_u64().map(u64::cast_signed));
    seed.ok_or_else(|| D::Error::custom("a seed is a whole number"))
}

/// Returns the prompts of a seat with as little to read as there can be: what must fit its window
/// before anybody is asked. None where there is no task that can be read.
pub(crate) fn shortest_prompts(opening: &Opening, seat: &Seat) -> Vec<Prompt> {
    let Some(Ok(task)) = opening.council.as_deref().map(|terms| task::read(&terms.task)) else {
        return vec![];
    };
    let language = opening.language.as_deref();
    let setting = prompt::Setting { task: &task, language, mark: &opening.mark };
    let has = |role: &str| opening.roles.get(role).is_some_and(|it| it.contains(&seat.index));
    let nothing = prompt::Repository::default();
    let planner = prompt::planner(&setting, &nothing, seat.stance.as_deref(), &prompt::How::Plain);
    let judge = prompt::judge(&setting, &[], &prompt::How::Plain);
    let prompts = [has(PLANNER).then_some(planner), has(JUDGE).then_some(judge)];
    prompts.into_iter().flatten().collect()
}

#[cfg(test)]
#[test]
fn a_negative_seed_stays_what_it_was() {
    let sealed = |seed: &str| {
        let text = format!("{{\"seed\": {seed}, \"labels\": []}}");
        serde_json::from_str::<crate::event::Sealed>(&text).unwrap().seed
    };
    assert_eq!([sealed("-3"), sealed("7"), sealed("18446744073709551613")], [-3, 7, -3]);
}
