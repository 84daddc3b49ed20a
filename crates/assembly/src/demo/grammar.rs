//! As much English as a scripted voice needs to turn a question into a phrase. Where it is not
//! sure, the caller quotes the question instead.

/// Verbs in their base form that questions are made of.
const VERBS: &str = " \
    accept add adopt allow apply ask automate avoid ban be become begin believe block borrow \
    break bring build buy call cancel care change charge check choose clean close come commit \
    compare compete consider continue convert cook cost count cover create cut deal decide delay \
    delete deliver deploy describe design develop divide do double draw drink drive drop eat \
    encourage end enforce estimate exist expand explain feel fight fill find finish fire fit fix \
    fly focus follow forbid force forget fund get give go grow happen hate have help hire hold \
    ignore implement improve include increase introduce invest join keep kill know launch lead \
    learn leave legalise legalize let like limit list listen live look lose love lower maintain \
    make manage marry matter mean measure merge migrate move name need negotiate offer open \
    organise organize outsource own pay pick plan play postpone prefer prepare prevent price \
    prioritise prioritize produce promote protect prove provide publish purr push put quit raise \
    read rebuild receive redesign reduce refactor refuse regulate reject release relocate rely \
    remain remove rename rent repair replace require research resign retire return review \
    rewrite rise run save say see seem sell send separate serve set share ship sing skip sleep \
    solve speak spend split stand start stay stop store study succeed summarise summarize supply \
    support survive swim switch take talk tax teach tell test think throw train translate travel \
    treat trust try turn understand update upgrade use visit vote wait walk want watch wear win \
    wonder work worry write ";

/// Verbs that are nouns just as often.
const ALSO_NOUNS: &str = " \
    ban change cost design plan price research review study supply support tax test work ";

/// Words that carry no subject matter.
const STOP: &str = " \
    a about above after again against all almost also although always am among an and another \
    any anyone anything are around as at be because been before being below best better between \
    both but by can could day did do does doing done down during each either enough even ever \
    every everyone everything far few first for from further good had has have having he hello \
    her here hers hey hi him his how i if in instead into is it its just kind last least less \
    let long lot many may maybe me mean might mine month more most much must my neither never \
    next no none nor not nothing now of off often ok okay on once one only onto or other our \
    ours out over own per perhaps please quite rather really same shall she should since so some \
    somebody someone something soon still such than thank thanks that the their theirs them then \
    there these they thing things this those though three through to today tomorrow too two \
    under until up upon us very was way we week well were what when where whether which while \
    who whom whose why will with within without worth would year yes yet you your yours ";

/// Words after which a noun comes, so that what follows is no verb.
const BEFORE_NOUN: &str = " \
    a an the my your our their his her its this that these those some any every each no another \
    of in on at by for from with without into about to as and or new old good bad small big \
    large own more most many few ";

/// Words that stand before a verb and do not change.
const ADVERBS: &str = " \
    not never always still just even only also ever first now already rather either ";

const PRONOUNS: &str = " \
    i we you they he she it one this that there these those everyone people everybody somebody \
    someone anyone anybody nobody ";

/// Words that open the second half of `X is …`.
const PREDICATES: &str = " \
    so too very not more less better worse worth good bad hard easy safe ready right wrong fair \
    enough possible dead true real still really always ever the a an going able likely overrated \
    underrated important necessary useful dangerous like in on at from to bigger smaller faster \
    slower cheaper blue red green black white cold hot ";

fn holds(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {} ", word.to_lowercase()))
}

pub(super) fn is_verb(word: &str) -> bool {
    holds(VERBS, word)
}

pub(super) fn is_also_noun(word: &str) -> bool {
    holds(ALSO_NOUNS, word)
}

pub(super) fn is_stop(word: &str) -> bool {
    holds(STOP, word)
}

pub(super) fn is_pronoun(word: &str) -> bool {
    holds(PRONOUNS, word)
}

pub(super) fn is_adverb(word: &str) -> bool {
    holds(ADVERBS, word) || (word.len() > 4 && word.is_ascii() && word.ends_with("ly"))
}

/// The asker's own words turned round: `my job` becomes `your job`.
pub(super) fn turned(word: &str) -> String {
    let turned = match word.to_lowercase().as_str() {
        "i" | "me" => "you",
        "my" => "your",
        "mine" => "yours",
        "myself" => "yourself",
        "i'm" | "i’m" => "you're",
        _ => return word.to_string(),
    };
    turned.to_string()
}

