//! What a worker gives, as JSON. Nothing gets lost without a word: what JSON has no room for becomes
//! text that says what it is.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use multifrost::Value as Packed;
use serde_json::{Map, Number, Value, json};

/// The value as JSON.
pub(super) fn json(value: &Packed<'_>) -> Value {
    match value {
        Packed::Nil => Value::Null,
        Packed::Bool(yes) => (*yes).into(),
        Packed::Int(number) => (*number).into(),
        Packed::UInt(number) => (*number).into(),
        Packed::F32(number) => float((*number).into()),
        Packed::F64(number) => float(*number),
        Packed::Str(text) => text.to_string().into(),
        Packed::Bin(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
        Packed::Ext(kind, bytes) => json!({ "ext": kind, "base64": BASE64_STANDARD.encode(bytes) }),
        Packed::Array(items) => items.iter().map(json).collect(),
        Packed::Map(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| (key(name), json(value)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
    }
}

/// NaN and the infinities by their names.
fn float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}

fn key(name: &Packed<'_>) -> String {
    match name.as_str() {
        Some(text) => text.to_string(),
        None => json(name).to_string(),
    }
}

#[cfg(test)]
#[test]
fn everything_on_the_wire_has_a_form() {
    #[track_caller]
    fn check(value: Packed<'_>, want: Value) {
        assert_eq!(json(&value), want);
    }
    check(Packed::Nil, Value::Null);
    check(Packed::UInt(u64::MAX), json!(u64::MAX));
    check(Packed::F64(0.5), json!(0.5));
    check(Packed::F64(f64::NAN), json!("NaN"));
    check(Packed::F64(f64::NEG_INFINITY), json!("-inf"));
    check(Packed::Bin(vec![1, 2].into()), json!({ "base64": "AQI=" }));
    check(Packed::Ext(-1, vec![0].into()), json!({ "ext": -1, "base64": "AA==" }));
    let pairs = vec![("b".into(), 1_i64.into()), (2_i64.into(), Packed::Array(vec![true.into()]))];
    check(Packed::Map(pairs), json!({ "b": 1, "2": [true] }));
}
