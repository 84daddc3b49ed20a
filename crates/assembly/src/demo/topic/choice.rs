//! `A or B`, wherever it stands in a question.

use super::{Shape, Topic, is_auxiliary, is_wh, phrase};
use crate::demo::grammar::{is_stop, is_verb};

/// Words of one of two options.
const OPTION_WORDS_MAX: usize = 5;

/// The two options and what they are for; none where the question is not of this shape.
pub(super) fn choice(segments: &[Vec<String>]) -> Option<Topic> {
    let is_or = |word: &String| ["or", "vs", "versus"].contains(&word.to_lowercase().as_str());
    let (index, at) = segments
        .iter()
        .enumerate()
        .find_map(|(index, words)| Some((index, words.iter().position(is_or)?)))?;
    let (left, right) = (&segments[index][..at], &segments[index][at + 1..]);
    let left = if left.is_empty() { segments.get(index.checked_sub(1)?)? } else { left };
    let (a, (b, rest)) = (option_before(left), option_after(right));
    if a.is_empty() || b.is_empty() || b[0].eq_ignore_ascii_case("not") {
        return None;
    }
    let (a, b) = (phrase(&a), phrase(b));
    let mut topic = format!("{a} or {b}");
    if !rest.is_empty() && rest.len() <= OPTION_WORDS_MAX {
        topic = format!("{topic} {}", phrase(rest));
    }
    Some(Topic { topic, options: Some((a, b)), shape: Shape::Choice, ..Topic::default() })
}

fn ends_option(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_article = ["a", "an", "the", "my", "your", "our", "no", "more", "most", "of"];
    (is_stop(&lower) && !is_article.contains(&lower.as_str())) || is_auxiliary(&lower)
}

/// The words before `or` that name an option: back to a verb or a small word, which stay out.
fn option_before(words: &[String]) -> Vec<String> {
    let ends = |word: &&String| ends_option(word) || is_verb(word);
    let count = match words.split_last() {
        Some((_, before)) => 1 + before.iter().rev().take_while(|word| !ends(word)).count(),
        None => 0,
    };
    let option = &words[words.len() - count.min(OPTION_WORDS_MAX)..];
    option.iter().filter(|word| !is_wh(&word.to_lowercase())).cloned().collect()
}

/// The words after `or` that name an option, and what follows them.
fn option_after(words: &[String]) -> (&[String], &[String]) {
    let skipped = words.iter().take_while(|word| ends_option(word) && !is_not(word)).count();
    let words = &words[skipped.min(words.len())..];
    let more = words.iter().skip(1).take_while(|word| !ends_option(word)).count();
    words.split_at((1 + more).min(OPTION_WORDS_MAX).min(words.len()))
}

fn is_not(word: &str) -> bool {
    word.eq_ignore_ascii_case("not")
}
