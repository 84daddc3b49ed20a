//! Answers in a form: every label that a prompt asks for gets a sentence of its kind.

use super::ideas;
use super::lines::{Lines, table};
use super::pen::Pen;
use super::scene::Other;
use super::scores;
use super::topic::Shape;

/// Which sentences go under which label: the first row whose word is part of the label.
const KINDS: &[(&str, Kind)] = &[
    ("REVISED", Kind::Revised),
    ("ESTIMATE", Kind::Estimate),
    ("CONFIDENCE", Kind::Confidence),
    ("DISAGREE", Kind::Doubt),
    ("AGREED", Kind::Agreed),
    ("SURVIVED", Kind::Agreed),
    ("AGREE", Kind::Agree),
    ("FAILED", Kind::Failed),
    ("MISSING", Kind::Missing),
    ("OPEN", Kind::Open),
    ("UNRESOLVED", Kind::Open),
    ("DIFFER", Kind::Differ),
    ("OUTLIER", Kind::Differ),
    ("TRADEOFF", Kind::Differ),
    ("EVOLUTION", Kind::Evolution),
    ("SYNTHESIS", Kind::Bottom),
    ("VERDICT", Kind::Bottom),
    ("RECOMMENDATION", Kind::Recommended),
    ("ANALYSIS", Kind::Insight),
    ("POSITION", Kind::Position),
    ("ASSUMPTION", Kind::Assume),
    ("PICK", Kind::Pick),
    ("IDEA", Kind::Selected),
    ("ALTERNATIVES", Kind::Kept),
    ("ALTERNATIVE", Kind::Alternative),
    ("CRITERION", Kind::Criterion),
    ("SCORES", Kind::Scores),
    ("OTHERWISE", Kind::Otherwise),
    ("WHEN", Kind::Otherwise),
    ("REASON", Kind::Reason),
    ("WHY", Kind::Reason),
    ("FACTOR", Kind::Reason),
    ("QUESTION", Kind::Ask),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agree,
    Agreed,
    Alternative,
    Ask,
    Assume,
    Bottom,
    Confidence,
    Criterion,
    Differ,
    Doubt,
    Estimate,
    Evolution,
    Failed,
    General,
    Insight,
    Kept,
    Missing,
    Open,
    Otherwise,
    Pick,
    Position,
    Reason,
    Recommended,
    Revised,
    Scores,
    Selected,
    Verdict,
}

/// The whole form, filled in.
pub(super) fn fill(pen: &mut Pen<'_>, lines: &Lines, stance: usize) -> String {
    let people = people(pen.scene.others.iter());
    let mut nth_of_kind: Vec<Kind> = Vec::new();
    let mut parts = Vec::new();
    for (at, (label, asks)) in pen.scene.form.iter().enumerate() {
        let kind = kind_of(label, asks);
        let nth = nth_of_kind.iter().filter(|earlier| **earlier == kind).count();
        nth_of_kind.push(kind);
        face(pen, &people, at + stance, matches!(kind, Kind::Differ | Kind::Evolution));
        let text = part(pen, lines, stance, kind, nth, asks);
        let gap = if text.starts_with(['-', '|']) { "\n" } else { " " };
        parts.push(format!("{label}:{gap}{text}"));
    }
    parts.join("\n\n")
}

fn kind_of(label: &str, asks: &str) -> Kind {
    let is_choice =
        asks.split(' ').next().is_some_and(is_capitals) && !label.contains("CONFIDENCE");
    if is_choice {
        return Kind::Verdict;
    }
    let row = KINDS.iter().find(|(word, _)| label.contains(word));
    row.map_or(Kind::General, |(_, kind)| *kind)
}

fn is_capitals(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The last speech of each, in the order in which they first spoke.
fn people<'a>(others: impl Iterator<Item = &'a Other>) -> Vec<&'a Other> {
    let mut people: Vec<&Other> = Vec::new();
    for other in others {
        match people.iter_mut().find(|known| known.name == other.name) {
            Some(known) => *known = other,
            None => people.push(other),
        }
    }
    people
}

