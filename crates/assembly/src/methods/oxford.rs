//! Oxford: two sides argue a motion in openings, rebuttals and closings; a judge who is not told
//! who is who decides.

use super::brief;
use super::form::{self, Form};
use super::masks::Masks;
use super::{Method, Shown};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::parse::FormLine;
use crate::prompt::Prompt;
use crate::transcript::Transcript;
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
    shown: Shown { lines: &FORM.lines(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

pub(super) const FORM: Form = Form {
    verdict: FormLine {
        label: "CONSENSUS",
        what: "FOR or AGAINST, whichever side carried the motion; PARTIAL if neither",
    },
    words: &[FOR, AGAINST, "PARTIAL"],
    synthesis: "the decision, then the argument that decided it, then what follows",
    open: FormLine { label: "DIFFERENCES", what: "what neither side settled; None if nothing" },
    evolution: "what a side conceded or dropped; None if nothing",
    ..Form::COMMON
};

const OPENING: &str = "opening";

/// Words of each kind of turn.
const OPENING_WORDS: u64 = 300;
const REBUTTAL_WORDS: u64 = 250;
const CLOSING_WORDS: u64 = 200;

/// The debate so far, under masks: who judges it cannot tell which side was its own.
struct Debate<'a> {
    floor: &'a Floor,
    masks: Masks,
    said: Transcript,
}

impl Debate<'_> {
    fn hear(&mut self, spoken: Option<Spoken>) {
        let quotes = spoken.iter().map(|spoken| self.masks.quote(self.floor, spoken));
        quotes.for_each(|quote| self.said.add(quote));
    }
}

async fn run(floor: &Floor) -> Result<()> {
    let masks = Masks::of_roles(floor, &[(FOR, FOR), (AGAINST, AGAINST)]);
    let mut debate = Debate { floor, masks, said: Transcript::new("debate") };
    let held = hold(floor, &mut debate).await;
    floor.conclude(held).await?;
    let shown = debate.masks.clone();
    let read = move |text: &str| shown.reveal(FORM.read(text, vec![]));
    floor.synthesise(|_| judgement(&debate), read, |_| true).await
}

/// Everything before the judgement.
async fn hold(floor: &Floor, debate: &mut Debate<'_>) -> Result<()> {
    for (phase, round) in [(1, OPENING), (2, "rebuttal")] {
        check_sides(floor)?;
        floor.phase(phase).await?;
        debate.said.open_round("");
        let mut unheard = Vec::new();
        let held = hold_round(debate, round, &mut unheard).await;
        // What was said before a failure counts.
        unheard.into_iter().for_each(|spoken| debate.hear(spoken));
        held?;
    }

    check_sides(floor)?;
    floor.phase(3).await?;
    debate.said.open_round("");
    let first = close(debate, FOR).await?;
    let second = close(debate, AGAINST).await;
    // Neither has heard the other; what was said before a failure counts.
    debate.hear(first);
    debate.hear(second?);
    Ok(())
}

/// Lets every speaker speak once. Cases are opened without knowing the others', and the two of a pair
/// rebut what was said before both: otherwise one side would always have the last word.
async fn hold_round(
    debate: &mut Debate<'_>,
    round: &'static str,
    unheard: &mut Vec<Option<Spoken>>,
) -> Result<()> {
    let floor = debate.floor;
    for (side, seat) in speakers(floor) {
        check_sides(floor)?;
        if floor.is_in(seat) {
            unheard.push(floor.say(seat, speech(debate, seat, side, round)).await?);
        }
        if round != OPENING && side == AGAINST {
            unheard.drain(..).for_each(|spoken| debate.hear(spoken));
        }
    }
    Ok(())
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
async fn close(debate: &Debate<'_>, side: &'static str) -> Result<Option<Spoken>> {
    let floor = debate.floor;
    for seat in floor.role(side) {
        check_sides(floor)?;
        if !floor.is_in(seat) {
            continue;
        }
        if let Some(spoken) = floor.say(seat, speech(debate, seat, side, "closing")).await? {
            return Ok(Some(spoken));
        }
    }
    Ok(None)
}

fn speech(debate: &Debate, seat: &Seat, side: &'static str, round: &'static str) -> Cue {
    let (words, task) = match round {
        OPENING => {
            (OPENING_WORDS, "Open with the two or three arguments that must hold, with evidence.")
        }
        "rebuttal" => {
            (REBUTTAL_WORDS, "Show where the other side's best argument fails, then repair yours.")
        }
        _ => (
            CLOSING_WORDS,
            "Close for your side: the clash that decides, why it falls to you, and their best point \
             that stands.",
        ),
    };
    let task = format!("Argue {side}. {task} At most {words} words.");
    let name = debate.masks.of(seat.index);
    let prompt = brief::task(debate.floor, seat, name, &debate.said, task);
    Cue { round: Some(round), ..Cue::message(Some(side), words, prompt) }
}

fn judgement(debate: &Debate) -> Prompt {
    let task = "Judge by which arguments were left standing after the attacks.";
    FORM.ask(brief::conclude(debate.floor, &debate.said, task))
}
