//! `.env` files as people write them: `export`, quotes, comments, values over several lines.
//! `${NAME}` is what the file says above; only a file of the person's own can use the environment so.

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

/// Reads `text`; the last assignment of a name counts. `outside` has what `${NAME}` may be besides the
/// file's own values.
pub(super) fn parse(text: &str, outside: impl Fn(&str) -> Option<String>) -> DotEnv {
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
            Ok(Some((_, value))) if value.text().len() > VALUE_BYTES_MAX => {
                out.bad.push((line, "is longer than 8 KiB"));
            }
            Ok(Some((name, Value::Literal(value)))) => {
                out.values.insert(name.to_string(), value);
            }
            Ok(Some((name, Value::Open(value)))) => {
                let known = |name: &str| out.get(name).cloned().or_else(|| outside(name));
                match filled_in(&value, known) {
                    Some(value) if value.len() > VALUE_BYTES_MAX => {
                        out.bad.push((line, "is longer than 8 KiB"));
                    }
                    Some(value) => {
                        out.values.insert(name.to_string(), value);
                    }
                    None => out.bad.push((line, "uses a ${…} that is not set before it")),
                }
            }
            Err(problem) => out.bad.push((line, problem)),
        }
        line += rest[..taken].bytes().filter(|byte| *byte == b'\n').count();
        rest = &rest[taken..];
    }
    out
}

impl DotEnv {
    /// The value of `name`, in whatever case the file has it; written the same counts first.
    pub fn get(&self, name: &str) -> Option<&String> {
        let in_any_case = || {
            let mut all = self.values.iter();
            all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        self.values.get(name).or_else(in_any_case)
    }
}

/// What is assigned, and whether `${NAME}` in it means something.
enum Value {
    Literal(String),
    Open(String),
}

impl Value {
    fn text(&self) -> &str {
        let (Value::Literal(text) | Value::Open(text)) = self;
        text
    }
}

/// Fills in every `${NAME}` and `${NAME:-default}`; none where one is not known.
fn filled_in(text: &str, known: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let (inner, behind) = after.split_once('}').unwrap_or((after, ""));
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_string())),
            None => (inner, None),
        };
        if !is_name(name) || inner.len() == after.len() {
            // No name of a variable: it stays as it is.
            out.push_str("${");
            rest = after;
            continue;
        }
        let set = known(name).filter(|value| !value.is_empty());
        out.push_str(&set.or(default)?);
        // A few values of a few variables each: anything longer is no configuration.
        if out.len() > VALUE_BYTES_MAX {
            return Some(out);
        }
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

type Assignment<'a> = Option<(&'a str, Value)>;

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
        None => {
            let value = Value::Open(bare(&text[start..whole_line]));
            (whole_line, Ok(Some((name, value))))
        }
        Some(quote) => match quoted(&value[1..], quote) {
            None => (whole_line, Err("has a quotation mark that is never closed")),
            Some((value, length)) => {
                let after = start + 1 + length;
                let end = text[after..].find('\n').map_or(text.len(), |end| after + end + 1);
                let tail = text[after..end].trim();
                let clean = tail.is_empty() || tail.starts_with('#');
                let problem = "has something behind the closing quotation mark";
                let value = if quote == '"' { Value::Open(value) } else { Value::Literal(value) };
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
        let outside = |name: &str| (name == "OUTSIDE").then(|| "out".to_string());
        let got = parse(text, outside);
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
        check("A=$HOME/x\nB=${1x}${", &[("A", "$HOME/x"), ("B", "${1x}${")], &[]);
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
    fn values_of_values() {
        check("A=1\nB=${A}/${a}", &[("A", "1"), ("B", "1/1")], &[]);
        check("B=\"<${OUTSIDE}>\"", &[("B", "<out>")], &[]);
        check("B='${OUTSIDE}'", &[("B", "${OUTSIDE}")], &[]);
        check("B=${A:-2}\nC=${B:-3}", &[("B", "2"), ("C", "2")], &[]);
        check("B=${A}\nA=1", &[("A", "1")], &[1]);
        let long = format!("A={}\nB=${{A}}${{A}}", "x".repeat(VALUE_BYTES_MAX));
        assert_eq!(parse(&long, |_| None).bad.len(), 1);
        let found = parse("openai_api_key=a\nX=1\nx=2", |_| None);
        assert_eq!(found.get("OPENAI_API_KEY").unwrap(), "a");
        assert_eq!(found.get("X").unwrap(), "1");
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
                assert!(parse(&text[from..to], |_| None).values.len() <= 2);
            }
        }
        let many: String = (0..VALUES_MAX + 10).map(|n| format!("A{n}=1\n")).collect();
        assert_eq!(parse(&many, |_| None).values.len(), VALUES_MAX);
    }
}
