use super::*;
use crate::value::Value;

/// A message as other libraries pack it.
fn pack(fields: &[(&str, Value)]) -> Vec<u8> {
    let fields = fields.iter().map(|(key, value)| (Value::from(*key), value.clone()));
    let mut out = Vec::new();
    Value::Map(fields.collect()).write(&mut out);
    out
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
fn s4_4_s33_1_s33_3_unknown_fields_are_passed_over() {
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
fn s4_2_s7_1_1_s9_2_s22_1_s34_2_what_is_no_message_of_ours_is_refused() {
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
        assert_eq!(Envelope::scan(bytes), Err(Malformed(why)), "{bytes:?}");
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
fn s6_1_2_both_spellings_of_the_client_are_read() {
    for key in ["client_name", "clientName"] {
        let bytes = call(&[(key, "me".into())]);
        assert_eq!(Envelope::scan(&bytes).unwrap().client_name, Some(&b"\xa2me"[..]));
    }
}

#[test]
fn every_cut_is_told() {
    let bytes = call(&[("args", Value::Array(vec!["x".into(), 1.5.into()]))]);
    for cut in 0..bytes.len() {
        assert!(Envelope::scan(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn map16_as_javascript_writes_it_is_read() {
    let mut bytes = call(&[]);
    let pairs = bytes[0] & 0x0f;
    bytes.splice(..1, [0xde, 0, pairs]);
    assert_eq!(Envelope::scan(&bytes).unwrap().kind, Some(Kind::Call));
}
