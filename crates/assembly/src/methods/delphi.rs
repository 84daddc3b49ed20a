//! Delphi: everyone estimates alone, sees all estimates without names, and revises; the panel stops
//! when most have nothing to change.

use super::brief;
use super::form::{self, Form};
use super::masks::Masks;
use super::{Method, Shown};
use crate::event::{Confidence, Parts, Quoted};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::measure;
use crate::parse::{self, FormLine};
use crate::prompt::Prompt;
use crate::transcript::{Quote, Transcript};
use althing_stdx::Result;

const PANELIST: Option<&str> = Some("PANELIST");
/// A round in which this share of the panel changed nothing is the last.
const SETTLED_PERCENT: usize = 70;

pub(super) const METHOD: Method = Method {
    name: "delphi",
    about: "anonymous estimates, revised in rounds: for figures and forecasts",
    seats_min: 3,
    even: false,
    phases: &["Independent Estimates", "Informed Revision", "Final Revision", "Aggregation"],
    roles: |seats| vec![("Panelists", (0..seats).collect())],
    calls: |seats, _| 3 * seats + 1,
    shown: Shown { lines: &FORM.lines(), parts: form::PARTS },
    run: |floor| Box::pin(run(floor)),
};

pub(super) const FORM: Form = Form {
    verdict: FormLine {
        label: "CONVERGENCE",
        what: "YES if the last estimates amount to the same, PARTIAL if most do, else NO",
    },
    synthesis: "the panel's estimate with its range in the first line, then what drives it, then \
                the assumption it hangs on most",
    open: FormLine {
        label: "DIFFERENCES",
        what: "the estimates that stand apart and why; None if there are none",
    },
    nothing_open: "None - strong convergence",
    evolution: "how the estimates moved and what moved them; None if nothing did",
    ..Form::COMMON
};

async fn run(floor: &Floor) -> Result<()> {
    let masks = Masks::lettered(floor, "Panelist");
    let mut said = Transcript::new("panel");
    let mut rounds = Vec::new();
    let held = hold(floor, &masks, &mut said, &mut rounds).await;
    floor.conclude(held).await?;
    let panel = latest(&rounds);
    let figures = Quoted { name: "Statistics".into(), text: statistics(floor, &panel) };
    let (confidences, shown) = (measure::confidences(&panel), masks.clone());
    let unstated = measure::unstated(&panel);
    let read = move |text: &str| {
        let mut read = FORM.read(text, confidences.clone());
        read.unstated.clone_from(&unstated);
        read.more.push(figures.clone());
        shown.reveal(read)
    };
    floor.synthesise(|_| synthesis(floor, &said, &panel), read, |_| false).await
}

/// Everything before the aggregation.
async fn hold(
    floor: &Floor,
    masks: &Masks,
    said: &mut Transcript,
    rounds: &mut Vec<Vec<Spoken>>,
) -> Result<()> {
    floor.phase(1).await?;
    let estimates = floor.everyone(|seat| estimate(floor, masks, seat, said)).await?;
    said.add_round("Round 1:", masked(floor, masks, &estimates));
    rounds.push(estimates);
    for (phase, name) in [(2, "second"), (3, "third and last")] {
        floor.phase(phase).await?;
        let panel = latest(rounds);
        let revised = floor.everyone(|seat| revise(floor, masks, seat, said, name, &panel)).await?;
        let is_over = is_settled(&revised);
        said.add_round(format!("Round {phase}:"), masked(floor, masks, &revised));
        rounds.push(revised);
        if is_over {
            break;
        }
    }
    Ok(())
}

