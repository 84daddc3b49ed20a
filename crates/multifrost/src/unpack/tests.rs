use serde::Deserialize;

use super::*;
use crate::Blob;
use crate::value::Value;

fn packed(value: Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

#[track_caller]
fn refuse<T: for<'de> Deserialize<'de> + std::fmt::Debug>(value: Value<'_>, why: &str) {
    let flaw = unpack::<T>(&packed(value)).unwrap_err();
    assert!(flaw.0.contains(why), "{flaw}");
}

#[test]
fn s4_1_a_whole_number_may_come_as_a_float() {
    let float = |number: f64| packed(Value::F64(number));
    assert_eq!(unpack(&float(4_294_967_296.0)), Ok(4_294_967_296_i64));
    assert_eq!(unpack(&float(-9_007_199_254_740_992.0)), Ok(-9_007_199_254_740_992_i64));
    assert_eq!(unpack(&float(2_f64.powi(64) - 2048.0)), Ok(u64::MAX - 2047));
    assert_eq!(unpack(&packed(Value::F32(3.0))), Ok(3_u8));
    assert_eq!(unpack(&packed(Value::Array(vec![1.0.into(), (-0.0).into()]))), Ok(vec![1_i32, 0]));
    // A float stays one where no whole number is wanted.
    assert_eq!(unpack(&float(5.0)), Ok(5.0_f64));
    assert_eq!(unpack(&packed(5_i64.into())), Ok(5.0_f64));
    refuse::<i64>(Value::F64(0.5), "floating point `0.5`, expected i64");
    refuse::<i64>(Value::F64(f64::NAN), "expected i64");
    refuse::<i64>(Value::F64(1e300), "expected i64");
    refuse::<u8>(Value::F64(256.0), "expected u8");
    refuse::<u64>(Value::F64(-1.0), "expected u64");
    refuse::<u64>(Value::F64(2_f64.powi(64)), "expected u64");
}

#[test]
fn s4_1_bytes_arrive_as_bytes() {
    let bytes = packed(b"ab"[..].into());
    assert_eq!(unpack(&bytes), Ok(b"ab".to_vec()));
    assert_eq!(unpack(&bytes), Ok(*b"ab"));
    assert_eq!(unpack(&bytes), Ok(Blob(b"ab".to_vec())));
    let list = packed(Value::Array(vec![97_i64.into(), 98_i64.into()]));
    assert_eq!(unpack(&list), Ok(Blob(b"ab".to_vec())));
    assert_eq!(unpack::<&[u8]>(&bytes), Ok(&b"ab"[..]));
}

#[test]
fn s4_1_any_value_is_read_and_kept() {
    let all = Value::Map(vec![
        ("nil".into(), Value::Nil),
        ("numbers".into(), Value::Array(vec![(-1_i64).into(), u64::MAX.into(), 0.5.into()])),
        ("bytes".into(), b"x"[..].into()),
        (Value::Int(7), Value::Ext(-1, b"1234"[..].into())),
        ("single".into(), Value::F32(0.5)),
    ]);
    let bytes = packed(all.clone());
    let read: Value<'static> = unpack(&bytes).unwrap();
    assert_eq!(read, all);
    let texts: Value<'static> =
        Value::Array(vec!["a".into(), true.into(), Value::Ext(5, vec![1].into())]);
    let again = crate::pack::pack(&texts, 9).unwrap();
    assert_eq!(again, packed(texts));
}

#[test]
fn s4_1_variants_are_read_as_they_are_written() {
    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    enum Kind {
        Unit,
        New(u8),
        Tuple(u8, u8),
        Struct { x: Option<u8> },
    }
    for kind in [Kind::Unit, Kind::New(1), Kind::Tuple(1, 2), Kind::Struct { x: Some(3) }] {
        assert_eq!(unpack(&crate::pack::pack(&kind, 9).unwrap()), Ok(kind));
    }
    assert_eq!(unpack(b"\x00"), Ok(Kind::Unit));
    assert_eq!(unpack(b"\x81\xa6Struct\x80"), Ok(Kind::Struct { x: None }));
}

#[test]
fn s6_1_4_arguments_at_the_end_may_be_left_out() {
    type Three = (i64, Option<i64>, Option<String>);
    assert_eq!(unpack_arguments::<Three>(b"\x91\x01"), Ok((1, None, None)));
    assert_eq!(unpack_arguments::<Three>(b"\x92\x01\x02"), Ok((1, Some(2), None)));
    assert_eq!(unpack_arguments::<Three>(b"\x93\x01\xc0\xa1x"), Ok((1, None, Some("x".into()))));
    assert_eq!(unpack_arguments::<()>(b"\x90"), Ok(()));
    assert_eq!(unpack_arguments::<Vec<i64>>(b"\x92\x01\x02"), Ok(vec![1, 2]));
    let why = |args: &[u8]| unpack_arguments::<Three>(args).unwrap_err().0;
    assert_eq!(why(b"\x90"), "argument 1: it is missing");
    assert_eq!(why(b"\x94\x01\x02\xa1x\x04"), "4 arguments were given, 3 are taken");
    assert!(why(b"\x92\x01\xa1x").starts_with("argument 2: invalid type: string \"x\""));
    let none = unpack_arguments::<()>(b"\x91\x01").unwrap_err().0;
    assert_eq!(none, "1 arguments were given, none is taken");
}
