//! Settings that tune an answer, each under the name that the dialect has for it.

use super::json::decimal;
use althing_chat::Ask;
use serde_json::{Map, Value};

/// Names of settings in an [`Ask`].
pub(super) const TEMPERATURE: &str = "temperature";
pub(super) const TOP_P: &str = "top_p";
pub(super) const TOP_K: &str = "top_k";
pub(super) const SEED: &str = "seed";
pub(super) const FREQUENCY_PENALTY: &str = "frequency_penalty";
pub(super) const PRESENCE_PENALTY: &str = "presence_penalty";
pub(super) const EFFORT: &str = "effort";
pub(super) const TOOL_CHOICE: &str = "tool_choice";
pub(super) const PARALLEL_TOOL_CALLS: &str = "parallel_tool_calls";

/// Puts the settings of `ask` into `body` under their names in `fields`; returns those that have
/// none there.
pub(super) fn write_sampling(
    ask: &Ask,
    fields: &[(&'static str, &'static str)],
    body: &mut Map<String, Value>,
) -> Vec<&'static str> {
    let mut ignored = vec![];
    for (name, value) in settings(ask) {
        match fields.iter().find(|(known, _)| *known == name) {
            Some((_, field)) => _ = body.insert((*field).into(), value),
            None => ignored.push(name),
        }
    }
    ignored
}

/// What is set, by its name. A penalty of 0 is none, and some models refuse even that.
fn settings(ask: &Ask) -> impl Iterator<Item = (&'static str, Value)> {
    let of = &ask.sampling;
    let penalty = |penalty: Option<f32>| penalty.filter(|it| *it != 0.0).map(decimal);
    let all = [
        (TEMPERATURE, ask.temperature.map(decimal)),
        (TOP_P, of.top_p.map(decimal)),
        (TOP_K, of.top_k.map(Value::from)),
        (SEED, of.seed.map(Value::from)),
        (FREQUENCY_PENALTY, penalty(of.frequency_penalty)),
        (PRESENCE_PENALTY, penalty(of.presence_penalty)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?)))
}
