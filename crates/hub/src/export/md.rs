//! Markdown. What others said stands in block quotes with its links, images and tags disarmed: it
//! can dress its own words, and neither leave the quote nor fetch or run anything.

use super::sheet::{self, Sheet};
use super::{Account, Format};
use althing_assembly::Event;

pub(super) const FORMAT: Format = Format { name: "md", about: "Markdown", write };

/// What makes links, images, footnotes and tags, and what would take our escapes away again.
const DANGEROUS: &[char] = &['\\', '[', '<'];
/// In a line of ours nothing has a meaning.
const MEANINGFUL: &[char] =
    &['\\', '[', ']', '<', '>', '*', '_', '`', '#', '|', '~', '&', '!', '$'];

fn write(account: &Account, _: &[Event]) -> String {
    let mut md = Md::default();
    match &account.plan {
        // It is Markdown already, and as harmless.
        Some(plan) => {
            md.text.push_str(&plan.markdown);
            sheet::origin(account, &mut md);
        }
        None => sheet::write(account, &mut md),
    }
    md.text
}

#[derive(Default)]
struct Md {
    text: String,
    /// Whether the last piece was a fact: facts in a row are one list.
    in_list: bool,
}

impl Md {
    /// A piece of its own, with an empty line before it.
    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
        self.in_list = false;
    }
}

impl Sheet for Md {
    fn title(&mut self, line: &str) {
        self.block(&format!("# {}", escape(line, MEANINGFUL)));
    }

    fn fact(&mut self, name: &str, line: &str) {
        let (name, line) = (escape(name, MEANINGFUL), escape(line, MEANINGFUL));
        let item = format!("- **{name}:** {line}");
        if self.in_list {
            self.text.push_str(&item);
            self.text.push('\n');
        } else {
            self.block(&item);
        }
        self.in_list = true;
    }

    fn heading(&mut self, line: &str) {
        self.block(&format!("## {}", escape(line, MEANINGFUL)));
    }

    fn speaker(&mut self, line: &str) {
        self.block(&format!("### {}", escape(line, MEANINGFUL)));
    }

    fn label(&mut self, line: &str) {
        self.block(&format!("**{}**", escape(line, MEANINGFUL)));
    }

    fn passage(&mut self, text: &str) {
        let lines = text.trim().lines().map(|line| format!("> {}", escape(line, DANGEROUS)));
        self.block(&lines.map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n"));
    }

    fn remark(&mut self, line: &str) {
        self.block(&format!("_{}_", escape(line, MEANINGFUL)));
    }
}

fn escape(text: &str, chars: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if chars.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
