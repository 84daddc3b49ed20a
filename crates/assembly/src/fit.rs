//! Fitting a prompt into a window: what gives way, and by how much. Everything here is pure.

use crate::transcript::{Limit, Quote, Transcript};
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
    /// Characters to which each speech is shortened that only this prompt has; none: they are whole.
    /// With 0 they are left out. Later prompts do not have these speeches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside_chars: Option<usize>,
}

impl Cut {
    /// Returns what later prompts keep of it.
    pub(crate) fn lasting(self) -> Cut {
        Cut { aside_chars: None, ..self }
    }

    /// Returns how much of the speech with the number `at` is kept.
    pub(crate) fn limit(&self, at: usize) -> Limit {
        match at {
            _ if at < self.dropped => Limit::Dropped,
            _ if at < self.until => Limit::Chars(self.chars),
            _ => Limit::Whole,
        }
    }

    /// Returns how much is kept of each speech that only this prompt has.
    pub(crate) fn aside_limit(&self) -> Limit {
        match self.aside_chars {
            None => Limit::Whole,
            Some(0) => Limit::Dropped,
            Some(chars) => Limit::Chars(chars),
        }
    }
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
    let is_within = |cut: &Cut| tokens(cut) <= budget;
    if is_within(&before) {
        return Some(before);
    }
    if transcript.aside_quotes().is_empty() {
        return deepen_below(transcript, before, budget, &tokens);
    }
    // What only this prompt has gives way before what all later ones would miss.
    if let Some(cut) = shorten_aside(transcript, before, SPEECH_CHARS_MIN, is_within) {
        return Some(cut);
    }
    for aside_chars in [SPEECH_CHARS_MIN, 0] {
        let before = Cut { aside_chars: Some(aside_chars), ..before };
        if let Some(cut) = deepen_below(transcript, before, budget, &tokens) {
            let longer = shorten_aside(transcript, cut, SPEECH_CHARS_MIN, is_within);
            return Some(longer.unwrap_or(cut));
        }
    }
    None
}

fn deepen_below(
    transcript: &Transcript,
    before: Cut,
    budget: u64,
    tokens: &impl Fn(&Cut) -> u64,
) -> Option<Cut> {
    let target = (budget as f64 * CUT_PERCENT) as u64;
    // Where the fixed text alone takes more than the target, the budget itself is the target.
    deepen(transcript, before, target, tokens)
        .or_else(|| deepen(transcript, before, budget, tokens))
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
    if transcript.keeps_all() {
        return shorten_all(transcript, before, SPEECH_CHARS_MIN, fits);
    }
    // Whole rounds go first, the oldest before the others.
    let first_kept = rounds.saturating_sub(ROUNDS_KEPT);
    let starts = ends.iter().take(first_kept).copied().filter(|end| *end > before.dropped);
    let drops: Vec<usize> = std::iter::once(before.dropped).chain(starts).collect();
    let dropping = |dropped: usize| Cut { dropped, ..before };
    if let Some(cut) = drops.iter().map(|dropped| dropping(*dropped)).find(&fits) {
        return Some(cut);
    }
    // Then the speeches of the last rounds are shortened, all to the same length; then they go one
    // by one, the oldest first and the newest never.
    let dropped = drops.last().copied().unwrap_or(before.dropped);
    let mut further = (dropped..all.max(dropped + 1)).map(dropping);
    let shortened = further.find_map(|cut| shorten_all(transcript, cut, SPEECH_CHARS_MIN, fits));
    let newest = all.saturating_sub(1).max(dropped);
    shortened.or_else(|| shorten_all(transcript, dropping(newest), 0, fits))
}

/// Returns `cut` with all speeches that it keeps shortened to the same length, the longest that fits
/// and at least `least` characters.
fn shorten_all(
    transcript: &Transcript,
    cut: Cut,
    least: usize,
    fits: impl Fn(&Cut) -> bool,
) -> Option<Cut> {
    let until = transcript.len();
    longest(transcript.quotes(), least, |chars| Cut { until, chars, ..cut }, fits)
}

/// Returns `cut` with the speeches shortened that only this prompt has.
fn shorten_aside(
    transcript: &Transcript,
    cut: Cut,
    least: usize,
    fits: impl Fn(&Cut) -> bool,
) -> Option<Cut> {
    let quotes = transcript.aside_quotes().iter();
    longest(quotes, least, |chars| Cut { aside_chars: Some(chars), ..cut }, fits)
}

/// Returns the cut with the greatest length that fits, of at least `least` characters.
fn longest<'a>(
    quotes: impl Iterator<Item = &'a Quote>,
    least: usize,
    cut: impl Fn(usize) -> Cut,
    fits: impl Fn(&Cut) -> bool,
) -> Option<Cut> {
    let longest = quotes.map(|quote| quote.text.len()).max().unwrap_or(0);
    let (mut low, mut high) = (least, longest.max(least));
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
    let (mut block, mut start) = (None, 0);
    for line in text.split_inclusive('\n') {
        if start >= limit {
            break;
        }
        let end = start + line.len();
        let next = block_after(line, block);
        let is_code = block.is_some() || next.is_some();
        if next.is_none() && end <= limit {
            (sentence, word) = (end, end);
        } else if !is_code {
            let ends = ends_in(line, limit - start);
            sentence = ends.0.map_or(sentence, |at| start + at);
            word = ends.1.map_or(word, |at| start + at);
        }
        (block, start) = (next, end);
    }
    if sentence > 0 { sentence } else { word }
}

/// How a code block was opened: by how many of which character.
type CodeFence = (char, usize);

/// Returns the code block that is open behind `line`, as CommonMark has it: a block ends at a fence of
/// the same character that is at least as long and has no words behind it.
fn block_after(line: &str, open: Option<CodeFence>) -> Option<CodeFence> {
    let line = line.trim();
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'));
    let length = line.chars().take_while(|c| Some(*c) == sign).count();
    let Some(sign) = sign.filter(|_| length >= 3) else { return open };
    let info = &line[length..];
    match open {
        Some((opened, least)) if opened == sign && length >= least && info.is_empty() => None,
        Some(_) => open,
        // Backticks behind backticks are code within a line.
        None if sign == '`' && info.contains('`') => None,
        None => Some((sign, length)),
    }
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
