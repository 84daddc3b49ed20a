//! Grammars in llama.cpp's notation: read before llama.cpp does, because it crashes or never ends
//! over some of them. Pure.

use crate::pattern::REPEATS_MAX;
use std::collections::HashMap;

/// A grammar that a client wrote may be so long, and have so many rules.
const BYTES_MAX: usize = 64 << 10;
/// One made of a schema repeats the names of properties in those of its rules.
const CONVERTED_BYTES_MAX: usize = 4 << 20;
const RULES_MAX: usize = 2_000;
const NAME_BYTES_MAX: usize = 256;
/// Parentheses in parentheses are not nested deeper.
const NESTING_MAX: usize = 200;
/// Repetitions of repetitions multiply.
const PRODUCT_MAX: u64 = 10_000;
/// Something that may be empty is not repeated more often: llama.cpp tries every way to do it.
const EMPTY_REPEATS_MAX: u32 = 16;
/// Ways to go on at one place; llama.cpp follows all of them at once.
const WAYS_MAX: u64 = 512;
/// Elements of all rules once repetitions are written out.
const ELEMENTS_MAX: u64 = 500_000;

/// A grammar as a tree.
#[derive(Debug, Default)]
pub struct Grammar {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// By number; none: used, and never defined.
    rules: Vec<Option<Alternatives>>,
}

type Alternatives = Vec<Vec<Item>>;

/// A part of a rule.
#[derive(Debug)]
enum Item {
    /// A character out of ranges, or out of none of them.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests write texts of a grammar"))]
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
    Any,
    Token,
    Literal(String),
    Rule(usize),
    Group(Alternatives),
    Repeat {
        item: Box<Item>,
        least: u32,
        most: Option<u32>,
    },
}

/// Refuses a client's grammar that llama.cpp would not survive.
pub fn check(text: &str) -> Result<(), String> {
    if text.len() > BYTES_MAX {
        return Err(format!("has {} bytes, and at most {BYTES_MAX} are read", text.len()));
    }
    let grammar = Grammar::parse(text)?;
    if grammar.rules.len() > RULES_MAX {
        return Err(format!("has more than {RULES_MAX} rules"));
    }
    if grammar.names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
        return Err(format!("a name is longer than {NAME_BYTES_MAX} bytes"));
    }
    grammar.check()
}

/// Refuses a grammar made of a schema that llama.cpp would not survive.
pub fn check_converted(text: &str) -> Result<(), String> {
    if text.len() > CONVERTED_BYTES_MAX {
        return Err(format!("has more than {CONVERTED_BYTES_MAX} bytes"));
    }
    Grammar::parse(text)?.check()
}

impl Grammar {
    pub fn parse(text: &str) -> Result<Grammar, String> {
        let mut reader = Reader { rest: text, grammar: Grammar::default() };
        reader.skip_space(true);
        while !reader.rest.is_empty() {
            reader.read_rule().map_err(|why| reader.locate(text, &why))?;
        }
        Ok(reader.grammar)
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        self.rules.push(None);
        number
    }

    fn check(&self) -> Result<(), String> {
        if let Some(at) = self.rules.iter().position(Option::is_none) {
            return Err(format!("rule {} is not defined", self.names[at]));
        }
        let nullable = self.find_nullable();
        let mut ways = Ways { grammar: self, nullable: &nullable, known: HashMap::new() };
        let mut elements = 0;
        for (at, rule) in self.rules.iter().enumerate() {
            let named = |why: String| format!("rule {} {why}", self.names[at]);
            for item in rule.iter().flatten().flatten() {
                elements += check_repeats(item, &nullable, 1).map_err(named)?;
            }
            ways.of_rule(at, 0).map_err(named)?;
        }
        match elements <= ELEMENTS_MAX {
            true => Ok(()),
            false => Err("is too large with its repetitions written out".into()),
        }
    }

