//! Patches on HL7: the cases of the protocol, and a foreign editor beside ours.

use super::*;
use crate::code::{INVALID_PATH, PATH_NOT_FOUND, VALIDATION};

const SHORT: &str = "MSH|^~\\&|A|B\rPID|1||12345||DOE^JOHN\rOBX|1|ST\rOBX|2|ST\r";

/// `before` is `SHORT` with something replaced, and so is `after`.
#[track_caller]
fn check(patch: &Patch, text: &str, from: &str, to: &str) {
    assert!(from.is_empty() || text.contains(from), "{from:?} is in the message");
    let want = if from.is_empty() { text.to_string() } else { text.replacen(from, to, 1) };
    assert_eq!(patched(Form::Hl7, text, patch), Ok(want.clone()));
    assert_eq!(super::model::patched(text, patch), Some(want), "the model agrees");
}

#[test]
fn a_value_is_set_or_cleared() {
    check(&set("PID.3", "9"), SHORT, "12345", "9");
    check(&set("PID.3", ""), SHORT, "12345", "");
    check(&patch("PID.3"), SHORT, "12345", "");
    check(&Patch { value: Some(Value::Null), ..patch("PID.3") }, SHORT, "12345", "");
    check(&set("PID.5.2", "X"), SHORT, "JOHN", "X");
    check(&set("PID-5-2", "X"), SHORT, "JOHN", "X");
    check(&set("PID 05 002", "X"), SHORT, "JOHN", "X");
    check(&set("OBX[2].2", "NM"), SHORT, "OBX|2|ST", "OBX|2|NM");
    check(&set("OBX.2", "NM"), SHORT, "OBX|1|ST", "OBX|1|NM");
    check(&set("MSH.3", "X"), SHORT, "|A|", "|X|");
    check(&set("MSH.4", "X"), SHORT, "|B\r", "|X\r");
}

#[test]
fn missing_parts_are_padded() {
    check(&set("PID.8", "M"), SHORT, "DOE^JOHN", "DOE^JOHN|||M");
    check(&set("MSH.6", "X"), SHORT, "|A|B", "|A|B||X");
    check(&set("PID.5.4", "Jr"), SHORT, "JOHN", "JOHN^^Jr");
    check(&set("PID.5.2.3", "x"), SHORT, "JOHN", "JOHN&&x");
    check(&set("PID.5[3].2", "x"), SHORT, "JOHN", "JOHN~~^x");
    check(&set("OBX[2].4.2.2", "x"), SHORT, "OBX|2|ST", "OBX|2|ST||^&x");
    check(&set("PID.20", ""), SHORT, "", "");
    check(&set("NK1.2.1", "DOE"), "MSH|^~\\&\rNK1\r", "NK1", "NK1||DOE");
}

#[test]
fn a_plain_field_is_component_one() {
    check(&set("PID.3.4", "MRN"), SHORT, "12345", "12345^^^MRN");
    check(&set("PID.3.1.2", "x"), SHORT, "12345", "12345&x");
    let wizard = "MSH|^~\\&\rPID|||||||||||\r";
    check(&set("PID.11.1", "12 Main"), wizard, "|||||||||||", "|||||||||||12 Main");
    let wizard = "MSH|^~\\&\rPID|||||||||||12 Main\r";
    check(&set("PID.11.3", "CITY"), wizard, "12 Main", "12 Main^^CITY");
}

#[test]
fn a_repetition_is_touched_alone() {
    let text = "MSH|^~\\&\rPID|1~2^b~3|x\r";
    check(&set("PID.1[2]", "N"), text, "2^b", "N");
    check(&set("PID.1[2].2", "N"), text, "2^b", "2^N");
    check(&set("PID.1.2", "N"), text, "1~", "1^N~");
    check(&set("PID.1[5]", "N"), text, "3|", "3~~N|");
    check(&remove("PID.1[1]"), text, "|1~", "|~");
    check(&set("PID.1", "N"), text, "1~2^b~3", "N");
}

#[test]
fn remove_clears_a_field_and_removes_one_segment() {
    check(&Patch { remove: true, ..set("PID.3", "ignored") }, SHORT, "12345", "");
    check(&remove("PID.5.1"), SHORT, "DOE", "");
    check(&remove("OBX[2]"), SHORT, "OBX|2|ST\r", "");
    check(&remove("OBX"), SHORT, "OBX|1|ST\r", "");
    check(&remove("ZZZ"), SHORT, "", "");
    check(&remove("OBX[3]"), SHORT, "", "");
    check(&remove("PID"), "MSH|^~\\&\r\n\r\nPID|1", "\r\nPID|1", "");
}

