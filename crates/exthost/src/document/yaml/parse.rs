//! The events of a YAML text as a tree with places.

use super::Scalars;
use crate::document::node::{Node, Parts};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Number, Value};
use std::ops::Range;

/// How deep a text may nest; deeper ones are refused, like in JSON.
const DEPTH_MAX: usize = 120;

pub(super) struct Tree {
    span: Range<usize>,
    is_flow: bool,
    what: What,
}

enum What {
    /// Whether it stands without quotes.
    Scalar(String, bool),
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>),
}

/// Always a scalar: a map or list would have to become a text, which escapes itself anew at each
/// level and grows without bound.
struct Key {
    span: Range<usize>,
    text: String,
}

pub(super) fn parse(text: &str) -> Result<Tree, String> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        text,
        offsets: Offsets { text, chars: 0, bytes: 0 },
    };
    reader.skip(|event| matches!(event, Event::StreamStart))?;
    if matches!(reader.peek()?, Event::StreamEnd) {
        return Ok(Tree {
            span: 0..text.len(),
            is_flow: true,
            what: What::Scalar(String::new(), true),
        });
    }
    reader.skip(|event| matches!(event, Event::DocumentStart(_)))?;
    let tree = reader.node(0)?;
    reader.skip(|event| matches!(event, Event::DocumentEnd))?;
    reader.skip(|event| matches!(event, Event::StreamEnd))?;
    Ok(tree)
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    text: &'a str,
    offsets: Offsets<'a>,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Result<Event<'a>, String> {
        match self.parser.peek() {
            Some(Ok((event, _))) => Ok(event.clone()),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("the text ends too early".into()),
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), String> {
        let event = self.parser.next_event().ok_or("the text ends too early")?;
        let (event, span) = event.map_err(|error| error.to_string())?;
        Ok((event, self.offsets.range(span)))
    }

    fn skip(&mut self, is_expected: fn(&Event) -> bool) -> Result<(), String> {
        let (event, _) = self.next()?;
        if is_expected(&event) { Ok(()) } else { Err("expected one document".into()) }
    }

    fn node(&mut self, depth: usize) -> Result<Tree, String> {
        if depth > DEPTH_MAX {
            return Err(format!("it nests deeper than {DEPTH_MAX}"));
        }
        let (event, span) = self.next()?;
        match event {
            Event::Scalar(text, style, 0, None) => {
                let is_plain = style == ScalarStyle::Plain;
                let is_flow = !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                Ok(Tree { span, is_flow, what: What::Scalar(text.into_owned(), is_plain) })
            }
            Event::SequenceStart(0, None) => self.list(span, depth),
            Event::MappingStart(0, None) => self.map(span, depth),
            _ => Err("anchors, aliases and tags are not supported".into()),
        }
    }

    fn list(&mut self, start: Range<usize>, depth: usize) -> Result<Tree, String> {
        let mut list = vec![];
        while !matches!(self.peek()?, Event::SequenceEnd) {
            list.push(self.node(depth + 1)?);
        }
        let last = list.last().map_or(start.end, |tree: &Tree| tree.span.end);
        self.closed(start, last, What::List(list))
    }

    fn map(&mut self, start: Range<usize>, depth: usize) -> Result<Tree, String> {
        let mut map = vec![];
        while !matches!(self.peek()?, Event::MappingEnd) {
            map.push((self.key()?, self.node(depth + 1)?));
        }
        let last = map
            .last()
            .map_or(start.end, |(key, value): &(Key, Tree)| value.span.end.max(key.span.end));
        self.closed(start, last, What::Map(map))
    }

    fn key(&mut self) -> Result<Key, String> {
        match self.next()? {
            (Event::Scalar(text, _, 0, None), span) => Ok(Key { span, text: text.into_owned() }),
            _ => Err("keys that are no plain text are not supported".into()),
        }
    }

    /// A block ends where its last part does, not where the next thing begins.
    fn closed(&mut self, start: Range<usize>, last: usize, what: What) -> Result<Tree, String> {
        let (_, end) = self.next()?;
        let is_flow = self.text[start.start..].starts_with(['[', '{']);
        let end = if is_flow { end.end } else { last };
        Ok(Tree { span: start.start..end.max(start.start), is_flow, what })
    }
}

/// Places in bytes for places in characters, which come in order most of the time.
struct Offsets<'a> {
    text: &'a str,
    chars: usize,
    bytes: usize,
}

impl Offsets<'_> {
    fn range(&mut self, span: Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.byte(span.end.index()).max(start)
    }

    fn byte(&mut self, chars: usize) -> usize {
        if chars < self.chars {
            (self.chars, self.bytes) = (0, 0);
        }
        let ahead = chars - self.chars;
        let rest = &self.text[self.bytes..];
        let bytes = rest.char_indices().nth(ahead).map_or(rest.len(), |(at, _)| at);
        (self.chars, self.bytes) = (chars, self.bytes + bytes);
        self.bytes
    }
}

impl Tree {
    pub(super) fn node(&self) -> Node {
        let parts = match &self.what {
            What::Scalar(..) => Parts::None,
            What::List(list) => Parts::List(list.iter().map(Tree::node).collect()),
            What::Map(map) => {
                let member =
                    |(key, value): &(Key, Tree)| (key.span.clone(), key.text.clone(), value.node());
                Parts::Map(map.iter().map(member).collect())
            }
        };
        Node { span: self.span.clone(), parts, is_flow: self.is_flow }
    }

    pub(super) fn value(&self, scalars: Scalars) -> Value {
        match &self.what {
            What::Scalar(text, false) => text.as_str().into(),
            What::Scalar(text, true) => scalar(text, scalars),
            What::List(list) => list.iter().map(|tree| tree.value(scalars)).collect(),
            What::Map(map) => {
                let member = |(key, value): &(Key, Tree)| (key.text.clone(), value.value(scalars));
                Value::Object(map.iter().map(member).collect())
            }
        }
    }
}

fn scalar(text: &str, scalars: Scalars) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        _ if scalars == Scalars::AsWritten => return text.into(),
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    number(text).map_or_else(|| text.into(), Value::Number)
}

/// The numbers of JSON. Others that YAML has (`0x1f`, `.inf`) stay the text they are.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    serde_json::from_str(text).ok().filter(|_| is_number)
}
