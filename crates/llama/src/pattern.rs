//! Regular expressions of schemas, rewritten for llama.cpp's converter. It knows few of their signs
//! and lets some of them write a broken JSON string; here every character becomes a class that
//! stays inside of the quotes. Pure.

/// Signs of one pattern; a longer one is refused.
const SIGNS_MAX: usize = 1_024;
/// Groups in groups are not nested deeper.
const NESTING_MAX: usize = 32;
/// llama.cpp takes a larger number of repetitions for "any number".
pub const REPEATS_MAX: u32 = 2_000;
/// Characters that JSON writes with a backslash, and the letter behind it.
const ESCAPED: &[(u32, char)] =
    &[(34, '"'), (92, '\\'), (8, 'b'), (12, 'f'), (10, 'n'), (13, 'r'), (9, 't')];
/// Characters that stand in a JSON string as they are.
const PLAIN: &[(u32, u32)] =
    &[(0x20, 0x21), (0x23, 0x5b), (0x5d, 0x7e), (0x80, 0xd7ff), (0xe000, CHAR_MAX)];
const CHAR_MAX: u32 = 0x10_ffff;
const DIGITS: &[(u32, u32)] = &[(48, 57)];
const WORD: &[(u32, u32)] = &[(48, 57), (65, 90), (95, 95), (97, 122)];
/// What every dialect of regular expressions takes for a space, and what any of them does.
const SPACES: &[(u32, u32)] = &[(9, 13), (32, 32)];
#[rustfmt::skip]
const SPACES_ANYWHERE: &[(u32, u32)] = &[
    (9, 13), (28, 32), (0x85, 0x85), (0xa0, 0xa0), (0x1680, 0x1680), (0x2000, 0x200a),
    (0x2028, 0x2029), (0x202f, 0x202f), (0x205f, 0x205f), (0x3000, 0x3000), (0xfeff, 0xfeff),
];
const LINE_ENDS: &[(u32, u32)] = &[(10, 10), (13, 13), (0x2028, 0x2029)];

/// Ranges of characters, both ends included.
type Ranges = Vec<(u32, u32)>;

/// Rewrites a pattern that spans the whole text; the error says what of it cannot be kept.
pub fn rewrite(pattern: &str) -> Result<String, String> {
    let inner = pattern.strip_prefix('^').and_then(|it| it.strip_suffix('$'));
    let inner = inner.filter(|it| !ends_escaped(it));
    let inner = inner.ok_or("must begin with ^ and end with $")?;
    if inner.chars().count() > SIGNS_MAX {
        return Err(format!("is longer than {SIGNS_MAX} signs"));
    }
    let mut reader = Reader { signs: inner.chars().collect(), at: 0, out: String::new() };
    reader.read_alternatives(0)?;
    match reader.peek() {
        None => Ok(format!("^{}$", reader.out)),
        Some(_) => Err("has a ) without a (".into()),
    }
}

/// Returns the pattern of any text of this length.
pub fn match_length(least: u32, most: Option<u32>) -> Result<String, String> {
    let any = write_class(&complement(&[]))?;
    let most = most.map_or(String::new(), |most| most.to_string());
    Ok(format!("^{any}{{{least},{most}}}$"))
}

/// Says whether the last sign has a backslash before it.
fn ends_escaped(text: &str) -> bool {
    text.chars().rev().take_while(|sign| *sign == '\\').count() % 2 == 1
}