#[test]
fn create_makes_sure_and_adds_none_beyond() {
    check(&create("NK1"), SHORT, "OBX|2|ST\r", "OBX|2|ST\rNK1\r");
    check(&create("NK1[2]"), SHORT, "OBX|2|ST\r", "OBX|2|ST\rNK1\rNK1\r");
    check(&create("OBX"), SHORT, "", "");
    check(&create("OBX[2]"), SHORT, "", "");
    check(&create("OBX[4]"), SHORT, "OBX|2|ST\r", "OBX|2|ST\rOBX\rOBX\r");
    check(&create("PID[2]"), SHORT, "JOHN\r", "JOHN\rPID\r");
    check(&create("MSH"), SHORT, "", "");
    check(&Patch { remove: true, ..create("OBX") }, SHORT, "", "");
    check(&Patch { value: Some("x".into()), ..create("NK1") }, "MSH|^~\\&", "&", "&\rNK1");
    check(&create("NK1"), "MSH|^~\\&\nPID|1", "|1", "|1\nNK1");
    check(&create("NK1"), "MSH|^~\\&\r\nPID|1\r\n\r\n", "|1\r\n", "|1\r\nNK1\r\n");
}

#[test]
fn a_value_is_plain_text() {
    check(
        &set("PID.3", "A^B|C~D&E\\F\r\n#"),
        SHORT,
        "12345",
        "A\\S\\B\\F\\C\\R\\D\\T\\E\\E\\F\\X0D\\\\X0A\\#",
    );
    let five = "MSH|^~\\&#|A\rPID|1\r";
    check(&set("PID.1", "a#b"), five, "|1", "|a\\P\\b");
    check(&set("MSH.3", "X"), five, "|A", "|X");
    let custom = "MSH#*!?%#A\rPID#1\r";
    check(&set("PID.1.2", "a|b*c"), custom, "#1", "#1*a|b?S?c");
    check(&set("PID.1", "Zoë €"), SHORT, "PID|1", "PID|Zoë €");
}

/// Whatever is odd stays, before and behind what changes.
#[test]
fn all_other_bytes_stay() {
    let odd = "MSH|^~\\&|A\r\nPID|1||x|||\r\n\r\nNK1\r\nodd line\r\nlow|1\nZZ|2\r\r\
        OBX|\\T\\|\\.br\\|~~\r";
    check(&set("OBX.2", "v"), odd, "\\.br\\", "v");
    check(&set("PID.3", "v"), odd, "x|||", "v|||");
    check(&remove("NK1"), odd, "NK1\r\n", "");
    check(&create("NK1[2]"), odd, "NK1\r\n", "NK1\r\nNK1\r\n");
    check(&set("low.1", "v"), odd, "low|1", "low|v");
}

