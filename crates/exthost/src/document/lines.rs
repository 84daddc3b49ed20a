//! Plain text by its lines: a path is `3` or `3-5`, counted from 1; the empty path is all of it.

use super::{INDEX_MAX, Patch};
use crate::code;
use althing_jsonrpc::Error;
use std::ops::Range;

/// Applies one patch. A value replaces the lines, without the end of the last; `remove` takes it
/// along; `create` makes sure that the lines exist, and nothing else.
pub(super) fn patch(text: &mut String, patch: &Patch) -> Result<(), Error> {
    if patch.path.is_empty() {
        *text = if patch.remove { String::new() } else { patch.text()?.to_string() };
        return Ok(());
    }
    let (first, last) = parse(&patch.path)?;
    let present = lines(text);
    if patch.create {
        let missing = last.saturating_sub(present.len());
        text.push_str(&line_end(text).repeat(missing));
        return Ok(());
    }
    let Some(start) = present.get(first - 1).map(|line| line.content.start) else {
        if patch.remove {
            return Ok(());
        }
        return Err(code::path_not_found(format!("there are {} lines", present.len())));
    };
    let end = &present[last.min(present.len()) - 1];
    if patch.remove {
        text.replace_range(start..end.next, "");
    } else {
        let end = end.content.end;
        text.replace_range(start..end, patch.text()?);
    }
    Ok(())
}

fn parse(path: &str) -> Result<(usize, usize), Error> {
    let number = |text: &str| text.parse().ok().filter(|number| (1..=INDEX_MAX).contains(number));
    let (first, last) = path.split_once('-').unwrap_or((path, path));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => {
            let what = format!("expected lines as 3 or 3-5, from 1 to {INDEX_MAX}");
            Err(code::invalid_path(format!("Invalid path {path:?}: {what}")))
        }
    }
}

struct Line {
    content: Range<usize>,
    next: usize,
}

/// As many as an editor shows: text that ends with a line end has an empty line behind it.
fn lines(text: &str) -> Vec<Line> {
    let mut start = 0;
    let mut lines = vec![];
    for line in text.split('\n') {
        let content = start..start + line.strip_suffix('\r').unwrap_or(line).len();
        start += line.len() + 1;
        lines.push(Line { content, next: start.min(text.len()) });
    }
    lines
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
