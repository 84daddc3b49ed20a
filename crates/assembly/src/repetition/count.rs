//! Counts the letters of words, and in tests the steps of the work.

/// A longer word is no language: base64, a ruler of one letter.
const WORD_BYTES_MAX: usize = 64;

/// Returns how many letters the words of `text` have. Hexadecimal numbers, registers and base64 are
/// no words.
pub(super) fn count_letters(text: &str) -> usize {
    count_steps(text.len());
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.map(count_letters_of_word).sum()
}

fn count_letters_of_word(word: &str) -> usize {
    // Scripts without case often have no blanks between words and figures either.
    let has_case = word.chars().any(|c| c.is_lowercase() || c.is_uppercase());
    if has_case && (word.len() > WORD_BYTES_MAX || word.contains(char::is_numeric)) {
        return 0;
    }
    // A Chinese, Japanese or Korean character says as much as two letters.
    let letters = word.chars().filter(|c| c.is_alphabetic());
    letters.map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum()
}

#[cfg(test)]
thread_local! {
    /// The steps of all detectors of this thread.
    pub(super) static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds to the work done; tests check that it is linear.
#[cfg(test)]
pub(super) fn count_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

#[cfg(not(test))]
pub(super) fn count_steps(_steps: usize) {}