struct Reader {
    signs: Vec<char>,
    at: usize,
    out: String,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.signs.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek();
        self.at += usize::from(sign.is_some());
        sign
    }

    /// Takes the sign if it is the next one.
    fn takes(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads up to the end or to the parenthesis that closes a group.
    fn read_alternatives(&mut self, depth: usize) -> Result<(), String> {
        if depth > NESTING_MAX {
            return Err(format!("is nested deeper than {NESTING_MAX}"));
        }
        while let Some(sign) = self.peek().filter(|sign| *sign != ')') {
            self.at += 1;
            if sign == '|' {
                self.out.push('|');
                continue;
            }
            self.read_item(sign, depth)?;
            self.read_repeats()?;
        }
        Ok(())
    }

    fn read_item(&mut self, sign: char, depth: usize) -> Result<(), String> {
        let class = match sign {
            '(' => return self.read_group(depth),
            '[' => self.read_class()?,
            '.' => complement(LINE_ENDS),
            '\\' => self.read_escape(false)?,
            '^' | '$' => return Err(format!("has {sign} in its middle")),
            '*' | '+' | '?' | '{' | '}' | ']' => {
                return Err(format!("has a {sign} that stands for nothing"));
            }
            sign => vec![(sign as u32, sign as u32)],
        };
        self.out += &write_class(&class)?;
        Ok(())
    }

    fn read_group(&mut self, depth: usize) -> Result<(), String> {
        if self.takes('?') && !self.takes(':') {
            return Err("looks around or names a group".into());
        }
        self.out.push('(');
        self.read_alternatives(depth + 1)?;
        self.out.push(')');
        self.takes(')').then_some(()).ok_or("has a ( without a )".into())
    }

    /// Reads how often the item before may come. What is lazy matches the same texts.
    fn read_repeats(&mut self) -> Result<(), String> {
        match self.peek() {
            Some(sign @ ('*' | '+' | '?')) => {
                self.at += 1;
                self.out.push(sign);
            }
            Some('{') => {
                self.at += 1;
                self.read_counts()?;
            }
            _ => return Ok(()),
        }
        self.takes('?');
        Ok(())
    }

    fn read_counts(&mut self) -> Result<(), String> {
        let least = self.read_number()?;
        let most = match self.takes(',') {
            false => Some(least),
            true if self.peek() == Some('}') => None,
            true => Some(self.read_number()?),
        };
        if !self.takes('}') {
            return Err("has a { that stands for nothing".into());
        }
        if most.is_some_and(|most| most < least) {
            return Err("repeats something at most fewer times than at least".into());
        }
        let most = most.map_or(String::new(), |most| most.to_string());
        self.out += &format!("{{{least},{most}}}");
        Ok(())
    }

    fn read_number(&mut self) -> Result<u32, String> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            self.at += 1;
            digits.push(digit);
        }
        let number = digits.parse().map_err(|_| "has a { that stands for nothing")?;
        match number <= REPEATS_MAX {
            true => Ok(number),
            false => Err(format!("repeats something more than {REPEATS_MAX} times")),
        }
    }

    /// Reads a class behind its first bracket.
    fn read_class(&mut self) -> Result<Ranges, String> {
        let is_negated = self.takes('^');
        let mut ranges = Ranges::new();
        while !self.takes(']') {
            let first = self.read_member()?;
            let is_range = self.peek() == Some('-')
                && self.signs.get(self.at + 1).is_some_and(|sign| *sign != ']');
            match (is_range, first.as_slice()) {
                (false, _) => ranges.extend(first),
                (true, [(low, high)]) if low == high => {
                    self.at += 1;
                    let last = self.read_member()?;
                    match last.as_slice() {
                        [(end, same)] if end == same && low <= end => ranges.push((*low, *end)),
                        _ => return Err("has a range that goes backwards".into()),
                    }
                }
                (true, _) => return Err("has a range between classes".into()),
            }
        }
        Ok(if is_negated { complement(&ranges) } else { ranges })
    }

    fn read_member(&mut self) -> Result<Ranges, String> {
        match self.next().ok_or("has a [ without a ]")? {
            '\\' => self.read_escape(true),
            sign => Ok(vec![(sign as u32, sign as u32)]),
        }
    }

    /// Reads what stands behind a backslash.
    fn read_escape(&mut self, in_class: bool) -> Result<Ranges, String> {
        let sign = self.next().ok_or("ends with a backslash")?;
        let code = match sign {
            'd' => return Ok(DIGITS.to_vec()),
            'D' => return Ok(complement(DIGITS)),
            'w' => return Ok(WORD.to_vec()),
            'W' => return Ok(complement(WORD)),
            's' => return Ok(SPACES.to_vec()),
            'S' => return Ok(complement(SPACES_ANYWHERE)),
            'n' => 10,
            'r' => 13,
            't' => 9,
            'f' => 12,
            'v' => 11,
            'b' if in_class => 8,
            'x' => self.read_hex(2)?,
            'u' if self.takes('{') => {
                let digits = self.signs[self.at..].iter().take_while(|it| **it != '}').count();
                let code = self.read_hex(digits)?;
                self.at += 1;
                code
            }
            'u' => self.read_hex(4)?,
            sign if sign.is_ascii_alphanumeric() => {
                return Err(format!("has \\{sign}, which cannot be enforced here"));
            }
            sign => sign as u32,
        };
        Ok(vec![(code, code)])
    }

    fn read_hex(&mut self, digits: usize) -> Result<u32, String> {
        let text = self.signs.get(self.at..self.at + digits).map(String::from_iter);
        self.at += digits;
        let code = text.and_then(|text| u32::from_str_radix(&text, 16).ok());
        let code = code.and_then(char::from_u32).map(u32::from);
        code.ok_or("has an escape that is no character".into())
    }
}