    /// Finds the rules that may stand for nothing.
    fn find_nullable(&self) -> Vec<bool> {
        let mut nullable = vec![false; self.rules.len()];
        loop {
            let mut changed = false;
            for (at, rule) in self.rules.iter().enumerate() {
                let is_empty = rule.as_ref().is_some_and(|it| may_be_empty(it, &nullable));
                changed |= is_empty && !nullable[at];
                nullable[at] |= is_empty;
            }
            if !changed {
                return nullable;
            }
        }
    }
}

fn may_be_empty(alternatives: &Alternatives, nullable: &[bool]) -> bool {
    alternatives.iter().any(|items| items.iter().all(|item| item_may_be_empty(item, nullable)))
}

fn item_may_be_empty(item: &Item, nullable: &[bool]) -> bool {
    match item {
        Item::Class { .. } | Item::Any | Item::Token => false,
        Item::Literal(text) => text.is_empty(),
        Item::Rule(number) => nullable[*number],
        Item::Group(alternatives) => may_be_empty(alternatives, nullable),
        Item::Repeat { item, least, most } => {
            *least == 0 || *most == Some(0) || item_may_be_empty(item, nullable)
        }
    }
}

/// Refuses repetitions that take too much; returns how many elements they are, written out.
fn check_repeats(item: &Item, nullable: &[bool], product: u64) -> Result<u64, String> {
    match item {
        Item::Literal(text) => Ok(text.chars().count() as u64),
        Item::Class { ranges, .. } => Ok(2 * ranges.len() as u64 + 1),
        Item::Any | Item::Token | Item::Rule(_) => Ok(1),
        Item::Group(alternatives) => {
            let mut elements = 1;
            for item in alternatives.iter().flatten() {
                elements += check_repeats(item, nullable, product)?;
            }
            Ok(elements)
        }
        Item::Repeat { item, least, most } => {
            let times = most.unwrap_or(*least).max(1);
            let product = product * u64::from(times);
            if product > PRODUCT_MAX {
                return Err(format!("repeats something more than {PRODUCT_MAX} times in all"));
            }
            if times > EMPTY_REPEATS_MAX && item_may_be_empty(item, nullable) {
                return Err(format!(
                    "repeats something that may be empty more than {EMPTY_REPEATS_MAX} times"
                ));
            }
            Ok(check_repeats(item, nullable, product)? * (u64::from(times) + 1))
        }
    }
}

/// Counts in how many ways a rule can begin.
struct Ways<'g> {
    grammar: &'g Grammar,
    nullable: &'g [bool],
    /// None: being counted.
    known: HashMap<usize, Option<u64>>,
}

impl Ways<'_> {
    fn of_rule(&mut self, number: usize, depth: usize) -> Result<u64, String> {
        match self.known.get(&number) {
            Some(Some(ways)) => return Ok(*ways),
            Some(None) => return Err("begins with itself".into()),
            None => {}
        }
        if depth > RULES_MAX {
            return Err("begins with too long a chain of rules".into());
        }
        self.known.insert(number, None);
        let grammar = self.grammar;
        let ways = match &grammar.rules[number] {
            Some(alternatives) => self.of_alternatives(alternatives, true, depth)?,
            None => 0,
        };
        self.known.insert(number, Some(ways));
        Ok(ways)
    }

    fn of_alternatives(
        &mut self,
        all: &Alternatives,
        is_first: bool,
        depth: usize,
    ) -> Result<u64, String> {
        let mut ways = 0;
        for items in all {
            ways += self.of_sequence(items, is_first, depth)?;
        }
        match ways <= WAYS_MAX {
            true => Ok(ways),
            false => Err(format!("goes on in more than {WAYS_MAX} ways at one place")),
        }
    }

    /// The ways of a sequence are those of its items up to the first that cannot be empty. What
    /// stands behind is a place of its own.
    fn of_sequence(
        &mut self,
        items: &[Item],
        mut is_first: bool,
        depth: usize,
    ) -> Result<u64, String> {
        let (mut first, mut here, mut is_begin) = (0, 0, true);
        for item in items {
            here += self.of_item(item, is_first, depth)?;
            if here > WAYS_MAX {
                return Err(format!("goes on in more than {WAYS_MAX} ways at one place"));
            }
            first = if is_begin { here } else { first };
            if !item_may_be_empty(item, self.nullable) {
                (here, is_first, is_begin) = (0, false, false);
            }
        }
        Ok(first)
    }

    fn of_item(&mut self, item: &Item, is_first: bool, depth: usize) -> Result<u64, String> {
        match item {
            Item::Class { .. } | Item::Any | Item::Token | Item::Literal(_) => Ok(1),
            Item::Rule(number) if is_first => self.of_rule(*number, depth + 1),
            // Behind the beginning it is no left recursion; its own ways are counted with it.
            Item::Rule(_) => Ok(1),
            Item::Group(all) => self.of_alternatives(all, is_first, depth),
            Item::Repeat { item, least, most } => {
                let times = match item_may_be_empty(item, self.nullable) {
                    true => u64::from(most.unwrap_or(*least).max(1)),
                    false => 1,
                };
                Ok(self.of_item(item, is_first, depth)? * times)
            }
        }
    }
}

