//! Views: what extensions see, and that it comes back as it went.

use super::*;
use expect_test::{Expect, expect};

/// What goes out as a view and comes back is the same message: for the document itself, bytes and
/// all, and for an empty one as far as the view goes.
#[track_caller]
pub(super) fn check_identity(text: &str) {
    for format in [Format::Hl7, Format::Json, Format::Yaml, Format::Toml] {
        let document = Document::new(Form::Hl7, text);
        let view = document.view(format).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        let mut back = document.clone();
        back.set(&view, format).unwrap_or_else(|error| panic!("{format:?}: {error}\n{view}"));
        assert_eq!(back, document, "{format:?} of {text:?}");
        let mut fresh = Document::new(Form::Hl7, "");
        fresh.set(&view, format).unwrap_or_else(|error| panic!("{format:?}: {error}\n{view}"));
        assert_eq!(fresh.view(format).as_ref(), Ok(&view), "{format:?} of {text:?}");
        let json = |it: &Document| it.view(Format::Json);
        assert_eq!(json(&fresh), json(&document), "{format:?} of {text:?}");
    }
}

#[test]
fn every_message_comes_back_as_it_went() {
    MESSAGES.iter().for_each(|text| check_identity(text));
}

#[track_caller]
fn check(text: &str, format: Format, want: Expect) {
    want.assert_eq(&Document::new(Form::Hl7, text).view(format).unwrap());
}

const SMALL: &str = "MSH|^~\\&|A||00123\rPID|2024-01-01||A~~B^C|x&y|\\T\\\rNK1\r";

