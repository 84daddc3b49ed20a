//! Standard: everyone answers alone, criticises all answers, discusses, takes a final position; one
//! of them writes down what they came to.

use super::brief;
use super::form::{self, Form};
use super::order::Rotation;
use super::{Method, Shown};
use crate::event::{Parts, Speech, Synthesis};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::measure;
use crate::parse::{self, FormLine};
use crate::prompt::Prompt;
use crate::transcript::Transcript;
use althing_stdx::Result;
use std::collections::HashSet;

pub(super) const METHOD: Method = Method {
    name: "standard",
    about: "answer alone, criticise, discuss, settle: seeks what all can stand behind",
    seats_min: 2,
    even: false,
    phases: &[
        "Independent Answers",
        "Structured Critique",
        "Discussion",
        "Final Positions",
        "Synthesis",
    ],
    roles: |_| vec![],
    calls: |seats, turns| 3 * seats + turns + 1,
    shown: Shown { lines: &Form::COMMON.lines(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

/// The lines of a critique.
const CRITIQUE: [FormLine; 3] = [
    FormLine { label: "AGREEMENTS", what: "what holds up" },
    FormLine { label: "DISAGREEMENTS", what: "what is wrong or weak, whose it is, why" },
    FormLine { label: "MISSING", what: "what nobody has considered" },
];
/// The lines of a position.
const POSITION: [FormLine; 2] = [
    FormLine {
        label: "POSITION",
        what: "your answer in two to five sentences, with the reason that decides it; if you moved, \
               from what and which argument did it",
    },
    brief::CONFIDENCE,
];

/// Words of each kind of turn.
const ANSWER_WORDS: u64 = 300;
const CRITIQUE_WORDS: u64 = 250;
const MESSAGE_WORDS: u64 = 120;
const POSITION_WORDS: u64 = 150;

/// The discussion so far.
struct Talk {
    said: Transcript,
    critiques: Vec<Spoken>,
    /// Who has read the critiques.
    readers: HashSet<usize>,
    positions: Vec<Spoken>,
}

async fn run(floor: &Floor) -> Result<()> {
    let mut talk = Talk {
        said: Transcript::new("discussion"),
        critiques: vec![],
        readers: HashSet::new(),
        positions: vec![],
    };
    let held = hold(floor, &mut talk).await;
    floor.conclude(held).await?;
    let positions = &talk.positions;
    let (confidences, unstated) = (measure::confidences(positions), measure::unstated(positions));
    let read = move |text: &str| Synthesis {
        unstated: unstated.clone(),
        ..Form::COMMON.read(text, confidences.clone())
    };
    floor.synthesise(|_| synthesis(floor, &talk), read, |_| false).await
}

/// Everything before the synthesis.
async fn hold(floor: &Floor, talk: &mut Talk) -> Result<()> {
    floor.phase(1).await?;
    let answers = floor.everyone(|seat| answer(floor, seat, &talk.said)).await?;
    talk.said.add_round("Answers given alone:", brief::quotes(floor, &answers));

    floor.phase(2).await?;
    talk.critiques = floor.everyone(|seat| critique(floor, seat, &talk.said)).await?;

    floor.phase(3).await?;
    discuss(floor, talk).await?;

    floor.phase(4).await?;
    let Talk { said, critiques, readers, .. } = &*talk;
    let positions = floor.everyone(|seat| {
        let said = with_critiques(floor, seat, said, critiques, &mut readers.clone());
        position(floor, seat, &said)
    });
    talk.positions = positions.await?;
    Ok(())
}

async fn discuss(floor: &Floor, talk: &mut Talk) -> Result<()> {
    let Talk { said, critiques, readers, .. } = talk;
    let mut rotation = Rotation::default();
    let seats: Vec<&Seat> = floor.seats().iter().collect();
    let turns = floor.opening.turns;
    for turn in 0..turns {
        let Some(seat) = rotation.next(floor, &seats, |_| true) else { break };
        if (turn as usize).is_multiple_of(seats.len()) {
            said.open_round(if turn == 0 { "The discussion:" } else { "" });
        }
        let heard = with_critiques(floor, seat, said, critiques, readers);
        let task = format!(
            "Turn {} of {turns}. {} Make one point, the one that matters most now, in at most \
             {MESSAGE_WORDS} words. Address whoever it concerns by name.",
            turn + 1,
            hint(turn, turns)
        );
        let prompt = brief::task(floor, seat, &seat.name, &heard, task);
        if let Some(spoken) = floor.say(seat, Cue::message(None, MESSAGE_WORDS, prompt)).await? {
            said.add(floor.quote(&spoken, &spoken.name, &spoken.text));
        }
    }
    Ok(())
}

/// What was said, with the critiques of the others for a seat that has not read them yet. They open
/// the discussion for it; later they stand in what was made of them.
fn with_critiques(
    floor: &Floor,
    seat: &Seat,
    said: &Transcript,
    critiques: &[Spoken],
    readers: &mut HashSet<usize>,
) -> Transcript {
    if !readers.insert(seat.index) {
        return said.clone();
    }
    let others = critiques.iter().filter(|spoken| spoken.seat != seat.index);
    let quotes = others.map(|spoken| floor.quote(spoken, &spoken.name, &objections(spoken)));
    said.with_aside("What the others criticise in the answers:", quotes.collect())
}

/// What a critique finds wrong and missing: what it agrees with stands in the answers.
fn objections(critique: &Spoken) -> String {
    match &critique.parts {
        Parts::Critique { disagreements, missing, .. }
            if !(disagreements.is_empty() && missing.is_empty()) =>
        {
            [disagreements.as_str(), missing].join("\n").trim().to_string()
        }
        Parts::Critique { agreements, .. } if agreements.is_empty() => brief::NOT_STATED.into(),
        _ => critique.text.clone(),
    }
}

/// What a turn is for, by how much of the discussion is left.
fn hint(turn: u32, turns: u32) -> &'static str {
    match (turn, turns - turn - 1) {
        (_, 0) => "The last word: settle something that can be settled.",
        (_, 1) => "Nearly over: say what still stands between you.",
        (0, _) => "Open with the disagreement on which the answer depends.",
        (turn, _) if turn * 3 < turns => "Test the strongest claim made so far.",
        (turn, _) if turn * 3 < turns * 2 => "Answer what was put to you, or bring evidence.",
        _ => "Narrow it down: what can be dropped, what would change your mind?",
    }
}

fn answer(floor: &Floor, seat: &Seat, said: &Transcript) -> Cue {
    let task = format!(
        "Answer alone; the others will read it. Your answer first, then the reasons that carry it, \
         then where it could be wrong. At most {ANSWER_WORDS} words."
    );
    let prompt = brief::task(floor, seat, &seat.name, said, task);
    Cue { speech: Speech::Answer, ..Cue::message(None, ANSWER_WORDS, prompt) }
}

fn critique(floor: &Floor, seat: &Seat, said: &Transcript) -> Cue {
    let task = format!(
        "Criticise the answers, your own too: the claim that is wrong, the assumption nobody \
         stated, the case nobody thought of. Name whose it is. At most {CRITIQUE_WORDS} words."
    );
    let prompt = form::ask_lines(brief::task(floor, seat, &seat.name, said, task), &CRITIQUE);
    let cue = Cue::message(None, CRITIQUE_WORDS, prompt);
    Cue { speech: Speech::Critique, parse: Box::new(read_critique), ..cue }
}

/// Reads a critique. What stands before the labels counts only where nothing stands under them.
fn read_critique(text: &str) -> Parts {
    let sections = parse::read_form(text, &CRITIQUE);
    let is_empty = sections.iter().all(Option::is_none);
    let [agreements, disagreements, missing] = sections.map(Option::unwrap_or_default);
    let before = || parse::before(text, &CRITIQUE.map(|line| line.label)).to_string();
    let agreements = if is_empty { before() } else { agreements };
    Parts::Critique { agreements, disagreements, missing }
}

fn position(floor: &Floor, seat: &Seat, said: &Transcript) -> Cue {
    let task = "State where you stand now: what the arguments support, not what most people said.";
    let prompt = form::ask_lines(brief::task(floor, seat, &seat.name, said, task), &POSITION);
    let cue = Cue::message(None, POSITION_WORDS, prompt);
    Cue { speech: Speech::Position, parse: Box::new(read_position), ..cue }
}

fn read_position(text: &str) -> Parts {
    let [position, confidence] = parse::read_form(text, &POSITION);
    // Without its label a position is what stands before the first one.
    let before = || parse::before(text, &POSITION.map(|line| line.label)).to_string();
    let position = brief::keep_stated(Some(position.unwrap_or_else(before))).unwrap_or_default();
    Parts::Position { position, confidence: confidence.and_then(|it| parse::confidence(&it)) }
}

/// The positions are what all before came to; where it broke off, some have none.
fn synthesis(floor: &Floor, talk: &Talk) -> Prompt {
    let mut said = match floor.is_broken_off() {
        true => talk.said.clone(),
        false => Transcript::new("positions"),
    };
    if floor.is_broken_off() && talk.readers.is_empty() && !talk.critiques.is_empty() {
        let quote = |it: &Spoken| floor.quote(it, &it.name, &objections(it));
        said.add_round("What they criticise in the answers:", talk.critiques.iter().map(quote));
    }
    let stated = talk.positions.iter().map(|spoken| {
        let (position, confidence) = match &spoken.parts {
            Parts::Position { position, confidence } => (position.as_str(), *confidence),
            _ => (spoken.text.as_str(), None),
        };
        let name = format!("{}, confidence {}", spoken.name, brief::in_words(confidence));
        let position = if position.is_empty() { brief::NOT_STATED } else { position };
        floor.quote(spoken, name, position)
    });
    if !talk.positions.is_empty() {
        said.add_round("Where each stands after the discussion:", stated);
    }
    let task = "Write down what all of them can stand behind, and where they part.";
    Form::COMMON.ask(brief::conclude(floor, &said, task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_as_models_write_them() {
        #[track_caller]
        fn check(text: &str, position: &str, score: Option<u8>) {
            let Parts::Position { position: got, confidence } = read_position(text) else {
                panic!("not a position");
            };
            assert_eq!((got.as_str(), confidence.map(|it| it.score)), (position, score));
        }
        check("POSITION: Go.\nCONFIDENCE: HIGH 80", "Go.", Some(80));
        check("**Confidence:** low\n**Position:** Stay.", "Stay.", Some(30));
        check("Just go.\n\nCONFIDENCE: MEDIUM", "Just go.", Some(60));
        check("Just go.", "Just go.", None);
        check("CONFIDENCE: 40", "", Some(40));
        check("POSITION:\nCONFIDENCE: 40", "", Some(40));
        check("POSITION: None\nCONFIDENCE:", "", None);
        check("Just go.\nPOSITION:\nCONFIDENCE: low", "Just go.", Some(30));
        check("POSITION: your answer in two to five sentences\nCONFIDENCE: HIGH or LOW", "", None);
    }
}
