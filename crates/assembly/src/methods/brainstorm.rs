//! Brainstorm: ideas without judging, then building on everyone's, then votes; the best are written
//! out. We number the ideas and count the votes ourselves.

use super::brief;
use super::{Method, Shown};
use super::{form, list};
use crate::event::{Quoted, Synthesis};
use crate::fit::{Shortened, shorten};
use crate::floor::{Cue, Floor, Seat, Spoken};
use crate::measure::{self, Vote};
use crate::parse::{self, FormLine, make_lines};
use crate::prompt::Prompt;
use crate::transcript::{Quote, Transcript};
use althing_stdx::{Result, text};

const IDEATOR: Option<&str> = Some("IDEATOR");
/// Ideas of one seat in one phase; more are not taken up.
const IDEAS_MAX: usize = 8;
const PICKS: [FormLine; 3] = make_lines(
    ["PICK 1", "PICK 2", "PICK 3"],
    "its number, then why, what could sink it, what to change",
);
const SELECTED: [FormLine; 5] = make_lines(
    ["IDEA 1", "IDEA 2", "IDEA 3", "IDEA 4", "IDEA 5"],
    "title, how it works, why it, and the first step",
);
const ALTERNATIVES: FormLine =
    FormLine { label: "ALTERNATIVES", what: "what is worth keeping beside them; None if nothing" };
/// The lines of the selection.
const SELECTION: [FormLine; 6] =
    [SELECTED[0], SELECTED[1], SELECTED[2], SELECTED[3], SELECTED[4], ALTERNATIVES];
/// What the selected ideas are shown with.
const PARTS: &[(&str, &str)] = &[
    ("IDEA 1: ", SELECTED[0].label),
    ("IDEA 2: ", SELECTED[1].label),
    ("IDEA 3: ", SELECTED[2].label),
    ("IDEA 4: ", SELECTED[3].label),
    ("IDEA 5: ", SELECTED[4].label),
];
/// Ideas shown in the count.
const COUNTED_MAX: usize = 8;
/// Ideas that whoever concludes reads in full.
const SHORTLIST_MAX: usize = 5;
/// Words before the number of an idea.
const NUMBER_NAMES: [&str; 5] = ["idea", "number", "no", "nr", "pick"];
/// Words after a number that counts something else.
const COUNTED: [&str; 4] = ["of", "ideas", "reasons", "people"];
/// Words of each kind of turn.
const IDEAS_WORDS: u64 = 350;
const BUILD_WORDS: u64 = 200;
const PICKS_WORDS: u64 = 200;
/// Characters of an idea in the count.
const SHOWN_CHARS_MAX: usize = 160;
/// Characters of an idea in the shortlist: a title and some sentences.
const IDEA_CHARS_MAX: usize = 600;

pub(super) const METHOD: Method = Method {
    name: "brainstorm",
    about: "many ideas, built upon and voted on: for options nobody has thought of",
    seats_min: 2,
    even: false,
    phases: &["Diverge", "Build", "Converge", "Idea Synthesis"],
    roles: |seats| vec![("Ideators", (0..seats).collect())],
    calls: |seats, _| 3 * seats + 1,
    shown: Shown { lines: &SELECTION, parts: PARTS },
    run: |floor| Box::pin(run(floor)),
};

/// The ideas of one seat, under their numbers in the whole pool.
struct Sheet {
    spoken: Spoken,
    ideas: Vec<(usize, String)>,
}

/// What came of the phases before the last.
#[derive(Default)]
struct Harvest {
    pool: Vec<Sheet>,
    picks: Vec<Spoken>,
}

async fn run(floor: &Floor) -> Result<()> {
    let mut harvest = Harvest::default();
    let held = hold(floor, &mut harvest).await;
    floor.conclude(held).await?;
    let Harvest { pool, picks } = &harvest;
    let ballots: Vec<Vec<usize>> =
        picks.iter().map(|said| ballot(&said.text, count(pool))).collect();
    let votes = measure::tally(&ballots);
    let counted = Quoted { name: "Votes".into(), text: in_words(&votes, pool) };
    let read = move |text: &str| {
        let mut read = read(text);
        read.more.extend(brief::heading(&counted.name, Some(counted.text.clone())));
        read
    };
    floor.synthesise(|_| synthesis(floor, pool, picks, &votes), read, |_| false).await
}

