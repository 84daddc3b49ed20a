//! The limits of whole numbers.

use super::Fields;
use serde_json::Value;

/// llama.cpp writes no longer numbers; it gets a limit wrong that has no other at its other side.
const BOUND_MAX: i64 = 999_999_999_999_999;

/// Returns the least and the most; none: any number.
pub fn read_bounds(fields: &Fields, place: &str) -> Result<Option<(i64, i64)>, String> {
    let lower = [
        read_bound(fields, "minimum", f64::ceil, 0, place)?,
        read_bound(fields, "exclusiveMinimum", f64::floor, 1, place)?,
    ];
    let upper = [
        read_bound(fields, "maximum", f64::floor, 0, place)?,
        read_bound(fields, "exclusiveMaximum", f64::ceil, -1, place)?,
    ];
    let least = lower.into_iter().flatten().max();
    let most = upper.into_iter().flatten().min();
    if least.is_none() && most.is_none() {
        return Ok(None);
    }
    let (least, most) = (least.unwrap_or(-BOUND_MAX), most.unwrap_or(BOUND_MAX));
    match least <= most {
        true => Ok(Some((least, most))),
        false => Err(format!("{place}.minimum: is more than the maximum, so nothing fits")),
    }
}

/// Reads a limit; a fraction is rounded to the whole numbers that it allows.
fn read_bound(
    fields: &Fields,
    keyword: &str,
    round: fn(f64) -> f64,
    offset: i64,
    place: &str,
) -> Result<Option<i64>, String> {
    let Some(value) = fields.get(keyword) else { return Ok(None) };
    let whole = match value {
        Value::Number(number) => number.as_i64().or(number.as_f64().map(|it| round(it) as i64)),
        _ => None,
    };
    let bound = whole.ok_or(format!("{place}.{keyword}: must be a number"))?.saturating_add(offset);
    // A limit further away than any number that is written is none; one beyond it leaves nothing.
    let is_lower = keyword.ends_with("inimum");
    match (bound < -BOUND_MAX, bound > BOUND_MAX) {
        (true, _) if is_lower => Ok(Some(-BOUND_MAX)),
        (_, true) if !is_lower => Ok(Some(BOUND_MAX)),
        (false, false) => Ok(Some(bound)),
        _ => Err(format!("{place}.{keyword}: numbers have at most 15 digits here")),
    }
}
