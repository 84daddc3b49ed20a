//! A command line as words. No shell reads it: nothing is expanded and nothing joined.

/// The words between white space; quotes of either kind keep white space together, and a backslash
/// takes the meaning from what follows, except between single quotes.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = chars.next().ok_or("ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("has a {open} without its end")),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
#[test]
fn words_are_split_as_people_expect() {
    let check = |line: &str, want: &[&str]| assert_eq!(split(line).unwrap(), want, "{line}");
    check("python calc.py", &["python", "calc.py"]);
    check("  a\t b\n", &["a", "b"]);
    check(r#"a "b c" 'd "e' f\ g"#, &["a", "b c", "d \"e", "f g"]);
    check(r#""a\"b" 'c\d' x"y"z "" "#, &["a\"b", "c\\d", "xyz", ""]);
    check("$HOME; rm -rf | x", &["$HOME;", "rm", "-rf", "|", "x"]);
    check("", &[]);
    assert!(split("a 'b").unwrap_err().contains("without its end"));
    assert!(split("a\\").is_err());
}
