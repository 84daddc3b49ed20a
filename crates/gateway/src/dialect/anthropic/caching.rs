//! Where a prompt may be cached: blocks of text, some of which end in a breakpoint. The provider
//! keeps what stands before a breakpoint. A later request reads it cheaply if it has the same blocks
//! up to there and a breakpoint at most 20 blocks behind.

use serde_json::{Value, json};

/// Breakpoints in one request, the system prompt's included; the API refuses more.
const BREAKPOINTS_MAX: usize = 4;
/// Blocks from one breakpoint to the next: fewer than the 20 that the provider looks back.
const SPACING: usize = 18;
/// Cache ends of one message that end blocks; beyond it the earliest blocks are merged.
const ENDS_MAX: usize = 99;
/// Blocks that are merged at once: what stands behind merged blocks is not found in the cache.
const MERGED_STEP: usize = 50;
const BREAKPOINT: &str = "cache_control";

/// Cuts `text` behind every cache end into blocks, each of which may become a breakpoint. The blocks
/// together are the text exactly. A text without words has no blocks: the API refuses them.
pub(crate) fn text_blocks(text: &str, cache_ends: &[usize]) -> Vec<Value> {
    if text.trim().is_empty() {
        return vec![];
    }
    let (mut blocks, mut start) = (vec![], 0);
    for end in merge_ends(cache_ends).filter(|end| text.is_char_boundary(*end)) {
        // A piece of blanks is refused, so it becomes the beginning of the next one.
        let Some(piece) = text.get(start..end).filter(|piece| !piece.trim().is_empty()) else {
            continue;
        };
        // What follows must be a block too; blanks at the end go with what stands before them.
        let has_rest = !text[end..].trim().is_empty();
        blocks.push(block(if has_rest { piece } else { &text[start..] }, true));
        start = if has_rest { end } else { text.len() };
    }
    if start < text.len() {
        blocks.push(block(&text[start..], false));
    }
    blocks
}

/// Leaves out ends behind the first one where there are too many. Whole steps are left out, so that
/// only one in many requests has other blocks than the request before.
fn merge_ends(cache_ends: &[usize]) -> impl Iterator<Item = usize> {
    let excess = cache_ends.len().saturating_sub(ENDS_MAX);
    let merged = excess.div_ceil(MERGED_STEP) * MERGED_STEP;
    let (first, others) = cache_ends.split_at(cache_ends.len().min(1));
    first.iter().chain(others.iter().skip(merged)).copied()
}

fn block(text: &str, is_breakpoint: bool) -> Value {
    let mut block = json!({ "type": "text", "text": text });
    if is_breakpoint {
        block[BREAKPOINT] = json!({ "type": "ephemeral" });
    }
    block
}

/// Keeps the breakpoints that a later request can use, of all that the messages could have; returns
/// how many are left.
pub(crate) fn keep_breakpoints(messages: &mut [Value]) -> usize {
    let contents = messages.iter_mut().filter_map(|message| message["content"].as_array_mut());
    let blocks = contents.flatten().filter_map(Value::as_object_mut).enumerate();
    let mut marked: Vec<_> = blocks.filter(|(_, block)| block.contains_key(BREAKPOINT)).collect();
    let places: Vec<usize> = marked.iter().map(|(at, _)| *at).collect();
    let kept = choose_breakpoints(&places);
    for (at, block) in &mut marked {
        if !kept.contains(at) {
            block.remove(BREAKPOINT);
        }
    }
    kept.len()
}

/// Chooses the last place, the first one, which all seats share, and as many between them as the
/// limit allows, back from the last.
fn choose_breakpoints(places: &[usize]) -> Vec<usize> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return vec![] };
    let mut kept = vec![*last];
    // Bounded by the limit, of which one is the first place's.
    while let Some(from) = kept.last().filter(|_| kept.len() < BREAKPOINTS_MAX - 1) {
        let next = places.iter().find(|at| **at + SPACING >= *from);
        match next.filter(|at| *at > first && *at < from) {
            Some(at) => kept.push(*at),
            None => break,
        }
    }
    if first != last {
        kept.push(*first);
    }
    kept
}

