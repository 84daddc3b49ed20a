//! Notices a model that says the same again and again. Takes text as it comes, in time linear in
//! its length; how the text is cut into pieces changes nothing.
//!
//! A loop that is missed is cut by the ceiling of its turn, but a false alarm cuts a good answer.
//! So only a long run of text without anything new counts: a period that repeats exactly, or
//! sentences that were all said before.

use count::{count_letters, count_steps};
use sentence::Sentence;
use splitter::Splitter;
use std::collections::HashMap;
use std::ops::Range;

mod count;
mod period;
mod sentence;
mod splitter;

/// Bytes between two looks for a period, and bytes at the end of the text that a look takes in.
const LOOK_EVERY: usize = 1_024;
const TAIL_BYTES: usize = 12_288;
/// A sentence is an old one from this time on.
const TIMES_MIN: u32 = 4;
/// A sentence is forgotten after so many bytes without it: a long text says many things again.
const GAP_BYTES_MAX: usize = 8_192;
/// A loop has so many letters in old sentences in a row, or in periods in a row. The coda of a song
/// has fewer.
const LETTERS_MIN: usize = 1_000;
/// The same where sentences count as old although a number in them went up by one.
const COUNTED_LETTERS_MIN: usize = 12_000;
/// Code and tables repeat themselves by nature: they need so many times the letters of prose.
const LENIENCE: usize = 4;
/// A period with few letters, such as rulers, zeros and drawings, is a loop from so many bytes on.
const SIGNS_BYTES_MIN: usize = 8_192;
/// The same for blanks alone.
const BLANKS_MIN: usize = 2_048;

/// Watches one text.
#[derive(Debug, Default)]
pub struct Repetition {
    /// Nothing in it is prose: a form repeats itself as code and tables do.
    is_form: bool,
    text: String,
    splitter: Splitter,
    /// Where the last look for a period was.
    looked_at: usize,
    /// The sentences by their form.
    said: HashMap<u64, Said>,
    /// The run of old sentences that the text ends with.
    same: Run,
    /// The same, counting sentences in which only a number went up by one.
    counted: Run,
    /// Bytes worth keeping, once a loop was found.
    kept: Option<usize>,
}

/// How often a sentence was said, and where and with which number the last time.
#[derive(Debug, Default)]
struct Said {
    times: u32,
    end: usize,
    number: Option<u64>,
}

/// Text without anything new: where it begins, and its letters in old sentences. Those of prose
/// count [`LENIENCE`] times.
#[derive(Debug, Default)]
struct Run {
    start: usize,
    letters: usize,
}

impl Repetition {
    /// Watches a form, such as the JSON of a plan.
    pub fn of_form() -> Repetition {
        Repetition { is_form: true, ..Repetition::default() }
    }

    /// Takes in more text. Returns how many bytes of all text are worth keeping once it repeats
    /// itself.
    pub fn push(&mut self, text: &str) -> Option<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        for (at, c) in text.char_indices() {
            if self.kept.is_some() {
                break;
            }
            self.kept = self.take_char(start + at, c);
        }
        self.kept
    }

    fn take_char(&mut self, at: usize, c: char) -> Option<usize> {
        count_steps(1);
        let end = at + c.len_utf8();
        let over = self.splitter.take_char(at, c);
        let kept = over.and_then(|sentence| self.take_sentence(sentence));
        if kept.is_some() || end - self.looked_at < LOOK_EVERY {
            return kept;
        }
        self.looked_at = end;
        self.find_period(end)
    }

    fn is_prose(&self) -> bool {
        !self.is_form && self.splitter.is_prose()
    }

    /// Counts a sentence that is over.
    fn take_sentence(&mut self, range: Range<usize>) -> Option<usize> {
        let end = range.end;
        let sentence = Sentence::read(&self.text[range])?;
        let said = self.said.entry(sentence.form).or_default();
        let is_counted = sentence.number.is_some_and(|number| said.is_before(number));
        let is_known = is_counted || said.number == sentence.number;
        let is_near = end - said.end <= GAP_BYTES_MAX;
        let times = if is_known && is_near { said.times + 1 } else { 1 };
        *said = Said { times, end, number: sentence.number };
        let is_prose = self.is_prose() && !sentence.is_open;
        let letters = sentence.letters * if is_prose { LENIENCE } else { 1 };
        self.counted.take_sentence(end, times, letters);
        self.same.take_sentence(end, if is_counted { 1 } else { times }, letters);
        let same = self.same.kept_from(LETTERS_MIN);
        same.or_else(|| self.counted.kept_from(COUNTED_LETTERS_MIN))
    }

    /// Looks for a period at the end of the text up to `end`.
    fn find_period(&self, end: usize) -> Option<usize> {
        let bytes = &self.text.as_bytes()[..end];
        let tail = &bytes[end.saturating_sub(TAIL_BYTES)..];
        let is_loop = |it: &(usize, usize)| self.is_loop(&self.text[..end], it.1);
        let (period, _) = period::find_periods(tail).into_iter().find(is_loop)?;
        // The repetition may have begun before the tail.
        let is_same = |at: &usize| bytes[*at] == bytes[*at + period];
        let same = (0..end - period).rev().take_while(is_same).count();
        Some(self.text.floor_char_boundary(end - same))
    }

    /// Tells whether the last `length` bytes of `text`, which are periodic, are too many.
    fn is_loop(&self, text: &str, length: usize) -> bool {
        let tail = &text[text.ceil_char_boundary(text.len() - length)..];
        let lenience = if self.is_prose() { 1 } else { LENIENCE };
        length >= SIGNS_BYTES_MIN * lenience
            || (length >= BLANKS_MIN && tail.trim().is_empty())
            || count_letters(tail) >= LETTERS_MIN * lenience
    }
}

impl Said {
    fn is_before(&self, number: u64) -> bool {
        self.number.and_then(|it| it.checked_add(1)) == Some(number)
    }
}

impl Run {
    /// Takes in a sentence that ends at `end` and was said so many `times`.
    fn take_sentence(&mut self, end: usize, times: u32, letters: usize) {
        if times == 1 {
            self.start = end;
        }
        self.letters = if times < TIMES_MIN { 0 } else { self.letters + letters };
    }

    /// Returns where the run begins, if it has enough letters.
    fn kept_from(&self, letters_min: usize) -> Option<usize> {
        (self.letters >= letters_min * LENIENCE).then_some(self.start)
    }
}

#[cfg(test)]
mod tests;
