//! What every prompt of every method has in common.

use crate::event::{Confidence, Sureness, Synthesis};
use crate::floor::{Floor, Seat, Spoken};
use crate::parse;
use crate::prompt::Prompt;

/// How a confidence is asked for.
pub(super) const CONFIDENCE: &str = "HIGH, MEDIUM or LOW, then a number from 0 to 100: how likely it is \
    that this would survive a careful check. HIGH means you would act on it today, LOW that you are guessing";

/// The start of a prompt for `seat`: who it is, how to speak, the question and what came with it.
pub(super) fn brief(floor: &Floor, seat: &Seat) -> Prompt {
    let opening = &floor.opening;
    let mut prompt = Prompt::new().rule(format!(
        "You are {}, one of {} participants in a discussion. Judge by substance. Say plainly what you \
         think and why, and give the fact or the reason that carries it. Agree only where you are \
         convinced; change your mind only for a reason that was given, and say which. Do not flatter, \
         thank, apologise, restate the question or announce what you are about to do. Say what you do \
         not know. Speak for yourself alone, to the other participants and not to the person who asked. \
         Plain Markdown; Unicode signs rather than LaTeX.",
        seat.name,
        floor.seats().len()
    ));
    prompt = prompt.rule(match &opening.language {
        Some(language) => format!("Write in {language}; labels stay in English capitals."),
        None => "Write in the language of the question; labels stay in English capitals.".into(),
    });
    if let Some(stance) = &seat.stance {
        prompt = prompt.rule(format!("Your stance in this discussion: {stance}"));
    }
    prompt = prompt.question(floor.question());
    let files =
        opening.context.iter().map(|file| (format!("the file {}", file.name), file.text.clone()));
    prompt = prompt.quotes("Files the person gave along:", files);
    let Some(before) = &opening.continues else { return prompt };
    prompt
        .text("The question goes on from an earlier discussion.")
        .quote("the earlier question", &before.question)
        .quotes(
            "Where the participants stood then:",
            before.positions.iter().map(|p| (p.name.clone(), p.text.clone())),
        )
        .quote("the earlier synthesis", &before.synthesis)
}

/// Speeches as quotations.
pub(super) fn quoted<'a>(speeches: impl IntoIterator<Item = &'a Spoken>) -> Vec<(String, String)> {
    speeches.into_iter().map(Spoken::quoted).collect()
}

/// A confidence in words.
pub(super) fn in_words(confidence: Option<Confidence>) -> String {
    match confidence {
        Some(Confidence { level, score }) => format!("{level:?} ({score})").to_uppercase(),
        None => "not stated".into(),
    }
}

/// The usual labels of a synthesis, after its method's own first one.
pub(super) fn synthesis_form(prompt: Prompt) -> Prompt {
    prompt
        .label("AGREED", "the points everyone accepts, as short bullets; None if there are none")
        .label(
            "SYNTHESIS",
            "the answer this discussion supports: the bottom line first, then the insight that decides \
             it, then what follows and its limits",
        )
        .label("DIFFERENCES", "what stays disputed, who holds which view and what would settle it; None if nothing")
        .label("EVOLUTION", "whose view moved, from what to what, and which argument did it; None if nobody's")
}

/// Reads a synthesis. `consensus` is the method's own label with its allowed words; where it is
/// missing or says something else, `otherwise` stands.
pub(super) fn read_synthesis(
    text: &str,
    label: &str,
    words: &[&str],
    otherwise: &str,
    confidences: Vec<Sureness>,
) -> Synthesis {
    let [consensus, agreed, synthesis, differences, evolution] =
        parse::sections(text, [label, "AGREED", "SYNTHESIS", "DIFFERENCES", "EVOLUTION"]);
    let found = consensus.and_then(|said| parse::word_of(&said, words)).map(|at| words[at]);
    let more = evolution
        .filter(|text| !is_none(text))
        .map(|text| crate::event::Quoted { name: "Evolution".into(), text });
    Synthesis {
        consensus: found.unwrap_or(otherwise).to_string(),
        agreed: agreed.unwrap_or_default(),
        synthesis: synthesis.unwrap_or_else(|| {
            parse::before(text, &[label, "AGREED", "DIFFERENCES", "EVOLUTION"]).to_string()
        }),
        differences: differences.filter(|text| !is_none(text)).unwrap_or("None".into()),
        more: more.into_iter().collect(),
        confidences,
        messages: 0,
        debated: false,
    }
}

/// Whether a section says that there is nothing to say.
pub(super) fn is_none(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    word.is_empty() || word.eq_ignore_ascii_case("none") || word.eq_ignore_ascii_case("n/a")
}