/// Turns to the person whose turn it is, or sets two against each other.
fn face(pen: &mut Pen<'_>, people: &[&Other], at: usize, two: bool) {
    match people.len() {
        0 => pen.turn_to(None),
        count if two && count > 1 => pen.set_against(people[at % count], people[(at + 1) % count]),
        count => pen.turn_to(Some(people[at % count])),
    }
}

fn part(
    pen: &mut Pen<'_>,
    lines: &Lines,
    stance: usize,
    kind: Kind,
    nth: usize,
    asks: &str,
) -> String {
    let answers = pen.has_partner();
    match kind {
        Kind::Agree if answers => pen.line(lines.agree),
        Kind::Doubt if answers => pen.line(lines.doubt),
        Kind::Agree | Kind::Reason => reason(pen, lines),
        Kind::Doubt => pen.line(lines.limit),
        Kind::Missing => pen.line(lines.missing),
        Kind::Ask => pen.line(lines.ask),
        Kind::Position if answers => [pen.line(lines.position), pen.line(lines.agree)].join(" "),
        Kind::Position => [pen.line(lines.claim), pen.line(lines.reason)].join(" "),
        Kind::Agreed => [pen.shared(table::AGREED), pen.shared(table::AGREED)].join("\n"),
        Kind::Failed if answers => pen.shared(table::FAILED),
        Kind::Open if answers => [pen.shared(table::UNKNOWN), pen.shared(table::DIFFER)].join(" "),
        Kind::Failed | Kind::Open => pen.shared(table::UNKNOWN),
        Kind::Differ if answers => pen.shared(table::DIFFER),
        Kind::Evolution if answers => pen.shared(table::EVOLUTION),
        Kind::Insight if answers => insight(pen),
        Kind::Bottom if answers => [bottom(pen, asks), insight(pen)].join(" "),
        Kind::Bottom | Kind::Insight => bottom(pen, asks),
        Kind::Assume => [pen.shared(table::ASSUME), pen.shared(table::ASSUME)].join("\n"),
        Kind::Otherwise => pen.shared(table::OTHERWISE),
        Kind::Kept if answers => pen.shared(table::KEPT),
        Kind::Verdict => verdict(pen, asks),
        Kind::Confidence => confidence(pen, stance),
        Kind::Estimate => estimate(pen, stance, false),
        Kind::Revised => estimate(pen, stance, true),
        Kind::Alternative => named(pen, lines.alternatives, table::ABOUT),
        Kind::Criterion => named(pen, lines.criteria, table::COUNTS),
        Kind::Scores => scores::table(pen, asks),
        Kind::Recommended => format!("{}, {}", scores::winner(pen), pen.shared(table::CHOSEN)),
        Kind::Pick => ideas::pick(pen, lines, nth).unwrap_or_else(|| pen.line(lines.reason)),
        Kind::Selected => ideas::selected(pen, nth).unwrap_or_else(|| pen.line(lines.ideas) + "."),
        Kind::Differ | Kind::Evolution | Kind::Kept | Kind::General => pen.shared(table::GENERAL),
    }
}

fn reason(pen: &mut Pen<'_>, lines: &Lines) -> String {
    match pen.has_partner() {
        true => [pen.line(lines.doubt), pen.line(lines.reason)].join(" "),
        false => pen.line(lines.reason),
    }
}

/// The bottom line: the figures as they were counted, where the form wants an estimate; the motion
/// as it was decided; else what all can stand behind.
fn bottom(pen: &mut Pen<'_>, asks: &str) -> String {
    let figure = |name: &str| {
        let rest = pen.scene.task.split(&format!("{name} ")).nth(1)?;
        let figure =
            rest.split(|c: char| c == ',' || c.is_whitespace()).next()?.trim_end_matches('.');
        (!figure.is_empty() && figure.len() < 12).then(|| figure.to_string())
    };
    let figures = figure("lowest").zip(figure("median")).zip(figure("highest"));
    if let Some(((low, median), high)) = figures.filter(|_| asks.contains("estimate")) {
        let unit = match pen.scene.topic.shape {
            Shape::Amount => pen.shared(table::PANEL_TIMES),
            _ => format!("percent {}", pen.shared(table::PANEL_ODDS)),
        };
        return format!("{median} {unit}, with answers from {low} to {high}.");
    }
    let refused = decided_side(pen) == Some("AGAINST");
    pen.shared(if refused { table::REFUSED } else { table::BOTTOM })
}

