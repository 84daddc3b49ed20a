use super::*;

/// A message in one line, ids and parameters as they came.
fn shown(body: &[u8]) -> String {
    match parse(body) {
        Ok(Incoming::Request { id, method, params }) => {
            format!("request {} {method} {}", id.get(), params.get())
        }
        Ok(Incoming::Notification { method, params }) => {
            format!("notification {method} {}", params.get())
        }
        Ok(Incoming::Response { id, outcome: Ok(result) }) => {
            format!("result {} {}", id.get(), result.get())
        }
        Ok(Incoming::Response { id, outcome: Err(error) }) => format!("error {} {error}", id.get()),
        Err(Invalid { id, error }) => {
            let id = id.as_deref().map_or("-", RawValue::get);
            format!("invalid {id} {error}")
        }
    }
}

#[track_caller]
fn check(body: impl AsRef<[u8]>, want: &str) {
    assert_eq!(shown(body.as_ref()), want);
}

#[test]
fn ids_go_back_as_they_came() {
    for id in [
        "0",
        "-1",
        "1.0",
        "1e3",
        "-0",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        r#""""#,
        r#""a b""#,
        r#""\u00e9\/\"\ud800""#,
        "\"é\u{2028}🙂\"",
        "{ \"a\" : [1,\t2] }",
        "[null]",
        "true",
        "false",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"m"}}"#);
        check(body, &format!("request {id} m null"));
        let raw = RawValue::from_string(id.to_string()).expect("JSON");
        let answer = answer(Some(&raw), &Ok(1.into()), false);
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    }
}

#[test]
fn requests_and_notifications() {
    check(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[ 1 ]}"#, "request 1 m [ 1 ]");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, "request 1 m null");
    check(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1.0}}"#, "notification m {\"a\":1.0}");
    check(r#"{"jsonrpc":"2.0","method":"m","id":null}"#, "notification m null");
    check(r#"{"id":1,"x":[{"y":1}],"method":"m","jsonrpc":"2.0"}"#, "request 1 m null");
    let twice = r#"{"jsonrpc":"1","id":1,"method":"a","id":2,"method":"b","jsonrpc":"2.0"}"#;
    check(twice, "request 2 b null");
    check(r#"{"\u006dethod":"\u006d","jsonrpc":"\u0032.0","id":1}"#, "request 1 m null");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#, "request 1 m null");
}

#[test]
fn responses() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, r#"result 1 {"a":1}"#);
    check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result 1 null");
    check(r#"{"jsonrpc":"2.0","id":1,"result":5,"error":null}"#, "result 1 5");
    check(r#"{"id":"x","result":5}"#, "result \"x\" 5");
    check(r#"{"jsonrpc":"2.0","id":null,"result":{"a":1}}"#, r#"result null {"a":1}"#);
    check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#, "error 1 no (-1)");
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
        "error null no (-1)",
    );
    let malformed = "error 1 malformed error: \"boom\" (-32603)";
    check(r#"{"jsonrpc":"2.0","id":1,"error":"boom"}"#, malformed);
}

#[test]
fn what_is_no_message_is_told_why() {
    let invalid = |id: &str, what: &str| format!("invalid {id} Invalid Request: {what} (-32600)");
    for (body, what) in [
        ("[]", "an array"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, "an array"),
        ("1", "a number"),
        ("-1", "a number"),
        ("1.5", "a number"),
        ("\"m\"", "a string"),
        ("null", "null"),
        ("true", "a boolean"),
    ] {
        check(body, &invalid("-", &format!("expected an object, not {what}")));
    }
    for body in [r#"{"id":7}"#, r#"{"id":7,"method":"m"}"#, r#"{"id":7,"jsonrpc":2.0}"#] {
        check(body, &invalid("7", "missing jsonrpc 2.0"));
    }
    check("{}", &invalid("-", "missing jsonrpc 2.0"));
    for method in ["", r#","method":"""#, r#","method":5"#, r#","method":null,"result":1"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":[7]{method}}}"#);
        check(body, &invalid("[7]", "missing method"));
    }
    for params in ["1", "\"x\"", "true"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}"#);
        check(body, "invalid 7 Invalid params: expected an object or an array (-32602)");
    }
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    let deep = "[".repeat(1_000_000);
    let nul = b"\0\0\0".to_vec();
    for body in [
        b"".to_vec(),
        b"{".to_vec(),
        b"{}{}".to_vec(),
        b"{'a':1}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"m\"}".to_vec(),
        b"{\"x\":\"\xff\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        format!("{{\"params\":{deep}}}").into_bytes(),
        format!("{{\"x\":{}}}", "{\"a\":".repeat(1_000_000)).into_bytes(),
        deep.into_bytes(),
        nul,
    ] {
        let found = shown(&body);
        assert!(found.starts_with("invalid - Parse error: "), "{found}");
        assert!(found.ends_with(" (-32700)") && found.len() < 200, "{found}");
    }
}

/// A message cut anywhere is an error, never a panic and never another message.
#[test]
fn a_cut_message_is_no_message() {
    let body = "{\"jsonrpc\":\"2.0\",\"id\":\"é\\n\",\"method\":\"m\",\"params\":{\"a\":[1,{}]}}";
    for cut in 0..body.len() {
        let found = shown(&body.as_bytes()[..cut]);
        assert!(found.starts_with("invalid - Parse error: "), "cut at {cut}: {found}");
    }
}

#[test]
fn deep_values_pass_as_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"m","params":{deep}}}"#);
    check(body, &format!("request {deep} m {deep}"));
}

#[test]
fn what_we_write() {
    let error = |data: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-1,"message":"a \"b\""{data}}}}}"#)
    };
    let refused = Err(Error::new(-1, "a \"b\""));
    assert_eq!(answer(None, &refused, false), error(",\"data\":null"));
    assert_eq!(answer(None, &refused, true), error(""));
    let refused = Err(Error { data: Some(5.into()), ..Error::new(-1, "a \"b\"") });
    assert_eq!(answer(None, &refused, true), error(",\"data\":5"));

    let text = |id, params: &[u8]| call(id, "m", params).expect("bytes can be written");
    assert_eq!(text(Some(7), &[1]), r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#);
    assert_eq!(text(None, &[]), r#"{"jsonrpc":"2.0","method":"m","params":[]}"#);
    assert_eq!(call(None, "m", ()).expect("unit"), r#"{"jsonrpc":"2.0","method":"m"}"#);
}
