//! Text without an end in bounded memory: its head and its tail.

/// The head and the tail of what was said; what lies between is only counted.
#[derive(Debug)]
pub(crate) struct Keep {
    half_bytes_max: usize,
    head: String,
    tail: String,
    left_out: usize,
}

impl Keep {
    /// Keeps at most so many bytes of the head, and as many of the tail.
    pub(crate) fn new(half_bytes_max: usize) -> Keep {
        Keep { half_bytes_max, head: String::new(), tail: String::new(), left_out: 0 }
    }

    /// One more line.
    pub(crate) fn line(&mut self, line: &str) {
        self.push(line);
        self.push("\n");
    }

    fn push(&mut self, text: &str) {
        let room = if self.tail.is_empty() { self.half_bytes_max - self.head.len() } else { 0 };
        let (head, tail) = text.split_at(text.floor_char_boundary(room));
        self.head.push_str(head);
        self.tail.push_str(tail);
        // Twice the size before it is cut, so that a flood is not copied for every line.
        if self.tail.len() > 2 * self.half_bytes_max {
            self.left_out += cut(&mut self.tail, self.half_bytes_max);
        }
    }

    /// Whether something is missing of what was said.
    pub(crate) fn is_cut(&self) -> bool {
        self.left_out > 0 || self.tail.len() > self.half_bytes_max
    }

    /// All that was kept, with a mark where something is missing.
    pub(crate) fn text(mut self) -> String {
        self.left_out += cut(&mut self.tail, self.half_bytes_max);
        match self.left_out {
            0 => self.head + &self.tail,
            left_out => format!("{}\n[… {left_out} bytes left out …]\n{}", self.head, self.tail),
        }
    }
}

/// Leaves the last `bytes_max` bytes and tells how many went.
fn cut(text: &mut String, bytes_max: usize) -> usize {
    let gone = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    text.drain(..gone);
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &str) {
        let mut keep = Keep::new(8);
        lines.iter().for_each(|line| keep.line(line));
        assert_eq!(keep.is_cut(), expected.contains("left out"), "{expected}");
        assert_eq!(keep.text(), expected);
    }

    #[test]
    fn head_and_tail_are_kept() {
        check(&[], "");
        check(&["a", "b"], "a\nb\n");
        check(&["abc", "def", "ghi"], "abc\ndef\nghi\n");
        check(
            &["abc", "def", "1", "2", "3", "4", "5"],
            "abc\ndef\n\n[… 2 bytes left out …]\n2\n3\n4\n5\n",
        );
        check(&["a line that is too long"], "a line t\n[… 8 bytes left out …]\noo long\n");
        check(&["ééééé", "ééééé"], "éééé\n[… 7 bytes left out …]\nééé\n");
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut keep = Keep::new(1000);
        (0..100_000).for_each(|at| keep.line(&at.to_string()));
        assert!(keep.head.len() + keep.tail.len() <= 3000);
        let text = keep.text();
        assert!(text.starts_with("0\n1\n") && text.ends_with("99999\n"), "{text}");
    }
}
