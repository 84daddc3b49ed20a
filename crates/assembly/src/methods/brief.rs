//! What every prompt of every method has in common.

use crate::event::{Confidence, Quoted};
use crate::floor::{Floor, Seat, Spoken};
use crate::prompt::Prompt;

/// How a confidence is asked for.
pub(super) const CONFIDENCE: &str = "HIGH, MEDIUM or LOW, then a number from 0 to 100: how likely \
                                     it is that this would survive a careful check. HIGH means \
                                     you would act on it today, LOW that you are guessing";

/// The start of a prompt for `seat`: who it is, how to speak, the question and what came with it.
pub(super) fn brief(floor: &Floor, seat: &Seat) -> Prompt {
    let mut prompt = Prompt::new().rule(format!(
        "You are {}, one of {} participants in a discussion. Judge by substance. Say plainly what \
         you think and why, and give the fact or the reason that carries it. Agree only where you \
         are convinced; change your mind only for a reason that was given, and say which. Do not \
         flatter, thank, apologise, restate the question or announce what you are about to do. \
         Say what you do not know. Speak for yourself alone, to the other participants and not to \
         the person who asked. Plain Markdown; Unicode signs rather than LaTeX.",
        seat.name,
        floor.seats().len()
    ));
    if let Some(stance) = &seat.stance {
        prompt = prompt.rule(format!("Your stance in this discussion: {stance}"));
    }
    matter(prompt, floor)
}

/// The start of a prompt for whoever concludes. It is told neither its name nor its stance: what it
/// argued before must not weigh more than what the others did.
pub(super) fn chair(floor: &Floor) -> Prompt {
    let prompt = Prompt::new().rule(format!(
        "You conclude a discussion of {} participants, for the person who asked. Weigh what was \
         said by its reasons, not by who said it, how often or how well. Use only what was said: \
         bring no argument of your own, and leave out what nobody supported. Do not smooth over a \
         real disagreement and do not invent one. No flattery, no thanks, no restating of the \
         question. Plain Markdown; Unicode signs rather than LaTeX.",
        floor.seats().len()
    ));
    matter(prompt, floor)
}

/// The language, the question and what came with it.
fn matter(prompt: Prompt, floor: &Floor) -> Prompt {
    let opening = &floor.opening;
    let language = opening.language.as_deref().unwrap_or("the language of the question");
    let files =
        opening.context.iter().map(|file| (format!("the file {}", file.name), file.text.clone()));
    let prompt = prompt
        .rule(format!("Write in {language}; labels stay in English capitals."))
        .question(floor.question())
        .quotes("Files the person gave along:", files);
    let Some(before) = &opening.continues else { return prompt };
    let positions = before.positions.iter().map(|p| (p.name.clone(), p.text.clone()));
    prompt
        .text("The question goes on from an earlier discussion.")
        .quote("the earlier question", &before.question)
        .quotes("Where the participants stood then:", positions)
        .quote("the earlier synthesis", &before.synthesis)
}

/// Speeches as quotations.
pub(super) fn quoted<'a>(speeches: impl IntoIterator<Item = &'a Spoken>) -> Vec<(String, String)> {
    speeches.into_iter().map(Spoken::quoted).collect()
}

/// What `seat` said itself, then what the others said.
pub(super) fn own_and_others(
    prompt: Prompt,
    seat: &Seat,
    headings: [&str; 2],
    speeches: &[Spoken],
) -> Prompt {
    let (own, others): (Vec<&Spoken>, Vec<&Spoken>) =
        speeches.iter().partition(|spoken| spoken.seat == seat.index);
    prompt.quotes(headings[0], quoted(own)).quotes(headings[1], quoted(others))
}

/// A confidence in words.
pub(super) fn in_words(confidence: Option<Confidence>) -> String {
    match confidence {
        Some(Confidence { level, score }) => format!("{level:?} ({score})").to_uppercase(),
        None => "not stated".into(),
    }
}

/// A heading of a synthesis and its text; nothing where there is none.
pub(super) fn heading(name: &str, text: Option<String>) -> Option<Quoted> {
    let text = text.filter(|text| !is_none(text))?;
    Some(Quoted { name: name.to_string(), text })
}

/// Whether a section says that there is nothing to say.
pub(super) fn is_none(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    word.is_empty() || word.eq_ignore_ascii_case("none") || word.eq_ignore_ascii_case("n/a")
}
