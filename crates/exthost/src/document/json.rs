//! JSON by its bytes.

use super::Patch;
use super::node::{self, Language, Node, Parts};
use althing_jsonrpc::Error;
use serde_json::Value;

const LANGUAGE: Language =
    Language { read, nodes, flow: |value| value.to_string(), may_rewrite: false };

pub(super) fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

pub(super) fn write(tree: &Value) -> String {
    format!("{tree:#}")
}

/// Applies one patch.
pub(super) fn patch(text: &mut String, patch: &Patch) -> Result<(), Error> {
    node::patch(text, patch, &LANGUAGE)
}

/// The parts of a text that `read` takes: no deeper than serde_json goes, so this may recurse.
fn nodes(text: &str) -> Option<Node> {
    Scan { text: text.as_bytes(), at: 0 }.value()
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn value(&mut self) -> Option<Node> {
        self.blanks();
        let start = self.at;
        let parts = match self.text.get(start)? {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => {
                self.string()?;
                Parts::None
            }
            _ => {
                self.at += self.text[start..].iter().take_while(|byte| is_bare(**byte)).count();
                Parts::None
            }
        };
        Some(Node { span: start..self.at, parts, is_flow: true })
    }

    fn map(&mut self) -> Option<Parts> {
        let mut members = vec![];
        self.at += 1;
        // Ends: every turn takes a byte at least.
        while !self.takes(b'}') {
            self.blanks();
            let start = self.at;
            self.string()?;
            let key = serde_json::from_slice(&self.text[start..self.at]).ok()?;
            let span = start..self.at;
            self.takes(b':').then_some(())?;
            members.push((span, key, self.value()?));
            self.takes(b',');
        }
        Some(Parts::Map(members))
    }

    fn list(&mut self) -> Option<Parts> {
        let mut elements = vec![];
        self.at += 1;
        while !self.takes(b']') {
            elements.push(self.value()?);
            self.takes(b',');
        }
        Some(Parts::List(elements))
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|it| it.is_ascii_whitespace()).count();
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}
