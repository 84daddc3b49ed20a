//! JSON and YAML by the places of their parts. A change is tried in the ways that touch least, and
//! the first is taken whose result reads as it should; so nothing but what was meant can change.

use super::Patch;
use super::pointer::{self, Change};
use crate::code;
use althing_jsonrpc::Error;
use serde_json::Value;
use std::ops::Range;

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) parts: Parts,
    /// Between brackets, rather than by indentation.
    pub(super) is_flow: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Parts {
    None,
    List(Vec<Node>),
    /// Where each key is, what it says, and its value.
    Map(Vec<(Range<usize>, String, Node)>),
}

/// How a text is read and written; JSON and YAML differ in no more.
pub(super) struct Language {
    pub(super) read: fn(&str) -> Result<Value, String>,
    pub(super) nodes: fn(&str) -> Option<Node>,
    pub(super) flow: fn(&Value) -> String,
    /// Whether what surrounds a change may be written anew where nothing less will do.
    pub(super) may_rewrite: bool,
}

/// Applies one patch.
pub(super) fn patch(text: &mut String, patch: &Patch, language: &Language) -> Result<(), Error> {
    let (tokens, change) = pointer::read(patch)?;
    if tokens.is_empty() && matches!(change, Change::Set(_)) && (language.read)(text).is_err() {
        // What cannot be read can still be replaced.
        return replace_all(text, patch, language);
    }
    let before = (language.read)(text).map_err(code::invalid_message)?;
    let mut after = before.clone();
    pointer::apply(&mut after, &tokens, change, patch.create)?;
    if before == after {
        return Ok(());
    }
    let root = (language.nodes)(text).ok_or_else(unreadable)?;
    let edit = Edit { text, tokens: &tokens, after: &after, language };
    let is_right = |text: &String| (language.read)(text).is_ok_and(|tree| tree == after);
    let changed = edit.ways(&root).into_iter().map(|way| edit.made(way)).find(is_right);
    *text = changed.ok_or_else(unreadable)?;
    Ok(())
}

fn replace_all(text: &mut String, patch: &Patch, language: &Language) -> Result<(), Error> {
    *text = (language.flow)(patch.value.as_ref().unwrap_or(&Value::Null));
    Ok(())
}

fn unreadable() -> Error {
    code::validation("this text cannot be changed there without a loss elsewhere")
}

struct Edit<'a> {
    text: &'a str,
    tokens: &'a [String],
    after: &'a Value,
    language: &'a Language,
}

/// What to put where.
type Way = (Range<usize>, String);

