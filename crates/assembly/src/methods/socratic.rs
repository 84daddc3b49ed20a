//! Socratic: one states a thesis, the others question it in turn; at the end all look at what is
//! left of it.

use super::brief::{self, brief};
use super::form::{self, Form};
use super::masks::Masks;
use super::order::{Rotation, successor};
use super::{Method, Shown};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::prompt::Prompt;
use althing_stdx::Result;

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
    shown: Shown { labels: &FORM.labels(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

pub(super) const FORM: Form = Form {
    verdict: (
        "APORIA",
        "YES if the thesis fell and nothing took its place, PARTIAL if it stands only in changed \
         form, NO if it stands",
    ),
    synthesis: "what the inquiry leaves standing as an answer to the question: the bottom line \
                first, then the assumption that turned out to carry it, then its limits",
    open: (
        "OPEN QUESTIONS",
        "the questions nobody could answer, and why each matters; None if none",
    ),
    evolution: "how the thesis changed and which question changed it; None if it did not",
    ..Form::COMMON
};

fn rounds(turns: usize) -> usize {
    ROUNDS_MIN.max(turns / 2)
}

async fn run(floor: &Floor) -> Result<()> {
    floor.phase(1).await?;
    let (respondent, thesis) = state_thesis(floor).await?;

    floor.phase(2).await?;
    let (respondent, dialogue) = inquire(floor, respondent, &thesis).await?;

    floor.phase(3).await?;
    let views = look_back(floor, respondent, &thesis, &dialogue).await?;
    let masks = Masks::of_roles(floor, [&thesis].into_iter().chain(&dialogue).chain(&views));
    let shown = masks.clone();
    let read = move |text: &str| shown.reveal(FORM.read(text, vec![]));
    let prompt = |_: &Seat| synthesis(floor, &masks, &thesis, &dialogue, &views);
    // Those who ask take no side; those who answered for the thesis did.
    let answered = |seat: &Seat| {
        let answers = dialogue.iter().chain([&thesis]).filter(|spoken| spoken.role == RESPONDENT);
        answers.into_iter().any(|spoken| spoken.seat == seat.index)
    };
    floor.synthesise(prompt, read, answered).await
}

/// Everyone, the respondent last: the order in which questions are asked.
fn table(floor: &Floor) -> Vec<&Seat> {
    floor.role("Questioners").into_iter().chain(floor.role("Respondent")).collect()
}

/// The thesis of the respondent; where it cannot give one, the next seat becomes the respondent.
async fn state_thesis(floor: &Floor) -> Result<(&Seat, Spoken)> {
    for seat in floor.role("Respondent").into_iter().chain(floor.role("Questioners")) {
        let prompt = brief(floor, seat).text(
            "State the thesis that the others will question: your answer to the question as one \
             claim that could be false, then in at most 200 words what it rests on and what its \
             words mean. Claim what you believe, not what is safe.",
        );
        if let Some(thesis) = floor.say(seat, Cue::message(RESPONDENT, prompt)).await? {
            return Ok((seat, thesis));
        }
    }
    Err(floor.too_few("socratic needs a thesis and no model gave one"))
}

/// Question and answer; a respondent who is out hands the thesis to the next seat.
async fn inquire<'a>(
    floor: &'a Floor,
    mut respondent: &'a Seat,
    thesis: &Spoken,
) -> Result<(&'a Seat, Vec<Spoken>)> {
    let mut dialogue: Vec<Spoken> = Vec::new();
    let mut rotation = Rotation::default();
    let count = rounds(floor.opening.turns as usize);
    for round in 0..count {
        respondent = living(floor, respondent);
        let may = |seat: &Seat| seat.index != respondent.index;
        let Some(questioner) = rotation.next(floor, &table(floor), may) else { break };
        let cue = question(floor, questioner, respondent, (round, count), thesis, &dialogue);
        let Some(asked) = floor.say(questioner, cue).await? else { continue };
        let cue = answer(floor, respondent, thesis, &dialogue, &asked);
        let answered = floor.say(respondent, cue).await?;
        dialogue.push(asked);
        dialogue.extend(answered);
    }
    Ok((respondent, dialogue))
}

/// The respondent's reflection, then each questioner's summary.
async fn look_back(
    floor: &Floor,
    respondent: &Seat,
    thesis: &Spoken,
    dialogue: &[Spoken],
) -> Result<Vec<Spoken>> {
    let respondent = living(floor, respondent);
    let questioners = table(floor).into_iter().filter(|seat| seat.index != respondent.index);
    let mut views = Vec::new();
    for seat in [respondent].into_iter().chain(questioners) {
        if floor.is_in(seat) {
            let cue = view(floor, seat, seat.index == respondent.index, thesis, dialogue);
            views.extend(floor.say(seat, cue).await?);
        }
    }
    Ok(views)
}

/// `seat`, or who takes over from it.
fn living<'a>(floor: &'a Floor, seat: &'a Seat) -> &'a Seat {
    if floor.is_in(seat) { seat } else { successor(floor, seat).unwrap_or(seat) }
}

fn heard(prompt: Prompt, thesis: &Spoken, dialogue: &[Spoken]) -> Prompt {
    prompt
        .quotes("The thesis:", brief::quoted([thesis]))
        .quotes("The inquiry so far:", brief::quoted(dialogue))
}

fn question(
    floor: &Floor,
    seat: &Seat,
    respondent: &Seat,
    (round, count): (usize, usize),
    thesis: &Spoken,
    dialogue: &[Spoken],
) -> Cue {
    let hint = match (round, count - round - 1) {
        (_, 0) => "This is the last question: ask what the thesis now comes to.",
        (0, _) => "Begin with the word or the premise on which the thesis stands.",
        (1, _) => "Follow the first answer to what it takes for granted.",
        _ => "Test what the answers commit to: a case, a consequence, a contradiction.",
    };
    let prompt = heard(brief(floor, seat), thesis, dialogue).text(format!(
        "Round {} of {count}. You question {}, who answers for the thesis. {hint} Ask one \
         question in at most 60 words. Do not argue, answer it yourself or say what you think.",
        round + 1,
        respondent.name
    ));
    Cue::message(QUESTIONER, prompt)
}

fn answer(floor: &Floor, seat: &Seat, thesis: &Spoken, dialogue: &[Spoken], asked: &Spoken) -> Cue {
    let prompt = heard(brief(floor, seat), thesis, dialogue)
        .quotes("You are asked:", brief::quoted([asked]))
        .text(
            "You answer for the thesis. Answer this question in at most 120 words, directly. If \
             it shows that the thesis is wrong or too wide, say so and restate the thesis as you \
             can still hold it.",
        );
    Cue::message(RESPONDENT, prompt)
}

fn view(
    floor: &Floor,
    seat: &Seat,
    is_respondent: bool,
    thesis: &Spoken,
    dialogue: &[Spoken],
) -> Cue {
    let prompt = heard(brief(floor, seat), thesis, dialogue);
    if is_respondent {
        let task = "The inquiry is over. In at most 150 words: what is left of the thesis, which \
                    question changed it, and what you now know that you do not know.";
        return Cue::message(RESPONDENT, prompt.text(task));
    }
    let task = "The inquiry is over. In at most 120 words, without a view of your own: which \
                assumptions came to light, which answers held, and which question was not \
                answered.";
    Cue::message(QUESTIONER, prompt.text(task))
}

fn synthesis(
    floor: &Floor,
    masks: &Masks,
    thesis: &Spoken,
    dialogue: &[Spoken],
    views: &[Spoken],
) -> Prompt {
    let prompt = brief::chair(floor)
        .quotes("The thesis:", masks.quoted([thesis]))
        .quotes("The inquiry:", masks.quoted(dialogue))
        .quotes("Looking back:", masks.quoted(views))
        .text(
            "Write down where the inquiry ended. An honest open question is a result; a thesis is \
             not refuted because it was questioned, nor proved because it was repeated.",
        );
    FORM.ask(prompt)
}
