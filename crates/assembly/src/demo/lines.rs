//! What the voices say, as sentences with slots. Every sentence has a slot that the question fills,
//! so two questions never get the same sentence; no slot stands before a colon, so that no question
//! can forge a label.
//!
//! Slots of the question: `{topic}` fits after a preposition, `{key}` into `the … part`; `{who}`,
//! `{whom}` and `{act}` exist where somebody should do something, `{a}` and `{b}` in a choice,
//! `{amount}` and `{why}` (both the topic) in questions of that shape. Slots of the table: `{name}`
//! and `{phrase}` of one other speaker, `{other}` and `{words}` of a second one, `{idea}`.

mod builder;
mod scout;
mod sides;
mod skeptic;
pub(super) mod table;

pub(super) use sides::{AGAINST, FOR, SideLines};

/// The sentences of one stance, by what they are for. A line that names the shape of the question
/// goes before one that fits all.
pub(super) struct Lines {
    pub claim: &'static [&'static str],
    pub reason: &'static [&'static str],
    pub limit: &'static [&'static str],
    pub agree: &'static [&'static str],
    pub doubt: &'static [&'static str],
    pub point: &'static [&'static str],
    pub missing: &'static [&'static str],
    pub ask: &'static [&'static str],
    pub reply: &'static [&'static str],
    pub position: &'static [&'static str],
    pub ideas: &'static [&'static str],
    pub change: &'static [&'static str],
    pub alternatives: &'static [&'static str],
    pub criteria: &'static [&'static str],
}

/// By stance: builder, skeptic, scout.
pub(super) const STANCES: [&Lines; 3] = [&builder::LINES, &skeptic::LINES, &scout::LINES];

#[cfg(test)]
pub(super) fn all() -> Vec<&'static str> {
    let stances = STANCES.iter().flat_map(|lines| {
        let Lines { claim, reason, limit, agree, doubt, point, missing, ask, reply, .. } = lines;
        let Lines { position, ideas, change, alternatives, criteria, .. } = lines;
        let talk = [claim, reason, limit, agree, doubt, point, missing, ask, reply];
        talk.into_iter().chain([position, ideas, change, alternatives, criteria])
    });
    let sides = [&FOR, &AGAINST].into_iter().flat_map(|side| {
        let SideLines { claim, reason, doubt, close, concede } = side;
        [claim, reason, doubt, close, concede]
    });
    stances
        .chain(sides)
        .copied()
        .flatten()
        .chain(table::ALL.iter().copied().flatten())
        .copied()
        .collect()
}
