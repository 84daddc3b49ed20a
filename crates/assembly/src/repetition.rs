//! Notices a model that says the same again and again. Takes text as it comes, in time linear in its
//! length.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes between two looks at the end of the text.
const LOOK_EVERY: usize = 128;
/// Bytes at the end of the text that a look takes in. A longer period is found by its sentences.
const TAIL_BYTES: usize = 4_096;
/// A tail counts as periodic from so many repetitions on, and from so many bytes on.
const PERIODS_MIN: usize = 4;
const PERIODIC_BYTES_MIN: usize = 400;
/// The same for a period without a letter: rulers, tables of figures and empty cells are long.
const SIGNS_BYTES_MIN: usize = 1_500;
/// Letters from which on a sentence is one that is not said twice by chance.
const SENTENCE_LETTERS_MIN: usize = 14;
/// A sentence is an old one from this time on.
const TIMES_MIN: u32 = 3;
/// Of so many sentences in a row, so many old ones are a loop. A refrain at the end of a song is
/// shorter.
const SENTENCES: usize = 24;
const OLD_SENTENCES_MIN: usize = 22;

/// Watches one text.
#[derive(Debug, Default)]
pub struct Repetition {
    text: String,
    looked_at: usize,
    /// Where the sentence that is not over yet begins, and how far it was read for its end.
    sentence_start: usize,
    sentence_read: usize,
    /// How often each sentence was said.
    said: HashMap<u64, u32>,
    /// The last sentences: where each begins, and whether it is an old one.
    recent: VecDeque<(usize, bool)>,
}

impl Repetition {
    /// Takes in more text. Returns how many bytes of all text are worth keeping once it repeats
    /// itself.
    pub fn push(&mut self, text: &str) -> Option<usize> {
        self.text.push_str(text);
        let kept = self.take_sentences();
        if kept.is_some() || self.text.len() - self.looked_at < LOOK_EVERY {
            return kept;
        }
        self.looked_at = self.text.len();
        self.periodic_tail()
    }

    /// Counts the sentences that are over.
    fn take_sentences(&mut self) -> Option<usize> {
        while let Some(end) = self.sentence_end() {
            let start = std::mem::replace(&mut self.sentence_start, end);
            let sentence = &self.text[start..end];
            let Some(hash) = hash_sentence(sentence) else { continue };
            let times = self.said.entry(hash).or_default();
            *times += 1;
            self.recent.push_back((start, *times >= TIMES_MIN));
            if self.recent.len() > SENTENCES {
                self.recent.pop_front();
            }
            let old = self.recent.iter().filter(|(_, is_old)| *is_old).count();
            if old >= OLD_SENTENCES_MIN {
                return self.recent.iter().find(|(_, is_old)| *is_old).map(|(start, _)| *start);
            }
        }
        None
    }

    /// Where the sentence or line that is open ends; none where it is not over yet.
    fn sentence_end(&mut self) -> Option<usize> {
        let from = self.sentence_read.max(self.sentence_start);
        let mut chars = self.text[from..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if matches!(c, '.' | '!' | '?') && next.is_none() {
                self.sentence_read = from + at;
                return None;
            }
            let is_stop = matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace);
            if is_stop || matches!(c, '\n' | '。' | '！' | '？') {
                return Some(from + at + c.len_utf8());
            }
        }
        self.sentence_read = self.text.len();
        None
    }

    /// Looks for a period at the end of the text: the border array of the reversed tail has every
    /// suffix with its smallest period.
    fn periodic_tail(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let tail: Vec<u8> = bytes.iter().rev().take(TAIL_BYTES).copied().collect();
        let mut borders = vec![0; tail.len()];
        let mut found = None;
        for end in 1..tail.len() {
            let mut border: usize = borders[end - 1];
            while border > 0 && tail[border] != tail[end] {
                border = borders[border - 1];
            }
            border += usize::from(tail[border] == tail[end]);
            borders[end] = border;
            let (length, period) = (end + 1, end + 1 - border);
            if is_loop(&tail[..period], length) {
                found = Some(period);
            }
        }
        let period = found?;
        // The repetition may have begun before the tail that was looked at.
        let is_same = |at: &usize| bytes[*at] == bytes[*at + period];
        let same = (0..bytes.len() - period).rev().take_while(is_same).count();
        let start = bytes.len() - period - same;
        Some(self.text.floor_char_boundary(start + period))
    }
}

fn is_loop(period: &[u8], length: usize) -> bool {
    // Letters of other alphabets are not ASCII.
    let has_letter = period.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let is_blank = period.iter().all(u8::is_ascii_whitespace);
    let bytes_min = if has_letter || is_blank { PERIODIC_BYTES_MIN } else { SIGNS_BYTES_MIN };
    length >= bytes_min && length / period.len() >= PERIODS_MIN
}

/// The letters of a sentence as one number, whatever its figures, case and punctuation. None where
/// they are few.
fn hash_sentence(sentence: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut letters = 0;
    for c in sentence.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase) {
        c.hash(&mut hasher);
        letters += 1;
    }
    (letters >= SENTENCE_LETTERS_MIN).then(|| hasher.finish())
}

#[cfg(test)]
mod tests;
