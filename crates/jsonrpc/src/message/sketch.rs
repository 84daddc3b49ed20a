//! What can still be told of a message that is cut or broken: whose it is, to answer it.

use serde_json::value::RawValue;

/// What a message says before it breaks off.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    /// Its id, unless that is missing, `null` or broken itself.
    pub(crate) id: Option<Box<RawValue>>,
    /// It has a method: it is a request.
    pub(crate) has_method: bool,
    /// It has an outcome: it answers a request of ours.
    pub(crate) has_outcome: bool,
}

impl Sketch {
    /// As far as can be told, it answers a request of ours.
    pub(crate) fn is_response(&self) -> bool {
        self.has_outcome && !self.has_method
    }
}

/// Looks at the members of the outermost object, as far as they can be read. Needs no more memory
/// for a text that nests deeply.
pub(crate) fn sketch(text: &[u8]) -> Sketch {
    let mut sketch = Sketch::default();
    // Ends: every member takes bytes.
    let mut rest = Rest(text);
    if rest.takes(b'{') {
        while rest.member(&mut sketch).is_some() {}
    }
    sketch
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn member(&mut self, sketch: &mut Sketch) -> Option<()> {
        self.takes(b',');
        let name = self.string()?;
        self.takes(b':').then_some(())?;
        match name {
            br#""method""# => sketch.has_method = true,
            br#""result""# | br#""error""# => sketch.has_outcome = true,
            _ => {}
        }
        let value = self.value()?;
        if name == br#""id""# {
            let text = str::from_utf8(value).ok().filter(|text| !text.starts_with(['{', '[', 'n']));
            sketch.id = text.and_then(|text| RawValue::from_string(text.to_string()).ok());
        }
        Some(())
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        let all = self.0;
        match self.0.first()? {
            b'"' => return self.string(),
            b'{' | b'[' => self.nested()?,
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                self.0 = &all[all.iter().position(ends)?..];
            }
        }
        Some(&all[..all.len() - self.0.len()])
    }

    /// Goes past brackets and all between them.
    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.0.first()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.0 = &self.0[1..];
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// A whole string, with its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        let all = self.0;
        let mut at = 1;
        (all.first() == Some(&b'"')).then_some(())?;
        loop {
            at += memchr::memchr2(b'"', b'\\', all.get(at..)?)?;
            if all[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.0 = &all[at + 1..];
        Some(&all[..=at])
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, id: Option<&str>, has_method: bool, has_outcome: bool) {
        let found = sketch(text.as_bytes());
        let found_id = found.id.as_ref().map(|id| id.get());
        assert_eq!((found_id, found.has_method, found.has_outcome), (id, has_method, has_outcome));
    }

    #[test]
    fn a_broken_message_still_says_whose_it_is() {
        check(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":["#, Some("7"), true, false);
        check(r#" { "id" : "a\"b" , "method": "m" "#, Some(r#""a\"b""#), true, false);
        check(r#"{"params":{"id":1,"x":"}]"},"id":2,"result":"cut"#, Some("2"), false, true);
        check(r#"{"error":{"code":1},"id":-3}"#, Some("-3"), false, true);
        check(&format!(r#"{{"id":1,"params":{}"#, "[".repeat(10_000)), Some("1"), false, false);
        for nothing in [r#"{"id":12"#, r#"{"id":nul,"#, r#"{"id":null,"#, r#"{"id":{},"#, "[1", ""]
        {
            check(nothing, None, false, false);
        }
        check(r#"{"id":1x,"method":"#, None, true, false);
    }
}
