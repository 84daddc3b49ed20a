//! Money: set aside before a call is made, and kept for the conclusion.

use super::{Floor, Seat};
use crate::event::Speech;
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};

impl Floor {
    /// Sets money aside for a call with a prompt of so many characters before it is made; a call
    /// that may break the limit is not made. Where a run concludes at its limit, every other call
    /// leaves money for that, and the conclusion is made while any is left.
    pub(super) fn reserve(&self, seat: &Seat, chars: usize, speech: Speech) -> Result<f64> {
        let Some(price) = &seat.price else { return Ok(0.0) };
        let expected = price(&Usage::guess(chars, None));
        let concludes = self.opening.concludes_at_limit;
        let is_conclusion = speech == Speech::Synthesis;
        let kept = if concludes && !is_conclusion { self.conclusion_cost(chars) } else { 0.0 };
        let mut state = self.state();
        if let Some(max) = self.opening.max_cost_usd {
            let spent = state.totals.cost_usd + state.reserved;
            let is_kept_for = concludes && is_conclusion && spent < max;
            if spent + expected + kept > max && !is_kept_for {
                return Err(over_limit(spent, expected, kept, max));
            }
        }
        state.reserved += expected;
        Ok(expected)
    }

    /// What the conclusion is expected to cost: it reads about as much as the call before it.
    fn conclusion_cost(&self, chars: usize) -> f64 {
        let order = self.opening.synthesizers.iter().filter_map(|seat| self.seats.get(*seat));
        let next = order.into_iter().find(|seat| self.is_in(seat));
        let price = next.and_then(|seat| seat.price.as_ref());
        price.map_or(0.0, |price| price(&Usage::guess(chars, None)))
    }

    /// Whether a call that has begun only loses its turn by `fault`: the run concludes.
    pub(super) fn is_at_limit(&self, fault: &Fault) -> bool {
        fault.kind == Kind::CostLimit && self.opening.concludes_at_limit
    }
}

/// The end of a run, or of its talk, for want of money.
fn over_limit(spent: f64, expected: f64, kept: f64, max: f64) -> Fault {
    let conclusion = match kept {
        0.0 => String::new(),
        _ => format!(" and the conclusion ${kept:.4}"),
    };
    let text = format!(
        "stopped at the cost limit: ${spent:.4} spent or under way, the next call may cost \
         ${expected:.4}{conclusion}, and max_cost_usd (ALTHING_MAX_COST, --max-cost) is ${max:.2}"
    );
    Fault::new(Kind::CostLimit, text)
}
