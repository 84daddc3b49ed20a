//! What is counted and not written yet.

use super::{OTHER, Sample};
use crate::store::minutes::{Key, Tally};
use althing_stdx::text::clip;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Rows in memory, should the store not take them. Beyond that models are not told apart, and all
/// counts for the last minute there was room for: the sums stay right.
pub(super) const ROWS_MAX: usize = 4096;
/// Characters of a provider or a model; the rest is cut.
const NAME_CHARS_MAX: usize = 200;

/// Counts by minute and model.
#[derive(Debug, Default)]
pub(super) struct Pending(BTreeMap<Key, Tally>);

impl Pending {
    /// Counts one request; says how many rows there are if it took a new one, else 0.
    pub fn add(&mut self, minute: i64, sample: Sample) -> usize {
        let count = |tokens: Option<u64>| i64::try_from(tokens.unwrap_or(0)).unwrap_or(i64::MAX);
        // What is no amount of money would spoil every sum after it.
        let cost = sample.cost_usd.filter(|usd| usd.is_finite());
        let tally = Tally {
            requests: 1,
            failed: i64::from(sample.failed),
            prompt: count(sample.usage.input),
            completion: count(sample.usage.output),
            cost_usd: cost.unwrap_or(0.0),
            unpriced: i64::from(cost.is_none()),
            cached: count(sample.usage.cached),
        };
        let short = |name: String| match name.len() > NAME_CHARS_MAX {
            true => clip(&name, NAME_CHARS_MAX),
            false => name,
        };
        let key = Key { minute, provider: short(sample.provider), model: short(sample.model) };
        let before = self.0.len();
        self.put(key, &tally);
        if self.0.len() > before { self.0.len() } else { 0 }
    }

    /// Adds a row; one too many goes to a row for the rest.
    pub fn put(&mut self, key: Key, tally: &Tally) {
        let is_full = self.0.len() >= ROWS_MAX;
        let minute = self.0.last_key_value().map_or(key.minute, |(last, _)| last.minute);
        match self.0.entry(key) {
            Entry::Occupied(mut row) => row.get_mut().add(tally),
            Entry::Vacant(row) if !is_full => drop(row.insert(*tally)),
            Entry::Vacant(_) => {
                let rest = Key { minute, provider: OTHER.into(), model: OTHER.into() };
                self.0.entry(rest).or_default().add(tally);
            }
        }
    }

    pub fn take(&mut self) -> Vec<(Key, Tally)> {
        std::mem::take(&mut self.0).into_iter().collect()
    }

    /// The rows of the minutes from `first` to before `end`.
    pub fn between(&self, first: i64, end: i64) -> impl Iterator<Item = (&Key, &Tally)> {
        self.0.iter().filter(move |(key, _)| (first..end).contains(&key.minute))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
