//! Patches and views of JSON, YAML, TOML and text.

use super::*;
use crate::code::{INVALID_PATH, PATH_NOT_FOUND, VALIDATION};
use serde_json::json;

fn with(path: &str, value: Value) -> Patch {
    Patch { value: Some(value), ..patch(path) }
}

#[track_caller]
fn check(form: Form, text: &str, patch: &Patch, want: &str) {
    assert_eq!(patched(form, text, patch).as_deref(), Ok(want));
}

#[track_caller]
fn check_fails(form: Form, text: &str, patch: &Patch, code: i32) {
    assert_eq!(patched(form, text, patch).map_err(|(code, _)| code), Err(code));
}

const JSON: &str =
    "{\n  \"a\" : [1, 2.50,3],\n\t\"b\": {\"c/d\": \"\\u00e9\", \"~\": null},\n  \"e\":1e2\n}\n";

#[test]
fn json_keeps_all_other_bytes() {
    let check = |patch: &Patch, from: &str, to: &str| {
        check(Form::Json, JSON, patch, &JSON.replacen(from, to, 1))
    };
    check(&with("/a/1", json!("x")), "2.50", "\"x\"");
    check(&with("/e", json!({"k": [true]})), "1e2", "{\"k\":[true]}");
    check(&patch("/a"), "[1, 2.50,3]", "null");
    check(&with("/b/c~1d", json!("ü")), "\"\\u00e9\"", "\"ü\"");
    check(&with("/b/~0", json!(1)), "null", "1");
    check(&with("/f", json!(2)), "1e2", "1e2,\n  \"f\": 2");
    check(&with("/b/x", json!(2)), "null", "null, \"x\": 2");
    check(&with("/a/-", json!(4)), "3]", "3,4]");
    check(&with("/a/5", json!(4)), "3]", "3,null, null, 4]");
    check(&remove("/a/0"), "1, ", "");
    check(&remove("/a/2"), ",3]", "]");
    check(&remove("/b"), "\"b\": {\"c/d\": \"\\u00e9\", \"~\": null},\n  ", "");
    check(&remove("/e"), ",\n  \"e\":1e2", "");
    check(&remove("/nothing/at/all"), "", "");
    check(&create("/a"), "", "");
    check(&create("/b/n"), "null", "null, \"n\": null");
    check(&Patch { create: true, ..with("/n/m", json!(1)) }, "1e2", "1e2,\n  \"n\": {\"m\":1}");
    super::plain::check(Form::Json, "{}", &with("/a", json!(1)), "{\"a\": 1}");
    super::plain::check(Form::Json, " [ ] ", &with("/-", json!(1)), " [1 ] ");
    super::plain::check(Form::Json, "{\"a\":1}", &remove("/a"), "{}");
    super::plain::check(Form::Json, "no json", &with("", json!([1])), "[1]");
}

#[test]
fn wrong_pointers_are_errors() {
    check_fails(Form::Json, JSON, &patch("a"), INVALID_PATH);
    check_fails(Form::Json, JSON, &patch("/a/x"), INVALID_PATH);
    check_fails(Form::Json, JSON, &patch("/a/10000"), INVALID_PATH);
    check_fails(Form::Json, JSON, &patch("/~2"), INVALID_PATH);
    check_fails(Form::Json, JSON, &remove(""), INVALID_PATH);
    check_fails(Form::Json, JSON, &patch("/n/m"), PATH_NOT_FOUND);
    check_fails(Form::Json, JSON, &patch("/e/m"), PATH_NOT_FOUND);
    check_fails(Form::Json, "{\"a\":1,\"a\":2}", &remove("/a"), VALIDATION);
    check_fails(Form::Json, "{", &patch("/a"), code::INVALID_MESSAGE);
    check_fails(Form::Toml, "a = 1", &with("/b", json!([null])), VALIDATION);
    check_fails(Form::Text, "a", &patch("2"), PATH_NOT_FOUND);
    check_fails(Form::Text, "a", &patch("0"), INVALID_PATH);
    check_fails(Form::Text, "a", &patch("2-1"), INVALID_PATH);
    check_fails(Form::Text, "a", &with("1", json!(1)), VALIDATION);
}

const YAML: &str = "# top\nname: old  # why\nlist:\n- 1\n- two\n\"q k\": 'x'\nmap:\n    a: é\n\
    \x20   # in\n    b: |\n      text\n      more\nflow: {x: 1, y: [2]}\n";

#[test]
fn yaml_keeps_what_is_not_named() {
    let check = |patch: &Patch, from: &str, to: &str| {
        check(Form::Yaml, YAML, patch, &YAML.replacen(from, to, 1))
    };
    check(&with("/name", json!("new")), "old", "\"new\"");
    check(&with("/list/1", json!(2)), "two", "2");
    check(&with("/q k", json!(["y"])), "'x'", "[\"y\"]");
    check(&with("/map/a", json!("007")), "é", "\"007\"");
    check(&with("/flow/x", json!(3)), "x: 1", "x: 3");
    check(&with("/flow/z", json!(3)), "[2]}", "[2], \"z\": 3}");
    check(&with("/list/-", json!("three")), "- two\n", "- two\n- \"three\"\n");
    check(&with("/new", json!(1)), "[2]}\n", "[2]}\n\"new\": 1\n");
    check(&with("/map/c", json!(1)), "      more\n", "      more\n    \"c\": 1\n");
    check(&remove("/name"), "name: old  # why\n", "");
    check(&remove("/list/0"), "- 1\n- two", "- two");
    check(&remove("/flow/y"), ", y: [2]", "");
    check(&create("/name"), "", "");
}

