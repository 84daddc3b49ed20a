use super::*;
use crate::tests::fuzz;
use crate::value::Value;

/// A message as other libraries pack it.
fn pack(fields: &[(&str, Value)]) -> Vec<u8> {
    let fields = fields.iter().map(|(key, value)| (Value::from(*key), value.clone()));
    let mut out = Vec::new();
    Value::Map(fields.collect()).write(&mut out);
    out
}

/// Whatever `bytes` are, they are scanned: what is found lies in them and is whole, and a message
/// that is cut is none.
fn check(bytes: &[u8], cut: usize) -> Result<Envelope<'_>, Malformed> {
    let scanned = Envelope::scan(bytes);
    if let Ok(it) = &scanned {
        let packed = [it.id, it.function, it.args, it.namespace, it.client_name, it.result];
        for field in packed.into_iter().chain([it.error, it.output, it.metadata]).flatten() {
            assert!(bytes.as_ptr_range().contains(&field.as_ptr()));
            assert_eq!(Reader::new(field).skip(), Ok(field));
        }
        assert!(cut >= bytes.len() || Envelope::scan(&bytes[..cut]).is_err(), "cut at {cut}");
        let _ = crate::ext::Notes::read(it.metadata);
    }
    if let Ok(value) = Value::read(bytes) {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        value.write(&mut once);
        Value::read(&once).unwrap().write(&mut twice);
        assert_eq!(once, twice, "what is written is read again");
        let is_map = matches!(value, Value::Map(_));
        assert_eq!(scanned.is_ok(), is_map && app(&value) == Some(APP));
    }
    scanned
}

/// The last one counts, as in a map of any language.
fn app<'a>(value: &'a Value) -> Option<&'a str> {
    let Value::Map(pairs) = value else { return None };
    pairs.iter().rfind(|(key, _)| key.as_str() == Some("app"))?.1.as_str()
}

#[test]
fn soak_fuzz_envelopes() {
    fuzz::run("envelope", |input, rng| {
        // Whether it is refused is not the question here.
        let _ = check(input, rng.usize(0..=input.len()));
    });
}

fn call<'a>(more: &[(&'a str, Value<'a>)]) -> Vec<u8> {
    let core = [("app", APP.into()), ("id", "1".into()), ("type", "call".into())];
    pack(&[&core[..], more].concat())
}

#[test]
fn s4_3_s5_4_s20_1_s22_4_a_call_is_written_as_in_the_examples() {
    let draft = Draft::new(Kind::Call, Id::Text("one")).text("function", "add");
    let bytes = draft.packed("args", b"\x92\x01\x02").text("namespace", "default").payload();
    let Ok(Value::Map(fields)) = Value::read(&bytes) else { panic!("{bytes:?}") };
    let keys: Vec<_> = fields.iter().filter_map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["app", "id", "type", "timestamp", "function", "args", "namespace"]);
    let value = Value::Map(fields);
    assert_eq!(value.get("app"), Some(&"comlink_ipc_v4".into()));
    assert_eq!(value.get("type"), Some(&"call".into()));
    assert_eq!(value.get("args"), Some(&Value::Array(vec![1_i64.into(), 2_i64.into()])));
    assert!(matches!(value.get("timestamp"), Some(Value::F64(now)) if *now > 1.7e9));
}

#[test]
fn s5_3_s7_1_3_s22_3_s26_1_every_kind_is_written_and_read() {
    for (kind, name) in KINDS {
        let bytes = Draft::new(*kind, Id::Packed(b"\x07")).payload();
        let envelope = Envelope::scan(&bytes).unwrap();
        assert_eq!((envelope.kind, envelope.id), (Some(*kind), Some(&b"\x07"[..])), "{name}");
    }
}

#[test]
fn s4_4_s21_10_s33_1_unknown_fields_are_passed_over() {
    let deep = Value::Array(vec![Value::Map(vec![(Value::Int(1), "x".into())])]);
    let known = call(&[("args", Value::Array(vec![]))]);
    let more = call(&[("later", deep), ("args", Value::Array(vec![])), ("self", Value::Nil)]);
    assert_eq!(Envelope::scan(&more).unwrap(), Envelope::scan(&known).unwrap());
    let odd = b"\x84\x05\xc0\xa3app\xaecomlink_ipc_v4\x90\x01\xa4type\xa4call";
    assert_eq!(Envelope::scan(odd).unwrap().kind, Some(Kind::Call));
}

#[test]
fn s33_2_unknown_kinds_are_no_error() {
    for kind in [Value::from("ready"), Value::Int(4), Value::Nil] {
        let bytes = pack(&[("app", APP.into()), ("type", kind)]);
        assert_eq!(Envelope::scan(&bytes).unwrap().kind, None);
    }
}

#[test]
fn s4_2_s7_1_1_s9_2_s21_2_s21_3_s22_1_s25_6_s34_1_s34_2_s34_3_what_is_no_message_of_ours_is_refused()
 {
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![], "msgpack that breaks off"),
        (b"\x90".to_vec(), "not a map"),
        (b"\xa5hello".to_vec(), "not a map"),
        (pack(&[("app", "comlink_ipc_v3".into())]), "not of this protocol"),
        (pack(&[("app", Value::Nil)]), "not of this protocol"),
        (pack(&[("type", "call".into())]), "not of this protocol"),
        ([call(&[]), vec![0xc0]].concat(), "bytes after the message"),
        (b"\x81\xc1".to_vec(), "msgpack that breaks off"),
    ];
    for (bytes, why) in cases {
        assert_eq!(check(bytes, 0), Err(Malformed(why)), "{bytes:?}");
    }
}

#[test]
fn s22_2_an_id_is_anything_but_nothing() {
    for (id, is_there) in [("x".into(), true), (7_i64.into(), true), ("".into(), false)] {
        let bytes = pack(&[("app", APP.into()), ("id", id)]);
        assert_eq!(Envelope::scan(&bytes).unwrap().id.is_some(), is_there);
    }
    let bytes = pack(&[("app", APP.into()), ("id", Value::Nil)]);
    assert_eq!(Envelope::scan(&bytes).unwrap().id, None);
}

#[test]
fn s6_1_2_s15_4_s22_8_both_spellings_of_the_client_are_read() {
    for key in ["client_name", "clientName"] {
        let bytes = call(&[(key, "me".into())]);
        assert_eq!(Envelope::scan(&bytes).unwrap().client_name, Some(&b"\xa2me"[..]));
    }
}

#[test]
fn every_cut_is_told() {
    let bytes = call(&[("args", Value::Array(vec!["x".into(), 1.5.into()]))]);
    for cut in 0..bytes.len() {
        assert!(check(&bytes, cut).is_ok());
    }
}

#[test]
fn map16_as_javascript_writes_it_is_read() {
    let mut bytes = call(&[]);
    let pairs = bytes[0] & 0x0f;
    bytes.splice(..1, [0xde, 0, pairs]);
    assert_eq!(Envelope::scan(&bytes).unwrap().kind, Some(Kind::Call));
}

#[test]
fn what_every_message_begins_with_is_its_application() {
    let mut begin = vec![0; zmtp::HEAD_ROOM + 1];
    msgpack::put_str(&mut begin, "app");
    msgpack::put_str(&mut begin, APP);
    assert_eq!(begin, BEGIN);
    assert!(KINDS.iter().enumerate().all(|(row, (kind, _))| *kind as usize == row));
}