/// The last estimate of each seat, in seat order: one who lost a turn, or stated none in it, still
/// holds the one before.
fn latest(rounds: &[Vec<Spoken>]) -> Vec<Spoken> {
    let mut panel: Vec<Spoken> = Vec::new();
    for spoken in rounds.iter().flatten() {
        let has_estimate = |earlier: &Spoken| earlier.seat == spoken.seat && is_stated(earlier);
        if !is_stated(spoken) && panel.iter().any(has_estimate) {
            continue;
        }
        panel.retain(|earlier| earlier.seat != spoken.seat);
        panel.push(spoken.clone());
    }
    panel.sort_by_key(|spoken| spoken.seat);
    panel
}

fn is_settled(revised: &[Spoken]) -> bool {
    let is_same =
        |spoken: &&Spoken| matches!(spoken.parts, Parts::Estimate { unchanged: true, .. });
    let same = revised.iter().filter(is_same).count();
    same > 0 && same * 100 >= SETTLED_PERCENT * revised.len()
}

/// What of an estimate is ours to say in a prompt: numbers, and nothing in a panelist's words.
fn statistics(floor: &Floor, panel: &[Spoken]) -> String {
    let sure = measure::confidences(panel);
    let [low, medium, high] = measure::levels(&sure);
    let mut text = format!(
        "{} of {} panelists have given an estimate. Confidence: HIGH {high}, MEDIUM {medium}, LOW \
         {low}",
        panel.iter().filter(|spoken| is_stated(spoken)).count(),
        floor.seats().len()
    );
    if let Some(mean) = measure::mean(&sure) {
        text += &format!(", {mean} of 100 on average");
    }
    text += ".";
    let estimates: Vec<&str> =
        panel.iter().filter(|spoken| is_stated(spoken)).map(|spoken| stated(spoken).0).collect();
    if let Some(spread) = measure::spread(estimates.iter().copied()) {
        let measure::Spread { count, low, median, high } = spread;
        let figures = match count == estimates.len() {
            true => "Figures".to_string(),
            false => format!("{count} figures"),
        };
        text += &format!(" {figures}: lowest {low}, median {median}, highest {high}.");
    }
    text
}

/// An estimate and its confidence.
fn stated(spoken: &Spoken) -> (&str, Option<Confidence>) {
    match &spoken.parts {
        Parts::Estimate { estimate, confidence, .. } => (estimate, *confidence),
        _ => (&spoken.text, None),
    }
}

fn is_stated(spoken: &Spoken) -> bool {
    !stated(spoken).0.is_empty()
}

/// Estimates without names.
fn masked(floor: &Floor, masks: &Masks, panel: &[Spoken]) -> Vec<Quote> {
    let quote = |spoken: &Spoken| {
        let (estimate, confidence) = stated(spoken);
        let estimate = if estimate.is_empty() { brief::NOT_STATED } else { estimate };
        let name = format!("{}, confidence {}", masks.of(spoken.seat), brief::in_words(confidence));
        // Who changed nothing may say only so: what stands is still to be seen.
        let text = match spoken.text.contains(estimate) {
            true => spoken.text.clone(),
            false => format!("{estimate}\n\n{}", spoken.text),
        };
        floor.quote(spoken, name, &masks.text(&text))
    };
    panel.iter().map(quote).collect()
}

/// The lines of an estimate.
const ESTIMATE: FormLine = FormLine {
    label: "ESTIMATE",
    what: "your answer in one line, the figure first where there is one",
};
const ASSUMPTIONS: FormLine =
    FormLine { label: "ASSUMPTIONS", what: "what must hold for it, as short bullets" };
const REASONING: FormLine = FormLine { label: "REASONING", what: "how you got there" };
/// The lines of a revision.
const REVISED: FormLine = FormLine {
    label: "REVISED ESTIMATE",
    what: "in one line, the figure first; or the word UNCHANGED",
};
const REVISION_REASONING: FormLine =
    FormLine { label: "REASONING", what: "what moved you, or why nothing did" };

/// Words of each kind of turn.
const ESTIMATE_WORDS: u64 = 200;
const REVISION_WORDS: u64 = 150;

