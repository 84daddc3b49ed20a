//! Where a prompt may be cached: blocks of text that end in a breakpoint. The provider keeps what
//! stands before a breakpoint and reads it cheaply when a later request begins the same way.

use serde_json::{Value, json};

/// Breakpoints in one request, the system prompt's included; the API refuses more. The earlier ones
/// are dropped, because the later ones cover what stands before them.
const BREAKPOINTS_MAX: usize = 4;
const BREAKPOINT: &str = "cache_control";

/// Cuts `text` behind every cache end into blocks with a breakpoint. The blocks together are the
/// text exactly. A text without words has no blocks: the API refuses them.
pub(super) fn text_blocks(text: &str, cache_ends: &[usize]) -> Vec<Value> {
    if text.trim().is_empty() {
        return vec![];
    }
    let (mut blocks, mut start) = (vec![], 0);
    for end in cache_ends.iter().copied().filter(|end| text.is_char_boundary(*end)) {
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

fn block(text: &str, is_breakpoint: bool) -> Value {
    let mut block = json!({ "type": "text", "text": text });
    if is_breakpoint {
        block[BREAKPOINT] = json!({ "type": "ephemeral" });
    }
    block
}

/// Drops the earliest breakpoints beyond the limit; returns how many are left.
pub(super) fn keep_last_breakpoints(messages: &mut [Value]) -> usize {
    let contents = messages.iter_mut().filter_map(|message| message["content"].as_array_mut());
    let blocks = contents.flatten().filter_map(Value::as_object_mut);
    let mut marked: Vec<_> = blocks.filter(|block| block.contains_key(BREAKPOINT)).collect();
    let excess = marked.len().saturating_sub(BREAKPOINTS_MAX);
    for block in &mut marked[..excess] {
        block.remove(BREAKPOINT);
    }
    marked.len() - excess
}

/// Writes the system prompt: as one cached block where the messages are cached and leave a
/// breakpoint for it, else as plain text.
pub(super) fn system(text: String, breakpoints: usize) -> Value {
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

    /// A `|` stands behind every breakpoint, a `/` between other blocks.
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
    fn a_request_has_four_breakpoints_at_most() {
        let body = write("Be kind.", vec![Message::user("Well?")]);
        assert_eq!(body["system"], "Be kind.");
        let body = write("Be kind.", vec![marked("abc", &[1, 2])]);
        assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
        assert_eq!(body["system"][0]["text"], "Be kind.");
        let body = write("Be kind.", vec![marked("abcdef", &[1, 2, 3]), marked("gh", &[1])]);
        assert_eq!(body["system"], "Be kind.", "the messages need all of them");
        let body = write("", vec![marked("abcdef", &[1, 2, 3, 4, 5, 6])]);
        let blocks = body["messages"][0]["content"].as_array().expect("blocks");
        let marks: Vec<bool> = blocks.iter().map(|it| it.get("cache_control").is_some()).collect();
        assert_eq!(marks, [false, false, true, true, true, true]);
        assert!(body.get("system").is_none());
    }
}
