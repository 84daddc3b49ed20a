//! The one word of a verdict, in what a model says about it.

use super::mention::{Mention, ends_statement, find_mentions, is_one_of, words_of};

/// Words that sentences have anyway: in small letters they state something only where they stand
/// alone.
const EVERYDAY: [&str; 3] = ["NO", "FOR", "AGAINST"];
/// What is denied or decided where such a word comes first: `No consensus.`, `Against the motion.`
const SUBJECTS: [&str; 6] =
    ["consensus", "agreement", "convergence", "alignment", "aporia", "motion"];
/// What stands before a word that a sentence ends with: `the answer is yes`.
const SAYING: [&str; 9] = ["is", "be", "are", "was", "say", "says", "a", "answer", "verdict"];

/// Returns the one of `words` that a verdict states: its first word, or the only one in capitals,
/// or one with which a sentence ends that gives the answer. A choice that is left open, denied or
/// tied to a condition states none.
pub fn choose<'w>(said: &str, words: &[&'w str]) -> Option<&'w str> {
    let mentions = find_mentions(said, words);
    let stated = match mentions.first().filter(|first| first.is_first()) {
        Some(first) if is_open(first, mentions.get(1)) => None,
        Some(first) if first.is_capital() || opens_statement(first, words) => Some(first.word),
        _ => find_only_word(mentions.iter().filter(|it| it.is_capital()), states_in_capitals)
            .or_else(|| find_only_word(mentions.iter(), ends_sentence)),
    };
    stated.map(|word| words[word])
}

/// Tells whether a verdict that comes first is none yet: it is tied to a condition, or others are
/// named beside it.
fn is_open(first: &Mention, next: Option<&Mention>) -> bool {
    first.is_conditional() || next.is_some_and(|next| first.is_alternative_to(next))
}

/// Tells whether a word at the beginning is the verdict, and not a `for` or `no` of a sentence.
fn opens_statement(first: &Mention, words: &[&str]) -> bool {
    !is_one_of(words[first.word], &EVERYDAY)
        || first.ends_statement()
        || strip_subject(first.behind).is_some_and(ends_statement)
}

/// Returns what follows the subject that `behind` begins with.
fn strip_subject(behind: &str) -> Option<&str> {
    let bare = behind.trim_start();
    let bare = bare.strip_prefix("the ").unwrap_or(bare);
    let end = bare.find(|c: char| !c.is_alphanumeric()).unwrap_or(bare.len());
    is_one_of(&bare[..end], &SUBJECTS).then_some(&bare[end..])
}

/// Returns the word that all of `mentions` have in common, where one of them passes `test`.
fn find_only_word<'m, 'a: 'm>(
    mentions: impl Iterator<Item = &'m Mention<'a>> + Clone,
    test: fn(&Mention) -> bool,
) -> Option<usize> {
    let word = mentions.clone().next()?.word;
    let is_only = mentions.clone().all(|mention| mention.word == word);
    (is_only && mentions.clone().any(test)).then_some(word)
}

fn states_in_capitals(mention: &Mention) -> bool {
    mention.ends_statement() && !mention.is_negated()
}

/// Tells whether a clause ends with the word as its answer.
fn ends_sentence(mention: &Mention) -> bool {
    let is_given = words_of(mention.clause()).last().is_some_and(|word| is_one_of(word, &SAYING));
    is_given && mention.ends_statement() && !mention.is_negated()
}
