//! Advocate: everyone but one takes a position; the devil's advocate examines each of them until it
//! has no question left.

use super::brief;
use super::form;
use super::masks::Masks;
use super::order::successor;
use super::{Method, Shown};
use crate::event::Synthesis;
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::parse::{self, FormLine};
use crate::prompt::Prompt;
use crate::transcript::Transcript;
use althing_stdx::Result;
use std::collections::HashSet;

const DEFENDER: Option<&str> = Some("DEFENDER");
const ADVOCATE: Option<&str> = Some("ADVOCATE");
/// With this the advocate lets a defender go.
const COMPLETE: &str = "EXAMINATION COMPLETE";
/// What stands for differences where the verdict names nothing open.
const NOTHING_OPEN: &str = "See verdict above for unresolved questions.";

const VERDICT: &str = "VERDICT";
/// The lines of the verdict.
const LINES: [FormLine; 4] = [
    FormLine {
        label: "SURVIVED",
        what: "the claims that survived and why, as short bullets; None if none",
    },
    FormLine { label: "FAILED", what: "the claims that failed and what broke them; None if none" },
    FormLine {
        label: "UNRESOLVED",
        what: "what stays open and what would settle it; None if nothing",
    },
    FormLine {
        label: VERDICT,
        what: "the answer that is left, the bottom line first, and its limits",
    },
];

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
    shown: Shown { lines: &LINES, parts: &[("", VERDICT)] },
    run: |floor| Box::pin(run(floor)),
};

/// Questions of the whole examination.
fn slots(defenders: usize, turns: usize) -> usize {
    turns.max(2 * defenders)
}

/// Words of each kind of turn.
const POSITION_WORDS: u64 = 250;
const QUESTION_WORDS: u64 = 100;
const REPLY_WORDS: u64 = 150;

/// The examination so far, under masks.
struct Hearing<'a> {
    floor: &'a Floor,
    masks: Masks,
    said: Transcript,
    /// Who examines, and gives the verdict.
    advocate: Option<&'a Seat>,
}

impl Hearing<'_> {
    fn hear<'s>(&mut self, spoken: impl IntoIterator<Item = &'s Spoken>) {
        let quotes = spoken.into_iter().map(|spoken| self.masks.quote(self.floor, spoken));
        quotes.for_each(|quote| self.said.add(quote));
    }

    /// A prompt for a defender, who answers for one position only: not with the others'.
    fn defence(&self, seat: &Seat, task: impl std::fmt::Display) -> Prompt {
        brief::task(self.floor, seat, self.masks.of(seat.index), &self.defence_said(seat), task)
    }

    /// The examination as a defender has read it so far, who may also conclude.
    fn defence_said(&self, seat: &Seat) -> Transcript {
        self.said.with_first_round_of(self.masks.of(seat.index), "defence")
    }

    /// A prompt for `seat`.
    fn task(&self, seat: &Seat, task: impl std::fmt::Display) -> Prompt {
        brief::task(self.floor, seat, self.masks.of(seat.index), &self.said, task)
    }
}

async fn run(floor: &Floor) -> Result<()> {
    let masks = Masks::of_roles(floor, &[("Defenders", "DEFENDER"), ("Advocate", "ADVOCATE")]);
    let advocate = floor.role("Advocate").first().copied();
    let mut hearing = Hearing { floor, masks, said: Transcript::new("examination"), advocate };
    let held = hold(&mut hearing).await;
    floor.conclude(held).await?;
    let shown = hearing.masks.clone();
    let read = move |text: &str| shown.reveal(read(text));
    let verdict = |seat: &Seat| verdict(&hearing, seat);
    floor.synthesise_first_by(hearing.advocate, verdict, read, |_| true).await
}

/// Everything before the verdict.
async fn hold(hearing: &mut Hearing<'_>) -> Result<()> {
    let floor = hearing.floor;
    floor.phase(1).await?;
    if take_positions(hearing).await? == 0 {
        return Err(floor.too_few("advocate needs a position to examine and no defender gave one"));
    }
    floor.phase(2).await?;
    examine(hearing).await
}

/// Takes the positions, each without knowing the others'; returns how many there are.
async fn take_positions(hearing: &mut Hearing<'_>) -> Result<usize> {
    let floor = hearing.floor;
    let (mut positions, mut broken_off) = (Vec::new(), Ok(()));
    for seat in floor.role("Defenders") {
        match floor.say(seat, position(hearing, seat)).await {
            Ok(said) => positions.extend(said),
            Err(fault) => {
                broken_off = Err(fault);
                break;
            }
        }
    }
    if !positions.is_empty() {
        hearing.said.open_round("The positions:");
        hearing.hear(&positions);
    }
    broken_off.map(|()| positions.len())
}

