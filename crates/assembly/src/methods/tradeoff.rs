//! Trade-off: everyone names alternatives and criteria, all score the common list, one decides. The
//! lists are pooled and the scores computed by us.

mod table;

use super::brief;
use super::form::{self, choose};
use super::list::{self, Item};
use super::{Method, Shown};
use crate::event::{Quoted, Synthesis};
use crate::fit::shorten;
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::measure::{self, Rank};
use crate::parse::{self, FormLine, make_lines};
use crate::prompt::Prompt;
use crate::transcript::{Quote, Transcript};
use althing_stdx::Result;

const EVALUATOR: Option<&str> = Some("EVALUATOR");
const ALTERNATIVES: [FormLine; 4] = make_lines(
    ["ALTERNATIVE A", "ALTERNATIVE B", "ALTERNATIVE C", "ALTERNATIVE D"],
    "a name of at most five words: then what it means in one sentence",
);
const CRITERIA: [FormLine; 6] = make_lines(
    ["CRITERION 1", "CRITERION 2", "CRITERION 3", "CRITERION 4", "CRITERION 5", "CRITERION 6"],
    "a name of at most four words: then what a high score means and why",
);

const RECOMMENDATION: &str = "RECOMMENDATION";
const ANALYSIS: &str = "ANALYSIS";
/// The lines of the decision.
const DECISION: [FormLine; 6] = [
    FormLine {
        label: "ALIGNMENT",
        what: "YES if the tables favour the same alternative, NO if not",
    },
    FormLine { label: RECOMMENDATION, what: "the alternative to choose, by name, in one line" },
    FormLine {
        label: "AGREED",
        what: "what all tables agree on, as short bullets; None if nothing",
    },
    FormLine { label: "TRADEOFFS", what: "what is given up and who disputes it; None if nothing" },
    FormLine {
        label: ANALYSIS,
        what: "why this one, by the criteria that decide, and why not the runner-up",
    },
    FormLine { label: "OTHERWISE", what: "when another alternative is right, and which one" },
];

pub(super) const METHOD: Method = Method {
    name: "tradeoff",
    about: "alternatives scored against criteria: for choices with a price on every side",
    seats_min: 2,
    even: false,
    phases: &["Frame", "Criteria", "Evaluate", "Decision"],
    roles: |seats| vec![("Evaluators", (0..seats).collect())],
    calls: |seats, _| 3 * seats + 1,
    shown: Shown {
        lines: &DECISION,
        parts: &[("RECOMMENDATION: ", RECOMMENDATION), ("", ANALYSIS)],
    },
    run: |floor| Box::pin(run(floor)),
};

/// What is compared, and by what.
#[derive(Default)]
struct Board {
    alternatives: Vec<Item>,
    criteria: Vec<Item>,
}

/// Characters of what a list says about one of its items.
const ABOUT_CHARS_MAX: usize = 240;
/// Words of each kind of turn.
const FRAME_WORDS: u64 = 120;
const CRITERIA_WORDS: u64 = 150;
const SCORES_WORDS: u64 = 250;

async fn run(floor: &Floor) -> Result<()> {
    let mut talk =
        Talk { said: Transcript::new("comparison"), board: Board::default(), scored: vec![] };
    let held = hold(floor, &mut talk).await;
    floor.conclude(held).await?;
    let Talk { said, board, scored } = talk;
    let sheets: Vec<measure::Scores> =
        scored.iter().filter_map(|spoken| table::read(&spoken.text, &board)).collect();
    let ranks = measure::ranks(&sheets);
    let scores = Quoted { name: "Scores".into(), text: in_words(&ranks, &board, sheets.len()) };
    let read = move |text: &str| read(text, &scores);
    floor.synthesise(|_| decide(floor, &said, &ranks), read, |_| false).await
}

/// The comparison so far.
struct Talk {
    said: Transcript,
    board: Board,
    scored: Vec<Spoken>,
}

/// Everything before the decision.
async fn hold(floor: &Floor, talk: &mut Talk) -> Result<()> {
    let Talk { said, board, scored } = talk;
    floor.phase(1).await?;
    let frames = floor.everyone(|seat| frame(floor, seat, said)).await?;
    board.alternatives = pooled(&frames, ALTERNATIVES);
    said.add_round("", listed(floor, "the alternatives", &board.alternatives, letters, &frames));

    floor.phase(2).await?;
    let named = floor.everyone(|seat| criteria(floor, seat, said)).await?;
    board.criteria = pooled(&named, CRITERIA);
    said.add_round("", listed(floor, "the criteria", &board.criteria, numbers, &named));

    floor.phase(3).await?;
    *scored = floor.everyone(|seat| evaluate(floor, seat, said, board)).await?;
    said.add_round("How each participant scored:", brief::quotes(floor, scored));
    Ok(())
}

/// What all of them listed under `lines`, as one list.
fn pooled<const N: usize>(said: &[Spoken], lines: [FormLine; N]) -> Vec<Item> {
    let list = |spoken: &Spoken| -> Vec<Item> {
        let found =
            parse::read_form(&spoken.text, &lines).into_iter().filter_map(brief::keep_stated);
        found.filter_map(|section| Item::read(&section)).collect()
    };
    list::pool(&said.iter().map(list).collect::<Vec<_>>(), N)
}

fn letters(at: usize) -> String {
    char::from(b'A' + at as u8).to_string()
}

