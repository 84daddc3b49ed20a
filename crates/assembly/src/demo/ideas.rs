//! Lists of ideas: finding them, building on them, choosing and writing them out.

use super::lines::{Lines, table};
use super::pen::Pen;
use super::scene::Scene;
use super::words;

/// Ideas of a first list and of one that builds on others.
const FOUND: usize = 5;
const BUILT: usize = 3;
/// Words of an idea when it is spoken of; the rest becomes `…`.
const TITLE_WORDS_MAX: usize = 12;
const TITLE_WORDS_MIN: usize = 3;
/// Ideas looked at; later ones are not.
const IDEAS_MAX: usize = 200;

/// An idea of somebody, by its number at the table.
struct Idea {
    number: usize,
    name: String,
    words: String,
}

/// A numbered list: new ideas, or such as build on those of the others.
pub(super) fn list(pen: &mut Pen<'_>, lines: &Lines) -> String {
    let heard = of_others(pen.scene);
    let item = |at: usize, text: String| format!("{}. {text}.", at + 1);
    if heard.is_empty() {
        return (0..FOUND).map(|at| item(at, pen.line(lines.ideas))).collect::<Vec<_>>().join("\n");
    }
    let first = pen.draw("build", heard.len());
    let build = |at: usize| {
        let idea = &heard[(first + at * (heard.len() / BUILT).max(1)) % heard.len()];
        pen.turn_to_words(&idea.name, &idea.words);
        item(at, format!("From {}, {}", idea.number, pen.shared_about(table::JOINS, idea.number)))
    };
    (0..BUILT).map(build).collect::<Vec<_>>().join("\n")
}

/// The `nth` choice among the ideas of others: its number, why, and what to change.
pub(super) fn pick(pen: &mut Pen<'_>, lines: &Lines, nth: usize) -> Option<String> {
    let mut heard = of_others(pen.scene);
    // Everybody leans the same way, so that votes meet; the first choice stays one's own.
    heard.sort_by_key(|idea| pen.draw_together(&idea.number.to_string(), 1000));
    let favourite = pen.draw("favourite", heard.len());
    if favourite < heard.len() {
        heard[..=favourite].rotate_right(1);
    }
    let idea = heard.get(nth)?;
    pen.turn_to_words(&idea.name, &idea.words);
    let (why, change) = (pen.shared_about(table::PICKED, idea.number), pen.line(lines.change));
    Some(format!("{}, {why}. {change}", idea.number))
}

/// The `nth` idea that the votes select, written out.
pub(super) fn selected(pen: &mut Pen<'_>, nth: usize) -> Option<String> {
    let ideas = of_others(pen.scene);
    let votes = voted(&pen.scene.task);
    let rest = ideas.iter().map(|idea| idea.number).filter(|number| !votes.contains(number));
    let number = votes.iter().copied().chain(rest).nth(nth)?;
    let idea = ideas.iter().find(|idea| idea.number == number)?;
    pen.turn_to_words(&idea.name, &idea.words);
    Some([pen.shared(table::SELECTED), pen.shared(table::STEPS)].join(" "))
}

/// The numbers in `idea 3 with 2 picks`, in order.
fn voted(task: &str) -> Vec<usize> {
    let parts = task.split("idea ").skip(1);
    parts.filter_map(|part| part.split(' ').next()?.parse().ok()).take(IDEAS_MAX).collect()
}

/// The ideas of the others, their first ones before those that build on something.
fn of_others(scene: &Scene) -> Vec<Idea> {
    let lines =
        scene.others.iter().flat_map(|other| other.text.lines().map(move |line| (other, line)));
    let (built, first): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| line.contains('“'));
    let ideas = first.into_iter().chain(built).filter_map(|(other, line)| {
        let (number, idea) = line.split_once(". ")?;
        let words = title(idea)?;
        Some(Idea { number: number.parse().ok()?, name: other.name.clone(), words })
    });
    ideas.take(IDEAS_MAX).collect()
}

/// The first clause of an idea that says something.
fn title(idea: &str) -> Option<String> {
    let clauses = words::sentences(idea).into_iter().flat_map(|sentence| sentence.segments);
    let clauses: Vec<Vec<String>> = clauses.collect();
    let words = clauses.iter().find(|words| words.len() >= TITLE_WORDS_MIN).or(clauses.first())?;
    let shown = words[..words.len().min(TITLE_WORDS_MAX)].join(" ");
    Some(if words.len() > TITLE_WORDS_MAX { format!("{shown}…") } else { shown })
}
