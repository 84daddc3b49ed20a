//! The situation a voice finds itself in: what is asked, who said what, and what is wanted of it.

use super::grammar::is_stop;
use super::topic::Topic;
use super::words;
use crate::prompt::{self, Heard};
use althing_chat::Ask;

/// Words of a phrase taken out of somebody's speech.
const PHRASE_WORDS_MAX: usize = 10;
const PHRASE_WORDS_MIN: usize = 4;
/// A number beyond this is no round.
const ROUNDS_MAX: usize = 1_000;
/// Of one quotation, from its start: more is not looked at.
const QUOTE_CHARS_MAX: usize = 8_000;

/// Everything a voice hears.
pub(super) struct Scene {
    pub topic: Topic,
    /// What the others said, in order.
    pub others: Vec<Other>,
    /// Whether the voice has spoken before.
    pub has_spoken: bool,
    /// The side of a motion it was given.
    pub side: Option<Side>,
    /// Which speaker of its side it is, from 0: those who open do not hear each other.
    pub place: usize,
    /// The form of the answer: labels and what each asks for.
    pub form: Vec<(String, String)>,
    /// Counts turns, rounds and questions, as far as the task tells; 0 where it does not.
    pub round: usize,
    /// Words of the prompt that are no quotation and no form.
    pub task: String,
    /// Whether the prompt is one of ours.
    pub is_ours: bool,
    /// All quotations, the lists that belong to nobody included.
    pub quotes: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    For,
    Against,
}

/// Somebody else's speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Other {
    /// How to address them: no role, no confidence.
    pub name: String,
    pub side: Option<Side>,
    pub text: String,
}

impl Scene {
    pub fn of(ask: &Ask) -> Scene {
        let Heard { question, quotes, labels, plain } = prompt::hear(ask);
        let (task, descriptions) = plain.split_once("Answer in this form").unwrap_or((&plain, ""));
        // A question that goes along with files stands outside the marks.
        let question = if question.trim().is_empty() { task } else { &question };
        let (others, has_spoken) = others(&quotes, own_name(task));
        let describe = |label: String| {
            let line =
                descriptions.lines().find_map(|line| line.strip_prefix(&format!("{label}:")));
            (label, line.unwrap_or_default().trim().to_string())
        };
        Scene {
            topic: Topic::of(question),
            others,
            has_spoken,
            side: given_side(task),
            place: place(own_name(task)),
            form: labels.into_iter().map(describe).collect(),
            round: round(task),
            is_ours: !plain.is_empty(),
            task: task.to_string(),
            quotes: quotes.into_iter().map(|(name, text)| (name, clipped(&text))).collect(),
        }
    }

    /// The other whom the task names, else the last one who spoke.
    pub fn addressed(&self) -> Option<&Other> {
        let named = self.others.iter().rev().find(|other| self.task.contains(&other.name));
        named.or(self.others.last())
    }

    /// Whether the task says one of `words`.
    pub fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.task.contains(word))
    }

    /// Whether a sentence was said before, as far as the voice can hear.
    pub fn was_said(&self, sentence: &str) -> bool {
        self.quotes.iter().any(|(_, text)| text.contains(sentence))
    }
}

fn round(task: &str) -> usize {
    let ordinal = ["the second round", "the third "].iter().position(|words| task.contains(words));
    let number = |word: &str| {
        let rest = task.split(&format!("{word} ")).nth(1)?;
        rest.split(' ').next()?.parse::<usize>().ok().filter(|number| *number < ROUNDS_MAX)
    };
    let counted = ["Turn", "Round", "Question"].iter().find_map(|word| number(word));
    counted.or(ordinal.map(|at| at + 1)).unwrap_or(0)
}

fn clipped(text: &str) -> String {
    text.chars().take(QUOTE_CHARS_MAX).collect()
}

fn own_name(task: &str) -> &str {
    let rest = task.split("You are ").nth(1).unwrap_or_default();
    rest.split('.').next().unwrap_or_default()
}

fn place(own: &str) -> usize {
    let number = own.rsplit(' ').next().and_then(|word| word.parse::<usize>().ok());
    number.filter(|number| *number < ROUNDS_MAX).unwrap_or(1).saturating_sub(1)
}

fn given_side(task: &str) -> Option<Side> {
    let rest = task.split("Argue ").nth(1)?;
    if rest.starts_with("FOR") {
        return Some(Side::For);
    }
    rest.starts_with("AGAINST").then_some(Side::Against)
}