fn numbers(at: usize) -> String {
    (at + 1).to_string()
}

/// The common list as one quotation; where nobody used the labels, what they said instead.
fn listed(
    floor: &Floor,
    name: &str,
    items: &[Item],
    key: fn(usize) -> String,
    said: &[Spoken],
) -> Vec<Quote> {
    // One sentence was asked for.
    let short = |about: &'_ str| match shorten(about, ABOUT_CHARS_MAX) {
        Some(short) => short.text.to_string(),
        None => about.to_string(),
    };
    let line = |(at, item): (usize, &Item)| match short(&item.about).as_str() {
        "" => format!("{}. {}", key(at), item.name),
        about => format!("{}. {}: {about}", key(at), item.name),
    };
    let lines: Vec<String> = items.iter().enumerate().map(line).collect();
    match said.first().filter(|_| !items.is_empty()) {
        // Nobody who spoke at the same time knew the mark of the first.
        Some(first) => {
            let whole = Spoken { cut: None, ..first.clone() };
            vec![floor.quote(&whole, format!("{name}, pooled from all"), &lines.join("\n"))]
        }
        None => brief::quotes(floor, said),
    }
}

fn frame(floor: &Floor, seat: &Seat, said: &Transcript) -> Cue {
    let task = "Name the alternatives to choose between: two to four that exclude each other, the one \
                people forget included. Do not judge them, and write no more lines than you have.";
    let prompt = brief::task(floor, seat, &seat.name, said, task);
    let prompt = form::ask_alike(prompt, &ALTERNATIVES);
    Cue::message(EVALUATOR, FRAME_WORDS, prompt)
}

fn criteria(floor: &Floor, seat: &Seat, said: &Transcript) -> Cue {
    let task = "Name the criteria to choose by, three to six, the weightiest first. Each must tell the \
                alternatives apart. Do not score yet.";
    let prompt = brief::task(floor, seat, &seat.name, said, task);
    let prompt = form::ask_alike(prompt, &CRITERIA);
    Cue::message(EVALUATOR, CRITERIA_WORDS, prompt)
}

fn evaluate(floor: &Floor, seat: &Seat, said: &Transcript, board: &Board) -> Cue {
    let keys = |count: usize, key: fn(usize) -> String| (0..count).map(key).collect::<Vec<_>>();
    let columns = keys(board.alternatives.len(), letters).join(", ");
    let rows = keys(board.criteria.len(), numbers).join(", ");
    let task = "Score every alternative on every criterion from 1 (bad) to 10 (good). Use the whole \
                scale.";
    let prompt = brief::task(floor, seat, &seat.name, said, task)
        .label(
            "SCORES",
            format!(
                "a Markdown table, columns headed by letters ({columns}), rows by the criterion's number \
                 ({rows})"
            ),
        )
        .label("REASONING", "what drove the scores that others may dispute, in at most 150 words");
    Cue::message(EVALUATOR, SCORES_WORDS, prompt)
}

fn decide(floor: &Floor, said: &Transcript, ranks: &[Rank]) -> Prompt {
    let line = |rank: &Rank| {
        format!("{} {:.1} (rank {})", letters(rank.alternative), rank.mean, rank.rank)
    };
    let computed = match ranks.iter().map(line).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "No table of scores could be read.".to_string(),
        line => format!("Mean scores over all tables and criteria, as computed: {line}."),
    };
    let task = format!(
        "{computed} Decide. The means are evidence, not the decision: look at where the tables \
         disagree, at criteria that count for more here, and at what cannot be undone."
    );
    form::ask_lines(brief::conclude(floor, said, task), &DECISION)
}

pub(super) fn read(text: &str, scores: &Quoted) -> Synthesis {
    let [alignment, recommended, agreed, tradeoffs, analysis, otherwise] =
        parse::read_form(text, &DECISION);
    let alignment = alignment.and_then(|said| choose(&said, &["YES", "NO"]));
    let recommended =
        brief::keep_stated(recommended).map(|choice| format!("RECOMMENDATION: {choice}"));
    let parts: Vec<String> = recommended.into_iter().chain(brief::keep_stated(analysis)).collect();
    let synthesis = match parts.is_empty() {
        true => form::rest(text, &DECISION, &[RECOMMENDATION, ANALYSIS]),
        false => parts.join("\n\n"),
    };
    let scores = brief::heading(&scores.name, Some(scores.text.clone()));
    let otherwise = brief::heading("When to choose differently", otherwise);
    Synthesis {
        agreed: brief::keep_stated(agreed).unwrap_or_default(),
        more: scores.into_iter().chain(otherwise).collect(),
        ..form::concluded(alignment, synthesis, brief::read_open_points(tradeoffs, "See analysis"))
    }
}

/// The computed scores for the person who reads the result.
fn in_words(ranks: &[Rank], board: &Board, tables: usize) -> String {
    let line = |rank: &Rank| {
        let name = &board.alternatives.get(rank.alternative)?.name;
        Some(format!("{}. {name}: {:.1} of 10", rank.rank, rank.mean))
    };
    let mut lines: Vec<String> = ranks.iter().filter_map(line).collect();
    if !lines.is_empty() {
        let names: Vec<&str> = board.criteria.iter().map(|item| item.name.as_str()).collect();
        lines.push(format!("Criteria: {}. Tables read: {tables}.", names.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