/// Everything before the synthesis.
async fn hold(floor: &Floor, harvest: &mut Harvest) -> Result<()> {
    let mut pooled = Transcript::new("ideas");
    floor.phase(1).await?;
    let said = floor.everyone(|seat| diverge(floor, seat, &pooled)).await?;
    harvest.pool = number(&said, 1);
    pooled.add_round("Ideas:", quotes(floor, &harvest.pool));

    floor.phase(2).await?;
    let said = floor.everyone(|seat| build(floor, seat, &pooled)).await?;
    let built = number(&said, 1 + count(&harvest.pool));
    pooled.add_round("Ideas built on them:", quotes(floor, &built));
    harvest.pool.extend(built);

    floor.phase(3).await?;
    harvest.picks = floor.everyone(|seat| converge(floor, seat, &pooled)).await?;
    Ok(())
}

/// Numbers ideas through all seats, from `first` on.
fn number(said: &[Spoken], first: usize) -> Vec<Sheet> {
    let mut next = first;
    let sheet = |spoken: &Spoken| {
        let ideas = list::items(&spoken.text, IDEAS_MAX).into_iter().enumerate();
        let ideas: Vec<_> = ideas.map(|(at, idea)| (next + at, idea)).collect();
        next += ideas.len();
        Sheet { spoken: spoken.clone(), ideas }
    };
    said.iter().map(sheet).collect()
}

fn count(sheets: &[Sheet]) -> usize {
    sheets.iter().map(|sheet| sheet.ideas.len()).sum()
}

/// Every seat's ideas as one quotation, one idea a line.
fn quotes(floor: &Floor, sheets: &[Sheet]) -> Vec<Quote> {
    let quote = |sheet: &Sheet| {
        let lines = sheet.ideas.iter().map(|(number, idea)| format!("{number}. {idea}"));
        let text = lines.collect::<Vec<_>>().join("\n");
        floor.quote(&sheet.spoken, &sheet.spoken.name, &text)
    };
    sheets.iter().map(quote).collect()
}

/// The ideas that a seat picked, best first.
fn ballot(text: &str, ideas: usize) -> Vec<usize> {
    let picks = parse::read_form(text, &PICKS).into_iter().flatten();
    let mut ballot: Vec<usize> = Vec::new();
    for number in picks.filter_map(|pick| read_pick(&pick)) {
        if (1..=ideas).contains(&number) && !ballot.contains(&number) {
            ballot.push(number);
        }
    }
    ballot
}

/// Reads the number of the idea that a pick names: at its front, or as `idea 7`, `#7` or `(7)`.
/// Other numbers count something else.
fn read_pick(pick: &str) -> Option<usize> {
    let words: Vec<(usize, &str)> = parse::words_at(pick).collect();
    let is = |at: usize, known: &[&str]| {
        words.get(at).is_some_and(|(_, word)| parse::is_one_of(word, known))
    };
    let number = |at: usize| words.get(at)?.1.parse().ok().filter(|_| !is(at + 1, &COUNTED));
    let is_named = |at: &usize| {
        let (start, word) = words[*at];
        let (before, behind) = (&pick[..start], &pick[start + word.len()..]);
        let is_in_brackets = before.ends_with(['(', '[']) && behind.starts_with([')', ']']);
        let is_marked = is_in_brackets || before.ends_with('#');
        let is_after_word = *at > 0 && is(at - 1, &["idea"]);
        (is_marked || is_after_word) && !parse::is_negated(before)
    };
    let after_name = || number(1).filter(|_| is(0, &NUMBER_NAMES));
    let later = || (0..words.len()).filter(is_named).find_map(number);
    let is_refusal = is(0, &["none", "no", "not", "nothing"]);
    number(0).or_else(after_name).or_else(|| later().filter(|_| !is_refusal))
}

fn in_words(votes: &[Vote], pool: &[Sheet]) -> String {
    let ideas = |number: usize| {
        let all = pool.iter().flat_map(|sheet| sheet.ideas.iter().map(move |idea| (sheet, idea)));
        all.into_iter().find(|(_, (at, _))| *at == number)
    };
    let line = |vote: &Vote| {
        let (sheet, (_, idea)) = ideas(vote.item)?;
        let (Vote { item, picks, points }, idea) = (vote, text::clip(idea, SHOWN_CHARS_MAX));
        let name = &sheet.spoken.name;
        Some(format!("{item}. {idea} ({name}): {picks} picks, {points} points"))
    };
    votes.iter().take(COUNTED_MAX).filter_map(line).collect::<Vec<_>>().join("\n")
}

