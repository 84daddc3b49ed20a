//! Findings as data, line-ups as text. Nothing is asked.

mod choosing;
mod naming;

use super::*;
use crate::config::{Config, World};
use crate::discover::{FoundProvider, ModelSource, State, found};
use althing_stdx::{Fault, Kind};

const KEY: &str = "sk-proj-abcdefghijklmnop-1234";

fn config(vars: &[(&str, &str)]) -> Book {
    let env = vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let nowhere = std::path::PathBuf::from("/nonexistent");
    let world = World { env: env.collect(), cwd: nowhere.clone(), home: nowhere };
    Book::from(&Config::load(&world))
}

/// What discovery would find if the servers listed these: `provider: model, model`. A server that
/// is not named does not answer, or not in time, or refuses the key (`provider!bad_key`).
fn finding(book: &Book, lists: &[&str]) -> Found {
    let providers = book.config.endpoints.iter().map(|configured| {
        let id = configured.endpoint.id.as_str();
        let list = lists.iter().find_map(|list| list.strip_prefix(&format!("{id}: ")));
        let refused = lists.contains(&format!("{id}!bad_key").as_str());
        let kind = if refused { Kind::BadKey } else { Kind::TimedOut };
        let own = configured.models.iter().map(|entry| {
            found(configured, &entry.id, entry.display.as_deref(), ModelSource::Configured)
        });
        let listed = list.into_iter().flat_map(|list| list.split(", "));
        let listed = listed.map(|model| found(configured, model, None, ModelSource::Listed));
        FoundProvider {
            configured: configured.clone(),
            state: match list {
                Some(_) => State::Reachable,
                None => State::Unreachable(Fault::new(kind, "no list")),
            },
            models: own.chain(listed).collect(),
            disabled: vec![],
        }
    });
    Found { providers: providers.collect() }
}

/// One line for each seat: id and name, and the first word of its stance.
fn seats(lineup: &Lineup) -> Vec<String> {
    let stance = |seat: &Sitting| {
        let words: Vec<&str> = seat.stance.iter().flat_map(|it| it.split([' ', ':'])).collect();
        words.get(..3).map_or(String::new(), |words| format!(", {}", words.join(" ")))
    };
    lineup.seats.iter().map(|it| format!("{} = {}{}", it.id, it.name, stance(it))).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}
