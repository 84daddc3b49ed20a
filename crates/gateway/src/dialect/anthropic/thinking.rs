//! How hard a Claude thinks: newer models choose the amount themselves and take an effort, older
//! ones take a budget of tokens, the oldest do not think.

use althing_chat::{Ask, Role, ToolChoice};
use serde_json::{Value, json};

/// Budgets for the words of effort; stronger words get the last one.
const BUDGETS: &[(&str, u32)] = &[("minimal", 1024), ("low", 2048), ("medium", 8192)];
const BUDGET_HIGH: u32 = 16384;
/// The API takes no smaller budget.
const BUDGET_MIN: u32 = 1024;

enum Way {
    /// Adaptive thinking and an effort: 4.6 and later.
    Effort,
    /// 3.7 to 4.5, and servers of others that copy this API.
    Budget,
    Never,
}

/// Puts the wish for thinking into `body`; tells whether the model will think.
pub(super) fn write(model: &str, ask: &Ask, max_tokens: u32, body: &mut Value) -> bool {
    let effort = ask.effort.as_deref().filter(|_| !is_off(ask));
    // A model that is made to call a tool may not think first.
    let is_forced = matches!(ask.tool_choice, Some(ToolChoice::Any | ToolChoice::Named(_)));
    let Some(effort) = effort.filter(|_| !is_forced) else { return false };
    match way(model) {
        Way::Effort => {
            // Without `display` the thoughts of the newest models stay hidden.
            body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
            body["output_config"] = json!({ "effort": effort });
            true
        }
        Way::Budget => budget(effort, ask, max_tokens).is_some_and(|tokens| {
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens });
            true
        }),
        Way::Never => false,
    }
}

/// Tells whether the model is asked not to think.
pub(super) fn is_off(ask: &Ask) -> bool {
    matches!(ask.effort.as_deref(), Some("none" | "off"))
}

/// From 4.7 on any temperature but the default is refused.
pub(super) fn takes_temperature(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

/// At most half of the limit, which counts thoughts and answer together. None where that is too
/// little; and none within a turn of tool calls: there the API wants the thoughts before them
/// back, which nobody kept.
fn budget(effort: &str, ask: &Ask, max_tokens: u32) -> Option<u32> {
    let row = BUDGETS.iter().find(|(word, _)| *word == effort);
    let budget = row.map_or(BUDGET_HIGH, |(_, tokens)| *tokens).min(max_tokens / 2);
    let in_turn = ask.messages.last().is_some_and(|message| message.role == Role::Tool);
    (budget >= BUDGET_MIN && !in_turn).then_some(budget)
}

fn way(model: &str) -> Way {
    match version(model) {
        Some(version) if version >= (4, 6) => Way::Effort,
        Some(version) if version >= (3, 7) => Way::Budget,
        Some(_) => Way::Never,
        None if model.contains("claude") => Way::Effort,
        None => Way::Budget,
    }
}

/// Major and minor of a Claude: (4, 5) of `claude-sonnet-4-5-20250929`, (3, 7) of
/// `claude-3-7-sonnet-latest`, (4, 0) of `claude-opus-4-20250514`.
fn version(model: &str) -> Option<(u32, u32)> {
    let name = &model[model.find("claude")?..];
    // Longer runs of digits are dates.
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    let mut parts = name.split(['-', '.', '@']).skip_while(|part| number(part).is_none());
    let major = number(parts.next()?)?;
    Some((major, parts.next().and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_every_form_of_name() {
        for (model, want) in [
            ("claude-sonnet-4-5-20250929", Some((4, 5))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-3-haiku-20240307", Some((3, 0))),
            ("claude-opus-4-7", Some((4, 7))),
            ("claude-sonnet-5", Some((5, 0))),
            ("anthropic/claude-opus-4.6", Some((4, 6))),
            ("claude-next", None),
            ("MiniMax-M2.7", None),
        ] {
            assert_eq!(version(model), want, "{model}");
        }
    }
}
