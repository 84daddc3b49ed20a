//! What a question is about, in its own words: a phrase that fits after a preposition, a few key
//! words and, where the question has that shape, who should do what or which of two things.

mod choice;
mod keys;

use super::grammar::{
    as_object, gerund, is_adverb, is_pronoun, is_stop, is_verb, predicate_at, third_person, turned,
    verb_at,
};
use super::words::{self, Sentence};

/// Of a phrase; a longer one is cut and shows it.
const PHRASE_WORDS_MAX: usize = 12;
const PHRASE_CHARS_MAX: usize = 90;

/// A question taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Topic {
    /// Fits after `about`: `starting with a monolith`, `how to sleep well`, `“Was nun”`.
    pub topic: String,
    /// Never empty. Each fits into `the … part`.
    pub keys: Vec<String>,
    /// How many of the keys, from the last, are beside the point: fewer than all.
    pub spare: usize,
    /// Who should act, where the question says so.
    pub who: Option<String>,
    /// What should be done: `start with a monolith`.
    pub act: Option<String>,
    /// The two things to choose from.
    pub options: Option<(String, String)>,
    pub shape: Shape,
}

/// What kind of answer a question wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Shape {
    Deed,
    Choice,
    Amount,
    Why,
    #[default]
    Other,
}

impl Topic {
    pub fn of(question: &str) -> Topic {
        let segments = core(words::sentences(question));
        let words: Vec<String> = segments.concat();
        if words.is_empty() {
            return wordless(question);
        }
        let mut topic = choice::choice(&segments).unwrap_or_else(|| matter(&words));
        topic.keys = keys::keys(&words, &topic);
        topic.spare = keys::spare(&topic);
        topic
    }

    /// Who should act, as an object: `let us …`.
    pub fn whom(&self) -> Option<String> {
        self.who.as_deref().map(as_object)
    }
}

fn wordless(question: &str) -> Topic {
    let signs = words::signs(question);
    let topic = match signs.is_empty() {
        true => "a question without words".to_string(),
        false => format!("“{signs}”"),
    };
    let key = if signs.is_empty() { "wordless".into() } else { topic.clone() };
    Topic { keys: vec![key], topic, ..Topic::default() }
}

/// The sentence that asks, from the words that open its question on.
fn core(mut sentences: Vec<Sentence>) -> Vec<Vec<String>> {
    if sentences.is_empty() {
        return vec![];
    }
    let at = sentences.iter().position(|sentence| sentence.asks).unwrap_or(0);
    let mut segments = sentences.swap_remove(at).segments;
    for segment in &mut segments {
        *segment = expanded(segment);
    }
    let opens = |segment: &Vec<String>| without_lead(segment).first().is_some_and(|w| is_opener(w));
    let from = segments.iter().position(opens).unwrap_or(0);
    segments.drain(..from);
    segments[0] = without_lead(&segments[0]).iter().map(|word| turned(word)).collect();
    segments
}

/// Contractions undone: `what's` is `what is`, `shouldn't` asks like `should`.
fn expanded(words: &[String]) -> Vec<String> {
    let expand = |(at, word): (usize, &String)| {
        let plain = word.replace('’', "'");
        let lower = plain.to_lowercase();
        match lower.strip_suffix("'s").filter(|stem| is_opener(stem)) {
            Some(stem) => vec![stem.to_string(), "is".into()],
            None if at == 0 && lower.ends_with("n't") => vec![lower.replace("n't", "")],
            None => vec![word.clone()],
        }
    };
    words.iter().enumerate().flat_map(expand).collect()
}

fn without_lead(words: &[String]) -> &[String] {
    const LEADS: [&str; 15] = [
        "so", "and", "but", "well", "please", "ok", "okay", "hi", "hello", "hey", "now", "then",
        "also", "question", "motion",
    ];
    let is_lead = |word: &String| LEADS.contains(&word.to_lowercase().as_str());
    let leads = words.iter().take_while(|word| is_lead(word)).count();
    let rest = &words[leads.min(words.len().saturating_sub(1))..];
    let lower: Vec<String> = rest.iter().take(4).map(|word| word.to_lowercase()).collect();
    match lower.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["do", "you", "think", "that"] => &rest[4..],
        ["do", "you", "think", _] => &rest[3..],
        ["tell" | "show", "me", wh, ..] if is_wh(wh) => &rest[2..],
        ["explain", wh, ..] if is_wh(wh) => &rest[1..],
        _ => rest,
    }
}

