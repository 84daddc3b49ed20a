use super::*;

fn packed(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

/// A value is written as `bytes` and read from them, and serde writes the same.
#[track_caller]
fn check(value: Value, bytes: &[u8]) {
    assert_eq!(packed(&value), bytes, "{value:?}");
    match crate::pack::pack(&value, DEPTH_MAX) {
        Ok(packed) => assert_eq!(packed, bytes, "{value:?}"),
        // Serde's way is that of arguments and results, which every library must read.
        Err(flaw) => assert_eq!(flaw.0, "a key of a map is no text", "{value:?}"),
    }
    assert_eq!(Value::read(bytes), Ok(value));
    for cut in 0..bytes.len() {
        assert!(Value::read(&bytes[..cut]).is_err(), "cut at {cut}");
        assert!(Reader::new(&bytes[..cut]).skip().is_err(), "cut at {cut}");
    }
    assert_eq!(Reader::new(bytes).skip(), Ok(bytes));
}

#[test]
fn s6_2_3_every_value_is_exact() {
    check(Value::Nil, b"\xc0");
    check(true.into(), b"\xc3");
    check(0_i64.into(), b"\x00");
    check((-32_i64).into(), b"\xe0");
    check((-33_i64).into(), b"\xd0\xdf");
    check(Value::Int(-129), b"\xd1\xff\x7f");
    check(Value::Int(-32_769), b"\xd2\xff\xff\x7f\xff");
    check(Value::Int(127), b"\x7f");
    check(Value::Int(128), b"\xd1\x00\x80");
    check(Value::Int(0x7fff), b"\xd1\x7f\xff");
    check(Value::Int(0x8000), b"\xd2\x00\x00\x80\x00");
    check(Value::Int(0x8000_0000), b"\xd3\0\0\0\0\x80\0\0\0");
    check(Value::Int(i64::MIN), b"\xd3\x80\0\0\0\0\0\0\0");
    check(Value::Int((1 << 53) + 1), b"\xd3\0\x20\0\0\0\0\0\x01");
    check(u64::MAX.into(), b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    check(1.5.into(), b"\xcb\x3f\xf8\0\0\0\0\0\0");
    check(Value::F32(1.5), b"\xca\x3f\xc0\0\0");
    check(f64::INFINITY.into(), b"\xcb\x7f\xf0\0\0\0\0\0\0");
    check("žluť".into(), b"\xa6\xc5\xbelu\xc5\xa5");
    check((&b"\xff\0"[..]).into(), b"\xc4\x02\xff\0");
    check(Value::Array(vec![Value::Nil, "a".into()]), b"\x92\xc0\xa1a");
    check(Value::Map(vec![(1_i64.into(), Value::Array(vec![]))]), b"\x81\x01\x90");
    check(Value::Ext(0, b"\0"[..].into()), b"\xd4\0\0");
    check(Value::Ext(-1, b"abc"[..].into()), b"\xc7\x03\xffabc");
}

#[test]
fn not_a_number_stays_none() {
    let bytes = packed(&f64::NAN.into());
    assert!(matches!(Value::read(&bytes), Ok(Value::F64(number)) if number.is_nan()));
}

#[test]
fn s36_1_lengths_of_every_size_are_read_back() {
    for length in [15, 16, 31, 32, 255, 256, 65_535, 65_536] {
        let text = "x".repeat(length);
        for value in [Value::from(text.as_str()), text.as_bytes().into()] {
            assert_eq!(Value::read(&packed(&value)), Ok(value));
        }
        let list = Value::Array(vec![Value::Nil; length]);
        assert_eq!(Value::read(&packed(&list)), Ok(list));
        let map = Value::Map(vec![(Value::Nil, Value::Nil); length]);
        assert_eq!(Value::read(&packed(&map)), Ok(map));
        let ext = Value::Ext(7, text.as_bytes().into());
        assert_eq!(Value::read(&packed(&ext)), Ok(ext));
    }
}

#[test]
fn forms_longer_than_needed_are_understood() {
    let cases: &[(&[u8], Value)] = &[
        (b"\xd3\0\0\0\0\0\0\0\x01", Value::Int(1)),
        (b"\xcf\0\0\0\0\0\0\0\x01", Value::Int(1)),
        (b"\xcd\0\x01", Value::Int(1)),
        (b"\xde\0\x01\xa1a\x01", Value::Map(vec![("a".into(), Value::Int(1))])),
        (b"\xdd\0\0\0\x01\xc2", Value::Array(vec![Value::Bool(false)])),
        (b"\xdb\0\0\0\x01a", "a".into()),
        (b"\xc6\0\0\0\x01a", b"a"[..].into()),
        (b"\xc9\0\0\0\x01\x05a", Value::Ext(5, b"a"[..].into())),
    ];
    for (bytes, value) in cases {
        assert_eq!(Value::read(bytes).as_ref(), Ok(value));
    }
}

#[test]
fn s4_5_what_is_no_msgpack_is_told() {
    let deep = |levels: usize| [vec![0x91; levels], vec![0xc0]].concat();
    assert!(Value::read(&deep(DEPTH_MAX)).is_ok());
    assert!(Reader::new(&deep(DEPTH_MAX)).skip().is_ok());
    assert_eq!(Value::read(&deep(DEPTH_MAX + 1)), Err(msgpack::TOO_DEEP));
    assert_eq!(Reader::new(&deep(DEPTH_MAX + 1)).skip(), Err(msgpack::TOO_DEEP));
    let hostile: &[&[u8]] =
        &[b"", b"\xc1", b"\xdd\xff\xff\xff\xff\xc0", b"\xdf\xff\xff\xff\xff\xc0\xc0", b"\xa1\xff"];
    for bytes in hostile {
        assert!(Value::read(bytes).is_err(), "{bytes:?}");
    }
    assert_eq!(Value::read(b"\xc0\xc0"), Err(Malformed("bytes after the value")));
}