/// Quotations of other speakers, and whether any was the voice's own. What is quoted under no name
/// (files, lists) is neither.
fn others(quotes: &[(String, String)], own: &str) -> (Vec<Other>, bool) {
    // After a name comes nothing, a role in capitals or a confidence; more is another's name.
    let ends = |rest: &str| {
        let role = rest.strip_prefix(" (").and_then(|role| role.chars().next());
        rest.is_empty() || rest.starts_with(',') || role.is_some_and(|c| c.is_ascii_uppercase())
    };
    let is_own = |name: &str| !own.is_empty() && name.strip_prefix(own).is_some_and(ends);
    let mut speakers: Vec<&(String, String)> =
        quotes.iter().filter(|(name, _)| !name.starts_with("the ")).collect();
    let all = speakers.len();
    speakers.retain(|(name, _)| !is_own(name));
    let has_spoken = speakers.len() < all;
    (speakers.into_iter().map(|(name, text)| Other::new(name, text)).collect(), has_spoken)
}

impl Other {
    fn new(name: &str, text: &str) -> Other {
        let side = match name {
            _ if name.contains("(FOR)") || name.starts_with("FOR ") => Some(Side::For),
            _ if name.contains("(AGAINST)") || name.starts_with("AGAINST ") => Some(Side::Against),
            _ => None,
        };
        let bare = name.split(['(', ',']).next().unwrap_or_default();
        let words = words::words(bare);
        let name = if words.is_empty() { "somebody".to_string() } else { words.join(" ") };
        Other { name, side, text: clipped(text) }
    }

    /// A few words of this speech as they stand there, `pick` choosing among the good ones. They
    /// end before `known`, which the answer says itself.
    pub fn phrase(&self, pick: usize, known: &str) -> Option<String> {
        let bare = known.trim_matches(['“', '”']);
        let bare = if bare.contains(' ') { bare } else { "" };
        let own: Vec<String> = own_sentences(&self.text, known)
            .flat_map(words::sentences)
            .filter_map(|sentence| {
                sentence.segments.iter().find_map(|clause| self.cut(clause, bare))
            })
            .collect();
        own.get(pick % own.len().max(1)).cloned().or_else(|| self.first_words())
    }

    /// A clause as a phrase: what stands before `known`, else what stands behind it.
    fn cut(&self, clause: &[String], known: &str) -> Option<String> {
        let whole = clause.join(" ");
        match whole.split_once(known).filter(|_| !known.is_empty()) {
            Some((before, after)) => self.trim(before, true).or_else(|| self.trim(after, false)),
            None => self.trim(&whole, false),
        }
    }

    /// Words as a phrase of bounded length without loose ends, if enough are left, they are no
    /// label and they stand in the text.
    fn trim(&self, words: &str, goes_on: bool) -> Option<String> {
        let all: Vec<&str> =
            words.split_whitespace().skip_while(|word| is_weak_start(word)).collect();
        let mut kept = &all[..all.len().min(PHRASE_WORDS_MAX)];
        let goes_on = goes_on || kept.len() < all.len();
        while goes_on && kept.last().is_some_and(|word| is_weak_end(word)) {
            kept = &kept[..kept.len() - 1];
        }
        let phrase = kept.join(" ");
        let is_label = phrase.is_ascii() && !phrase.contains(|c: char| c.is_lowercase());
        if kept.len() < PHRASE_WORDS_MIN || is_label || !self.text.contains(&phrase) {
            return None;
        }
        Some(if goes_on { format!("{phrase}…") } else { phrase })
    }

    /// Where nothing better is to be had: how its longest clause outside quotations begins.
    fn first_words(&self) -> Option<String> {
        let pieces = self.text.split('“').map(|piece| piece.rsplit('”').next().unwrap_or_default());
        let sentences = pieces.flat_map(words::sentences);
        let longest = sentences.flat_map(|it| it.segments).max_by_key(Vec::len)?;
        let phrase = longest[..longest.len().min(PHRASE_WORDS_MAX)].join(" ");
        (!phrase.is_empty()).then_some(phrase)
    }
}

/// Sentences without quotations and tables: nobody is answered for somebody else's words. The topic
/// may be quoted, since everybody's sentences are about it.
pub(super) fn own_sentences<'a>(text: &'a str, topic: &str) -> impl Iterator<Item = &'a str> {
    let sentences = text.lines().flat_map(|line| line.split_inclusive(". "));
    let sentences = sentences.flat_map(|part| part.split_inclusive("? "));
    sentences.filter(move |sentence| !sentence.replace(topic, "").contains(['“', '”', '|']))
}

fn is_weak_start(word: &str) -> bool {
    const WEAK: [&str; 11] =
        ["and", "but", "because", "so", "or", "which", "that", "since", "is", "are", "as"];
    WEAK.contains(&word)
}

fn is_weak_end(word: &str) -> bool {
    is_stop(word) && !["it", "me", "us", "them", "now", "yet"].contains(&word)
}
