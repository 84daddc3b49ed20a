//! How sure somebody is, as models write it: a word, a number, or both, with reasons around them
//! that have numbers of their own.

use super::mention::{Mention, ends_statement, find_mentions, is_negated, is_one_of, words_of};
use crate::event::{Confidence, Level};

const LEVELS: [Level; 3] = [Level::High, Level::Medium, Level::Low];
const NAMES: [&str; 3] = ["HIGH", "MEDIUM", "LOW"];
const SCORE_MAX: f64 = 100.0;
/// Up to here a number may count something: `3 reasons`.
const COUNT_MAX: u8 = 10;

/// What joins the two numbers of a range.
const JOINTS: [&str; 4] = ["to ", "-", "\u{2013}", "\u{2014}"];

/// Words before a level that only shade it.
const SHADES: [&str; 9] = [
    "very",
    "quite",
    "fairly",
    "rather",
    "pretty",
    "reasonably",
    "relatively",
    "moderately",
    "only",
];
/// Words after a number that say what it is a measure of.
const SURE: [&str; 4] = ["sure", "certain", "confident", "likely"];
const UNSURE: [&str; 4] = ["unsure", "uncertain", "unclear", "unlikely"];

/// Reads the confidence that a text states: a level, a number from 0 to 100, or both. A level
/// counts where it stands for itself, a number where it comes first, directly behind a level, or
/// before a percent sign or `/100`. A choice that is left open, denied or only talked about is
/// none.
pub fn confidence(text: &str) -> Option<Confidence> {
    let text = text.trim();
    if is_missing(text) {
        return None;
    }
    let levels = find_mentions(text, &NAMES);
    let front = read_number(text).filter(Number::is_alone).and_then(|number| number.score());
    let score =
        front.or_else(|| levels.iter().find_map(read_numbered)).or_else(|| find_marked(text));
    let level = find_stated_level(&levels).or_else(|| score.map(level_of))?;
    Some(Confidence { level, score: score.unwrap_or(score_of(level)) })
}

/// Tells whether a text begins with saying that there is none: `N/A (0)`, `not stated`.
fn is_missing(text: &str) -> bool {
    let mut words = words_of(text);
    match (words.next(), words.next()) {
        (Some(first), Some(second)) => {
            is_one_of(first, &["none", "unknown", "unstated"])
                || is_one_of(first, &["n"]) && is_one_of(second, &["a"])
                || is_one_of(first, &["not"]) && is_one_of(second, &["stated", "given", "known"])
        }
        _ => false,
    }
}

/// Returns the number that stands for a level where none was given.
pub fn score_of(level: Level) -> u8 {
    match level {
        Level::High => 85,
        Level::Medium => 60,
        Level::Low => 30,
    }
}

fn level_of(score: u8) -> Level {
    match score {
        75.. => Level::High,
        45.. => Level::Medium,
        _ => Level::Low,
    }
}

/// Returns the one level that is stated; none where there are several.
fn find_stated_level(levels: &[Mention]) -> Option<Level> {
    let is_open = |at: usize| {
        let after = levels.get(at + 1).is_some_and(|next| levels[at].is_alternative_to(next));
        after || at > 0 && levels[at - 1].is_alternative_to(&levels[at])
    };
    let stated = levels.iter().enumerate().filter(|(at, level)| !is_open(*at) && is_stated(level));
    let mut words = stated.map(|(_, level)| level.word);
    let word = words.next()?;
    words.all(|other| other == word).then_some(LEVELS[word])
}

/// Tells whether a level stands for the confidence: at the front, in a clause of its own, with its
/// number, or in a clause that speaks of confidence.
fn is_stated(level: &Mention) -> bool {
    if is_whole_scale(level.behind) || level.is_conditional() {
        return false;
    }
    if level.is_first() && level.is_capital() {
        return true;
    }
    let before: Vec<&str> =
        words_of(level.clause()).filter(|word| !is_one_of(word, &SHADES)).collect();
    let is_own_clause = before.is_empty() || before.iter().any(|word| names_confidence(word));
    let is_named = words_of(level.behind).next().is_some_and(names_confidence);
    let is_said = matches!(before[..], [.., "say" | "at"] | ["it" | "It", "is"]);
    let ends = level.ends_statement() || score_behind(level).is_some();
    !level.is_negated() && (is_named || ends && (is_own_clause || is_said))
}