#[test]
fn the_tree_as_json() {
    check(
        SMALL,
        Format::Json,
        expect![[r#"
        {
          "segments": [
            {
              "segment": "MSH",
              "fields": {
                "1": "|",
                "2": "^~\\&",
                "3": "A",
                "5": "00123"
              }
            },
            {
              "segment": "PID",
              "fields": {
                "1": "2024-01-01",
                "3": [
                  "A",
                  null,
                  {
                    "1": "B",
                    "2": "C"
                  }
                ],
                "4": {
                  "1": {
                    "1": "x",
                    "2": "y"
                  }
                },
                "5": "\\T\\"
              }
            },
            {
              "segment": "NK1",
              "fields": {}
            }
          ]
        }"#]],
    );
}

#[test]
fn the_tree_as_yaml() {
    check(
        SMALL,
        Format::Yaml,
        expect![[r#"
        segments:
          - segment: "MSH"
            fields:
              1: "|"
              2: "^~\\&"
              3: "A"
              5: "00123"
          - segment: "PID"
            fields:
              1: "2024-01-01"
              3:
                - "A"
                - null
                - 1: "B"
                  2: "C"
              4:
                1:
                  1: "x"
                  2: "y"
              5: "\\T\\"
          - segment: "NK1"
            fields: {}
    "#]],
    );
}

#[test]
fn the_tree_as_toml() {
    check(
        SMALL,
        Format::Toml,
        expect![[r#"
        [[segments]]
        segment = "MSH"

        [segments.fields]
        1 = "|"
        2 = '^~\&'
        3 = "A"
        5 = "00123"

        [[segments]]
        segment = "PID"

        [segments.fields]
        1 = "2024-01-01"
        3 = ["A", "", { 1 = "B", 2 = "C" }]
        5 = '\T\'

        [segments.fields.4]

        [segments.fields.4.1]
        1 = "x"
        2 = "y"

        [[segments]]
        segment = "NK1"

        [segments.fields]
    "#]],
    );
}

/// A change in the tree changes its field and nothing else.
#[test]
fn a_changed_tree_changes_what_it_says() {
    let change = |text: &str, edit: fn(&mut Value)| {
        let mut document = Document::new(Form::Hl7, text);
        let mut tree: Value = serde_json::from_str(&document.view(Format::Json).unwrap()).unwrap();
        edit(&mut tree);
        document.set(&tree.to_string(), Format::Json).unwrap();
        document.text
    };
    let odd = "MSH|^~\\&|A\r\nPID|1||x^|||\r\n\r\nNK1|1^^|\r\nZZ\r\n";
    let set = |tree: &mut Value| tree["segments"][2]["fields"]["3"] = "a|b\\T\\".into();
    assert_eq!(change(odd, set), odd.replace("NK1|1^^|", "NK1|1^^||a\\F\\b\\T\\"));
    let remove = |tree: &mut Value| drop(tree["segments"].as_array_mut().unwrap().remove(1));
    assert_eq!(change(odd, remove), odd.replace("PID|1||x^|||\r\n", ""));
    let last = |tree: &mut Value| drop(tree["segments"].as_array_mut().unwrap().pop());
    assert_eq!(change("MSH|^~\\&\rPID|1", last), "MSH|^~\\&");
    let add = |tree: &mut Value| {
        let fields = serde_json::json!({ "1": 1, "x": 2, "3": { "2": true } });
        let new = serde_json::json!({ "segment": "OBX", "fields": fields });
        tree["segments"].as_array_mut().unwrap().insert(2, new);
    };
    assert_eq!(change(odd, add), odd.replace("NK1", "OBX|1||^true\r\nNK1"));
    let append = |tree: &mut Value| {
        tree["segments"].as_array_mut().unwrap().push(serde_json::json!({ "segment": "OBX" }));
    };
    assert_eq!(change(odd, append), odd.to_string().replace("ZZ\r\n", "ZZ\r\nOBX\r\n"));
    assert_eq!(change("MSH|^~\\&\rPID|1", append), "MSH|^~\\&\rPID|1\rOBX");
}

/// As other programs write it: keys and values without quotes.
#[test]
fn bare_scalars_stay_what_is_written() {
    let mut document = Document::new(Form::Hl7, "MSH|^~\\&");
    let yaml = "segments:\n- segment: MSH\n  fields: {1: '|', 2: ^~\\&}\n\
        - segment: PID\n  fields:\n    \
        1: 00123\n    2: 2024-01-01\n    3: 1.10\n    4: [a, ~, null, b]\n    5: {2: yes}\n";
    document.set(yaml, Format::Yaml).unwrap();
    assert_eq!(document.text(), "MSH|^~\\&\rPID|00123|2024-01-01|1.10|a~~~b|^yes");
    let toml = "[[segments]]\nsegment = 'MSH'\n[segments.fields]\n1 = '|'\n\
        [[segments]]\nsegment = 'PID'\n\
        [segments.fields]\n1 = 7\n2 = 2024-01-01\n3 = ['a', '', {2 = 'b'}]\n";
    document.set(toml, Format::Toml).unwrap();
    assert_eq!(document.text(), "MSH|^~\\&\rPID|7|2024-01-01|a~~^b||");
}

#[test]
fn what_is_no_message_is_refused() {
    let msh = |fields: &str| format!(r#"{{"segments":[{{"segment":"MSH","fields":{fields}}}]}}"#);
    let after = |segment: &str| format!(r#"{{"segments":[{{"segment":"MSH"}},{segment}]}}"#);
    let blank = "a letter, digit, blank or control character separates nothing";
    let letter = format!("Invalid HL7 message: MSH.1: {blank}");
    let cases: &[(&str, Format, &str)] = &[
        ("", Format::Hl7, "Message is empty"),
        ("PID|1", Format::Hl7, "Message must start with MSH segment"),
        ("MSH", Format::Hl7, "Invalid HL7 message: no field separator after MSH"),
        ("MSHA", Format::Hl7, &letter),
        (r#"{"PID":{"1":"x"}}"#, Format::Json, "expected an object with a list of segments"),
        (r#"{"segments":[]}"#, Format::Json, "Message is empty"),
        (r#"{"segments":[{}]}"#, Format::Json, "Message must start with MSH segment"),
        (&msh(r#"{"1":"||"}"#), Format::Json, "MSH.1: expected one character"),
        (&msh(r#"{"3":{"x":"1"}}"#), Format::Json, "MSH.3: \"x\" is no number of a component"),
        (&msh(r#"{"3":{"0":"1"}}"#), Format::Json, "MSH.3: expected a number from 1 to 9999"),
        (&msh(r#"{"99999":"1"}"#), Format::Json, "MSH.99999: expected a number from 1 to 9999"),
        (&msh(r#"{"3":[["a"]]}"#), Format::Json, "MSH.3: expected text"),
        (&after(r#"{"segment":"A\rB"}"#), Format::Json, "segment: \"A\\rB\" is no name"),
        (&after("{}"), Format::Json, "segment: expected the name of a segment"),
        ("segments: &a [*a]", Format::Yaml, "anchors, aliases and tags are not supported"),
    ];
    for (given, format, message) in cases {
        let mut document = Document::new(Form::Hl7, ADT);
        let error = document.set(given, *format).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (code::INVALID_MESSAGE, *message),
            "{given}"
        );
        assert_eq!(document.text(), ADT);
    }
    let empty = Document::new(Form::Hl7, "");
    assert_eq!(empty.view(Format::Hl7), Ok(String::new()));
    assert_eq!(empty.view(Format::Json).unwrap_err().code, code::NO_MESSAGE);
    let garbage = Document::new(Form::Hl7, "garbage");
    assert_eq!(garbage.view(Format::Hl7), Ok("garbage".into()));
    assert_eq!(garbage.view(Format::Json).unwrap_err().code, code::INTERNAL);
}

/// As many parts as can be named come back; with more there is only the text.
#[test]
fn a_part_without_a_number_has_no_view() {
    for separator in ["|", "^", "&"] {
        let text = |count: usize| format!("MSH|^~\\&\rPID|{}x\r", separator.repeat(count));
        let most = INDEX_MAX - 1;
        check_identity(&text(most));
        let wide = Document::new(Form::Hl7, text(most + 1));
        assert_eq!(wide.view(Format::Json).unwrap_err().code, code::INTERNAL, "{separator}");
        assert_eq!(wide.view(Format::Hl7).as_deref(), Ok(wide.text()));
    }
}