fn is_wh(word: &str) -> bool {
    ["how", "what", "which", "who", "whom", "whose", "where", "when", "why"].contains(&word)
}

fn is_be(word: &str) -> bool {
    ["is", "are", "was", "were", "am"].contains(&word)
}

fn is_modal(word: &str) -> bool {
    ["should", "shall", "must", "can", "could", "would", "will", "may", "might"].contains(&word)
}

fn is_auxiliary(word: &str) -> bool {
    is_be(word) || is_modal(word) || ["do", "does", "did", "has", "have", "had"].contains(&word)
}

fn is_opener(word: &str) -> bool {
    let lower = word.to_lowercase();
    is_wh(&lower) || is_auxiliary(&lower)
}

/// The phrase for every other shape of question.
fn matter(words: &[String]) -> Topic {
    let (first, rest) = (words[0].to_lowercase(), &words[1..]);
    let found = match first.as_str() {
        _ if rest.is_empty() => None,
        "should" | "shall" | "must" => deed(rest),
        "can" | "could" | "would" | "will" if is_request(rest) => task(&rest[1..]),
        "do" => Some(whether(&[rest])),
        "does" => does("whether", rest),
        _ if is_be(&first) => be("whether", &first, rest),
        _ if is_auxiliary(&first) => modal("whether", &first, rest),
        _ if is_wh(&first) => wh(words),
        _ if is_verb(&first) => task(words),
        _ if is_pronoun(&first) && rest.len() > 1 && is_modal(&rest[0].to_lowercase()) => {
            Some(whether(&[words]))
        }
        _ => None,
    };
    let shape = shape(words);
    let topic = found.unwrap_or_else(|| Topic { topic: quoted(words), ..Topic::default() });
    Topic { shape: if topic.shape == Shape::Deed { Shape::Deed } else { shape }, ..topic }
}

fn shape(words: &[String]) -> Shape {
    const SIZES: &str = " long much many often far soon big large old fast tall high deep heavy \
                         expensive likely quickly small ";
    const NUMBERS: &str = " price cost number chance probability odds size age budget share ";
    let lower: Vec<String> =
        words.iter().take(8).map(|word| format!(" {} ", word.to_lowercase())).collect();
    let is_in =
        |list: &str, word: Option<&String>| word.is_some_and(|word| list.contains(word.as_str()));
    match lower.first().map(|word| word.trim()) {
        Some("why") => Shape::Why,
        Some("how") if is_in(SIZES, lower.get(1)) => Shape::Amount,
        Some("what") if lower.iter().take(5).any(|word| NUMBERS.contains(word.as_str())) => {
            Shape::Amount
        }
        Some("estimate") => Shape::Amount,
        _ => Shape::Other,
    }
}

fn is_request(rest: &[String]) -> bool {
    rest.len() > 1 && rest[0].eq_ignore_ascii_case("you") && is_verb(&rest[1])
}

fn plain(pieces: &[&[String]]) -> Topic {
    Topic { topic: phrase(&pieces.concat()), ..Topic::default() }
}

fn whether(pieces: &[&[String]]) -> Topic {
    let lead = ["whether".to_string()];
    let mut all: Vec<&[String]> = vec![&lead];
    all.extend(pieces);
    plain(&all)
}

/// `a team of three start small`: who, and what to do.
fn deed(clause: &[String]) -> Option<Topic> {
    let at = verb_at(clause).or_else(|| subject_end(clause))?;
    let (who, act) = clause.split_at(at);
    let doing = gerund(act)?;
    let verb = act.iter().find(|word| !is_adverb(word)).map(|word| word.to_lowercase());
    // `being mandatory` says nothing without who is.
    let needs_who = matches!(verb.as_deref(), Some("be" | "have" | "remain" | "stay" | "become"));
    let topic = match needs_who && !is_pronoun(&who[0]) {
        true => phrase(&[who, &doing].concat()),
        false => phrase(&doing),
    };
    let (who, act) = (Some(phrase(who)), Some(phrase(act)));
    Some(Topic { topic, who, act, shape: Shape::Deed, ..Topic::default() })
}

