//! Numbers as people write them: `1,234.5`, `1.234,5`, `1 234,5`, `1'234.5`, `12,34,567`.

/// Digits of a group of thousands; of the others in an Indian number.
const GROUP: usize = 3;
const INDIAN_GROUP: usize = 2;
/// What may stand between groups, besides a point and a comma.
const SPACES: [char; 6] = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '\u{2019}'];

/// A number, and what else it could be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Written {
    /// Its value where its one mark groups, and where it is a decimal mark: mostly the same.
    grouped: f64,
    decimal: f64,
    /// The mark of its decimals, where that is beyond doubt.
    pub decimal_mark: Option<char>,
    /// The mark of its groups, where that is beyond doubt.
    pub group_mark: Option<char>,
    /// Whether its one mark may be either: `1.500`.
    doubtful: Option<char>,
}

impl Written {
    /// Its value where numbers beside it have this decimal mark, or these groups; without any, three
    /// digits behind a mark are a group.
    pub fn value(&self, decimal_marks: &[char], group_marks: &[char]) -> f64 {
        let is_decimal = self
            .doubtful
            .is_some_and(|mark| decimal_marks.contains(&mark) && !group_marks.contains(&mark));
        if is_decimal { self.decimal } else { self.grouped }
    }
}

/// Reads the number that `text` begins with; returns what stands behind it too. None: there are no
/// digits, or what they make is no number, such as a date or a version.
pub fn read_written(text: &str) -> Option<(Written, &str)> {
    let end = token_end(text);
    let (token, rest) = text.split_at(end);
    let marks: Vec<char> = token.chars().filter(|c| !c.is_ascii_digit()).collect();
    let parts: Vec<&str> = token.split(|c: char| !c.is_ascii_digit()).collect();
    Some((read_parts(&marks, &parts)?, rest))
}

/// Where the digits and the marks between them end.
fn token_end(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    while end > 0 {
        let Some(mark) = text[end..].chars().next() else { break };
        let next = end + mark.len_utf8();
        let count = digits(next);
        let is_space = SPACES.contains(&mark);
        // A blank groups only where it can: `2024 500` are two numbers.
        let may_group = count == GROUP && leading(&text[..end]) <= GROUP;
        if count == 0 || !(matches!(mark, '.' | ',') || is_space && may_group) {
            break;
        }
        end = next + count;
    }
    end
}

/// Digits of the last group in a piece of a number: of the first where there is no other.
fn leading(token: &str) -> usize {
    token.bytes().rev().take_while(u8::is_ascii_digit).count()
}

fn read_parts(marks: &[char], parts: &[&str]) -> Option<Written> {
    let (last, earlier) = match marks.split_last() {
        None => return whole(parts.concat().parse().ok()?),
        Some((last, earlier)) => (*last, earlier),
    };
    let number = |parts: &[&str]| parts.concat().parse::<f64>().ok();
    let with_decimals = || {
        let (fraction, whole) = parts.split_last()?;
        format!("{}.{fraction}", whole.concat()).parse::<f64>().ok()
    };
    let is_space = SPACES.contains(&last);
    if earlier.is_empty() && !is_space {
        let decimal = with_decimals()?;
        let may_group = parts[1].len() == GROUP && parts[0].len() <= GROUP && parts[0] != "0";
        return Some(match may_group {
            true => Written { grouped: number(parts)?, doubtful: Some(last), ..exactly(decimal) },
            false => Written { decimal_mark: Some(last), ..exactly(decimal) },
        });
    }
    if earlier.iter().all(|mark| *mark == last) {
        let is_grouped = are_groups(parts) || last == ',' && are_indian_groups(parts);
        let value = number(parts).filter(|_| is_grouped)?;
        return Some(Written { group_mark: Some(last), ..exactly(value) });
    }
    // One mark of decimals behind groups with another mark.
    let group = *earlier.first()?;
    let whole = &parts[..parts.len() - 1];
    let is_grouped = earlier.iter().all(|mark| *mark == group)
        && (are_groups(whole) || group == ',' && are_indian_groups(whole));
    let value = with_decimals().filter(|_| is_grouped && !is_space)?;
    Some(Written { decimal_mark: Some(last), group_mark: Some(group), ..exactly(value) })
}

fn whole(value: f64) -> Option<Written> {
    Some(exactly(value))
}

fn exactly(value: f64) -> Written {
    let (decimal_mark, group_mark, doubtful) = (None, None, None);
    Written { grouped: value, decimal: value, decimal_mark, group_mark, doubtful }
}

fn are_groups(parts: &[&str]) -> bool {
    parts[0].len() <= GROUP && parts[1..].iter().all(|part| part.len() == GROUP)
}

/// `12,34,567`: three digits at the end, two in all groups before.
fn are_indian_groups(parts: &[&str]) -> bool {
    let (first, rest) = (parts[0].len(), &parts[1..]);
    let Some((last, middle)) = rest.split_last() else { return false };
    first <= INDIAN_GROUP
        && last.len() == GROUP
        && middle.iter().all(|part| part.len() == INDIAN_GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_countries() {
        #[track_caller]
        fn check(text: &str, want: Option<f64>, rest: &str) {
            let read = read_written(text);
            assert_eq!(read.map(|(it, _)| it.value(&[], &[])), want, "{text}");
            assert_eq!(read.map_or(text, |(_, rest)| rest), rest, "{text}");
        }
        check("12 weeks", Some(12.0), " weeks");
        check("1,200", Some(1200.0), "");
        check("1.000 Euro", Some(1000.0), " Euro");
        check("2.5 years", Some(2.5), " years");
        check("2,5 Jahre", Some(2.5), " Jahre");
        check("0.125", Some(0.125), "");
        check("1234.567", Some(1234.567), "");
        check("1,234.56", Some(1234.56), "");
        check("1.234,56 €", Some(1234.56), " €");
        check("1.234.567", Some(1_234_567.0), "");
        check("1 234 567,8 F", Some(1_234_567.8), " F");
        check("1\u{202f}234,5", Some(1234.5), "");
        check("12'500.50 Fr", Some(12_500.5), " Fr");
        check("12,34,567", Some(1_234_567.0), "");
        check("1,00,000.50 rupees", Some(100_000.5), " rupees");
        check("900, I think", Some(900.0), ", I think");
        check("2024 500", Some(2024.0), " 500");
        check("8. It is", Some(8.0), ". It is");
        check("19.11.2026", None, "19.11.2026");
        check("1.2.3", None, "1.2.3");
        check("weeks", None, "weeks");
        check("", None, "");
    }

    #[test]
    fn numbers_beside_it_tell_what_a_mark_means() {
        let value = |text: &str, decimals: &[char], groups: &[char]| {
            read_written(text).unwrap().0.value(decimals, groups)
        };
        assert_eq!(value("1.500", &[], &[]), 1500.0);
        assert_eq!(value("1.500", &['.'], &[]), 1.5);
        assert_eq!(value("1,500", &[','], &[]), 1.5);
        assert_eq!(value("1,500", &['.'], &[]), 1500.0);
        assert_eq!(value("1.500", &['.'], &['.']), 1500.0);
    }
}
