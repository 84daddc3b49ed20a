//! Splits a text into sentences and lines, character by character.

use std::ops::Range;

/// Marks at the beginning of a line that open and close code.
const FENCE_MARKS: usize = 3;

/// Knows where the open sentence begins, and what the open line is.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    sentence_start: usize,
    has_letter: bool,
    is_after_stop: bool,
    /// Whether the line has anything but blanks and marks of a fence yet.
    is_line_begun: bool,
    fence_marks: usize,
    is_code: bool,
    is_table: bool,
}

impl Splitter {
    /// Takes the character at `at`. Returns the sentence that is over with it.
    pub fn take_char(&mut self, at: usize, c: char) -> Option<Range<usize>> {
        self.read_line_start(c);
        // A stop after a number alone is that of a list.
        let is_over = match c {
            '\n' => true,
            '。' | '！' | '？' | '।' | '॥' | '؟' | '۔' | '።' => self.has_letter,
            _ => self.is_after_stop && c.is_whitespace(),
        };
        self.is_after_stop = match c {
            '.' | '!' | '?' | '…' => self.has_letter,
            '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '*' | '_' => self.is_after_stop,
            _ => false,
        };
        self.has_letter |= c.is_alphabetic();
        if !is_over {
            return None;
        }
        self.has_letter = false;
        let end = at + c.len_utf8();
        Some(std::mem::replace(&mut self.sentence_start, end)..end)
    }

    /// Tells whether the line is neither code in a fence nor the row of a table.
    pub fn is_prose(&self) -> bool {
        !self.is_code && !self.is_table
    }

    fn read_line_start(&mut self, c: char) {
        match c {
            '\n' => (self.is_line_begun, self.fence_marks) = (false, 0),
            _ if self.is_line_begun || c.is_whitespace() => {}
            '`' | '~' => self.take_fence_mark(),
            _ => (self.is_line_begun, self.is_table) = (true, c == '|'),
        }
    }

    fn take_fence_mark(&mut self) {
        self.fence_marks += 1;
        if self.fence_marks == FENCE_MARKS {
            self.is_line_begun = true;
            self.is_code = !self.is_code;
        }
    }
}
