//! JSON and dates as the templates of models expect them: as Python writes them.

use minijinja::value::{Kwargs, Value as Item};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Turns JSON into what a template reads; objects keep their order.
pub fn to_item(value: &Value) -> Item {
    match value {
        Value::Null => Item::from(()),
        Value::Bool(it) => Item::from(*it),
        Value::Number(it) => match (it.as_i64(), it.as_u64()) {
            (Some(number), _) => Item::from(number),
            (None, Some(number)) => Item::from(number),
            (None, None) => Item::from(it.as_f64().unwrap_or_default()),
        },
        Value::String(it) => Item::from(it.as_str()),
        Value::Array(items) => items.iter().map(to_item).collect(),
        Value::Object(fields) => {
            Item::from_pairs(fields.iter().map(|(name, value)| (name.as_str(), to_item(value))))
        }
    }
}

/// The filter `tojson`: separators as in Python, and nothing escaped for HTML.
pub fn write_json(value: &Item, options: Kwargs) -> Result<Item, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Templates also pass `ensure_ascii=False`, which is how it is written here anyway.
    let _: Option<bool> = options.get("ensure_ascii")?;
    let mut out = Vec::new();
    let written = match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut out, PythonJson)),
        Some(width) => {
            let indent = " ".repeat(width.min(16));
            let pretty = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut out, pretty))
        }
    };
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::InvalidOperation, format!("tojson: {error}"))
    };
    written.map_err(|error| failed(&error))?;
    let text = String::from_utf8(out).map_err(|error| failed(&error))?;
    Ok(Item::from_safe_string(text))
}

/// `json.dumps` puts a space after every comma and colon.
struct PythonJson;

impl Formatter for PythonJson {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

/// Formats a day, counted from 1970, with the marks of `strftime` that concern days.
pub fn format_day(days: u64, format: &str) -> String {
    let (year, month, day) = civil_date(days);
    let name = MONTHS[month - 1];
    [
        ("%Y", year.to_string()),
        ("%m", format!("{month:02}")),
        ("%d", format!("{day:02}")),
        ("%B", name.to_string()),
        ("%b", name[..3].to_string()),
    ]
    .iter()
    .fold(format.to_string(), |text, (mark, value)| text.replace(mark, value))
}

/// Howard Hinnant's `civil_from_days`, for days since 1970.
fn civil_date(days: u64) -> (u64, usize, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month as usize, day)
}