#[test]
fn wrong_paths_are_errors() {
    #[rustfmt::skip]
    let cases: &[(Patch, i32, &str)] = &[
        (set("PID.5.1xyz", "x"), INVALID_PATH, "Invalid path \"PID.5.1xyz\": \"xyz\" is too much"),
        (set("PID.5.0", "x"), INVALID_PATH, "Invalid path \"PID.5.0\": numbers begin at 1"),
        (remove("PID.0"), INVALID_PATH, "Invalid path \"PID.0\": numbers begin at 1"),
        (set("PID[0].1", "x"), INVALID_PATH, "Invalid path \"PID[0].1\": numbers begin at 1"),
        (set("PID.10000", "x"), INVALID_PATH, "Invalid path \"PID.10000\": 10000 is over 9999"),
        (create("OBX[99999999999999999999999]"), INVALID_PATH,
            "Invalid path \"OBX[99999999999999999999999]\": 99999999999999999999… is over 9999"),
        (set("PID.5[2", "x"), INVALID_PATH, "Invalid path \"PID.5[2\": \
            expected a number between brackets"),
        (set("PID.", "x"), INVALID_PATH, "Invalid path \"PID.\": expected a number"),
        (set("PID.1.1.1.1", "x"), INVALID_PATH, "Invalid path \"PID.1.1.1.1\": \".1\" is too much"),
        (set("PID.1.1[2]", "x"), INVALID_PATH, "Invalid path \"PID.1.1[2]\": \"[2]\" is too much"),
        (set("", "x"), INVALID_PATH, "Invalid path \"\": \
            expected a segment's name of three letters or digits"),
        (set("Pé.1", "x"), INVALID_PATH, "Invalid path \"Pé.1\": \
            expected a segment's name of three letters or digits"),
        (set("PID", "x"), INVALID_PATH,
            "it names a segment: create or remove it, or name a field to set"),
        (set("MSH.1", "#"), INVALID_PATH, "MSH.1 are the separators and cannot be changed"),
        (set("MSH.2", "#"), INVALID_PATH, "MSH.2 are the separators and cannot be changed"),
        (remove("MSH.2"), INVALID_PATH, "MSH.2 are the separators and cannot be changed"),
        (remove("MSH"), INVALID_PATH, "Cannot remove MSH segment"),
        (create("MSH[2]"), INVALID_PATH, "Cannot create a second MSH segment"),
        (set("ZZZ.1", "x"), PATH_NOT_FOUND, "Segment ZZZ not found"),
        (set("pid.1", "x"), PATH_NOT_FOUND, "Segment pid not found"),
        (set("OBX[3].1", "x"), PATH_NOT_FOUND, "Segment OBX[3] not found"),
        (Patch { create: true, ..set("NK1.1", "x") }, PATH_NOT_FOUND, "Segment NK1 not found"),
        (Patch { value: Some(1.into()), ..patch("PID.1") }, VALIDATION, "value: expected text"),
    ];
    for (patch, code, message) in cases {
        let failed = patched(Form::Hl7, SHORT, patch);
        assert_eq!(failed, Err((*code, message.to_string())), "{patch:?}");
        assert_eq!(super::model::patched(SHORT, patch), None, "the model agrees on {patch:?}");
    }
    let bare = patched(Form::Hl7, "MSH|^\rPID|1\r", &set("PID.1[2]", "x"));
    assert_eq!(bare, Err((PATH_NOT_FOUND, "the message has no separator of repetitions".into())));
    // One character cannot separate two kinds of parts: the second has none.
    let twice = "MSH|^~\\^|A\rPID|a^b\r";
    let bare = patched(Form::Hl7, twice, &set("PID.1.2.2", "x"));
    assert_eq!(bare, Err((PATH_NOT_FOUND, "the message has no separator of subcomponents".into())));
    check(&set("PID.1.2", "x"), twice, "a^b", "a^x");
}

#[test]
fn the_rest_of_a_list_is_applied() {
    let mut document = Document::new(Form::Hl7, SHORT);
    let list = [
        create("NK1"),
        set("NK1.2.1", "DOE"),
        set("NK1.x", ""),
        set("QQQ.1", ""),
        set("NK1.2.2", "J"),
    ];
    let report = document.patch(&list).unwrap();
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        serde_json::json!({
            "success": false,
            "patchesApplied": 3,
            "errors": [
                { "index": 2, "path": "NK1.x", "code": -32005,
                    "message": "Invalid path \"NK1.x\": expected a number" },
                { "index": 3, "path": "QQQ.1", "message": "Segment QQQ not found", "code": -32006 },
            ],
        })
    );
    assert_eq!(document.text(), format!("{SHORT}NK1||DOE^J\r"));
    let none = document.patch(&[]).unwrap();
    assert_eq!(
        serde_json::to_value(none).unwrap(),
        serde_json::json!({ "success": true, "patchesApplied": 0 })
    );
    let many = vec![patch("PID.1"); PATCHES_MAX + 1];
    assert_eq!(document.patch(&many).unwrap_err().code, VALIDATION);
    let empty = Document::new(Form::Hl7, " \r").patch(&[patch("PID.1")]);
    assert_eq!(empty.unwrap_err().code, crate::code::NO_MESSAGE);
}

/// Where others edit without loss, they and we agree.
#[test]
fn a_foreign_editor_agrees() {
    let values = [
        ("PID.1", "9"),
        ("PID.5.2", "X & Y"),
        ("PID.11.3", "TOWN"),
        ("OBX[2].5", "a|b"),
        ("PID.30.2", "z"),
    ];
    for (path, value) in values {
        let mut theirs = hl7_2::parse(ADT).unwrap();
        theirs.set(path, value).unwrap();
        let ours = patched(Form::Hl7, ADT, &set(path, value)).unwrap();
        assert_eq!(ours.trim_end_matches('\r'), theirs.to_er7().trim_end_matches('\r'), "{path}");
    }
}
