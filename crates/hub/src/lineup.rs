//! Who sits at the table: by name, or chosen from what is found.

mod choose;
mod estimate;
mod names;
#[cfg(test)]
mod tests;

pub use choose::{HOW_TO_ADD, choose, choose_for};
pub use estimate::{Estimate, estimate};

use crate::config::Config;
use crate::discover::{Found, display_of};
use althing_assembly::demo;
use althing_assembly::event::SeatInfo;
use althing_assembly::methods::SEATS_MAX;
use althing_gateway::{Endpoint, Price, Prices, split_effort};
use althing_stdx::{Fault, Result};
use std::sync::Arc;

/// Who sits, and what the person should know about it.
#[derive(Debug, Clone, Default)]
pub struct Lineup {
    pub seats: Vec<Sitting>,
    /// Whole sentences.
    pub notes: Vec<String>,
}

/// One seat.
#[derive(Debug, Clone)]
pub struct Sitting {
    /// `provider:model`.
    pub id: String,
    /// None: a demo voice.
    pub endpoint: Option<Arc<Endpoint>>,
    /// Behind the provider's name, `@effort` included.
    pub model: String,
    /// Unique at the table.
    pub name: String,
    /// A standing instruction.
    pub stance: Option<String>,
    pub demo: bool,
    /// None where nobody knows it.
    pub price: Option<Price>,
}

impl Sitting {
    /// `model` at `endpoint`, called `display` where somebody gave it a name.
    fn new(
        prices: &Prices,
        endpoint: &Arc<Endpoint>,
        model: &str,
        display: Option<&str>,
    ) -> Sitting {
        let (bare, effort) = split_effort(model);
        let name = display_of(bare, display);
        Sitting {
            id: format!("{}:{model}", endpoint.id),
            endpoint: Some(endpoint.clone()),
            model: model.into(),
            name: effort.map_or(name.clone(), |effort| format!("{name} ({effort})")),
            stance: None,
            demo: false,
            price: prices.price(&endpoint.id, endpoint.provider.name, model),
        }
    }

    /// The demo voice called `name`; it costs nothing.
    fn demo(name: &str) -> Sitting {
        Sitting {
            id: format!("{}{name}", demo::PREFIX),
            endpoint: None,
            model: name.into(),
            name: demo::display(name),
            stance: None,
            demo: true,
            price: Some(Price::ZERO),
        }
    }
}

impl Lineup {
    /// `seats` under names that differ.
    fn new(seats: Vec<Sitting>, notes: Vec<String>) -> Lineup {
        let mut lineup = Lineup { seats: Vec::with_capacity(seats.len()), notes };
        for mut seat in seats {
            seat.name = lineup.free_name(&seat.name);
            lineup.seats.push(seat);
        }
        lineup
    }

    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| self.seats.iter().all(|seat| seat.name != *name);
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        // There are fewer seats than numbers.
        std::iter::once(name.to_string()).chain(numbered).find(is_free).unwrap_or_default()
    }
}

/// Seats exactly these: `provider:model`, a model's id, a name as it is shown, `demo:voice`; each
/// may end in `@effort` and may be named more than once.
pub fn resolve(names: &[String], config: &Config, found: Option<&Found>) -> Result<Lineup> {
    if names.is_empty() || names.len() > SEATS_MAX {
        let count = names.len();
        return Err(Fault::invalid(format!("models: {count} are named; 1 to {SEATS_MAX} can sit")));
    }
    let seats: Result<Vec<Sitting>> =
        names.iter().map(|name| names::seat(name.trim(), config, found)).collect();
    Ok(Lineup::new(seats?, vec![]))
}

/// Whether `resolve` can do better once it knows what the providers list.
pub fn needs_discovery(names: &[String], config: &Config) -> bool {
    names.iter().any(|name| names::known(name.trim(), config).is_none())
}

/// The seat of an earlier run, as it sat then.
pub fn sit_again(seat: &SeatInfo, config: &Config) -> Result<Sitting> {
    let again = names::seat(&seat.model, config, None)?;
    Ok(Sitting { name: seat.name.clone(), stance: seat.stance.clone(), ..again })
}