/// Writes the system prompt: as one cached block where the messages are cached and leave a
/// breakpoint for it, else as plain text.
pub(crate) fn system(text: String, breakpoints: usize) -> Value {
    match breakpoints {
        1..BREAKPOINTS_MAX if !text.trim().is_empty() => json!([block(&text, true)]),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::anthropic::ANTHROPIC;
    use althing_chat::{Ask, Message};

    /// A `|` stands behind every block that may be a breakpoint, a `/` between other blocks.
    #[track_caller]
    fn check(text: &str, cache_ends: &[usize], want: &str) {
        let blocks = text_blocks(text, cache_ends);
        let together: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        if !blocks.is_empty() {
            assert_eq!(together, text, "the blocks are the text");
        }
        let shown: Vec<String> = blocks
            .iter()
            .map(|block| {
                let mark = if block.get(BREAKPOINT).is_some() { "|" } else { "" };
                format!("{}{mark}", block["text"].as_str().unwrap_or_default())
            })
            .collect();
        assert_eq!(shown.join("/"), want, "{text:?} at {cache_ends:?}");
    }

    #[test]
    fn texts_are_cut_at_their_cache_ends() {
        check("one two", &[], "one two");
        check("one two", &[3], "one|/ two");
        check("one two", &[7], "one two|");
        check("one two six", &[3, 7], "one|/ two|/ six");
        // Blanks are no block of their own.
        check("one two", &[3, 4], "one|/ two");
        check("  one", &[2], "  one");
        check("one  ", &[3], "one  |");
        check("one  ", &[3, 4, 5], "one  |");
        check("one", &[0, 3, 9], "one|");
        // Not on a character's boundary, out of order.
        check("\u{e9}t\u{e9}", &[1, 2], "\u{e9}|/t\u{e9}");
        check("one two", &[5, 3], "one t|/wo");
        check(" ", &[1], "");
    }

    #[test]
    fn breakpoints_are_where_later_requests_look() {
        #[track_caller]
        fn check(places: &[usize], want: &[usize]) {
            assert_eq!(choose_breakpoints(places), want, "{places:?}");
        }
        check(&[], &[]);
        check(&[3], &[3]);
        check(&[0, 1], &[1, 0]);
        check(&Vec::from_iter(0..=18), &[18, 0]);
        check(&Vec::from_iter(0..=19), &[19, 1, 0]);
        check(&Vec::from_iter(0..=30), &[30, 12, 0]);
        check(&Vec::from_iter(0..=50), &[50, 32, 14, 0]);
        check(&Vec::from_iter(0..=90), &[90, 72, 54, 0]);
        // Blocks between them that cannot be breakpoints.
        check(&[0, 10, 40, 50], &[50, 40, 0]);
    }

    fn write(system: &str, messages: Vec<Message>) -> Value {
        let mut ask = Ask::new(system, "");
        ask.messages.pop();
        ask.messages.extend(messages);
        (ANTHROPIC.write)("claude-opus-5", &ask).expect("it has words").body
    }

    fn marked(text: &str, cache_ends: &[usize]) -> Message {
        Message { cache_ends: cache_ends.to_vec(), ..Message::user(text) }
    }

    #[test]
    fn the_system_prompt_has_a_breakpoint_where_one_is_left() {
        let body = write("Be kind.", vec![Message::user("Well?")]);
        assert_eq!(body["system"], "Be kind.");
        let body = write("Be kind.", vec![marked("abc", &[1, 2])]);
        assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
        assert_eq!(body["system"][0]["text"], "Be kind.");
        let body = write("Be kind.", vec![transcript(60)]);
        assert_eq!(body["system"], "Be kind.", "the messages need all of them");
        assert!(write("", vec![marked("abc", &[1])]).get("system").is_none());
    }

    /// The question, so many speeches, and what this seat alone is told.
    fn transcript(speeches: usize) -> Message {
        let mut text = "Question.".to_string();
        let mut ends = vec![text.len()];
        for speech in 0..speeches {
            text.push_str(&format!("\n\nSpeech {speech}."));
            ends.push(text.len());
        }
        marked(&format!("{text}\n\nYour turn {speeches}."), &ends)
    }

    /// The texts of the blocks of a request, and which of them are breakpoints.
    fn blocks(speeches: usize) -> (Vec<String>, Vec<usize>) {
        let body = write("", vec![transcript(speeches)]);
        let blocks = body["messages"][0]["content"].as_array().expect("blocks");
        let texts = blocks.iter().map(|block| block["text"].as_str().unwrap().to_string());
        let is_marked = |at: &usize| blocks[*at].get(BREAKPOINT).is_some();
        (texts.collect(), (0..blocks.len()).filter(is_marked).collect())
    }

    /// How many blocks before a breakpoint are looked at, itself included.
    const LOOKBACK: usize = 20;

    #[test]
    fn the_next_request_finds_every_breakpoint_of_the_one_before() {
        let requests: Vec<_> = (0..250).map(blocks).collect();
        for seats in [1, 3, 18] {
            let mut merges = 0;
            let pairs = requests.iter().zip(&requests[seats..]);
            for (speeches, ((before, breakpoints), (after, later))) in pairs.enumerate() {
                assert!(breakpoints.len() <= BREAKPOINTS_MAX && before.len() <= ENDS_MAX + 1);
                let is_found = |at: &usize| {
                    let is_near = |later: &usize| (*at..at + LOOKBACK).contains(later);
                    after.starts_with(&before[..=*at]) && later.iter().any(is_near)
                };
                assert!(is_found(&0), "the question stays, at {speeches} speeches");
                let is_merged = after.len() < before.len();
                merges += usize::from(is_merged);
                let all_found = breakpoints.iter().all(is_found);
                assert!(all_found || is_merged, "{seats} seats, {speeches} speeches");
            }
            assert!(merges <= 250 / MERGED_STEP * seats, "{merges} with {seats} seats");
        }
    }
}
