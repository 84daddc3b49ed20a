//! Oxford: two sides argue a motion in openings, rebuttals and closings; a judge who is not told
//! who is who decides.

use super::brief::{self, brief};
use super::form::{self, Form};
use super::masks::Masks;
use super::{Method, Shown};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::prompt::Prompt;
use althing_stdx::Result;

const FOR: &str = "FOR";
const AGAINST: &str = "AGAINST";

pub(super) const METHOD: Method = Method {
    name: "oxford",
    about: "two sides debate a motion and a judge decides: finds the strongest case on each side",
    seats_min: 2,
    even: true,
    phases: &["Opening Statements", "Rebuttals", "Closing Arguments", "Judgement"],
    roles: |seats| {
        let side = |first| (first..seats).step_by(2).collect();
        vec![(FOR, side(0)), (AGAINST, side(1))]
    },
    calls: |seats, _| 2 * seats + 2 + 1,
    shown: Shown { labels: &FORM.labels(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

pub(super) const FORM: Form = Form {
    verdict: (
        "CONSENSUS",
        "FOR if that side carried the motion, AGAINST if the other did, PARTIAL if neither did",
    ),
    words: &[FOR, AGAINST, "PARTIAL"],
    synthesis: "the judgement: the decision first, then the clash that decided it and which \
                argument won it, then what the motion's answer should be in practice",
    open: (
        "DIFFERENCES",
        "what neither side settled and what evidence would settle it; None if nothing",
    ),
    evolution: "what a side conceded, dropped or changed on the way; None if nothing",
    ..Form::COMMON
};

async fn run(floor: &Floor) -> Result<()> {
    let mut debate: Vec<Spoken> = Vec::new();
    for (phase, round) in [(1, "opening"), (2, "rebuttal")] {
        check_sides(floor)?;
        floor.phase(phase).await?;
        for (side, seat) in speakers(floor) {
            check_sides(floor)?;
            if floor.is_in(seat) {
                let cue = speech(floor, seat, side, round, &debate);
                debate.extend(floor.say(seat, cue).await?);
            }
        }
    }

    check_sides(floor)?;
    floor.phase(3).await?;
    for side in [FOR, AGAINST] {
        debate.extend(close(floor, side, &debate).await?);
    }

    floor.phase(4).await?;
    let masks = Masks::of_roles(floor, &debate);
    let shown = masks.clone();
    let read = move |text: &str| shown.reveal(FORM.read(text, vec![]));
    floor.synthesise(|_| judgement(floor, &masks, &debate), read, |_| true).await
}

/// Both sides in turn: the first for, the first against, the second for and so on.
fn speakers(floor: &Floor) -> Vec<(&'static str, &Seat)> {
    let (pro, con) = (floor.role(FOR), floor.role(AGAINST));
    pro.into_iter().zip(con).flat_map(|(pro, con)| [(FOR, pro), (AGAINST, con)]).collect()
}

/// A debate needs a speaker on either side.
fn check_sides(floor: &Floor) -> Result<()> {
    for side in [FOR, AGAINST] {
        if !floor.role(side).iter().any(|seat| floor.is_in(seat)) {
            return Err(floor.too_few(format!(
                "oxford needs a living speaker on each side and {side} has none left"
            )));
        }
    }
    Ok(())
}

/// The closing of a side: its first speaker's, or that of the first who can give one.
async fn close(floor: &Floor, side: &'static str, debate: &[Spoken]) -> Result<Option<Spoken>> {
    for seat in floor.role(side) {
        check_sides(floor)?;
        if !floor.is_in(seat) {
            continue;
        }
        let cue = speech(floor, seat, side, "closing", debate);
        if let Some(spoken) = floor.say(seat, cue).await? {
            return Ok(Some(spoken));
        }
    }
    Ok(None)
}

fn speech(
    floor: &Floor,
    seat: &Seat,
    side: &'static str,
    round: &'static str,
    debate: &[Spoken],
) -> Cue {
    let stand = if side == FOR { "for" } else { "against" };
    let prompt = brief(floor, seat).rule(format!(
        "This is a debate. The question is the motion and you were given the side {side}: argue \
         {stand} it whatever you think yourself, with true premises only. You may concede a \
         point; you may not change sides."
    ));
    let said: Vec<&Spoken> = debate.iter().collect();
    let (heading, heard, task) = match round {
        "opening" => (
            "Your own side so far:",
            said.into_iter().filter(|spoken| spoken.role == Some(side)).collect(),
            "Open your case in at most 300 words: the two or three arguments that must hold for \
             your side to win, each with its evidence. Do not answer the other side yet, and do \
             not repeat what your own side has said.",
        ),
        "rebuttal" => (
            "The debate so far:",
            said,
            "Rebut in at most 250 words. Take the other side's strongest argument as its speaker \
             would put it, show where it fails, then repair what they damaged of yours.",
        ),
        _ => (
            "The debate:",
            said,
            "Close for your side in at most 200 words: the clash on which the motion turns, why \
             it falls to you, and the other side's best point that still stands. No new \
             arguments.",
        ),
    };
    let prompt = prompt.quotes(heading, brief::quoted(heard)).text(task);
    Cue { round: Some(round), ..Cue::message(Some(side), prompt) }
}

fn judgement(floor: &Floor, masks: &Masks, debate: &[Spoken]) -> Prompt {
    let prompt = brief::chair(floor)
        .quotes("The debate, the question being its motion:", masks.quoted(debate))
        .text(
            "Judge the debate. What decides is which arguments were left standing after they were \
             attacked, not which side you would have taken, nor how many spoke for it.",
        );
    FORM.ask(prompt)
}
