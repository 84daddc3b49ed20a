//! Who sits at the table: by name, or chosen from what is found.

mod choose;
mod estimate;
mod names;
#[cfg(test)]
mod tests;

pub use choose::{choose, choose_for, how_to_add};
pub use estimate::{Estimate, estimate};

use crate::agents::{Place, Seated};
use crate::book::Book;
use crate::config::AgentConfig;
use crate::discover::{Found, display_of};
use althing_assembly::demo;
use althing_assembly::event::SeatInfo;
use althing_assembly::methods::SEATS_MAX;
use althing_gateway::{Endpoint, Price, Prices, Target, split_effort};
use althing_stdx::{Fault, Kind, Result};
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
    /// `provider:model`, or an alias.
    pub id: String,
    /// Who is asked, in order; empty: a demo voice or an agent.
    pub targets: Vec<Target>,
    /// The agent that speaks, where one does.
    pub agent: Option<Arc<Seated>>,
    /// Unique at the table.
    pub name: String,
    /// A standing instruction.
    pub stance: Option<String>,
    pub demo: bool,
    /// The highest among the targets; none where nobody knows it.
    pub price: Option<Price>,
    /// Tokens of the window that the person wants for this seat; none: what the model has.
    pub context_tokens: Option<u64>,
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
            targets: vec![Target { endpoint: endpoint.clone(), model: model.into() }],
            agent: None,
            name: effort.map_or(name.clone(), |effort| format!("{name} ({effort})")),
            stance: None,
            demo: false,
            price: prices.price(endpoint, model),
            context_tokens: None,
        }
    }

    /// Whoever of `targets` answers, under the alias's own name.
    fn alias(prices: &Prices, alias: &str, targets: Vec<Target>) -> Sitting {
        let price = targets.iter().map(|it| price_of(prices, it));
        Sitting {
            id: alias.into(),
            name: alias.into(),
            stance: None,
            demo: false,
            price: price.reduce(highest).flatten(),
            targets,
            agent: None,
            context_tokens: None,
        }
    }

    /// The same seat, where `other` answers what this one does not. Both are models.
    pub(crate) fn or(mut self, other: Sitting) -> Sitting {
        self.targets.extend(other.targets);
        self.price = highest(self.price, other.price);
        let sizes = [self.context_tokens, other.context_tokens];
        self.context_tokens = sizes.into_iter().flatten().min();
        self
    }

    /// Every model that may speak from this seat, without how hard it thinks: `provider:model`, or
    /// what an agent or a demo voice is called.
    pub(crate) fn models(&self) -> Vec<String> {
        let bare = |model: &str| split_effort(model).0.to_string();
        if self.targets.is_empty() {
            return vec![bare(&self.id)];
        }
        let targets = self.targets.iter();
        targets.map(|it| format!("{}:{}", it.endpoint.id, bare(&it.model))).collect()
    }

    /// Whether nothing of it leaves the person's own machines.
    pub fn is_local(&self) -> bool {
        !self.targets.is_empty() && self.targets.iter().all(|it| it.endpoint.provider.local)
    }

    /// `config`, called `id`. What it costs is between it and its provider.
    pub(crate) fn agent(id: &str, config: AgentConfig) -> Sitting {
        Sitting {
            id: id.into(),
            targets: vec![],
            agent: Some(Arc::new(Seated { config, place: Place::default() })),
            name: id.into(),
            stance: None,
            demo: false,
            price: None,
            context_tokens: None,
        }
    }

    /// The demo voice called `name`; it costs nothing.
    fn demo(name: &str) -> Sitting {
        Sitting {
            id: format!("{}{name}", demo::PREFIX),
            targets: vec![],
            agent: None,
            name: demo::display(name),
            stance: None,
            demo: true,
            price: Some(Price::ZERO),
            context_tokens: None,
        }
    }
}

impl Lineup {
    /// Gives every seat that has no window of its own one of so many tokens.
    pub fn with_context_tokens(mut self, tokens: Option<u64>) -> Lineup {
        for seat in &mut self.seats {
            seat.context_tokens = seat.context_tokens.or(tokens);
        }
        self
    }

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

/// What `target` costs, where it is known.
pub(crate) fn price_of(prices: &Prices, target: &Target) -> Option<Price> {
    prices.price(&target.endpoint, &target.model)
}

/// What a call costs at most, whichever of two answers it.
fn highest(a: Option<Price>, b: Option<Price>) -> Option<Price> {
    let (a, b) = (a?, b?);
    Some(Price {
        input: a.input.max(b.input),
        output: a.output.max(b.output),
        cached: a.cached.max(b.cached),
        cache_write: a.cache_write.max(b.cache_write),
    })
}

/// The one seat that `name` means, as far as the book tells. Nobody is asked.
pub(crate) fn sitting(name: &str, book: &Book) -> Result<Sitting> {
    names::seat(name.trim(), book, book.found())
}

/// A bad name under the field it stands in, which every face calls otherwise.
pub(crate) fn in_field(field: &'static str) -> impl Fn(Fault) -> Fault {
    move |mut fault| {
        if fault.kind == Kind::InvalidParams {
            fault.message = format!("{field}: {}", fault.message);
        }
        fault
    }
}

/// Seats exactly these: an alias, `provider:model`, a model's id, a name as it is shown,
/// `demo:voice`, an agent; each may end in `@effort` and in the size of its window (`@32k`), and may
/// be named more than once. Without findings the book's own count: what the providers listed when last asked.
pub fn resolve(names: &[String], book: &Book, found: Option<&Found>) -> Result<Lineup> {
    if names.is_empty() || names.len() > SEATS_MAX {
        let count = names.len();
        return Err(Fault::invalid(format!("models: {count} are named; 1 to {SEATS_MAX} can sit")));
    }
    let found = found.unwrap_or(book.found());
    let seat = |name: &String| names::seat(name.trim(), book, found);
    let seats: Result<Vec<Sitting>> =
        names.iter().map(|name| seat(name).map_err(in_field("models"))).collect();
    Ok(Lineup::new(seats?, vec![]))
}

/// Whether `resolve` can do better once it knows what the providers list.
pub fn needs_discovery(names: &[String], book: &Book) -> bool {
    names.iter().any(|name| !names::is_known(name.trim(), book))
}

/// The seat of an earlier run, as it sat then.
pub fn sit_again(seat: &SeatInfo, book: &Book) -> Result<Sitting> {
    let again = sitting(&seat.model, book)?;
    let (name, stance) = (seat.name.clone(), seat.stance.clone());
    Ok(Sitting { name, stance, context_tokens: seat.context_tokens, ..again })
}
