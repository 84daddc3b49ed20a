//! The words of a question that its sentences can be about.

use super::{Topic, is_wh};
use crate::demo::grammar::{is_also_noun, is_stop, is_verb};
use crate::demo::words;

/// Key words of a question; later ones are left out.
const KEYS_MAX: usize = 4;
/// Words that belong together as one key.
const KEY_WORDS_MAX: usize = 2;

/// Words that carry meaning, the most telling first.
pub(super) fn keys(words: &[String], topic: &Topic) -> Vec<String> {
    let in_question = |run: &String| run.split(' ').all(|part| words.iter().any(|w| w == part));
    let mut runs: Vec<String> = match has_subject(topic) {
        true => runs(&words::words(&topic.topic)).into_iter().filter(in_question).collect(),
        // What is asked about tends to stand at the end.
        false => runs(words).into_iter().rev().collect(),
    };
    let short = |(a, b): &&(String, String)| !a.contains(' ') && !b.contains(' ');
    if let Some((a, b)) = topic.options.as_ref().filter(short) {
        runs.retain(|run| run != a && run != b);
        runs.insert(0, format!("{a}-or-{b}"));
    }
    let mut keys: Vec<String> = Vec::new();
    for run in runs {
        if keys.len() < KEYS_MAX && !keys.iter().any(|key| key.eq_ignore_ascii_case(&run)) {
            keys.push(run);
        }
    }
    if keys.is_empty() {
        let longest = words.iter().max_by_key(|word| word.chars().count());
        keys.push(longest.map_or(topic.topic.clone(), |word| format!("“{word}”")));
    }
    keys
}

/// Whether the topic is a whole clause: then its subject is what it is about.
fn has_subject(topic: &Topic) -> bool {
    let first = topic.topic.split(' ').next().unwrap_or_default();
    let opens_with_who = |who: &String| topic.topic.starts_with(who.as_str());
    is_wh(first) || first == "whether" || topic.who.as_ref().is_some_and(opens_with_who)
}

/// How many of the keys, from the last, are only about who acts, or about how somebody is.
pub(super) fn spare(topic: &Topic) -> usize {
    let (Some(who), Some(act)) = (&topic.who, &topic.act) else { return 0 };
    let matter = if has_subject(topic) { who } else { act };
    let main = topic.keys.iter().take_while(|key| matter.contains(key.as_str())).count();
    if main == 0 { 0 } else { topic.keys.len() - main }
}

/// Runs of words that are neither small nor verbs; `work` after such a word is a noun.
fn runs(words: &[String]) -> Vec<String> {
    let mut runs: Vec<Vec<&str>> = vec![vec![]];
    for word in words {
        let is_long = word.chars().count() > 1 || !word.is_ascii();
        let after_key = runs.last().is_some_and(|run| !run.is_empty());
        let is_noun = !is_verb(word) || (after_key && is_also_noun(word));
        match runs.last_mut().filter(|_| is_long && !is_stop(word) && is_noun) {
            Some(run) => run.push(word),
            None => runs.push(vec![]),
        }
    }
    let runs = runs.iter().filter(|run| !run.is_empty());
    runs.map(|run| run[run.len() - run.len().min(KEY_WORDS_MAX)..].join(" ")).collect()
}
