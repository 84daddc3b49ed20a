//! Advocate: everyone but one takes a position; the devil's advocate examines each of them until it
//! has no question left.

use super::brief::{self, brief};
use super::form;
use super::masks::Masks;
use super::order::successor;
use super::{Method, Shown};
use crate::event::Synthesis;
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::parse;
use crate::prompt::Prompt;
use althing_stdx::Result;
use std::collections::HashSet;

const DEFENDER: Option<&str> = Some("DEFENDER");
const ADVOCATE: Option<&str> = Some("ADVOCATE");
/// With this the advocate lets a defender go.
const COMPLETE: &str = "EXAMINATION COMPLETE";
/// What stands for differences where the verdict names nothing open.
const NOTHING_OPEN: &str = "See verdict above for unresolved questions.";

/// The labels of the verdict.
const LABELS: [&str; 4] = ["SURVIVED", "FAILED", "UNRESOLVED", "VERDICT"];

pub(super) const METHOD: Method = Method {
    name: "advocate",
    about: "a devil's advocate examines every position: shows what survives attack",
    seats_min: 3,
    even: false,
    phases: &["Initial Positions", "Cross-Examination", "Verdict"],
    roles: |seats| {
        let last = seats.saturating_sub(1);
        vec![("Defenders", (0..last).collect()), ("Advocate", (last..seats).collect())]
    },
    calls: |seats, turns| {
        let defenders = seats.saturating_sub(1);
        defenders + 2 * slots(defenders, turns) + 1
    },
    shown: Shown { labels: &LABELS, parts: &[("", LABELS[3])] },
    run: |floor| Box::pin(run(floor)),
};

/// Questions of the whole examination.
fn slots(defenders: usize, turns: usize) -> usize {
    turns.max(2 * defenders)
}

async fn run(floor: &Floor) -> Result<()> {
    floor.phase(1).await?;
    let mut positions = Vec::new();
    for seat in floor.role("Defenders") {
        positions.extend(floor.say(seat, position(floor, seat, &positions)).await?);
    }
    if positions.is_empty() {
        return Err(floor.too_few("advocate needs a position to examine and no defender gave one"));
    }

    floor.phase(2).await?;
    let examination = examine(floor, &positions).await?;

    floor.phase(3).await?;
    let masks = Masks::of_roles(floor, positions.iter().chain(&examination));
    let shown = masks.clone();
    let read = move |text: &str| shown.reveal(read(text));
    floor.synthesise(|_| verdict(floor, &masks, &positions, &examination), read, |_| true).await
}

/// Question and answer, defender after defender, until the slots are used up or all are let go.
async fn examine(floor: &Floor, positions: &[Spoken]) -> Result<Vec<Spoken>> {
    let defenders = floor.role("Defenders");
    let Some(mut advocate) = floor.role("Advocate").first().copied() else { return Ok(vec![]) };
    let count = slots(defenders.len(), floor.opening.turns as usize);
    let mut talk: Vec<Spoken> = Vec::new();
    let mut done: HashSet<usize> = HashSet::new();
    for (slot, target) in defenders.iter().cycle().take(count).enumerate() {
        if !floor.is_in(advocate) {
            advocate = successor(floor, advocate).unwrap_or(advocate);
        }
        let is_free = target.index != advocate.index && !done.contains(&target.index);
        if !is_free || !floor.is_in(target) {
            continue;
        }
        let round = format!("Question {} of at most {count}.", slot + 1);
        let cue = question(floor, advocate, target, &round, positions, &talk);
        let Some(asked) = floor.say(advocate, cue).await? else { continue };
        if is_complete(&asked.text) {
            done.insert(target.index);
            talk.push(asked);
            continue;
        }
        let answer = floor.say(target, answer(floor, target, positions, &talk, &asked)).await?;
        talk.push(asked);
        talk.extend(answer);
    }
    Ok(talk)
}