fn insight(pen: &mut Pen<'_>) -> String {
    [pen.shared(table::INSIGHT), pen.shared(table::SCRIPTED)].join(" ")
}

fn named(pen: &mut Pen<'_>, names: &[&str], about: &[&str]) -> String {
    format!("{} — {}.", pen.line(names), pen.shared(about))
}

/// One of the words in capitals that the form allows, and why.
fn verdict(pen: &mut Pen<'_>, asks: &str) -> String {
    let words: Vec<&str> =
        asks.split(|c: char| !c.is_alphanumeric()).filter(|word| is_capitals(word)).collect();
    match words[..] {
        _ if words.contains(&"AGAINST") => {
            let side = decided_side(pen).unwrap_or("PARTIAL");
            format!("{side}, {}.", pen.shared(table::DECIDED))
        }
        _ if words.contains(&"PARTIAL") => format!("PARTIAL, {}.", pen.shared(table::SPLIT)),
        ["YES", "NO"] if scores::is_aligned(pen.scene) => {
            format!("YES, {}.", pen.shared(table::ALIGNED))
        }
        ["YES", "NO"] => format!("NO, {}.", pen.shared(table::TORN)),
        [first, ..] => format!("{first}, {}.", pen.shared(table::DECIDED)),
        [] => pen.shared(table::GENERAL),
    }
}

/// The side that carries a motion, where the form lets one choose; the same for every judge.
fn decided_side(pen: &Pen<'_>) -> Option<&'static str> {
    let is_motion = pen.scene.form.iter().any(|(_, asks)| asks.contains("AGAINST"));
    is_motion.then(|| ["FOR", "AGAINST"][pen.draw_together("side", 2)])
}

/// By stance: how sure it is, from 0 to 100; the level follows from the number.
const SURE: [usize; 3] = [77, 36, 58];

fn confidence(pen: &mut Pen<'_>, stance: usize) -> String {
    let score = SURE[stance] + pen.draw("sure", 8);
    let (level, why) = match score {
        75.. => ("HIGH", table::SURE[0]),
        45.. => ("MEDIUM", table::SURE[1]),
        _ => ("LOW", table::SURE[2]),
    };
    format!("{level} {score}, {}.", pen.line(why))
}

/// By stance: odds in percent, and how many times a first guess, in tenths. The last is the middle.
const ODDS: [usize; 3] = [70, 44, 58];
const TIMES: [usize; 3] = [15, 30, 20];

/// A figure that claims no fact: odds, or a multiple of a guess that somebody else has to make. Who
/// revises goes a third of the way to the middle, once.
fn estimate(pen: &mut Pen<'_>, stance: usize, revised: bool) -> String {
    let (figures, pool) = match pen.scene.topic.shape {
        Shape::Amount => (TIMES, table::TIMES),
        _ => (ODDS, table::ODDS),
    };
    let (first, middle) = (figures[stance], figures[2]);
    let moved = (2 * first + middle) / 3;
    if revised && (moved == first || pen.scene.says(&["third", "last round"])) {
        return format!("UNCHANGED, {}.", pen.shared(table::UNMOVED));
    }
    let figure = if revised { moved } else { first };
    match pen.scene.topic.shape {
        Shape::Amount => format!("{} {}.", figure as f64 / 10.0, pen.shared(pool)),
        _ => format!("{} percent {}.", figure + pen.draw_always("odds", 5), pen.shared(pool)),
    }
}
