//! Results that every library can read, and an ERROR in the place of those that some cannot.

use std::collections::BTreeMap;

use serde::ser::{Error as _, Serialize, Serializer};

use super::*;
use crate::limits::DEPTH_MAX;

struct Unpackable;

impl Serialize for Unpackable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("no words for it"))
    }
}

#[derive(Serialize)]
struct Point {
    x: i32,
}

/// So many lists, one in the other.
fn nested(levels: usize) -> Value<'static> {
    (1..levels).fold(Value::Array(vec![]), |it, _| Value::Array(vec![it]))
}

fn results() -> Child {
    Child::new()
        .function("unpackable", |()| Ok(Unpackable))
        .async_function("unpackable_later", |()| async { Ok(Unpackable) })
        .function("numbered", |()| Ok(BTreeMap::from([(1, 2)])))
        .function("named", |()| Ok(Point { x: 1 }))
        .function("nested", |(levels,): (usize,)| Ok(nested(levels)))
        .stream_function("each_nested", |(levels,): (usize,)| Ok([Ok(nested(levels))]))
        .stream_function("each_unpackable", |()| Ok([Ok(Unpackable)]))
        .packed_function("raw", |args| {
            let Ok(Value::Array(args)) = Value::read(&args) else { panic!() };
            let [Value::Bin(packed)] = &args[..] else { panic!() };
            Ok(packed.to_vec().into())
        })
}

#[test]
fn s6_2_3_s22_9_a_result_that_cannot_be_read_is_an_error() {
    let bench = bench(results());
    let call = |function: &str, args: &[Value]| {
        let mut packed = Vec::new();
        Value::Array(args.to_vec()).write(&mut packed);
        bench.answer(&call(function, &packed).payload())
    };
    let refused = |why| format!("error 1 TypeError: the result cannot be sent: {why}");
    let deep = |levels: usize| [Value::Int(levels as i64)];
    for name in ["unpackable", "unpackable_later", "each_unpackable"] {
        assert_eq!(call(name, &[]), refused("no words for it"));
    }
    assert_eq!(call("named", &[]), "response 1 Map([(Str(\"x\"), Int(1))])");
    assert_eq!(call("numbered", &[]), refused("a key of a map is no text"));
    assert!(call("nested", &deep(DEPTH_MAX)).starts_with("response 1 Array("));
    assert_eq!(call("nested", &deep(DEPTH_MAX + 1)), refused("msgpack nested too deep"));
    // A list of items is one level more.
    assert!(call("each_nested", &deep(DEPTH_MAX - 1)).starts_with("response 1 Array("));
    assert_eq!(call("each_nested", &deep(DEPTH_MAX)), refused("msgpack nested too deep"));
    for (packed, why) in [
        (&b""[..], "msgpack that breaks off"),
        (b"\x92\x01", "msgpack that breaks off"),
        (b"\xc1", "0xc1 begins no msgpack value"),
        (b"\x01\x02", "bytes after the value"),
        (b"\x81\x01\x02", "a key of a map is no text"),
        (b"\x91\x81\xc4\x01x\x02", "a key of a map is no text"),
    ] {
        assert_eq!(call("raw", &[packed.into()]), refused(why));
    }
    assert_eq!(
        call("raw", &[b"\x81\xa1a\x90"[..].into()]),
        "response 1 Map([(Str(\"a\"), Array([]))])"
    );
}
