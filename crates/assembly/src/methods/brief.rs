//! What every prompt of every method has in common: rules, question, what was said, and then who is
//! asked to do what.

use crate::event::{Confidence, Opening, Quoted};
use crate::floor::{Floor, SYNTHESIS_WORDS, Seat, Spoken};
use crate::parse::FormLine;
use crate::prompt::Prompt;
use crate::transcript::{Quote, Transcript};
use althing_chat::{Attachment, AttachmentKind};

/// How a confidence is asked for.
pub(super) const CONFIDENCE: FormLine = FormLine {
    label: "CONFIDENCE",
    what: "HIGH, MEDIUM or LOW, then 0 to 100: how likely this survives a careful check",
};

/// Characters of a file's name in a prompt; the rest is left out.
const FILE_NAME_CHARS_MAX: usize = 80;

/// What stands where a speaker was asked for something and stated nothing.
pub(super) const NOT_STATED: &str = "(not stated)";

/// The beginning of every prompt of a run: the same for all seats, from the first call to the last.
pub(crate) fn opening_prompt(opening: &Opening) -> Prompt {
    let language = opening.language.as_deref().unwrap_or("the question's language");
    let files =
        opening.context.iter().map(|file| (format!("the file {}", file.name), file.text.clone()));
    let mut prompt = Prompt::new()
        .rule(format!(
            "Give reasons; change your mind only for one; say what you do not know. No flattery or \
             preamble. Write in {language}, labels in English."
        ))
        .question(&opening.question)
        .quotes("Files the person gave along:", files);
    if !opening.attachments.is_empty() {
        prompt = prompt.text(list_attachments(&opening.attachments));
    }
    if let Some(before) = &opening.continues {
        let positions = before.positions.iter().map(|p| (p.name.clone(), p.text.clone()));
        prompt = prompt
            .text("The question goes on from an earlier discussion.")
            .quote("the earlier question", &before.question)
            .quotes("Where the participants stood then:", positions)
            .quote("the earlier synthesis", &before.synthesis);
    }
    prompt.with_mark(&opening.mark)
}

/// What stands beside the words, in its order.
fn list_attachments(all: &[Attachment]) -> String {
    let listed = all.iter().map(|it| match it.kind {
        AttachmentKind::Image => format!("a picture ({})", name_of(it)),
        AttachmentKind::Document => format!("a document ({})", name_of(it)),
    });
    format!("With the question come, in this order: {}.", listed.collect::<Vec<_>>().join(", "))
}

/// The name of a file on one line: it stands outside all fences.
fn name_of(attachment: &Attachment) -> String {
    attachment.name.chars().filter(|c| !c.is_control()).take(FILE_NAME_CHARS_MAX).collect()
}

/// A prompt for `seat`, which the table knows as `name`: what was said, and its task.
pub(super) fn task(
    floor: &Floor,
    seat: &Seat,
    name: &str,
    said: &Transcript,
    task: impl std::fmt::Display,
) -> Prompt {
    let stance = match &seat.stance {
        Some(stance) => format!(" Your stance: {stance}"),
        None => String::new(),
    };
    opening_prompt(&floor.opening).transcript(said).text(format!("You are {name}.{stance} {task}"))
}

/// A prompt for whoever concludes. It is told neither its name nor its stance: what it argued before
/// must not weigh more than what the others did.
pub(super) fn conclude(floor: &Floor, said: &Transcript, task: impl std::fmt::Display) -> Prompt {
    opening_prompt(&floor.opening).transcript(said).text(format!(
        "You conclude, for the person who asked: by the reasons, not by who gave them or how often, \
         adding none. Neither smooth over a disagreement nor invent one. {task} At most \
         {SYNTHESIS_WORDS} words."
    ))
}

/// Speeches under the names of their speakers.
pub(super) fn quotes(floor: &Floor, speeches: &[Spoken]) -> Vec<Quote> {
    speeches.iter().map(|spoken| floor.quote(spoken, &spoken.name, &spoken.text)).collect()
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
    let text = keep_stated(text)?;
    Some(Quoted { name: name.to_string(), text })
}

/// Returns a section, unless it says that there is nothing to say.
pub(super) fn keep_stated(section: Option<String>) -> Option<String> {
    section.filter(|text| !is_none(text))
}

/// Returns what stays open by a section: `nothing` where it says so, and not stated where it is
/// missing.
pub(super) fn read_open_points(section: Option<String>, nothing: &str) -> String {
    match section {
        Some(text) if is_none(&text) => nothing.to_string(),
        Some(text) => text,
        None => NOT_STATED.to_string(),
    }
}

/// Whether a section says that there is nothing to say.
pub(super) fn is_none(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    word.is_empty() || word.eq_ignore_ascii_case("none") || word.eq_ignore_ascii_case("n/a")
}
