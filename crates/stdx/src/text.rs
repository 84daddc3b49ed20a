//! Text from models is untrusted: what reaches a terminal or a list passes through here.

/// At most `chars` characters, with `…` where something was cut.
pub fn clip(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// One line of at most `chars` characters: white space folded, control characters escaped.
pub fn one_line(text: &str, chars: usize) -> String {
    clip(&printable(&text.split_whitespace().collect::<Vec<_>>().join(" ")), chars)
}

/// `text` without anything that could drive a terminal: control characters other than newline and
/// tab, and the marks that reorder text, become visible escapes.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() || is_reordering(c) => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32))
            }
            c => out.push(c),
        }
    }
    out
}

/// Bidirectional overrides and isolates: they can make shown text differ from real text.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(printable("a\x1b[31mred\x07\r\nb\tc"), "a\\u{1b}[31mred\\u{7}\nb\tc");
        assert_eq!(printable("\u{9b}31m \u{202e}evil"), "\\u{9b}31m \\u{202e}evil");
        assert_eq!(printable("é 東京 🙂"), "é 東京 🙂");
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("ééé", 3), "ééé");
        assert_eq!(clip("éééé", 3), "ééé…");
        assert_eq!(one_line(" a\n  b\x1b ", 80), "a b\\u{1b}");
    }
}