/// As a text a key would escape those within it, and each level would be twice as long.
#[test]
fn yaml_has_scalars_for_keys() {
    let nested = |levels: usize| format!("{}a: 1{}", "{".repeat(levels), "}: 1".repeat(levels));
    for text in [nested(2), nested(100), "? [a]\n: 1\n".into(), "[a]: 1\n".into()] {
        let mut document = Document::new(Form::Json, "{}");
        let refused = document.set(&text, Format::Yaml).unwrap_err();
        assert_eq!(refused.code, code::INVALID_MESSAGE, "{text}");
        assert!(refused.message.contains("keys that are no plain text"), "{}", refused.message);
        check_fails(Form::Yaml, &text, &with("/a", json!(1)), code::INVALID_MESSAGE);
    }
}

const TOML: &str = "# top\nname = \"old\" # why\nlist = [ 1, 2 ]\n\n[map] # m\na = 7.50\n\
    b = { x = 1 }\n\n[[many]]\nk = 1\n";

#[test]
fn toml_keeps_what_is_not_named() {
    let text = TOML;
    let check = |patch: &Patch, from: &str, to: &str| {
        check(Form::Toml, text, patch, &text.replacen(from, to, 1))
    };
    check(&with("/name", json!("new")), "\"old\"", "\"new\"");
    check(&patch("/name"), "\"old\"", "\"\"");
    check(&with("/list/0", json!(9)), "[ 1", "[ 9");
    check(&with("/map/a", json!(1.5)), "7.50", "1.5");
    check(&with("/map/b/x", json!("y")), "x = 1", "x = \"y\"");
    check(&with("/map/c", json!(true)), "{ x = 1 }\n", "{ x = 1 }\nc = true\n");
    check(&remove("/map/a"), "a = 7.50\n", "");
    check(&remove("/list/1"), "[ 1, 2 ]", "[ 1]");
    check(&remove("/nothing"), "", "");
}

#[test]
fn text_goes_by_its_lines() {
    let text = "one\r\ntwo\r\nthree";
    check(Form::Text, text, &set("2", "2"), "one\r\n2\r\nthree");
    check(Form::Text, text, &set("2-3", "2\n3"), "one\r\n2\n3");
    check(Form::Text, text, &patch("1"), "\r\ntwo\r\nthree");
    check(Form::Text, text, &remove("1"), "two\r\nthree");
    check(Form::Text, text, &remove("9"), text);
    check(Form::Text, text, &create("3"), text);
    check(Form::Text, text, &create("5"), "one\r\ntwo\r\nthree\r\n\r\n");
    check(Form::Text, text, &set("", "all"), "all");
    check(Form::Text, "a\n", &set("2", "b"), "a\nb");
}

#[test]
fn plain_documents_have_views_of_each_other() {
    let toml = "a = \"x\"\nlist = [1, 2]\n\n[t]\nk = true\n";
    let document = Document::new(Form::Toml, toml);
    assert_eq!(document.view(Format::Hl7).as_deref(), Ok(toml));
    assert_eq!(document.view(Format::Toml).as_deref(), Ok(toml));
    let yaml = document.view(Format::Yaml).unwrap();
    assert_eq!(yaml, "a: \"x\"\nlist:\n  - 1\n  - 2\nt:\n  k: true\n");
    for format in [Format::Json, Format::Yaml, Format::Toml, Format::Hl7] {
        let mut back = Document::new(Form::Toml, format!("# kept\n{toml}"));
        let view = back.view(format).unwrap();
        back.set(&view, format).unwrap();
        assert_eq!(back.text(), format!("# kept\n{toml}"), "what says the same changes nothing");
    }
    let mut json = Document::new(Form::Json, "{}");
    json.set(&yaml, Format::Yaml).unwrap();
    assert_eq!(json.view(Format::Yaml).as_deref(), Ok(yaml.as_str()));
    assert_eq!(json.set("{", Format::Json).unwrap_err().code, code::INVALID_MESSAGE);
    let mut text = Document::new(Form::Text, "hello");
    assert_eq!(text.view(Format::Json).unwrap_err().code, code::INTERNAL);
    assert_eq!(text.set("{}", Format::Json).unwrap_err().code, code::INVALID_MESSAGE);
    text.set("bye", Format::Hl7).unwrap();
    assert_eq!(text.text(), "bye");
}

#[test]
fn forms_are_known_by_name_or_beginning() {
    let cases = [
        ("a.hl7", Form::Hl7),
        ("a.JSON", Form::Json),
        ("a.yml", Form::Yaml),
        ("a.toml", Form::Toml),
        ("a", Form::Text),
    ];
    cases.iter().for_each(|(name, form)| assert_eq!(Form::of(name, ""), *form));
    assert_eq!(Form::of("a.txt", "MSH|^~\\&"), Form::Hl7);
}

#[test]
fn the_work_of_one_request_is_bounded() {
    let mut document = Document::new(Form::Json, format!("[\"{}\"]", "x".repeat(9 << 20)));
    let report = document.patch(&vec![with("/1", json!(1)); 5]).unwrap();
    assert_eq!((report.patches_applied, report.errors.len()), (3, 2));
    assert_eq!(report.errors[0].code, VALIDATION);
}
