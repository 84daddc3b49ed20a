//! Standard: everyone answers alone, criticises all answers, discusses, takes a final position; one
//! of them writes down what they came to.

use super::brief::{self, brief, own_and_others};
use super::form::{self, Form};
use super::order::Rotation;
use super::{Method, Shown};
use crate::event::{Parts, Speech};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::measure;
use crate::parse;
use crate::prompt::Prompt;
use althing_stdx::Result;

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
    shown: Shown { labels: &Form::COMMON.labels(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

/// Headings of one's own answer and of the others'.
const ANSWERS: [&str; 2] = ["Your own answer:", "The other answers:"];

async fn run(floor: &Floor) -> Result<()> {
    floor.phase(1).await?;
    let answers = floor.everyone(|seat| answer(floor, seat)).await?;

    floor.phase(2).await?;
    let critiques = floor.everyone(|seat| critique(floor, seat, &answers)).await?;

    floor.phase(3).await?;
    let talk = discuss(floor, &answers, &critiques).await?;

    floor.phase(4).await?;
    let positions =
        floor.everyone(|seat| position(floor, seat, &answers, &critiques, &talk)).await?;

    floor.phase(5).await?;
    let confidences = measure::confidences(&positions);
    let read = move |text: &str| Form::COMMON.read(text, confidences.clone());
    floor.synthesise(|_| synthesis(floor, &answers, &talk, &positions), read, |_| false).await
}

async fn discuss(floor: &Floor, answers: &[Spoken], critiques: &[Spoken]) -> Result<Vec<Spoken>> {
    let mut talk = Vec::new();
    let mut rotation = Rotation::default();
    let seats: Vec<&Seat> = floor.seats().iter().collect();
    let turns = floor.opening.turns;
    for turn in 0..turns {
        let Some(seat) = rotation.next(floor, &seats, |_| true) else { break };
        let prompt = brief(floor, seat)
            .quotes("The answers everyone gave alone:", brief::quoted(answers))
            .quotes("What each criticised:", brief::quoted(critiques))
            .quotes("The discussion so far:", brief::quoted(&talk))
            .text(format!(
                "Turn {} of {turns}. {} Make one point in at most 120 words: the one that matters \
                 most now. Address whoever it concerns by name.",
                turn + 1,
                hint(turn, turns)
            ));
        talk.extend(floor.say(seat, Cue::message(None, prompt)).await?);
    }
    Ok(talk)
}

/// What a turn is for, by how much of the discussion is left.
fn hint(turn: u32, turns: u32) -> &'static str {
    match (turn, turns - turn - 1) {
        (_, 0) => "This is the last word of the discussion: settle something that can be settled.",
        (_, 1) => "The discussion is nearly over: say what still stands between you.",
        (0, _) => "Open with the disagreement on which the answer depends.",
        (turn, _) if turn * 3 < turns => "Test the strongest claim made so far.",
        (turn, _) if turn * 3 < turns * 2 => {
            "Answer what was put to you, or bring the evidence that is missing."
        }
        _ => "Narrow it down: what can be dropped, what would change your mind?",
    }
}

fn answer(floor: &Floor, seat: &Seat) -> Cue {
    let prompt = brief(floor, seat).text(
        "Answer the question on your own; nobody has spoken yet and the others will read this. \
         Give your answer first, then the reasons that carry it, then where it could be wrong.",
    );
    Cue { speech: Speech::Answer, ..Cue::message(None, prompt) }
}

fn critique(floor: &Floor, seat: &Seat, answers: &[Spoken]) -> Cue {
    let prompt = own_and_others(brief(floor, seat), seat, ANSWERS, answers)
        .text(
            "Criticise the answers, your own included. Look for the claim that is wrong, the \
             assumption nobody stated and the case nobody thought of; name whose it is. Where \
             they are right, say so in a line.",
        )
        .label("AGREEMENTS", "what holds up, and why")
        .label("DISAGREEMENTS", "what is wrong or weak, whose it is, and why")
        .label("MISSING", "what nobody has considered yet");
    let parse = |text: &str| {
        let [agreements, disagreements, missing] =
            parse::sections(text, ["AGREEMENTS", "DISAGREEMENTS", "MISSING"]);
        let found_none = agreements.is_none() && disagreements.is_none() && missing.is_none();
        let agreements = if found_none { text.to_string() } else { agreements.unwrap_or_default() };
        Parts::Critique {
            agreements,
            disagreements: disagreements.unwrap_or_default(),
            missing: missing.unwrap_or_default(),
        }
    };
    Cue { speech: Speech::Critique, parse: Box::new(parse), ..Cue::message(None, prompt) }
}

fn position(
    floor: &Floor,
    seat: &Seat,
    answers: &[Spoken],
    critiques: &[Spoken],
    talk: &[Spoken],
) -> Cue {
    let prompt = own_and_others(brief(floor, seat), seat, ANSWERS, answers)
        .quotes("What each criticised:", brief::quoted(critiques))
        .quotes("The discussion:", brief::quoted(talk))
        .text(
            "State where you stand now. It may be where you began or somewhere else; what counts \
             is what the arguments support, not what most people said.",
        )
        .label(
            "POSITION",
            "your answer to the question in two to five sentences, with the reason that decides \
             it",
        )
        .label("CONFIDENCE", brief::CONFIDENCE);
    Cue { speech: Speech::Position, parse: Box::new(read_position), ..Cue::message(None, prompt) }
}

fn read_position(text: &str) -> Parts {
    let [position, confidence] = parse::sections(text, ["POSITION", "CONFIDENCE"]);
    Parts::Position {
        position: position.unwrap_or_else(|| unlabelled(text)),
        confidence: confidence.and_then(|text| parse::confidence(&text)),
    }
}

/// A position without its label: what stands before the confidence, or all there is.
fn unlabelled(text: &str) -> String {
    let before = parse::before(text, &["CONFIDENCE"]);
    if before.is_empty() { text.to_string() } else { before.to_string() }
}

fn synthesis(floor: &Floor, answers: &[Spoken], talk: &[Spoken], positions: &[Spoken]) -> Prompt {
    let stated = positions.iter().map(|spoken| match &spoken.parts {
        Parts::Position { position, confidence } => (
            format!("{}, confidence {}", spoken.name, brief::in_words(*confidence)),
            position.clone(),
        ),
        _ => spoken.quoted(),
    });
    let prompt = brief::chair(floor)
        .quotes("What each answered at first:", brief::quoted(answers))
        .quotes("The discussion:", brief::quoted(talk))
        .quotes("Where each stands at the end:", stated)
        .text(
            "Write down what this table came to: what all of them can stand behind, and where \
             they part.",
        );
    Form::COMMON.ask(prompt)
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
        check("CONFIDENCE: 40", "CONFIDENCE: 40", Some(40));
    }
}
