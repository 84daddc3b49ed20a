//! Socratic: one states a thesis, the others question it in turn; at the end all look at what is
//! left of it.

use super::brief;
use super::form::{self, Form};
use super::masks::Masks;
use super::order::{Rotation, successor};
use super::{Method, Shown};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::parse::FormLine;
use crate::prompt::Prompt;
use crate::transcript::Transcript;
use althing_stdx::Result;
use std::collections::HashSet;

const RESPONDENT: Option<&str> = Some("RESPONDENT");
const QUESTIONER: Option<&str> = Some("QUESTIONER");
const ROUNDS_MIN: usize = 3;

pub(super) const METHOD: Method = Method {
    name: "socratic",
    about: "one thesis, questioned in turn: brings hidden assumptions to light",
    seats_min: 2,
    even: false,
    phases: &["Initial Thesis", "Socratic Inquiry", "Aporia"],
    roles: |seats| {
        let first = seats.min(1);
        vec![("Respondent", (0..first).collect()), ("Questioners", (first..seats).collect())]
    },
    calls: |seats, turns| 1 + 2 * rounds(turns) + seats + 1,
    shown: Shown { lines: &FORM.lines(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

pub(super) const FORM: Form = Form {
    verdict: FormLine {
        label: "APORIA",
        what: "YES if the thesis fell and nothing took its place, PARTIAL if it stands in changed \
               form, NO if it stands",
    },
    synthesis: "what is left standing as an answer: the bottom line first, then the assumption that \
                carries it, then its limits",
    open: FormLine {
        label: "OPEN QUESTIONS",
        what: "what nobody could answer and why it matters; None if nothing",
    },
    evolution: "how the thesis changed and which question did it; None if it did not",
    ..Form::COMMON
};

fn rounds(turns: usize) -> usize {
    ROUNDS_MIN.max(turns / 2)
}

/// Words of each kind of turn.
const THESIS_WORDS: u64 = 200;
const QUESTION_WORDS: u64 = 60;
const ANSWER_WORDS: u64 = 120;
const VIEW_WORDS: u64 = 150;

/// The inquiry so far, under masks.
struct Inquiry<'a> {
    floor: &'a Floor,
    masks: Masks,
    said: Transcript,
    /// Seats that answered for the thesis.
    answered: HashSet<usize>,
}

impl Inquiry<'_> {
    fn hear(&mut self, spoken: &Spoken) {
        if spoken.role == RESPONDENT {
            self.answered.insert(spoken.seat);
        }
        self.said.add(self.masks.quote(self.floor, spoken));
    }

    /// A turn of `seat`.
    fn cue(
        &self,
        seat: &Seat,
        role: Option<&'static str>,
        words: u64,
        task: impl std::fmt::Display,
    ) -> Cue {
        let name = self.masks.of(seat.index);
        let prompt = brief::task(self.floor, seat, name, &self.said, task);
        Cue::message(role, words, prompt)
    }
}

async fn run(floor: &Floor) -> Result<()> {
    let roles = [("Respondent", "RESPONDENT"), ("Questioners", "QUESTIONER")];
    let (masks, said) = (Masks::of_roles(floor, &roles), Transcript::new("inquiry"));
    let mut inquiry = Inquiry { floor, masks, said, answered: HashSet::new() };
    let held = hold(&mut inquiry).await;
    floor.conclude(held).await?;
    let shown = inquiry.masks.clone();
    let read = move |text: &str| shown.reveal(FORM.read(text, vec![]));
    // Those who ask take no side; those who answered for the thesis did.
    let debated = |seat: &Seat| inquiry.answered.contains(&seat.index);
    floor.synthesise(|_| synthesis(&inquiry), read, debated).await
}

/// Everything before the synthesis.
async fn hold(inquiry: &mut Inquiry<'_>) -> Result<()> {
    let floor = inquiry.floor;
    floor.phase(1).await?;
    let respondent = state_thesis(inquiry).await?;

    floor.phase(2).await?;
    let respondent = inquire(inquiry, respondent).await?;

    floor.phase(3).await?;
    let mut views = Vec::new();
    let held = look_back(inquiry, respondent, &mut views).await;
    // Nobody looks back through the eyes of another; what was said before a failure counts.
    views.iter().for_each(|view| inquiry.hear(view));
    held
}

/// Everyone, the respondent last: the order in which questions are asked.
fn table(floor: &Floor) -> Vec<&Seat> {
    floor.role("Questioners").into_iter().chain(floor.role("Respondent")).collect()
}

/// The thesis of the respondent; where it cannot give one, the next seat becomes the respondent.
async fn state_thesis<'a>(inquiry: &mut Inquiry<'a>) -> Result<&'a Seat> {
    let floor = inquiry.floor;
    let task = format!(
        "State the thesis that the others will question: your answer to the question as one claim \
         that could be false, then in at most {THESIS_WORDS} words what it rests on and what its \
         words mean. Claim what you believe, not what is safe."
    );
    for seat in floor.role("Respondent").into_iter().chain(floor.role("Questioners")) {
        let cue = inquiry.cue(seat, RESPONDENT, THESIS_WORDS, &task);
        if let Some(thesis) = floor.say(seat, cue).await? {
            inquiry.said.open_round("The thesis:");
            inquiry.hear(&thesis);
            return Ok(seat);
        }
    }
    Err(floor.too_few("socratic needs a thesis and no model gave one"))
}

