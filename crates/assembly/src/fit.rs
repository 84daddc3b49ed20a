//! Fitting a prompt into a window: what gives way, and by how much. Everything here is pure.

use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// A prompt that is too large is cut to this share of its budget, so that the next ones fit without
/// a cut of their own.
const CUT_PERCENT: f64 = 0.7;
/// Rounds that are shortened before they are dropped.
const ROUNDS_KEPT: usize = 2;
/// Characters to which a speech is shortened at the least, as long as older ones can be dropped.
const SPEECH_CHARS_MIN: usize = 160;

/// What is left out of a transcript. Later prompts keep it, so that they begin alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Speeches that are left out, from the first on.
    pub dropped: usize,
    /// Speeches before this one are shortened.
    pub until: usize,
    /// Characters to which each of them is shortened.
    pub chars: usize,
}

/// Returns a cut with which `tokens` is at most `budget`: `before` where that is enough, otherwise a
/// deeper one that leaves room for what is said next. `None` where even the newest speech alone,
/// shortened to nothing, is too much.
pub fn fit(
    transcript: &Transcript,
    before: Cut,
    budget: u64,
    tokens: impl Fn(&Cut) -> u64,
) -> Option<Cut> {
    if tokens(&before) <= budget {
        return Some(before);
    }
    let target = (budget as f64 * CUT_PERCENT) as u64;
    // Where the fixed text alone takes more than the target, the budget itself is the target.
    deepen(transcript, before, target, &tokens)
        .or_else(|| deepen(transcript, before, budget, &tokens))
}

fn deepen(
    transcript: &Transcript,
    before: Cut,
    target: u64,
    tokens: &impl Fn(&Cut) -> u64,
) -> Option<Cut> {
    let ends = round_ends(transcript);
    let (all, rounds) = (transcript.len(), ends.len());
    let fits = |cut: &Cut| tokens(cut) <= target;
    // Whole rounds go first, the oldest before the others.
    let first_kept = rounds.saturating_sub(ROUNDS_KEPT);
    let starts = ends.iter().take(first_kept).copied().filter(|end| *end > before.dropped);
    let drops: Vec<usize> = std::iter::once(before.dropped).chain(starts).collect();
    for dropped in &drops {
        let cut = Cut { dropped: *dropped, ..before };
        if fits(&cut) {
            return Some(cut);
        }
    }
    // Then the speeches of the last rounds are shortened, all to the same length.
    let dropped = drops.last().copied().unwrap_or(before.dropped);
    if let Some(cut) = shorten_equally(transcript, dropped, SPEECH_CHARS_MIN, &fits) {
        return Some(cut);
    }
    // Then they go one by one, the oldest first and the newest never.
    for dropped in dropped + 1..all {
        if let Some(cut) = shorten_equally(transcript, dropped, SPEECH_CHARS_MIN, &fits) {
            return Some(cut);
        }
    }
    let newest = all.saturating_sub(1).max(dropped);
    shorten_equally(transcript, newest, 0, &fits)
}

/// The longest speeches of equal limit that fit, but none shorter than `least` characters.
fn shorten_equally(
    transcript: &Transcript,
    dropped: usize,
    least: usize,
    fits: &impl Fn(&Cut) -> bool,
) -> Option<Cut> {
    let until = transcript.len();
    let cut = |chars: usize| Cut { dropped, until, chars };
    let longest = transcript.quotes().map(|it| it.text.len());
    let (mut low, mut high) = (least, longest.max().unwrap_or(0).max(least));
    if !fits(&cut(low)) {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match fits(&cut(middle)) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    Some(cut(low))
}

/// How many speeches there are up to the end of each round.
fn round_ends(transcript: &Transcript) -> Vec<usize> {
    let mut count = 0;
    let ends = transcript.rounds().map(|round| {
        count += round.quotes.len();
        count
    });
    ends.collect()
}

/// The beginning of a speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened<'a> {
    pub text: &'a str,
    pub words_left_out: usize,
}

/// Returns the beginning of `text` of at most `chars` characters, ended at the end of a sentence and
/// never inside a code block. `None` where it is short enough as it is.
pub fn shorten(text: &str, chars: usize) -> Option<Shortened<'_>> {
    let limit = text.char_indices().nth(chars)?.0;
    let end = last_end(text, limit);
    let (kept, rest) = text.split_at(end);
    Some(Shortened { text: kept.trim_end(), words_left_out: count_words(rest) })
}

/// The last place before `limit` where a sentence, else a word, ends outside code blocks.
fn last_end(text: &str, limit: usize) -> usize {
    let (mut sentence, mut word) = (0, 0);
    let (mut in_code, mut start) = (false, 0);
    for line in text.split_inclusive('\n') {
        if start >= limit {
            break;
        }
        let (is_fence, was_in_code) = (line.trim_start().starts_with("```"), in_code);
        in_code ^= is_fence;
        let end = start + line.len();
        if !in_code && end <= limit {
            (sentence, word) = (end, end);
        } else if !in_code && !was_in_code {
            let ends = ends_in(line, limit - start);
            sentence = ends.0.map_or(sentence, |at| start + at);
            word = ends.1.map_or(word, |at| start + at);
        }
        start = end;
    }
    if sentence > 0 { sentence } else { word }
}

/// The last sentence end and the last word end of `line` within `limit` bytes.
fn ends_in(line: &str, limit: usize) -> (Option<usize>, Option<usize>) {
    let (mut sentence, mut word) = (None, None);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if end > limit {
            break;
        }
        let next = chars.peek().map(|(_, next)| *next);
        if next.is_none_or(char::is_whitespace) && !c.is_whitespace() {
            word = Some(end);
        }
        let is_stop = matches!(c, '.' | '!' | '?' | '…') && next.is_none_or(char::is_whitespace);
        if is_stop || matches!(c, '。' | '！' | '？') {
            sentence = Some(end);
        }
    }
    (sentence, word)
}

/// Counts words; a sign of a script without spaces is a word of its own.
pub fn count_words(text: &str) -> usize {
    let mut words = 0;
    let mut in_word = false;
    for c in text.chars() {
        let is_sign = matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
        words += usize::from(is_sign || (!in_word && c.is_alphanumeric()));
        in_word = !is_sign && !c.is_whitespace() && (in_word || c.is_alphanumeric());
    }
    words
}

#[cfg(test)]
mod tests;