/// Where the subject ends when no verb is known: a noun, with its article and one `of …`.
fn subject_end(clause: &[String]) -> Option<usize> {
    let noun = |from: usize| {
        let is_article = clause.get(from).is_some_and(|word| is_stop(word) && !is_pronoun(word));
        from + usize::from(is_article) + 1
    };
    let mut end = noun(0);
    if clause.get(end).is_some_and(|word| word == "of") {
        end = noun(end + 1);
    }
    (end < clause.len()).then_some(end)
}

/// `write a haiku`: what to do.
fn task(words: &[String]) -> Option<Topic> {
    let words: Vec<String> = words.iter().map(|word| turned(word)).collect();
    let topic = phrase(&gerund(&words)?);
    Some(Topic { topic, ..Topic::default() })
}

/// `how long tests should be`, from `tests be` after the modal.
fn modal(lead: &str, auxiliary: &str, clause: &[String]) -> Option<Topic> {
    let (who, act) = clause.split_at(verb_at(clause)?);
    Some(plain(&[&[lead.to_string()], who, &[auxiliary.to_string()], act]))
}

/// `how photosynthesis works`, from `photosynthesis work`.
fn does(lead: &str, clause: &[String]) -> Option<Topic> {
    let at = verb_at(clause)?;
    let (who, act) = clause.split_at(at);
    let verb = act.iter().position(|word| !is_adverb(word))?;
    let mut act = act.to_vec();
    act[verb] = third_person(&act[verb].to_lowercase());
    Some(plain(&[&[lead.to_string()], who, &act]))
}

/// `why the sky is blue`, from `the sky blue`.
fn be(lead: &str, verb: &str, clause: &[String]) -> Option<Topic> {
    let (who, what) = clause.split_at(predicate_at(clause)?);
    // The asker turned round takes another verb.
    let verb = if who[0] == "you" { "are" } else { verb };
    Some(plain(&[&[lead.to_string()], who, &[verb.to_string()], what]))
}

fn wh(words: &[String]) -> Option<Topic> {
    let first = words[0].to_lowercase();
    let mut words = words.to_vec();
    words[0] = first.clone();
    let at = words.iter().take(6).position(|word| is_auxiliary(&word.to_lowercase()));
    let Some(at) = at.filter(|at| *at > 0 && at + 1 < words.len()) else {
        return Some(plain(&[&words]));
    };
    let (lead, auxiliary, rest) =
        (phrase(&words[..at]), words[at].to_lowercase(), &words[at + 1..]);
    let speaks_of_us = ["you", "we", "one", "i"].contains(&rest[0].to_lowercase().as_str());
    match auxiliary.as_str() {
        "do" if first == "how" && at == 1 && speaks_of_us => how_to(&lead, rest),
        "should" | "can" | "could" | "must" if first != "why" && speaks_of_us => {
            how_to(&lead, rest)
        }
        "do" => Some(plain(&[&words[..at], rest])),
        "does" => does(&lead, rest),
        _ if is_be(&auxiliary) && is_pronoun(&rest[0]) => be(&lead, &auxiliary, rest),
        _ if is_be(&auxiliary) && ["what", "who"].contains(&lead.as_str()) => Some(plain(&[rest])),
        _ if is_be(&auxiliary) && at > 1 && first != "how" => Some(plain(&[&words])),
        _ if is_be(&auxiliary) => be(&lead, &auxiliary, rest),
        "did" | "had" | "has" | "have" => None,
        modal_verb => modal(&lead, modal_verb, rest),
    }
}

fn how_to(lead: &str, rest: &[String]) -> Option<Topic> {
    let act = rest.get(1..).filter(|act| !act.is_empty())?;
    Some(plain(&[&[lead.to_string(), "to".into()], act]))
}

fn quoted(words: &[String]) -> String {
    format!("“{}”", phrase(words))
}

/// Words as a phrase of bounded length. Words of capitals that open it stay as they are.
fn phrase(words: &[String]) -> String {
    let mut kept = Vec::new();
    let mut chars = 0;
    for word in words.iter().take(PHRASE_WORDS_MAX) {
        chars += word.chars().count() + 1;
        if chars > PHRASE_CHARS_MAX && !kept.is_empty() {
            break;
        }
        kept.push(word.as_str());
    }
    if kept.len() == words.len() {
        return kept.join(" ");
    }
    while kept.len() > 1 && kept.last().is_some_and(|word| is_stop(word)) {
        kept.pop();
    }
    format!("{}…", kept.join(" ").trim_end_matches('…'))
}

#[cfg(test)]
mod tests;