fn estimate(floor: &Floor, masks: &Masks, seat: &Seat, said: &Transcript) -> Cue {
    let task = format!(
        "The panel is anonymous. Estimate on your own; nobody has spoken yet. If the question asks \
         for a figure, commit to one with its unit and the range you would be surprised to leave. At \
         most {ESTIMATE_WORDS} words."
    );
    let prompt = brief::task(floor, seat, masks.of(seat.index), said, task);
    let prompt = form::ask_lines(prompt, &[ESTIMATE, brief::CONFIDENCE, ASSUMPTIONS, REASONING]);
    let cue = Cue::message(PANELIST, ESTIMATE_WORDS, prompt);
    Cue { parse: Box::new(|text| read(text, Round::First)), ..cue }
}

fn revise(
    floor: &Floor,
    masks: &Masks,
    seat: &Seat,
    said: &Transcript,
    round: &str,
    panel: &[Spoken],
) -> Cue {
    let before = panel.iter().find(|spoken| spoken.seat == seat.index).map(Before::of);
    let task = format!(
        "{} This is the {round} round. Look for what the others know or assume that you did not. \
         Move as far as a reason carries; being in the minority is no reason, and neither is the \
         average. At most {REVISION_WORDS} words.",
        statistics(floor, panel)
    );
    let prompt = brief::task(floor, seat, masks.of(seat.index), said, task);
    let prompt = form::ask_lines(prompt, &[REVISED, brief::CONFIDENCE, REVISION_REASONING]);
    let parse = Box::new(move |text: &str| read(text, Round::Later(before.as_ref())));
    Cue { parse, ..Cue::message(PANELIST, REVISION_WORDS, prompt) }
}

/// What a panelist held before a revision.
struct Before {
    estimate: String,
    confidence: Option<Confidence>,
}

impl Before {
    fn of(spoken: &Spoken) -> Before {
        let (estimate, confidence) = stated(spoken);
        Before { estimate: estimate.to_string(), confidence }
    }
}

/// Which label was asked for, and what may be unchanged.
enum Round<'a> {
    First,
    Later(Option<&'a Before>),
}

/// Reads an estimate: without its label it is what stands before the first one, and empty where that
/// is nothing. One that is unchanged is the one before.
fn read(text: &str, round: Round) -> Parts {
    let reasoning = match round {
        Round::First => REASONING,
        Round::Later(_) => REVISION_REASONING,
    };
    let lines = [ESTIMATE, REVISED, brief::CONFIDENCE, ASSUMPTIONS, reasoning];
    let [estimate, revised, confidence, ..] = parse::read_form(text, &lines);
    let (said, before) = match round {
        Round::First => (estimate.or(revised), None),
        Round::Later(before) => (revised.or(estimate), before),
    };
    let before_labels = || parse::before(text, &lines.map(|line| line.label)).to_string();
    let said = brief::keep_stated(Some(said.unwrap_or_else(before_labels))).unwrap_or_default();
    let confidence = confidence.and_then(|text| parse::confidence(&text));
    match before.filter(|_| is_unchanged(&said)) {
        Some(before) => Parts::Estimate {
            estimate: before.estimate.clone(),
            unchanged: true,
            confidence: confidence.or(before.confidence),
        },
        None => Parts::Estimate { estimate: said, unchanged: false, confidence },
    }
}

/// Whether an estimate begins with the word; talk about what is unchanged does not count.
fn is_unchanged(said: &str) -> bool {
    let first = said.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| word.eq_ignore_ascii_case("unchanged"))
}

fn synthesis(floor: &Floor, said: &Transcript, panel: &[Spoken]) -> Prompt {
    let task = format!(
        "{} Aggregate the panel's last estimates: weigh them by their reasons, do not merely average, \
         and keep the range honest.",
        statistics(floor, panel)
    );
    FORM.ask(brief::conclude(floor, said, task))
}

#[cfg(test)]
mod tests;