/// Question and answer, defender after defender, until the slots are used up or all are let go.
async fn examine(hearing: &mut Hearing<'_>) -> Result<()> {
    let floor = hearing.floor;
    let defenders = floor.role("Defenders");
    let count = slots(defenders.len(), floor.opening.turns as usize);
    let mut done: HashSet<usize> = HashSet::new();
    for (slot, target) in defenders.iter().cycle().take(count).enumerate() {
        let Some(advocate) = hearing.advocate.map(|seat| living(floor, seat)) else { break };
        hearing.advocate = Some(advocate);
        let is_free = target.index != advocate.index && !done.contains(&target.index);
        if !is_free || !floor.is_in(target) {
            continue;
        }
        hearing.said.open_round(if slot == 0 { "The examination:" } else { "" });
        let round = format!("Question {} of at most {count}.", slot + 1);
        let cue = question(hearing, advocate, target, &round);
        let Some(asked) = floor.say(advocate, cue).await? else { continue };
        hearing.hear([&asked]);
        if is_complete(&asked.text) {
            done.insert(target.index);
            continue;
        }
        let answered = floor.say(target, answer(hearing, target)).await?;
        hearing.hear(&answered);
    }
    Ok(())
}

/// Who examines: `seat`, or who takes over from it.
fn living<'a>(floor: &'a Floor, seat: &'a Seat) -> &'a Seat {
    if floor.is_in(seat) { seat } else { successor(floor, seat).unwrap_or(seat) }
}

/// Whether a reply ends the examination, wherever in it. Words about ending it do not: quoted, denied
/// or conditional ones, and those behind which a question follows after all.
fn is_complete(reply: &str) -> bool {
    let lines = reply.lines().filter(|line| !line.trim_start().starts_with('>'));
    let text = lines.collect::<Vec<_>>().join("\n");
    let (first, second) = COMPLETE.split_once(' ').unwrap_or((COMPLETE, ""));
    let words: Vec<(usize, &str)> = parse::words_at(&text).collect();
    words.windows(2).any(|pair| {
        let [(start, one), (at, two)] = *pair else { return false };
        let behind = &text[at + two.len()..];
        parse::is_one_of(one, &[first])
            && parse::is_one_of(two, &[second])
            && text[start + one.len()..at].trim().is_empty()
            && !behind.contains('?')
            && parse::is_stated_between(&text[..start], behind)
    })
}

fn position(hearing: &Hearing, seat: &Seat) -> Cue {
    let task = format!(
        "Take a position on the question in at most {POSITION_WORDS} words: the claim in one sentence, \
         then what it rests on. A devil's advocate will examine you, so claim no more than you can \
         hold."
    );
    Cue::message(DEFENDER, POSITION_WORDS, hearing.task(seat, task))
}

fn question(hearing: &Hearing, seat: &Seat, target: &Seat, round: &str) -> Cue {
    let name = hearing.masks.of(target.index);
    let task = format!(
        "You are the devil's advocate. {round} You examine {name} now. Put the one question that does \
         most damage unanswered, in at most {QUESTION_WORDS} words. If {name} has answered all that \
         matters, write only {COMPLETE}"
    );
    Cue::message(ADVOCATE, QUESTION_WORDS, hearing.task(seat, task))
}

fn answer(hearing: &Hearing, seat: &Seat) -> Cue {
    let task = format!(
        "Answer the last question in at most {REPLY_WORDS} words. Concede what it hits and say what \
         remains, or show why it misses."
    );
    Cue::message(DEFENDER, REPLY_WORDS, hearing.defence(seat, task))
}

/// Where a defender concludes, the others' positions come last: the rest it has read before.
fn verdict(hearing: &Hearing, seat: &Seat) -> Prompt {
    let defender = hearing.floor.role("Defenders").iter().any(|it| it.index == seat.index);
    let said = match defender {
        true => hearing
            .defence_said(seat)
            .with_rest_of_first_round("The other positions:", &hearing.said),
        false => hearing.said.clone(),
    };
    let task = "Give the verdict: a claim survives if it was attacked and answered, fails if it was \
                conceded or not met, and is unresolved otherwise.";
    form::ask_lines(brief::conclude(hearing.floor, &said, task), &LINES)
}

pub(super) fn read(text: &str) -> Synthesis {
    let [survived, failed, unresolved, verdict] = parse::read_form(text, &LINES);
    let verdict = brief::keep_stated(verdict);
    // The protocol has one word for every examination that came to a verdict.
    let consensus = verdict.as_ref().map(|_| "PARTIAL");
    let verdict = verdict.unwrap_or_else(|| form::rest(text, &LINES, &[VERDICT]));
    Synthesis {
        agreed: brief::keep_stated(survived).unwrap_or_default(),
        more: brief::heading("Failed", failed).into_iter().collect(),
        ..form::concluded(consensus, verdict, brief::read_open_points(unresolved, NOTHING_OPEN))
    }
}

#[cfg(test)]
mod tests;