fn diverge(floor: &Floor, seat: &Seat, pooled: &Transcript) -> Cue {
    let task = format!(
        "Write a numbered list of five to {IDEAS_MAX} ideas, each a title and one or two sentences \
         on how it works. Let them differ in kind: one cheap, one that turns the question around, \
         one that sounds wrong."
    );
    let prompt = brief::task(floor, seat, &seat.name, pooled, task);
    Cue::message(IDEATOR, IDEAS_WORDS, prompt)
}

fn build(floor: &Floor, seat: &Seat, pooled: &Transcript) -> Cue {
    let task = "Write a numbered list of three new ideas built on these, preferably others': join \
                two, take one further, or move it elsewhere. Begin each with the numbers it builds \
                on.";
    let prompt = brief::task(floor, seat, &seat.name, pooled, task);
    Cue::message(IDEATOR, BUILD_WORDS, prompt)
}

fn converge(floor: &Floor, seat: &Seat, pooled: &Transcript) -> Cue {
    let task = "Pick the three ideas with most effect for the effort, best first, at most one of your \
                own.";
    let prompt = form::ask_alike(brief::task(floor, seat, &seat.name, pooled, task), &PICKS);
    Cue::message(IDEATOR, PICKS_WORDS, prompt)
}

fn synthesis(floor: &Floor, pool: &[Sheet], picks: &[Spoken], votes: &[Vote]) -> Prompt {
    let counted = votes
        .iter()
        .take(COUNTED_MAX)
        .map(|vote| format!("#{} ({} picks, {} points)", vote.item, vote.picks, vote.points));
    let counted = match counted.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "nobody's votes could be counted".into(),
        counted => counted,
    };
    let mut said = Transcript::new("picks");
    said.add_round("Most votes:", shortlist(floor, pool, votes));
    if !picks.is_empty() {
        said.add_round("The picks:", brief::quotes(floor, picks));
    }
    let task = format!(
        "The votes counted: {counted}. Write out the three to five ideas selected: follow the votes, \
         merge picks that are one idea, leave out what objections sank, and no further IDEA line."
    );
    let prompt = form::ask_alike(brief::conclude(floor, &said, task), &SELECTED);
    form::ask_lines(prompt, &[ALTERNATIVES])
}

/// Writes an idea in a few sentences: as many as were asked for, and a mark where there were more.
fn shorten_idea(number: usize, idea: &str) -> String {
    match shorten(idea, IDEA_CHARS_MAX) {
        None => format!("{number}. {idea}"),
        Some(Shortened { text, words_left_out }) => {
            format!("{number}. {text} ({words_left_out} words are left out here)")
        }
    }
}

/// The ideas that got most votes under the names of their authors; all of them where none got any.
fn shortlist(floor: &Floor, pool: &[Sheet], votes: &[Vote]) -> Vec<Quote> {
    let chosen: Vec<usize> = votes.iter().take(SHORTLIST_MAX).map(|vote| vote.item).collect();
    let is_chosen = |(number, _): &&(usize, String)| chosen.is_empty() || chosen.contains(number);
    let quote = |sheet: &Sheet| {
        let lines = sheet.ideas.iter().filter(is_chosen);
        let lines: Vec<String> = lines.map(|(number, idea)| shorten_idea(*number, idea)).collect();
        let quote = floor.quote(&sheet.spoken, &sheet.spoken.name, &lines.join("\n"));
        (!lines.is_empty()).then_some(quote)
    };
    pool.iter().filter_map(quote).collect()
}

/// Reads the selection. Ideas count up from 1 without a gap: a number in passing selects nothing.
pub(super) fn read(text: &str) -> Synthesis {
    let [one, two, three, four, five, alternatives] = parse::read_form(text, &SELECTION);
    let ideas = [one, two, three, four, five].into_iter().map_while(brief::keep_stated);
    let ideas: Vec<String> =
        ideas.zip(SELECTED).map(|(idea, line)| format!("{}: {idea}", line.label)).collect();
    let other = brief::read_open_points(alternatives, "None");
    if ideas.is_empty() {
        return form::concluded(None, form::rest(text, &SELECTION, &[SELECTED[0].label]), other);
    }
    form::concluded(Some(&format!("{} SELECTED", ideas.len())), ideas.join("\n\n"), other)
}

#[cfg(test)]
mod tests;