/// Reads the notation as llama.cpp does.
struct Reader<'t> {
    rest: &'t str,
    grammar: Grammar,
}

impl Reader<'_> {
    /// Says in which line something is wrong.
    fn locate(&self, text: &str, why: &str) -> String {
        let read = &text[..text.len() - self.rest.len()];
        format!("line {}: {why}", 1 + read.matches('\n').count())
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn takes(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes the signs that fit, which are ASCII.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let size = self.rest.find(|sign| !fits(sign)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(size);
        self.rest = rest;
        taken.to_string()
    }

    fn skip_space(&mut self, with_lines: bool) {
        loop {
            self.take_while(|it| {
                matches!(it, ' ' | '\t') || with_lines && matches!(it, '\r' | '\n')
            });
            if self.peek() != Some('#') {
                return;
            }
            self.take_while(|it| !matches!(it, '\r' | '\n'));
        }
    }

    fn read_rule(&mut self) -> Result<(), String> {
        let name = self.read_name()?;
        self.skip_space(false);
        if !self.takes("::=") {
            return Err("::= is missing".into());
        }
        self.skip_space(true);
        let number = self.grammar.number(&name);
        let alternatives = self.read_alternatives(0)?;
        self.grammar.rules[number] = Some(alternatives);
        match self.peek() {
            None | Some('\r' | '\n') => {
                self.skip_space(true);
                Ok(())
            }
            Some(sign) => Err(format!("{sign:?} is not expected")),
        }
    }

    fn read_name(&mut self) -> Result<String, String> {
        let name = self.take_while(is_word);
        if name.is_empty() { Err("a name is missing".into()) } else { Ok(name) }
    }

    fn read_alternatives(&mut self, depth: usize) -> Result<Alternatives, String> {
        if depth > NESTING_MAX {
            return Err(format!("parentheses are nested deeper than {NESTING_MAX}"));
        }
        let mut all = vec![self.read_sequence(depth)?];
        while self.takes("|") {
            self.skip_space(true);
            all.push(self.read_sequence(depth)?);
        }
        Ok(all)
    }

    fn read_sequence(&mut self, depth: usize) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        while let Some(sign) = self.peek() {
            match sign {
                '"' => items.push(self.read_literal()?),
                '[' => items.push(self.read_class()?),
                '<' | '!' => items.push(self.read_token()?),
                '.' => {
                    self.takes(".");
                    items.push(Item::Any);
                }
                '(' => items.push(self.read_group(depth)?),
                '*' | '+' | '?' | '{' => {
                    let item = items.pop().ok_or(format!("{sign} repeats nothing"))?;
                    items.push(self.read_repeat(item)?);
                }
                sign if is_word(sign) => {
                    let name = self.read_name()?;
                    items.push(Item::Rule(self.grammar.number(&name)));
                }
                _ => break,
            }
            self.skip_space(depth > 0);
        }
        Ok(items)
    }

    fn read_group(&mut self, depth: usize) -> Result<Item, String> {
        self.takes("(");
        self.skip_space(true);
        let alternatives = self.read_alternatives(depth + 1)?;
        match self.takes(")") {
            true => Ok(Item::Group(alternatives)),
            false => Err(") is missing".into()),
        }
    }

    fn read_token(&mut self) -> Result<Item, String> {
        self.takes("!");
        self.take_while(|it| it != '>' && it != '\n');
        if self.takes(">") { Ok(Item::Token) } else { Err("> is missing".into()) }
    }

    fn read_literal(&mut self) -> Result<Item, String> {
        self.takes("\"");
        let mut text = String::new();
        while !self.takes("\"") {
            text.push(self.read_char()?);
        }
        Ok(Item::Literal(text))
    }

    fn read_class(&mut self) -> Result<Item, String> {
        self.takes("[");
        let is_negated = self.takes("^");
        let mut ranges = Vec::new();
        while !self.takes("]") {
            let low = self.read_char()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            let high = match is_range {
                true => {
                    self.takes("-");
                    self.read_char()?
                }
                false => low,
            };
            if low > high {
                return Err(format!("the range {low:?} to {high:?} goes backwards"));
            }
            ranges.push((low, high));
        }
        match ranges.is_empty() {
            true => Err("[] has no character".into()),
            false => Ok(Item::Class { is_negated, ranges }),
        }
    }

    fn read_char(&mut self) -> Result<char, String> {
        let sign = self.peek().ok_or("the grammar ends in the middle of a text")?;
        self.rest = &self.rest[sign.len_utf8()..];
        if sign != '\\' {
            return Ok(sign);
        }
        let escape = self.peek().ok_or("the grammar ends in the middle of a text")?;
        self.rest = &self.rest[escape.len_utf8()..];
        match escape {
            'x' => self.read_hex(2),
            'u' => self.read_hex(4),
            'U' => self.read_hex(8),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            'n' => Ok('\n'),
            '\\' | '"' | '[' | ']' | '-' => Ok(escape),
            other => Err(format!("\\{other} is unknown")),
        }
    }

    fn read_hex(&mut self, digits: usize) -> Result<char, String> {
        let text = self.rest.get(..digits).unwrap_or_default();
        let code = u32::from_str_radix(text, 16).ok();
        let sign = code.and_then(char::from_u32).ok_or("an escape is no character")?;
        self.rest = &self.rest[digits..];
        Ok(sign)
    }

    /// Wraps the item before in how often it may come.
    fn read_repeat(&mut self, item: Item) -> Result<Item, String> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            _ => return self.read_counts(item),
        };
        self.rest = &self.rest[1..];
        Ok(Item::Repeat { item: Box::new(item), least, most })
    }

    fn read_counts(&mut self, item: Item) -> Result<Item, String> {
        self.takes("{");
        self.skip_space(false);
        let least = self.read_count()?.ok_or("a number is missing in {}")?;
        let most = match self.takes(",") {
            false => Some(least),
            true => {
                self.skip_space(false);
                self.read_count()?
            }
        };
        if !self.takes("}") {
            return Err("} is missing".into());
        }
        if most.is_some_and(|most| most < least) {
            return Err("at most fewer repetitions than at least".into());
        }
        Ok(Item::Repeat { item: Box::new(item), least, most })
    }

    fn read_count(&mut self) -> Result<Option<u32>, String> {
        let digits = self.take_while(|it| it.is_ascii_digit());
        self.skip_space(false);
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().ok().filter(|number| *number <= REPEATS_MAX);
        number.map(Some).ok_or(format!("more than {REPEATS_MAX} repetitions"))
    }
}

fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '-'
}

#[cfg(test)]
pub mod tests;