/// Question and answer; a respondent who is out hands the thesis to the next seat.
async fn inquire<'a>(inquiry: &mut Inquiry<'a>, mut respondent: &'a Seat) -> Result<&'a Seat> {
    let floor = inquiry.floor;
    let mut rotation = Rotation::default();
    let count = rounds(floor.opening.turns as usize);
    for round in 0..count {
        respondent = living(floor, respondent);
        let may = |seat: &Seat| seat.index != respondent.index;
        let Some(questioner) = rotation.next(floor, &table(floor), may) else { break };
        inquiry.said.open_round(if round == 0 { "The inquiry:" } else { "" });
        let cue = question(inquiry, questioner, respondent, (round, count));
        let Some(asked) = floor.say(questioner, cue).await? else { continue };
        inquiry.hear(&asked);
        let task = format!(
            "You answer for the thesis. Answer the last question in at most {ANSWER_WORDS} words, \
             directly. If it shows that the thesis is wrong or too wide, say so and restate the \
             thesis as you can still hold it."
        );
        let cue = inquiry.cue(respondent, RESPONDENT, ANSWER_WORDS, task);
        if let Some(answered) = floor.say(respondent, cue).await? {
            inquiry.hear(&answered);
        }
    }
    Ok(respondent)
}

/// The respondent's reflection, then each questioner's summary.
async fn look_back(
    inquiry: &mut Inquiry<'_>,
    respondent: &Seat,
    views: &mut Vec<Spoken>,
) -> Result<()> {
    let floor = inquiry.floor;
    let respondent = living(floor, respondent);
    let questioners = table(floor).into_iter().filter(|seat| seat.index != respondent.index);
    inquiry.said.open_round("Looking back:");
    for seat in [respondent].into_iter().chain(questioners) {
        if floor.is_in(seat) {
            let cue = view(inquiry, seat, seat.index == respondent.index);
            views.extend(floor.say(seat, cue).await?);
        }
    }
    Ok(())
}

/// `seat`, or who takes over from it.
fn living<'a>(floor: &'a Floor, seat: &'a Seat) -> &'a Seat {
    if floor.is_in(seat) { seat } else { successor(floor, seat).unwrap_or(seat) }
}

fn question(
    inquiry: &Inquiry,
    seat: &Seat,
    respondent: &Seat,
    (round, count): (usize, usize),
) -> Cue {
    let hint = match (round, count - round - 1) {
        (_, 0) => "This is the last question: ask what the thesis now comes to.",
        (0, _) => "Begin with the word or the premise on which the thesis stands.",
        (1, _) => "Follow the first answer to what it takes for granted.",
        _ => "Test what the answers commit to: a case, a consequence, a contradiction.",
    };
    let task = format!(
        "Round {} of {count}. You question {}, who answers for the thesis. {hint} Ask one question \
         in at most {QUESTION_WORDS} words. Do not argue, answer it yourself or say what you think.",
        round + 1,
        inquiry.masks.of(respondent.index)
    );
    inquiry.cue(seat, QUESTIONER, QUESTION_WORDS, task)
}

fn view(inquiry: &Inquiry, seat: &Seat, is_respondent: bool) -> Cue {
    let (role, task) = match is_respondent {
        true => (
            RESPONDENT,
            "what is left of the thesis, which question changed it, and what you now know that you \
             do not know",
        ),
        false => (
            QUESTIONER,
            "without a view of your own: which assumptions came to light, which answers held, and \
             which question was not answered",
        ),
    };
    let task = format!("The inquiry is over. In at most {VIEW_WORDS} words, {task}.");
    inquiry.cue(seat, role, VIEW_WORDS, task)
}

fn synthesis(inquiry: &Inquiry) -> Prompt {
    let task = "Write down where the inquiry ended. An honest open question is a result; a thesis is \
                not refuted because it was questioned, nor proved because it was repeated.";
    FORM.ask(brief::conclude(inquiry.floor, &inquiry.said, task))
}
