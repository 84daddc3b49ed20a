//! What a run may cost, before the first call. Rough on purpose: it decides whether a run begins,
//! and the tokens that are really counted decide whether it goes on.

use super::Lineup;
use althing_chat::Usage;
use althing_gateway::Price;

/// Tokens of the instructions around a question.
const INSTRUCTION_TOKENS: u64 = 400;
/// Earlier answers that a prompt quotes, at most; prompts are cut beyond some such length.
const QUOTED_ANSWERS_MAX: u64 = 50;

/// What a run may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// US dollars for the seats with a known price; none where there is no such seat.
    pub usd: Option<f64>,
    /// Seats without a known price.
    pub unpriced: usize,
    /// Whether every seat is known to cost nothing.
    pub free: bool,
}

/// The cost of `calls` calls, shared evenly by the seats, about a question (and files) of so many
/// characters. On average a call quotes half of what was said in the whole run.
pub fn estimate(lineup: &Lineup, calls: usize, question_chars: usize) -> Estimate {
    let quoted = (calls.saturating_sub(1) as u64 / 2).min(QUOTED_ANSWERS_MAX);
    let around = INSTRUCTION_TOKENS + quoted * Usage::ANSWER_EXPECTED;
    let question = Usage::guess(question_chars, None);
    let call = Usage { input: question.input.map(|tokens| tokens + around), ..question };
    let prices: Vec<Price> = lineup.seats.iter().filter_map(|seat| seat.price).collect();
    let seats = lineup.seats.len();
    let calls_each = calls as f64 / seats.max(1) as f64;
    let usd = prices.iter().filter_map(|price| price.cost(&call)).map(|usd| usd * calls_each).sum();
    Estimate {
        usd: (!prices.is_empty()).then_some(usd),
        unpriced: seats - prices.len(),
        free: prices.len() == seats && prices.iter().all(|price| *price == Price::ZERO),
    }
}
