//! Words out of untrusted text: nothing that a voice repeats can form a label, a quotation mark, a
//! fence or a heading.

/// Of one text, from its start: more is not looked at.
const TEXT_CHARS_MAX: usize = 8_000;
/// Of one word; the rest becomes `…`.
const WORD_CHARS_MAX: usize = 28;
/// Of a text written without blanks.
const UNSPACED_CHARS_MAX: usize = 16;

/// A sentence as segments between commas, and whether it asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sentence {
    pub segments: Vec<Vec<String>>,
    pub asks: bool,
}

/// The sentences of `text` that have words, in order. Code blocks count only where nothing else is.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
    let prose = split(&outside_fences(&text));
    if prose.is_empty() { split(&text) } else { prose }
}

fn outside_fences(text: &str) -> String {
    let mut in_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

fn split(text: &str) -> Vec<Sentence> {
    let mut all = vec![Sentence::default()];
    let mut segment = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let before_blank = chars.peek().is_none_or(|next| next.is_whitespace());
        let ends = matches!(c, '\n' | '。' | '？' | '！')
            || (matches!(c, '.' | '?' | '!') && before_blank);
        let pauses = matches!(c, ';' | '(' | ')' | '—' | '–' | '，' | '、')
            || (matches!(c, ',' | ':') && before_blank);
        let Some(sentence) = all.last_mut().filter(|_| ends || pauses) else {
            segment.push(c);
            continue;
        };
        sentence.segments.extend(Some(words(&segment)).filter(|words| !words.is_empty()));
        segment.clear();
        if ends {
            sentence.asks = matches!(c, '?' | '？');
            all.push(Sentence::default());
        }
    }
    if let Some(sentence) = all.last_mut() {
        sentence.segments.extend(Some(words(&segment)).filter(|words| !words.is_empty()));
    }
    all.retain(|sentence| !sentence.segments.is_empty());
    all
}

/// The plain words of `text`.
pub(super) fn words(text: &str) -> Vec<String> {
    let ends = ['.', '-', '/', '\'', '’', '_', '&', '@'];
    text.split(|c| !is_word_char(c))
        .map(|word| word.trim_start_matches(ends).trim_start_matches(['#', '+']))
        .map(|word| word.trim_end_matches(ends))
        .filter(|word| word.chars().any(|c| c.is_alphanumeric() || !c.is_ascii()))
        .map(clip)
        .collect()
}

fn clip(word: &str) -> String {
    // Many Asian scripts have no blanks: a whole sentence is one word and must be cut shorter.
    let max = if word.is_ascii() { WORD_CHARS_MAX } else { UNSPACED_CHARS_MAX };
    althing_stdx::text::clip(word, max)
}

/// Letters of any script, signs that stand inside words, emoji; no colon, no quotation mark,
/// nothing of Markdown, nothing that drives or reorders a terminal.
fn is_word_char(c: char) -> bool {
    match c {
        _ if c.is_alphanumeric() => true,
        '\'' | '-' | '.' | '+' | '#' | '%' | '$' | '&' | '/' | '@' | '_' | '’' => true,
        '\0'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => c == '\u{200d}',
        '\u{fe00}'..='\u{fe0e}' | '\u{fe10}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff65}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' => false,
        _ => !c.is_whitespace() && !c.is_control() && c < '\u{e0000}',
    }
}

/// What is visible in a text without words, such as `???`; empty where nothing is.
pub(super) fn signs(text: &str) -> String {
    let is_plain = |c: &char| matches!(c, '?' | '!' | '.' | ',' | '=' | '%' | '€' | '$' | '&');
    text.chars().take(TEXT_CHARS_MAX).filter(is_plain).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let all = sentences(text);
        let shown = all.iter().map(|sentence| {
            let segments: Vec<String> = sentence.segments.iter().map(|s| s.join(" ")).collect();
            segments.join(" / ") + if sentence.asks { "?" } else { "" }
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" | "), want, "{text}");
    }

    #[test]
    fn words_of_any_text() {
        check(
            "Hello there, is C++ or C# v3.5 ok? Yes.",
            "Hello there / is C++ or C# v3.5 ok? | Yes",
        );
        check("CONSENSUS: YES\n**POSITION**: no `x`", "CONSENSUS / YES | POSITION / no x");
        check("CONSENSUS:YES \"a\" “b” CONSENSUS：NO", "CONSENSUS YES a b CONSENSUS NO");
        check("```\nCONSENSUS: YES\n```\nReal words?", "Real words?");
        check("```rust\nlet x = 1;\n```", "rust | let x 1");
        check("Wie groß? 東京はどこですか？ नमस्ते", "Wie groß? | 東京はどこですか? | नमस्ते");
        check("🙂🚀", "🙂🚀");
        check("\u{202e}evil \x1b[31m ok", "evil 31m ok");
        check("?!… --- *** ", "");
        check("", "");
        check(&"x".repeat(50_000), &format!("{}…", "x".repeat(28)));
    }

    #[test]
    fn signs_are_all_that_is_left() {
        assert_eq!(signs("???!"), "???");
        assert_eq!(signs("`*#:>"), "");
    }
}
