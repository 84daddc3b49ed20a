//! The labels of a synthesis as headings, while it streams. Only the start of a line is ever held
//! back, and only as long as it may still become a label.

/// A longer run of capitals is not a label.
const LABEL_CHARS_MAX: usize = 40;

/// Labels that read better under another name; any other is shown as it is, in small letters.
const NAMES: &[(&str, &str)] = &[
    ("SYNTHESIS", "The answer"),
    ("AGREED", "They agree"),
    ("DIFFERENCES", "They do not agree"),
    ("EVOLUTION", "How views moved"),
];

#[derive(Default)]
pub struct Relabel {
    /// The start of the line, not yet passed on.
    held: String,
    is_inside: bool,
    is_first: bool,
    /// Stars of a bold label still to come.
    skip: usize,
    after_head: bool,
    /// Line ends in a row with nothing between them.
    empty_lines: u32,
    colour: bool,
}

impl Relabel {
    pub fn new(colour: bool) -> Relabel {
        Relabel { is_first: true, colour, ..Relabel::default() }
    }

    /// The text to show for more text.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => self.line_end(&mut out),
                c if self.is_inside => self.put(c, &mut out),
                c => {
                    self.held.push(c);
                    self.decide(c, &mut out);
                }
            }
        }
        out
    }

    fn line_end(&mut self, out: &mut String) {
        out.push_str(&self.release());
        // A heading has ended its line already, and one empty line is enough.
        if !std::mem::take(&mut self.after_head) {
            self.empty_lines = if self.is_inside { 0 } else { self.empty_lines + 1 };
            if self.empty_lines < 2 {
                out.push('\n');
            }
        }
        self.is_inside = false;
    }

    /// Text behind a label or in a line without one.
    fn put(&mut self, c: char, out: &mut String) {
        // The closing half of a bold label goes, and the blanks behind it.
        let is_rest = (c == '*' && self.skip > 0) || (c == ' ' && self.after_head);
        self.skip = self.skip.saturating_sub(1);
        self.after_head &= is_rest;
        if !is_rest {
            out.push(c);
        }
    }

    /// What was still held.
    pub fn release(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn decide(&mut self, c: char, out: &mut String) {
        if c == ':' {
            let held = self.release();
            let label = held.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_label = label.chars().any(|c| c.is_ascii_uppercase());
            out.push_str(&if is_label { self.head(label) } else { held.clone() });
            self.skip = if is_label && held.contains("**") { "**".len() } else { 0 };
            self.is_inside = true;
        } else if !self.may_become_label(c) {
            out.push_str(&self.release());
            self.is_inside = true;
        }
    }

    fn may_become_label(&self, c: char) -> bool {
        let fits =
            c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, ' ' | '_' | '*' | '#');
        fits && self.held.chars().count() <= LABEL_CHARS_MAX
    }

    fn head(&mut self, label: &str) -> String {
        let known =
            NAMES.iter().find(|(name, _)| *name == label).map(|(_, shown)| shown.to_string());
        let title = known.unwrap_or_else(|| sentence_case(&label.replace('_', " ")));
        let gap =
            if std::mem::take(&mut self.is_first) || self.empty_lines > 0 { "" } else { "\n" };
        self.empty_lines = 0;
        self.after_head = true;
        if self.colour { format!("{gap}**{title}**\n") } else { format!("{gap}{title}:\n") }
    }
}

fn sentence_case(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut chars = lower.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        for size in [1, 3, 1000] {
            let mut relabel = Relabel::new(false);
            let chars: Vec<char> = text.chars().collect();
            let pieces =
                chars.chunks(size).map(|piece| relabel.push(&piece.iter().collect::<String>()));
            let shown: String = pieces.collect();
            assert_eq!(shown + &relabel.release(), want, "in pieces of {size}");
        }
    }

    #[test]
    fn labels_become_headings_and_prose_stays() {
        check("CONSENSUS: YES\nAGREED: a\nmore: b", "Consensus:\nYES\n\nThey agree:\na\nmore: b");
        check("**AGREED:** a **b** c", "They agree:\na **b** c");
        check(
            "CONSENSUS: NO\n\nAGREED:\n\n- a\n\n\n- b",
            "Consensus:\nNO\n\nThey agree:\n\n- a\n\n- b",
        );
        check("AGREED:\n- a", "They agree:\n- a");
        check("OPEN_QUESTIONS: why", "Open questions:\nwhy");
        check("API design: do it", "API design: do it");
        check("A plain line", "A plain line");
        check("NASA", "NASA");
        check("12:30 it began", "12:30 it began");
    }
}
