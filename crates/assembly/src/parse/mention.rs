//! Where a word stands in a text, and whether the text states it there or only talks about it.

/// Mentions looked at, and characters before one that may belong to its clause: a model that says
/// the same again and again must not cost more than its text.
const MENTIONS_MAX: usize = 64;
const CLAUSE_CHARS_MAX: usize = 400;

/// Words behind which a reason may follow without a mark between.
const CONNECTIVES: [&str; 7] = ["because", "since", "as", "with", "but", "though", "although"];
/// Words between alternatives.
const JOINTS: [&str; 5] = ["or", "and", "to", "nor", "vs"];
const CONDITIONS: [&str; 4] = ["if", "when", "unless", "where"];
/// Words of a clause that tie what it says to something else.
const TIES: [&str; 8] = ["if", "when", "whenever", "unless", "until", "before", "once", "would"];
const NEGATIONS: [&str; 13] = [
    "not",
    "no",
    "never",
    "neither",
    "nor",
    "none",
    "nobody",
    "without",
    "cannot",
    "unable",
    "unclear",
    "undecided",
    "whether",
];

/// A place where one of several words stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mention<'a> {
    /// Which of the words.
    pub word: usize,
    /// The word as it is written.
    pub written: &'a str,
    pub before: &'a str,
    pub behind: &'a str,
}

/// Finds `words` in `text` as whole words, in any case.
pub(super) fn find_mentions<'a>(text: &'a str, words: &[&str]) -> Vec<Mention<'a>> {
    let mention = |(start, written): (usize, &'a str)| {
        let word = words.iter().position(|word| written.eq_ignore_ascii_case(word))?;
        let (before, behind) = (&text[..start], &text[start + written.len()..]);
        Some(Mention { word, written, before, behind })
    };
    words_at(text).filter_map(mention).take(MENTIONS_MAX).collect()
}

impl<'a> Mention<'a> {
    /// Tells whether the text begins with it.
    pub fn is_first(&self) -> bool {
        !self.before.contains(char::is_alphanumeric)
    }

    pub fn is_capital(&self) -> bool {
        !self.written.contains(char::is_lowercase)
    }

    /// Returns what its clause says before it.
    pub fn clause(&self) -> &'a str {
        clause_before(self.before)
    }

    pub fn is_negated(&self) -> bool {
        is_negated(self.before)
    }

    /// Tells whether a condition follows, as in `YES if …`.
    pub fn is_conditional(&self) -> bool {
        next_word(self.behind).is_some_and(|word| is_one_of(word, &CONDITIONS))
    }

    /// Tells whether the statement may end with it: with a mark, a reason or nothing behind it.
    pub fn ends_statement(&self) -> bool {
        ends_statement(self.behind)
    }

    /// Tells whether `next` is named as another choice beside this word: `FOR or AGAINST`.
    pub fn is_alternative_to(&self, next: &Mention) -> bool {
        let between = &self.behind[..next.before.len() - self.before.len() - self.written.len()];
        let is_joint = |word: &str| is_one_of(word, &JOINTS);
        let goes_on = |word: &str| is_joint(word) || word.starts_with(|c: char| c.is_ascii_digit());
        let follows = next_word(next.behind).is_some_and(goes_on) || next.is_conditional();
        self.word != next.word
            && !between.contains([':', '.', '!', '?', '('])
            && words_of(between).all(is_joint)
            && (next.ends_statement() || follows)
    }
}

/// Tells whether a statement may end before `behind`.
pub(super) fn ends_statement(behind: &str) -> bool {
    let bare = behind.trim_start_matches(['*', '_', '`', '"', ')', ']', ' ', '\t']);
    match bare.chars().next() {
        Some(c) if c.is_numeric() => false,
        Some(c) if c.is_alphabetic() => {
            next_word(bare).is_some_and(|word| is_one_of(word, &CONNECTIVES))
        }
        // `low-risk` is a word of its own.
        Some('-' | '\'' | '\u{2019}') if bare.len() == behind.len() => {
            !bare.chars().nth(1).is_some_and(char::is_alphanumeric)
        }
        _ => true,
    }
}

/// Tells whether something is denied or doubted in the clause that `before` ends in.
pub fn is_negated(before: &str) -> bool {
    let is_no = |word: &str| is_one_of(word, &NEGATIONS) || word.ends_with("n't");
    let clause = clause_before(before).replace('\u{2019}', "'").to_lowercase();
    clause.split(|c: char| !(c.is_alphanumeric() || c == '\'')).any(is_no)
}

/// Tells whether words between `before` and `behind` state something: nothing denies them or ties
/// them to a condition, and the statement may end with them.
pub fn is_stated_between(before: &str, behind: &str) -> bool {
    let clause = clause_before(before);
    let is_tied = words_of(clause).any(|word| is_one_of(word, &TIES));
    let is_conditional = next_word(behind).is_some_and(|word| is_one_of(word, &CONDITIONS));
    !is_tied && !is_conditional && !is_negated(before) && ends_statement(behind)
}

/// Lists the words of `text` and where they begin.
pub fn words_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let pieces = text.split_inclusive(|c: char| !c.is_alphanumeric()).scan(0, |start, piece| {
        let at = *start;
        *start += piece.len();
        Some((at, piece.trim_end_matches(|c: char| !c.is_alphanumeric())))
    });
    pieces.filter(|(_, word)| !word.is_empty())
}

pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    words_at(text).map(|(_, word)| word)
}

/// Tells whether `word` is one of `words`, in any case.
pub fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the word that follows on the same line, with only blanks between.
fn next_word(behind: &str) -> Option<&str> {
    let bare = behind.trim_start_matches([' ', '\t', '*', '_']);
    let end = bare.find(|c: char| !c.is_alphanumeric()).unwrap_or(bare.len());
    (end > 0).then_some(&bare[..end])
}

/// Returns the last clause of `before`.
fn clause_before(before: &str) -> &str {
    let is_end = |c: char| ".,;:!?\n([\u{2013}\u{2014}".contains(c);
    let far = before.char_indices().rev().nth(CLAUSE_CHARS_MAX).map_or(0, |(at, _)| at);
    let clause = before[far..].rsplit(is_end).next().unwrap_or_default();
    clause.rsplit(" - ").next().unwrap_or_default()
}
