//! Paths such as `PID.5[2].1`: all numbers count from 1, and nothing may follow.

use super::super::INDEX_MAX;
use crate::code;
use althing_jsonrpc::Error;

/// What of a message a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Path<'a> {
    pub(super) segment: &'a str,
    pub(super) occurrence: usize,
    pub(super) field: Option<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: usize,
    pub(super) repetition: Option<usize>,
    pub(super) component: Option<usize>,
    pub(super) subcomponent: Option<usize>,
}

impl<'a> Path<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Path<'a>, Error> {
        let wrong = |what: String| code::invalid_path(format!("Invalid path {text:?}: {what}"));
        let mut rest = text;
        let segment = name(&mut rest)
            .ok_or_else(|| wrong("expected a segment's name of three letters or digits".into()))?;
        let occurrence = index(&mut rest).map_err(wrong)?.unwrap_or(1);
        let field = match number(&mut rest).map_err(wrong)? {
            None => None,
            Some(number_of_field) => Some(Field {
                number: number_of_field,
                repetition: index(&mut rest).map_err(wrong)?,
                component: number(&mut rest).map_err(wrong)?,
                subcomponent: number(&mut rest).map_err(wrong)?,
            }),
        };
        if rest.is_empty() {
            Ok(Path { segment, occurrence, field })
        } else {
            Err(wrong(format!("{rest:?} is too much")))
        }
    }
}

fn name<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (name, tail) = rest.split_at_checked(3)?;
    *rest = tail;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(name)
}

/// `[n]`, if it comes next.
fn index(rest: &mut &str) -> Result<Option<usize>, String> {
    let Some(inner) = rest.strip_prefix('[') else { return Ok(None) };
    let (digits, tail) = digits(inner);
    let Some(tail) = tail.strip_prefix(']') else {
        return Err("expected a number between brackets".into());
    };
    *rest = tail;
    value(digits).map(Some)
}

/// `.n`, `-n` or ` n`, if it comes next.
fn number(rest: &mut &str) -> Result<Option<usize>, String> {
    let Some(inner) = rest.strip_prefix(['.', '-', ' ']) else { return Ok(None) };
    let (digits, tail) = digits(inner);
    *rest = tail;
    value(digits).map(Some)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn value(digits: &str) -> Result<usize, String> {
    if digits.is_empty() {
        return Err("expected a number".into());
    }
    match digits.trim_start_matches('0').parse() {
        Ok(number @ 1..=INDEX_MAX) => Ok(number),
        _ if digits.bytes().all(|byte| byte == b'0') => Err("numbers begin at 1".into()),
        _ => Err(format!("{} is over {INDEX_MAX}", althing_stdx::text::clip(digits, 20))),
    }
}
