//! One model alone: the question as it is, and its answer. Not a discussion, so not in the list of
//! methods, but a run like any other: kept, shown, resumed and gone on from.

use super::{Method, Shown};
use crate::event::Speech;
use crate::floor::{Cue, Floor, Seat};
use crate::prompt::Prompt;
use althing_stdx::{Fault, Kind, Result};

pub(super) const METHOD: Method = Method {
    name: "answer",
    about: "one model, one answer",
    seats_min: 1,
    even: false,
    phases: &["Answer"],
    roles: |_| vec![],
    calls: |_, _| 1,
    shown: Shown::NOTHING,
    run: |floor| Box::pin(run(floor)),
};

async fn run(floor: &Floor) -> Result<()> {
    floor.phase(1).await?;
    let Some(seat) = floor.seats().first() else { return floor.quorum(1) };
    let cue = Cue::message(None, 0, prompt(floor, seat));
    let cue = Cue { speech: Speech::Synthesis, words: None, ..cue };
    if floor.say(seat, cue).await?.is_some() {
        return Ok(());
    }
    // The model's own failure is the run's: a person who asked one model wants to know which.
    let failure = floor.why_lost(seat);
    Err(failure.map_or(Fault::new(Kind::Upstream, "no answer"), |failure| Fault {
        retry_after: failure.retry_after_ms.map(std::time::Duration::from_millis),
        ..Fault::new(failure.kind, failure.message)
    }))
}

fn prompt(floor: &Floor, seat: &Seat) -> Prompt {
    let opening = &floor.opening;
    let mut prompt = Prompt::new();
    if let Some(language) = &opening.language {
        prompt = prompt.rule(format!("Write in {language}."));
    }
    if let Some(stance) = &seat.stance {
        prompt = prompt.rule(stance);
    }
    let files =
        opening.context.iter().map(|file| (format!("the file {}", file.name), file.text.clone()));
    prompt = prompt.quotes("Files given along:", files);
    if let Some(before) = &opening.continues {
        prompt = prompt
            .quote("the earlier question", &before.question)
            .quote("the earlier answer", &before.synthesis);
    }
    // Without anything quoted the model gets the question as it was typed, and nothing else.
    prompt.with_mark(&opening.mark).text(floor.question())
}