fn names_confidence(word: &str) -> bool {
    word.to_lowercase().starts_with("confiden")
}

/// Returns the score behind a level that nothing denies.
fn read_numbered(level: &Mention) -> Option<u8> {
    score_behind(level).filter(|_| !level.is_negated())
}

/// Returns the score behind a level. A few of something are none, and behind a word for more so is
/// any number as small that does not say of how many.
fn score_behind(level: &Mention) -> Option<u8> {
    let number = read_number(strip_then(level.behind))?;
    let is_few = |score: u8| score <= COUNT_MAX && number.scale.is_none();
    let may_be_few = LEVELS[level.word] == Level::Low && number.is_alone();
    let score = number.score()?;
    let fits = !is_few(score) || may_be_few || number.is_decimal;
    (fits && (score > COUNT_MAX || number.is_alone())).then_some(score)
}

/// What may stand between a level and its number.
fn is_between(c: char) -> bool {
    c.is_whitespace() || ",(:-\u{2013}\u{2014}=~|*_[".contains(c)
}

/// Reads the number at the start of `text`. In a later line it stands alone: else it may be a
/// list's.
fn read_number(text: &str) -> Option<Number<'_>> {
    let bare = text.trim_start_matches(is_between);
    let gap = &text[..text.len() - bare.len()];
    let is_negative = gap.ends_with(['-', '\u{2212}'])
        && gap.trim_end_matches(['-', '\u{2212}']).ends_with([' ', ',', '(']);
    let number = Number::read(bare).filter(|_| !is_negative)?;
    let line = number.behind.lines().next().unwrap_or_default();
    let is_item = gap.contains('\n') && line.contains(char::is_alphabetic);
    (!is_item && !number.is_list_mark()).then_some(number)
}

/// Returns the first number of so many percent, or of 100, that nothing denies.
fn find_marked(text: &str) -> Option<u8> {
    let mut at = 0;
    while let Some(next) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let (before, found) = text.split_at(at + next);
        let is_inside =
            before.ends_with(|c: char| c.is_alphanumeric() || c == '.') || is_range_start(before);
        let number = Number::read(found).filter(|it| it.scale == Some(SCORE_MAX));
        let number = number.filter(|_| !is_inside && !is_negated(before));
        if let Some(score) = number.and_then(|number| number.score()) {
            return Some(score);
        }
        let digits = found.trim_start_matches(|c: char| c.is_ascii_digit());
        at = text.len() - digits.len();
    }
    None
}

/// Tells whether `behind` goes on with all the scores there are, as the form does that asks for
/// one.
fn is_whole_scale(behind: &str) -> bool {
    let bare = strip_then(behind).trim_start_matches(is_between);
    let range = read_digits(bare).and_then(|(low, rest)| Some((low, range_end(rest)?.0)));
    range.is_some_and(|(low, high)| is_scale(low, high))
}

/// Strips the word that the form has between level and score.
fn strip_then(behind: &str) -> &str {
    behind.trim_start_matches([',', ' ']).strip_prefix("then ").unwrap_or(behind)
}

/// A number as it is written, or the middle of two that it lies between.
struct Number<'a> {
    value: f64,
    is_decimal: bool,
    /// What it is counted against, where that stands behind it.
    scale: Option<f64>,
    behind: &'a str,
}

