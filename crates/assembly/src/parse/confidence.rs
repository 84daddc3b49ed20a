//! How sure somebody is, as models write it: a word, a number, or both, with reasons around them
//! that have numbers of their own.

use crate::event::{Confidence, Level};

const LEVELS: [(&str, Level); 3] =
    [("HIGH", Level::High), ("MEDIUM", Level::Medium), ("LOW", Level::Low)];
const SCORE_MAX: f64 = 100.0;

/// A confidence in a text: a level, a number from 0 to 100, or both. A number counts where it
/// stands first, directly behind a level, or before a percent sign or `/100`.
pub fn confidence(text: &str) -> Option<Confidence> {
    let text = text.trim();
    let level = levels(text).next().map(|(level, _)| level);
    let score = score_at(text)
        .or_else(|| levels(text).find_map(|(_, behind)| score_at(behind)))
        .or_else(|| marked(text));
    let level = level.or_else(|| score.map(level_of))?;
    Some(Confidence { level, score: score.unwrap_or(score_of(level)) })
}

/// The number that stands for a level where none was given.
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

/// Every level that stands in `text` as a whole word, in any case, with what stands behind it.
fn levels(text: &str) -> impl Iterator<Item = (Level, &str)> {
    let mut rest = text;
    text.split_inclusive(is_no_part).filter_map(move |piece| {
        let word = piece.trim_end_matches(is_no_part);
        let behind = &rest[word.len()..];
        rest = &rest[piece.len()..];
        let (_, level) = LEVELS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name))?;
        Some((*level, behind))
    })
}

fn is_no_part(c: char) -> bool {
    !c.is_alphanumeric()
}

/// What may stand between a level and its number.
fn is_between(c: char) -> bool {
    c.is_whitespace() || ",(:-\u{2013}\u{2014}=~|*_[".contains(c)
}

/// The score at the start of `text`. In a later line it stands alone: else it may be a list's.
fn score_at(text: &str) -> Option<u8> {
    let bare = text.trim_start_matches(is_between);
    let gap = &text[..text.len() - bare.len()];
    let (number, behind) = number(bare)?;
    let line = behind.lines().next().unwrap_or_default();
    if gap.contains('\n') && line.chars().any(char::is_alphabetic) {
        return None;
    }
    score(number, scale(behind))
}

/// The first number of so many percent, or of 100.
fn marked(text: &str) -> Option<u8> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let is_inside = rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        rest = &rest[at..];
        let found = number(rest).filter(|_| !is_inside).and_then(|(number, behind)| {
            score(number, Some(scale(behind).filter(|scale| *scale == SCORE_MAX)?))
        });
        if found.is_some() {
            return found;
        }
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    None
}

/// The number that `text` begins with, and what stands behind it; none where it is part of a word.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let behind = &text[number.len()..];
    let is_whole = number.starts_with(|c: char| c.is_ascii_digit())
        && !behind.starts_with(|c: char| c.is_alphanumeric());
    is_whole.then_some((number, behind))
}

/// What a number is counted against, by what stands behind it: 100 for a percent sign, the other
/// number in `8/10` or `8 out of 10`, and 0 where that is none (`3 of us`).
fn scale(behind: &str) -> Option<f64> {
    let behind = behind.trim_start_matches([' ', '*', '_']);
    if behind.starts_with('%') || behind.starts_with("percent") {
        return Some(SCORE_MAX);
    }
    let whole = ["/", "out of ", "of "].iter().find_map(|mark| behind.strip_prefix(mark))?;
    let whole = number(whole.trim_start()).and_then(|(number, _)| number.parse().ok());
    Some(whole.unwrap_or(0.0))
}

/// `85`, `85 %` and `85/100` are 85, and so is `0.85`; `8/10` is 80. All else is no score.
fn score(number: &str, scale: Option<f64>) -> Option<u8> {
    let value: f64 = number.parse().ok()?;
    let score = match scale {
        None if number.contains('.') && value <= 1.0 => value * SCORE_MAX,
        None => value,
        Some(10.0) => value * 10.0,
        Some(SCORE_MAX) => value,
        Some(_) => return None,
    };
    (score <= SCORE_MAX).then_some(score.round() as u8)
}
