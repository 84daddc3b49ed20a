//! Text that arrives in pieces, wrapped to a width as it arrives.

use super::{BOLD, Screen};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Blanks at the start of a line that are kept.
const LEAD_MAX: usize = 16;

/// A paragraph writer. Feed it untrusted text: control characters come out as visible escapes.
pub struct Flow {
    screen: Screen,
    /// Printed at the start of every line.
    margin: String,
    columns: usize,
    /// Column behind the margin; none before the line has begun.
    column: Option<usize>,
    /// Extra margin of a wrapped list item.
    hang: usize,
    blanks: usize,
    word: String,
    bold: bool,
    bold_line: bool,
    /// The blanks behind a heading's signs are not shown either.
    is_heading_open: bool,
}

impl Flow {
    pub fn new(screen: Screen, margin: &str) -> Flow {
        let columns = screen.columns.saturating_sub(margin.width()).max(10);
        let margin = margin.to_string();
        Flow {
            screen,
            margin,
            columns,
            column: None,
            hang: 0,
            blanks: 0,
            word: String::new(),
            bold: false,
            bold_line: false,
            is_heading_open: false,
        }
    }

    /// Takes in more text and writes what can be written.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in althing_stdx::text::printable(text).chars() {
            match c {
                '\n' => self.line_end(out),
                ' ' => self.blank(1, out),
                '\t' => self.blank(4, out),
                c => self.word.push(c),
            }
        }
    }

    /// Writes the rest and ends the line.
    pub fn end(&mut self, out: &mut String) {
        self.flush(out);
        if self.column.is_some() {
            self.line_end(out);
        }
        self.set_bold(false, out);
    }

    fn blank(&mut self, count: usize, out: &mut String) {
        self.flush(out);
        self.blanks += if self.is_heading_open { 0 } else { count };
    }

    fn line_end(&mut self, out: &mut String) {
        self.flush(out);
        if self.column.is_none() {
            out.push_str(self.margin.trim_end());
        }
        if self.bold_line {
            self.set_bold(false, out);
        }
        out.push('\n');
        (self.column, self.hang, self.blanks) = (None, 0, 0);
        (self.bold_line, self.is_heading_open) = (false, false);
    }

    fn flush(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if self.column.is_none() {
            self.begin_line(&word, out);
            if self.screen.colour && word.len() <= 6 && word.chars().all(|c| c == '#') {
                // A heading: shown bold instead of marked.
                (self.bold_line, self.is_heading_open) = (true, true);
                return self.set_bold(true, out);
            }
        }
        self.put(&word, out);
    }

    fn begin_line(&mut self, first: &str, out: &mut String) {
        let lead = self.blanks.min(LEAD_MAX);
        out.push_str(&self.margin);
        out.push_str(&" ".repeat(lead));
        let is_bullet = matches!(first, "-" | "*" | "+" | "•")
            || (first.ends_with(['.', ')'])
                && first.len() <= 4
                && first.starts_with(|c: char| c.is_ascii_digit()));
        self.hang = lead + if is_bullet { first.width() + 1 } else { 0 };
        (self.column, self.blanks) = (Some(lead), 0);
    }

    fn put(&mut self, word: &str, out: &mut String) {
        self.is_heading_open = false;
        let column = self.column.unwrap_or(0);
        let width = self.shown_width(word);
        if column > self.hang && column + self.blanks + width > self.columns {
            self.wrap(out);
        } else {
            out.push_str(&" ".repeat(self.blanks));
            self.column = Some(column + self.blanks);
        }
        self.blanks = 0;
        self.put_pieces(word, out);
    }

    fn wrap(&mut self, out: &mut String) {
        out.push('\n');
        out.push_str(&self.margin);
        out.push_str(&" ".repeat(self.hang));
        self.column = Some(self.hang);
    }

    /// Writes a word; `**` switches bold where there are colours, and stays as it is elsewhere.
    fn put_pieces(&mut self, word: &str, out: &mut String) {
        if !self.screen.colour {
            return self.put_chars(word, out);
        }
        for (at, piece) in word.split("**").enumerate() {
            if at > 0 && !self.bold_line {
                self.set_bold(!self.bold, out);
            }
            self.put_chars(piece, out);
        }
    }

    fn put_chars(&mut self, piece: &str, out: &mut String) {
        for c in piece.chars() {
            let column = self.column.unwrap_or(0);
            let width = c.width().unwrap_or(0);
            if column > self.hang && column + width > self.columns {
                self.wrap(out);
            }
            out.push(c);
            self.column = Some(self.column.unwrap_or(0) + width);
        }
    }

    fn shown_width(&self, word: &str) -> usize {
        if self.screen.colour { word.replace("**", "").width() } else { word.width() }
    }

    fn set_bold(&mut self, bold: bool, out: &mut String) {
        if self.bold != bold && self.screen.colour {
            out.push_str(&if bold {
                BOLD.render().to_string()
            } else {
                BOLD.render_reset().to_string()
            });
        }
        self.bold = bold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(columns: usize, colour: bool) -> Screen {
        Screen { live: colour, colour, columns }
    }

    /// The same output whatever the pieces.
    #[track_caller]
    fn check(columns: usize, colour: bool, text: &str, want: &str) {
        for size in [1, 2, 3, 7, 1000] {
            let mut flow = Flow::new(screen(columns, colour), "  ");
            let mut out = String::new();
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                flow.push(&piece.iter().collect::<String>(), &mut out);
            }
            flow.end(&mut out);
            assert_eq!(out, want, "in pieces of {size}");
        }
    }

    #[test]
    fn wraps_at_words_and_hangs_lists() {
        check(14, false, "one two three four", "  one two\n  three four\n");
        check(16, false, "- one two three four\nend", "  - one two\n    three four\n  end\n");
        check(16, false, "a\n\n\nb\n", "  a\n\n\n  b\n");
        check(12, false, "abcdefghijklmnop", "  abcdefghij\n  klmnop\n");
        check(12, false, "東京東京東京東", "  東京東京東\n  京東\n");
        check(30, false, "    code here", "      code here\n");
        check(30, false, "", "");
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        check(60, false, "a\x1b[31mb\rc", "  a\\u{1b}[31mbc\n");
    }

    #[test]
    fn bold_and_headings_only_with_colours() {
        check(60, false, "# Head\n**b** c", "  # Head\n  **b** c\n");
        check(60, true, "**b** c", "  \u{1b}[1mb\u{1b}[0m c\n");
        check(60, true, "## Head\nc", "  \u{1b}[1mHead\u{1b}[0m\n  c\n");
        check(60, true, "open **bold", "  open \u{1b}[1mbold\n\u{1b}[0m");
    }
}
