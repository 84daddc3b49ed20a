//! The discussion methods: one file and one row each. Everything that lists, checks or explains
//! methods reads [`ALL`].

mod advocate;
mod answer;
mod brainstorm;
mod brief;
mod delphi;
mod form;
mod list;
mod masks;
mod order;
mod oxford;
mod shown;
mod socratic;
mod standard;
mod tradeoff;

pub(crate) use brief::opening_prompt;
pub use shown::Shown;

use crate::event::Roles;
use crate::floor::Floor;
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::BoxFuture;

/// Role names with their seats, in the method's order.
pub type Casting = Vec<(&'static str, Vec<usize>)>;

/// A way to discuss.
pub struct Method {
    pub name: &'static str,
    /// One line for a person who chooses.
    pub about: &'static str,
    /// Fewest seats, and how many must be left in every phase but the last, which only concludes.
    pub seats_min: usize,
    /// Two sides of equal size.
    pub even: bool,
    /// Names of the phases, in order.
    pub phases: &'static [&'static str],
    /// The role names of this method in order, and who has which of `seats` when nobody says.
    pub roles: fn(seats: usize) -> Casting,
    /// Calls of a whole run, for an estimate.
    pub calls: fn(seats: usize, turns: usize) -> usize,
    /// How its synthesis can be shown while it is written.
    pub shown: Shown,
    pub run: for<'a> fn(&'a Floor) -> BoxFuture<'a, Result<()>>,
}

/// Every method, in the order in which they are listed.
pub static ALL: &[&Method] = &[
    &standard::METHOD,
    &oxford::METHOD,
    &advocate::METHOD,
    &socratic::METHOD,
    &delphi::METHOD,
    &brainstorm::METHOD,
    &tradeoff::METHOD,
];

/// One model alone, which is not a discussion.
pub static ANSWER: &Method = &answer::METHOD;

/// The council, which plans a task.
pub static COUNCIL: &Method = &crate::council::METHOD;

/// Most seats at one table.
pub const SEATS_MAX: usize = 20;

/// The method called `name`.
pub fn method(name: &str) -> Result<&'static Method> {
    let all = ALL.iter().chain([&ANSWER, &COUNCIL]);
    all.copied().find(|method| method.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|method| method.name).collect();
        Fault::invalid(format!("method: no '{name}'; there are {}", names.join(", ")))
    })
}

impl Method {
    /// The beginning of the synthesis that a turn is going to give which has said `text`: as far as
    /// nothing that follows can change it.
    pub fn so_far(&self, text: &str) -> String {
        self.shown.so_far(text)
    }

    /// Whether so many seats can hold this method.
    pub fn check_seats(&self, seats: usize) -> Result<()> {
        // The method's own rule, not a malformed request: faces tell the two apart.
        let refuse = |why: String| Err(Fault::new(Kind::TooFew, why));
        if seats > SEATS_MAX {
            return Err(Fault::invalid(format!(
                "models: {seats} are too many; at most {SEATS_MAX} can sit"
            )));
        }
        if seats < self.seats_min {
            return refuse(format!(
                "{} requires at least {} models, not {seats}",
                self.name, self.seats_min
            ));
        }
        if self.even && !seats.is_multiple_of(2) {
            return refuse(format!("{} requires an even number of models, not {seats}", self.name));
        }
        Ok(())
    }

    /// The default roles of `seats`.
    pub fn default_roles(&self, seats: usize) -> Roles {
        (self.roles)(seats).into_iter().map(|(role, seats)| (role.to_string(), seats)).collect()
    }

    /// Checks roles a person chose: this method's names, and every seat in exactly one role. No
    /// roles at all are the default ones.
    pub fn check_roles(&self, roles: &Roles, seats: usize) -> Result<()> {
        if roles.is_empty() {
            return Ok(());
        }
        let named = (self.roles)(seats);
        let known: Vec<&str> = named.iter().map(|(role, _)| *role).collect();
        if let Some(role) = roles.keys().find(|role| !known.contains(&role.as_str())) {
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(Fault::invalid(format!(
                "roles: {} has no role '{role}'; it has {known}",
                self.name,
            )));
        }
        let mut taken = vec![0usize; seats];
        for seat in roles.values().flatten() {
            match taken.get_mut(*seat) {
                Some(count) => *count += 1,
                None => return Err(Fault::invalid(format!("roles: there is no seat {seat}"))),
            }
        }
        if taken.iter().any(|count| *count != 1) {
            return Err(Fault::invalid("roles: every model must have exactly one role"));
        }
        for (role, default) in &named {
            let got = roles.get(*role).map_or(0, Vec::len);
            if got != default.len() {
                return Err(Fault::invalid(format!(
                    "roles: {role} must have {} models, not {got}",
                    default.len()
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