/// Whether a line of a reply ends the examination. Words about ending it do not.
fn is_complete(reply: &str) -> bool {
    reply.lines().any(|line| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || "*_#`\"'“”".contains(c));
        let end = line.char_indices().nth(COMPLETE.len()).map_or(line.len(), |(at, _)| at);
        let rest = &line[end..];
        line[..end].eq_ignore_ascii_case(COMPLETE)
            && (rest.is_empty() || rest.starts_with(['.', '!', ':', ';', ',', '*', '_']))
    })
}

fn position(floor: &Floor, seat: &Seat, positions: &[Spoken]) -> Cue {
    let prompt =
        brief(floor, seat).quotes("Positions taken before you:", brief::quoted(positions)).text(
            "Take a position on the question in at most 250 words and defend it: the claim in one \
             sentence, then what it rests on, most important first. A devil's advocate will \
             examine you on it, so claim no more than you can hold. Where you agree with a \
             position above, say so in a line and add what it lacks.",
        );
    Cue::message(DEFENDER, prompt)
}

fn question(
    floor: &Floor,
    seat: &Seat,
    target: &Seat,
    round: &str,
    positions: &[Spoken],
    talk: &[Spoken],
) -> Cue {
    let is_target = |spoken: &&Spoken| spoken.seat == target.index;
    let (own, others): (Vec<&Spoken>, Vec<&Spoken>) = positions.iter().partition(is_target);
    let name = &target.name;
    let prompt = brief(floor, seat)
        .rule(
            "You are the devil's advocate: your task is to find out what does not hold. You win \
             nothing by being clever and nothing by agreeing.",
        )
        .quotes("The other positions:", brief::quoted(others))
        .quotes(&format!("The position of {name}:"), brief::quoted(own))
        .quotes("The examination so far:", brief::quoted(talk))
        .text(format!(
            "{round} You examine {name} now. Put the one question that would do most damage if it \
             went unanswered, in at most 100 words: an unproven premise, a counter-example, a \
             consequence they would not accept, a contradiction with an earlier answer. If {name} \
             has answered everything that matters, write only the line {COMPLETE}"
        ));
    Cue::message(ADVOCATE, prompt)
}

fn answer(
    floor: &Floor,
    seat: &Seat,
    positions: &[Spoken],
    talk: &[Spoken],
    asked: &Spoken,
) -> Cue {
    let headings = ["Your own position:", "The other positions:"];
    let prompt = brief::own_and_others(brief(floor, seat), seat, headings, positions)
        .quotes("The examination so far:", brief::quoted(talk))
        .quotes("You are asked:", brief::quoted([asked]))
        .text(
            "Answer the question that was put to you in at most 150 words, and nothing else. If \
             it hits, concede exactly what it hits and say what remains of your position; if it \
             misses, show why.",
        );
    Cue::message(DEFENDER, prompt)
}

fn verdict(floor: &Floor, masks: &Masks, positions: &[Spoken], talk: &[Spoken]) -> Prompt {
    brief::chair(floor)
        .quotes("The positions:", masks.quoted(positions))
        .quotes("The examination:", masks.quoted(talk))
        .text(
            "Give the verdict on this examination. A claim survives if it was attacked and \
             answered, fails if it was conceded or the answer did not meet the question, and is \
             unresolved otherwise.",
        )
        .label(
            "SURVIVED",
            "the claims that survived and what answered the attack, as short bullets; None if \
             none",
        )
        .label(
            "FAILED",
            "the claims that failed and what broke them, as short bullets; None if none",
        )
        .label("UNRESOLVED", "what stays open and what would settle it; None if nothing")
        .label(
            "VERDICT",
            "the answer to the question that is left after the examination, the bottom line \
             first, and its limits",
        )
}

pub(super) fn read(text: &str) -> Synthesis {
    let [survived, failed, unresolved, verdict] = parse::sections(text, LABELS);
    let open = unresolved.filter(|text| !brief::is_none(text));
    let verdict = verdict.unwrap_or_else(|| form::rest(text, &LABELS));
    Synthesis {
        agreed: survived.filter(|text| !brief::is_none(text)).unwrap_or_default(),
        more: brief::heading("Failed", failed).into_iter().collect(),
        ..form::concluded("PARTIAL", verdict, open.as_deref().unwrap_or(NOTHING_OPEN))
    }
}

#[cfg(test)]
mod tests;