impl<'a> Number<'a> {
    /// Reads the number that `text` begins with; none where it is part of a word, or only says from
    /// where to where scores go.
    fn read(text: &'a str) -> Option<Number<'a>> {
        let (low, mut behind) = read_digits(text)?;
        let is_decimal = text[..text.len() - behind.len()].contains(['.', ',']);
        let mut value: f64 = low;
        if let Some((high, rest)) = range_end(behind).filter(|(high, _)| *high > low) {
            if is_scale(low, high) {
                return None;
            }
            (value, behind) = ((low + high) / 2.0, rest);
        }
        let scale = read_scale(behind);
        let behind = scale.map_or(behind, |(_, rest)| rest);
        Some(Number { value, is_decimal, scale: scale.map(|(scale, _)| scale), behind })
    }

    /// Returns the score: `85`, `85 %` and `85/100` are 85, and so is `0.85`; `8/10` is 80. All
    /// else is no score, and `100 % unsure` is none either.
    fn score(&self) -> Option<u8> {
        let score = match self.scale {
            None if self.is_decimal && self.value <= 1.0 => self.value * SCORE_MAX,
            None => self.value,
            Some(10.0) => self.value * 10.0,
            Some(SCORE_MAX) => self.value,
            Some(_) => return None,
        };
        let is_doubt = self.next_word().is_some_and(|word| is_one_of(word, &UNSURE));
        (score <= SCORE_MAX && !is_doubt).then_some(score.round() as u8)
    }

    /// Tells whether it counts nothing that follows.
    fn is_alone(&self) -> bool {
        let is_sure = || self.next_word().is_some_and(|word| is_one_of(word, &SURE));
        self.scale.is_some() || ends_statement(self.behind) || is_sure()
    }

    /// Tells whether it numbers an item: `1. I think so`.
    fn is_list_mark(&self) -> bool {
        let item = self.behind.strip_prefix(['.', ')']).filter(|_| self.scale.is_none());
        let has_words = |rest: &str| {
            rest.starts_with(char::is_whitespace)
                && rest.trim_start().starts_with(char::is_alphabetic)
        };
        self.value < 10.0 && !self.is_decimal && item.is_some_and(has_words)
    }

    fn next_word(&self) -> Option<&'a str> {
        words_of(self.behind).next()
    }
}

/// Reads the digits that `text` begins with; returns the number and what stands behind it. A comma is
/// a decimal mark too: no score has thousands.
fn read_digits(text: &str) -> Option<(f64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let whole = text.len() - text.trim_start_matches(is_digit).len();
    let fraction = text[whole..].strip_prefix(['.', ',']).map_or(0, |rest| {
        let digits = rest.len() - rest.trim_start_matches(is_digit).len();
        if digits > 0 { digits + 1 } else { 0 }
    });
    let (number, behind) = text.split_at(whole + fraction);
    let goes_on = behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(is_digit));
    let is_whole = whole > 0 && !goes_on && !behind.starts_with(|c: char| c.is_alphanumeric());
    Some((number.replace(',', ".").parse().ok().filter(|_| is_whole)?, behind))
}

/// Reads the other end of a range that `behind` goes on with: `-90`, ` to 90`.
fn range_end(behind: &str) -> Option<(f64, &str)> {
    let bare = behind.trim_start_matches(['%', ' ']);
    let bare = JOINTS.iter().find_map(|joint| bare.strip_prefix(joint))?;
    read_digits(bare.trim_start())
}

/// Tells whether `before` ends with the first number of a range and what joins it to the second.
fn is_range_start(before: &str) -> bool {
    let before = before.trim_end();
    let first = JOINTS.iter().find_map(|joint| before.strip_suffix(joint.trim_end()));
    first.is_some_and(|it| it.trim_end_matches(['%', ' ']).ends_with(|c: char| c.is_ascii_digit()))
}

/// Tells whether from `low` to `high` is everything one can say.
fn is_scale(low: f64, high: f64) -> bool {
    low <= 1.0 && [1.0, 10.0, SCORE_MAX].contains(&high)
}

/// Reads what a number is counted against, and what follows: 100 for a percent
/// sign, the other number in `8/10` or `8 out of 10`, and 0 where that is none (`3 of us`).
fn read_scale(behind: &str) -> Option<(f64, &str)> {
    let behind = behind.trim_start_matches([' ', '*', '_']);
    if let Some(rest) = ["%", "percent"].iter().find_map(|mark| behind.strip_prefix(mark)) {
        return Some((SCORE_MAX, rest));
    }
    let whole = ["/", "out of ", "of "].iter().find_map(|mark| behind.strip_prefix(mark))?;
    Some(read_digits(whole.trim_start()).unwrap_or((0.0, whole)))
}