impl Edit<'_> {
    fn made(&self, (range, put): Way) -> String {
        let mut text = self.text.to_string();
        text.replace_range(range, &put);
        text
    }

    /// All ways, those that touch least first.
    fn ways(&self, root: &Node) -> Vec<Way> {
        let mut chain = vec![root];
        for token in self.tokens {
            match chain[chain.len() - 1].child(token) {
                Some(child) => chain.push(child),
                None => break,
            }
        }
        let mut ways = vec![];
        if let Some(depth) = self.tokens.len().min(chain.len()).checked_sub(1) {
            ways.extend(self.within(chain[depth], depth));
        }
        // A part as a whole, then what it is part of, and so on up to the root.
        for (depth, node) in chain.iter().enumerate().rev() {
            if depth < self.tokens.len() && !self.language.may_rewrite {
                break;
            }
            if let Some(value) = self.wanted(&self.tokens[..depth]) {
                ways.push((node.span.clone(), self.flow(value)));
            }
        }
        ways
    }

    fn flow(&self, value: &Value) -> String {
        (self.language.flow)(value)
    }

    fn wanted(&self, tokens: &[String]) -> Option<&Value> {
        tokens.iter().try_fold(self.after, |at, token| match at {
            Value::Object(members) => members.get(token),
            Value::Array(elements) => elements.get(token.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Ways to add a part to `parent`, which is so deep, or to remove one.
    fn within(&self, parent: &Node, depth: usize) -> Vec<Way> {
        if matches!(parent.parts, Parts::None) {
            return vec![];
        }
        let parts = parent.parts_with_keys();
        match parent.position(&self.tokens[depth]) {
            Some(at) if self.is_removed(parent, depth) => removal(&parts, at, parent),
            Some(_) => vec![],
            None => self.addition(parent, &parts, depth),
        }
    }

    fn is_removed(&self, parent: &Node, depth: usize) -> bool {
        match (self.wanted(&self.tokens[..depth]), &parent.parts) {
            (Some(Value::Array(wanted)), Parts::List(list)) => wanted.len() < list.len(),
            (Some(Value::Object(wanted)), _) => !wanted.contains_key(&self.tokens[depth]),
            _ => false,
        }
    }

    fn addition(&self, parent: &Node, parts: &[Range<usize>], depth: usize) -> Vec<Way> {
        let Some(new) = self.addition_text(parent, parts.len(), depth) else { return vec![] };
        let Some(first) = parts.first() else {
            let at = parent.span.start + 1;
            return if parent.is_flow { vec![(at..at, new)] } else { vec![] };
        };
        let last = &parts[parts.len() - 1];
        if parent.is_flow {
            let gap = match parts {
                [.., before, last] => self.text[before.end..last.start].to_string(),
                _ => format!(",{}", &self.text[parent.span.start + 1..first.start]),
            };
            return vec![
                (last.end..last.end, gap + &new),
                (last.end..last.end, format!(", {new}")),
            ];
        }
        let end = self.line_end(last.end);
        if matches!(parent.parts, Parts::List(_)) {
            let dash = self.text[..first.start].rfind('-').unwrap_or(first.start);
            let indent = " ".repeat(self.column(dash));
            return vec![(end..end, format!("\n{indent}- {new}"))];
        }
        let indent = " ".repeat(self.column(first.start));
        let behind = (end..end, format!("\n{indent}{new}"));
        vec![behind, (first.start..first.start, format!("{new}\n{indent}"))]
    }

    fn addition_text(&self, parent: &Node, count: usize, depth: usize) -> Option<String> {
        match &parent.parts {
            Parts::Map(_) => {
                let key = self.flow(&self.tokens[depth].as_str().into());
                let value = self.flow(self.wanted(&self.tokens[..=depth])?);
                Some(format!("{key}: {value}"))
            }
            Parts::List(_) => {
                let wanted = self.wanted(&self.tokens[..depth])?.as_array()?;
                let new: Vec<_> = wanted.get(count..)?.iter().map(|it| self.flow(it)).collect();
                (parent.is_flow || new.len() == 1).then(|| new.join(", "))
            }
            Parts::None => None,
        }
    }

    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().rev().take_while(|c| *c != '\n').count()
    }

    /// The end of the line in which a part ends; a block of text takes its last line end along.
    fn line_end(&self, at: usize) -> usize {
        if self.text[..at].ends_with('\n') {
            return at - 1;
        }
        self.text[at..].find('\n').map_or(self.text.len(), |length| at + length)
    }
}

/// Ways to take the part `at` out.
fn removal(parts: &[Range<usize>], at: usize, parent: &Node) -> Vec<Way> {
    let part = &parts[at];
    let range = match (at.checked_sub(1).map(|before| &parts[before]), parts.get(at + 1)) {
        (_, Some(next)) => part.start..next.start,
        (Some(before), None) => before.end..part.end,
        (None, None) if parent.is_flow => part.clone(),
        (None, None) => return vec![],
    };
    vec![(range, String::new())]
}

impl Node {
    fn child(&self, token: &str) -> Option<&Node> {
        let at = self.position(token)?;
        match &self.parts {
            Parts::None => None,
            Parts::List(list) => list.get(at),
            Parts::Map(map) => map.get(at).map(|(_, _, node)| node),
        }
    }

    /// Of a key that comes twice, the last counts.
    fn position(&self, token: &str) -> Option<usize> {
        match &self.parts {
            Parts::None => None,
            Parts::List(list) => token.parse().ok().filter(|at| *at < list.len()),
            Parts::Map(map) => map.iter().rposition(|(_, key, _)| key == token),
        }
    }

    /// The parts as ranges, each from its key to its end.
    fn parts_with_keys(&self) -> Vec<Range<usize>> {
        match &self.parts {
            Parts::None => vec![],
            Parts::List(list) => list.iter().map(|node| node.span.clone()).collect(),
            Parts::Map(map) => {
                map.iter().map(|(key, _, node)| key.start..node.span.end.max(key.end)).collect()
            }
        }
    }
}
