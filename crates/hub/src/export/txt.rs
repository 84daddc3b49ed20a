//! Plain text. What others said is indented, so that nothing in it can pass for a heading of ours.

use super::sheet::{self, Sheet};
use super::{Account, Format};
use althing_assembly::Event;

pub(super) const FORMAT: Format = Format { name: "txt", about: "plain text", write };

fn write(account: &Account, _: &[Event]) -> String {
    let mut txt = Txt::default();
    sheet::write(account, &mut txt);
    txt.text
}

#[derive(Default)]
struct Txt {
    text: String,
    /// Whether the last piece was a fact: facts in a row are one list.
    in_list: bool,
}

impl Txt {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.in_list = false;
    }

    /// A line with an empty one before it.
    fn block(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(line);
    }

    fn underlined(&mut self, line: &str, with: &str) {
        self.block(line);
        self.line(&with.repeat(line.chars().count()));
    }
}

impl Sheet for Txt {
    fn title(&mut self, line: &str) {
        self.underlined(line, "=");
    }

    fn fact(&mut self, name: &str, line: &str) {
        let fact = format!("{name}: {line}");
        if self.in_list {
            self.line(&fact)
        } else {
            self.block(&fact)
        }
        self.in_list = true;
    }

    fn heading(&mut self, line: &str) {
        self.underlined(line, "-");
    }

    fn speaker(&mut self, line: &str) {
        self.block(&format!("* {line}"));
    }

    fn label(&mut self, line: &str) {
        self.line(&format!("  {line}:"));
    }

    fn passage(&mut self, text: &str) {
        for line in text.trim().lines() {
            self.line(format!("    {line}").trim_end());
        }
    }

    fn remark(&mut self, line: &str) {
        self.line(&format!("  [{line}]"));
    }
}