fn complement(ranges: &[(u32, u32)]) -> Ranges {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let (mut out, mut next) = (Ranges::new(), 0);
    for (low, high) in sorted {
        if next < low {
            out.push((next, low - 1));
        }
        next = next.max(high + 1);
    }
    if next <= CHAR_MAX {
        out.push((next, CHAR_MAX));
    }
    out
}

/// Writes one character out of these as it stands in a JSON string.
fn write_class(ranges: &[(u32, u32)]) -> Result<String, String> {
    let mut plain = Ranges::new();
    for (low, high) in ranges {
        let parts = PLAIN.iter().map(|(from, to)| (*low.max(from), *high.min(to)));
        plain.extend(parts.filter(|(low, high)| low <= high));
    }
    let has = |code: u32| ranges.iter().any(|(low, high)| (*low..=*high).contains(&code));
    let escaped: String = ESCAPED
        .iter()
        .filter(|(code, _)| has(*code))
        .map(|(_, letter)| format!("\\U{:08X}", *letter as u32))
        .collect();
    let plain: String =
        plain.iter().map(|(low, high)| format!("\\U{low:08X}-\\U{high:08X}")).collect();
    match (plain.is_empty(), escaped.is_empty()) {
        (true, true) => Err("needs a character that cannot be written here".into()),
        (false, true) => Ok(format!("[{plain}]")),
        (true, false) => Ok(format!("([\\U0000005C][{escaped}])")),
        (false, false) => Ok(format!("([{plain}]|[\\U0000005C][{escaped}])")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_kept_is_named() {
        for (pattern, why) in [
            ("a", "must begin with ^ and end with $"),
            (r"^a\$", "must begin with ^ and end with $"),
            (r"^\bword$", "has \\b, which cannot be enforced here"),
            (r"^(a)\1$", "has \\1, which cannot be enforced here"),
            (r"^\p{L}$", "has \\p, which cannot be enforced here"),
            ("^(?=a)b$", "looks around or names a group"),
            ("^a{5,1}$", "repeats something at most fewer times than at least"),
            ("^a{99999}$", "repeats something more than 2000 times"),
            ("^(a$", "has a ( without a )"),
            ("^a)$", "has a ) without a ("),
            ("^[a$", "has a [ without a ]"),
            ("^*$", "has a * that stands for nothing"),
            ("^a{,3}$", "has a { that stands for nothing"),
            ("^[z-a]$", "has a range that goes backwards"),
            ("^a^b$", "has ^ in its middle"),
            (r"^\x01$", "needs a character that cannot be written here"),
            (&format!("^{}$", "(".repeat(500)), "is nested deeper than 32"),
            (&format!("^{}$", "a".repeat(5_000)), "is longer than 1024 signs"),
        ] {
            assert_eq!(rewrite(pattern), Err(why.to_string()), "{pattern}");
        }
    }

    #[test]
    fn every_character_becomes_a_class() {
        let digit = "[\\U00000030-\\U00000039]";
        assert_eq!(rewrite(r"^\d+?$"), Ok(format!("^{digit}+$")));
        assert_eq!(rewrite(r"^(?:\d){2,}$"), Ok(format!("^({digit}){{2,}}$")));
        assert_eq!(rewrite(r#"^"$"#), Ok("^([\\U0000005C][\\U00000022])$".into()));
    }
}