/// A subject as an object: `we` becomes `us`.
pub(super) fn as_object(who: &str) -> String {
    let object = match who {
        "we" => "us",
        "they" => "them",
        "he" => "him",
        "she" => "her",
        _ => who,
    };
    object.to_string()
}

/// Where a clause such as `a team of three start small` has its verb, adverbs included; none where
/// that is not clear.
pub(super) fn verb_at(clause: &[String]) -> Option<usize> {
    let first = clause.first()?;
    let at = if is_pronoun(first) && !(holds(BEFORE_NOUN, first) && clause.len() > 3) {
        1
    } else {
        (1..clause.len().min(12)).find(|at| {
            is_verb(&clause[*at]) && !holds(BEFORE_NOUN, &clause[*at - 1]) && !is_noun(clause, *at)
        })?
    };
    let adverbs = clause[..at].iter().rev().take_while(|word| is_adverb(word)).count();
    let at = at - adverbs;
    (at > 0 && at < clause.len()).then_some(at)
}

/// Whether the verb at `at` is more likely a noun, as another verb follows: `work plan include`.
fn is_noun(clause: &[String], at: usize) -> bool {
    clause.get(at + 1).is_some_and(|next| is_verb(next) && !is_stop(next))
}

/// Where the second half of `X is …` begins in the words after `is`.
pub(super) fn predicate_at(clause: &[String]) -> Option<usize> {
    if clause.first().is_some_and(|first| is_pronoun(first)) {
        return (clause.len() > 1).then_some(1);
    }
    let subject = usize::from(clause.first().is_some_and(|word| holds(BEFORE_NOUN, word)));
    let is_start = |at: &usize| {
        let word = &clause[*at];
        holds(PREDICATES, word) || is_adverb(word) || word.ends_with("ing") || word.ends_with("ed")
    };
    let found = (subject + 1..clause.len().min(12)).find(is_start);
    found.or((clause.len() == subject + 2).then_some(subject + 1))
}

/// `start` as `starting`, after adverbs: `not using`.
pub(super) fn gerund(act: &[String]) -> Option<Vec<String>> {
    let at = act.iter().position(|word| !is_adverb(word))?;
    let verb = act[at].to_lowercase();
    if !verb.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return None;
    }
    let mut words = act.to_vec();
    words[at] = with_ing(&verb);
    Some(words)
}

fn with_ing(verb: &str) -> String {
    const DOUBLED: [&str; 7] = ["begin", "commit", "admit", "submit", "permit", "prefer", "forget"];
    let stem = match verb {
        _ if verb.ends_with("ie") => format!("{}y", &verb[..verb.len() - 2]),
        "be" | "see" | "agree" | "free" => verb.to_string(),
        _ if verb.ends_with('e') => verb[..verb.len() - 1].to_string(),
        _ if DOUBLED.contains(&verb) || is_short(verb) => {
            format!("{verb}{}", &verb[verb.len() - 1..])
        }
        _ => verb.to_string(),
    };
    format!("{stem}ing")
}

/// One syllable that ends in one vowel and one consonant, which is doubled: `ship`, `cut`, `quit`.
fn is_short(verb: &str) -> bool {
    let verb = verb.replace("qu", "q");
    let is_vowel = |c: u8| b"aeiou".contains(&c);
    let bytes = verb.as_bytes();
    let [.., before, vowel, last] = bytes else { return false };
    let vowels = bytes.iter().filter(|c| is_vowel(**c)).count();
    vowels == 1 && is_vowel(*vowel) && !is_vowel(*before) && !b"aeiouwxy".contains(last)
}

/// `take` as `takes`.
pub(super) fn third_person(verb: &str) -> String {
    let before_y = verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match verb {
        "have" => "has".into(),
        "be" => "is".into(),
        _ => match before_y {
            Some(stem) => format!("{stem}ies"),
            None if verb.ends_with(['s', 'x', 'z', 'o']) => format!("{verb}es"),
            None if verb.ends_with("sh") || verb.ends_with("ch") => format!("{verb}es"),
            None => format!("{verb}s"),
        },
    }
}
