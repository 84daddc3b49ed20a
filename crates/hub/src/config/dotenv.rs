//! `.env` files as people write them: `export`, quotes, comments, values over several lines.
//! Nothing is interpolated, so no file can read the environment.

use std::collections::BTreeMap;

/// Longer values are skipped and reported.
const VALUE_BYTES_MAX: usize = 8 * 1024;
/// Assignments beyond this many are skipped and reported.
const VALUES_MAX: usize = 2_000;

/// What a file says. It holds keys, so it cannot be printed.
#[derive(Default)]
pub(super) struct DotEnv {
    pub values: BTreeMap<String, String>,
    /// Lines, from 1, that are no assignment, with what is wrong with them.
    pub bad: Vec<(usize, &'static str)>,
}

/// Reads `text`; the last assignment of a name counts.
pub(super) fn parse(text: &str) -> DotEnv {
    let mut out = DotEnv::default();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    // Every round takes at least one line off `rest`.
    while !rest.is_empty() {
        let (taken, found) = statement(rest);
        match found {
            Ok(None) => {}
            Ok(Some(_)) if out.values.len() >= VALUES_MAX => {
                out.bad.push((line, "is one assignment too many"));
                break;
            }
            Ok(Some((_, value))) if value.len() > VALUE_BYTES_MAX => {
                out.bad.push((line, "is longer than 8 KiB"));
            }
            Ok(Some((name, value))) => {
                out.values.insert(name.to_string(), value);
            }
            Err(problem) => out.bad.push((line, problem)),
        }
        line += rest[..taken].bytes().filter(|byte| *byte == b'\n').count();
        rest = &rest[taken..];
    }
    out
}

type Assignment<'a> = Option<(&'a str, String)>;

/// The statement at the start of `text` and how many bytes it takes, its line end included.
fn statement(text: &str) -> (usize, Result<Assignment<'_>, &'static str>) {
    let whole_line = text.find('\n').map_or(text.len(), |end| end + 1);
    let line = text[..whole_line].trim();
    if line.is_empty() || line.starts_with('#') {
        return (whole_line, Ok(None));
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, _)) = line.split_once('=') else { return (whole_line, Err("has no '='")) };
    let name = name.trim();
    if !is_name(name) {
        return (whole_line, Err("does not begin with the name of a variable"));
    }
    let start = text.find('=').expect("the line has one") + 1;
    let value = text[start..].trim_start_matches([' ', '\t']);
    let start = text.len() - value.len();
    match value.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        None => (whole_line, Ok(Some((name, bare(&text[start..whole_line]))))),
        Some(quote) => match quoted(&value[1..], quote) {
            None => (whole_line, Err("has a quotation mark that is never closed")),
            Some((value, length)) => {
                let after = start + 1 + length;
                let end = text[after..].find('\n').map_or(text.len(), |end| after + end + 1);
                let tail = text[after..end].trim();
                let clean = tail.is_empty() || tail.starts_with('#');
                let problem = "has something behind the closing quotation mark";
                (end, if clean { Ok(Some((name, value))) } else { Err(problem) })
            }
        },
    }
}

/// Whether `name` can be a variable.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// A value without quotes ends at a blank followed by `#`, or at the end of the line.
fn bare(line: &str) -> String {
    let mut previous = ' ';
    let is_comment = |c: char| {
        let found = c == '#' && previous.is_whitespace();
        previous = c;
        found
    };
    let end = line.find(is_comment).unwrap_or(line.len());
    line[..end].trim().to_string()
}

/// The text up to the closing `quote`, unescaped, and its length with the quote.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((out, at + 1)),
            '\\' => out.push_str(&escaped(chars.next()?.1, quote)),
            '\r' => {}
            c => out.push(c),
        }
    }
    None
}

fn escaped(c: char, quote: char) -> String {
    match c {
        'n' if quote == '"' => "\n".into(),
        'r' if quote == '"' => "\r".into(),
        't' if quote == '"' => "\t".into(),
        c if c == quote || c == '\\' => c.into(),
        c => format!("\\{c}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, values: &[(&str, &str)], bad: &[usize]) {
        let got = parse(text);
        let seen: Vec<_> = got.values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(seen, values, "{text:?}");
        let lines: Vec<usize> = got.bad.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, bad, "{text:?}");
    }

    #[test]
    fn lines() {
        check("A=1", &[("A", "1")], &[]);
        check("\u{feff}A=1\r\nexport B = two words \r\n", &[("A", "1"), ("B", "two words")], &[]);
        check("# A=1\n\n  \nA=b=c==", &[("A", "b=c==")], &[]);
        check("A=x # why\nB=x#y\nC=# all", &[("A", "x"), ("B", "x#y"), ("C", "")], &[]);
        check("A=\nB=2", &[("A", ""), ("B", "2")], &[]);
        check("A= \t\nB=2", &[("A", ""), ("B", "2")], &[]);
        check("A=1\nA=2", &[("A", "2")], &[]);
        check("A=$HOME/${B}\n", &[("A", "$HOME/${B}")], &[]);
        check("A=東京\nB=é", &[("A", "東京"), ("B", "é")], &[]);
    }

    #[test]
    fn quotes() {
        check(r#"A="x # y" # why"#, &[("A", "x # y")], &[]);
        check(r#"A='x \n $B'"#, &[("A", r"x \n $B")], &[]);
        check(r#"A="x\n\"y\" \q""#, &[("A", "x\n\"y\" \\q")], &[]);
        check("A=\"one\r\ntwo\"\nB=2", &[("A", "one\ntwo"), ("B", "2")], &[]);
        check("A=''\nB=\"\"", &[("A", ""), ("B", "")], &[]);
        check("A=it's\n", &[("A", "it's")], &[]);
    }

    #[test]
    fn bad_lines_are_counted_and_the_rest_is_read() {
        check("A=1\nnonsense\nB=2", &[("A", "1"), ("B", "2")], &[2]);
        check("=x\n1A=x\nA B=x\nC=3", &[("C", "3")], &[1, 2, 3]);
        check("A=\"open\nB=2", &[("B", "2")], &[1]);
        check("A=\"a\nb\" c\nB=2\nwrong", &[("B", "2")], &[1, 4]);
        check("A=\"ends in \\", &[], &[1]);
        check(&format!("A={}\nB=2", "x".repeat(VALUE_BYTES_MAX + 1)), &[("B", "2")], &[1]);
    }

    #[test]
    fn no_text_stops_it() {
        let text = "export A=\"x\\\n#é\r='y' \u{feff}\n";
        for from in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            for to in (from..text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert!(parse(&text[from..to]).values.len() <= 2);
            }
        }
        let many: String = (0..VALUES_MAX + 10).map(|n| format!("A{n}=1\n")).collect();
        assert_eq!(parse(&many).values.len(), VALUES_MAX);
    }
}
