//! Recordings of the real programs, and what they do not show.

use super::*;
use expect_test::{Expect, expect, expect_file};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything a call would hand on, as text.
fn play(mut said: Said, out: &str, err: &str, code: i32) -> String {
    let mut deltas = Vec::new();
    for (lines, is_error) in [(out, false), (err, true)] {
        for line in lines.lines() {
            if said.is_failed() {
                break;
            }
            if is_error {
                said.error_line(line)
            } else {
                said.line(line)
            }
            deltas.extend(said.take());
        }
    }
    let done = if said.is_done() { "done\n" } else { "" };
    let trouble = (code != 0).then(|| Fault::new(Kind::Upstream, format!("exit status {code}")));
    let end = said.end(trouble);
    deltas.extend(end.clone().unwrap_or_default());
    let mut text = show(&deltas);
    text.push_str(done);
    if let Err(fault) = end {
        writeln!(text, "{}: {}", fault.kind, fault.message).unwrap();
    }
    text
}

/// Texts are joined, with the number of their deltas.
fn show(deltas: &[Delta]) -> String {
    let (mut shown, mut text, mut pieces) = (String::new(), String::new(), 0);
    let is_text = |delta: &Delta| matches!(delta, Delta::Text(_));
    for (at, delta) in deltas.iter().enumerate() {
        if let Delta::Text(piece) = delta {
            text.push_str(piece);
            pieces += 1;
            if !deltas.get(at + 1).is_some_and(is_text) {
                writeln!(shown, "text in {pieces}: {text:?}").unwrap();
                (text, pieces) = (String::new(), 0);
            }
            continue;
        }
        match delta {
            Delta::Retrying(it) => {
                writeln!(shown, "retry {} {}: {}", it.attempt, it.kind, it.message)
            }
            Delta::Usage(it) => {
                let cost = it.cost_usd().map_or(String::new(), |usd| format!(", ${usd}"));
                writeln!(
                    shown,
                    "usage {:?} in, {:?} out, {:?} cached, {:?} reasoning{cost}",
                    it.input, it.output, it.cached, it.reasoning
                )
            }
            other => writeln!(shown, "{other:?}"),
        }
        .unwrap();
    }
    shown
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/recordings")
}

/// Every recording of a program beside what it says, in a file of the same name.
#[track_caller]
fn check(name: &str) {
    let format = Format::find(name).unwrap();
    let mut files: Vec<_> = fs::read_dir(recordings().join(name)).unwrap().flatten().collect();
    files.sort_by_key(|file| file.file_name());
    let outputs =
        files.iter().map(|file| file.path()).filter(|it| it.extension().unwrap() == "out");
    let mut count = 0;
    for path in outputs {
        let out = fs::read_to_string(&path).unwrap();
        let err = fs::read_to_string(path.with_extension("err")).unwrap_or_default();
        let code = fs::read_to_string(path.with_extension("rc")).unwrap();
        let played = play(Said::new(format, true), &out, &err, code.trim().parse().unwrap());
        expect_file![path.with_extension("said")].assert_eq(&played);
        count += 1;
    }
    assert!(count >= 9, "{count} recordings of {name}");
}

#[test]
fn recordings_of_claude() {
    check("claude");
}

#[test]
fn recordings_of_codex() {
    check("codex");
}

#[test]
fn recordings_of_gemini() {
    check("gemini");
}

#[test]
fn recordings_of_opencode() {
    check("opencode");
}

#[track_caller]
fn says(format: Format, is_live: bool, lines: &[&str], code: i32, expected: &Expect) {
    expected.assert_eq(&play(Said::new(format, is_live), &lines.join("\n"), "", code));
}

const TEXT: &str =
    r#"{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"Yes."}}}"#;
const TOOL: &str =
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}"#;

#[test]
fn claude_with_an_empty_result_has_said_what_it_streamed() {
    let empty = r#"{"type":"result","subtype":"success","is_error":false,"result":""}"#;
    let expected = expect![[r#"
        text in 1: "Yes."
        usage None in, None out, None cached, None reasoning
        Stop(End)
        done
    "#]];
    says(Format::Claude, true, &[TEXT, empty], 0, &expected);
    let message = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Yes."}]}}"#;
    let expected = expect![[r#"
        usage None in, None out, None cached, None reasoning
        text in 1: "Yes."
        Stop(End)
        done
    "#]];
    says(Format::Claude, false, &[message, empty], 0, &expected);
}

#[test]
fn claude_in_one_array() {
    let whole = r#"[{"type":"system","subtype":"init"},
        {"type":"result","is_error":false,"result":"Yes.","usage":{"input_tokens":2,
        "cache_read_input_tokens":3,"cache_creation_input_tokens":5,"output_tokens":7}}]"#;
    let expected = expect![[r#"
        usage Some(10) in, Some(7) out, Some(3) cached, None reasoning
        text in 1: "Yes."
        Stop(End)
        done
    "#]];
    says(Format::Claude, true, &[&whole.replace('\n', " ")], 0, &expected);
}

#[test]
fn what_is_said_between_tools_is_no_part_of_the_answer() {
    let result = r#"{"type":"result","is_error":false,"result":"Yes."}"#;
    let first = TEXT.replace("Yes.", "Let me look.");
    let expected = expect![[r#"
        Reasoning("Let me look.")
        usage None in, None out, None cached, None reasoning
        text in 1: "Yes."
        Stop(End)
        done
    "#]];
    says(Format::Claude, false, &[&first, TOOL, TEXT, result], 0, &expected);
    let item = |text: &str| {
        format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}"#)
    };
    let end = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let expected = expect![[r#"
        Reasoning("Let me look.")
        usage Some(1) in, Some(2) out, None cached, None reasoning
        text in 1: "Yes."
        Stop(End)
        done
    "#]];
    says(Format::Codex, true, &[&item("Let me look."), &item("Yes."), end], 0, &expected);
}

#[test]
fn a_good_answer_and_a_bad_exit_are_both_told() {
    let expected = expect![[r#"
        text in 1: "{\"a\": 1}\n"
        Stop(Other("exit status 1"))
    "#]];
    says(Format::Text, true, &["{\"a\": 1}"], 1, &expected);
    let expected = expect![[r#"
        text in 1: "Yes."
        Stop(Other("exit status 1"))
    "#]];
    says(Format::Claude, true, &["noise { not json", TEXT], 1, &expected);
}

#[test]
fn plain_output_that_was_cut_says_so() {
    let line = "x".repeat(TEXT_HALF_BYTES_MAX - 1);
    for (lines, code, want) in [(2, 0, Stop::End), (3, 0, Stop::Length), (3, 1, Stop::Length)] {
        let out = vec![&*line; lines].join("\n");
        let told = play(Said::new(Format::Text, true), &out, "", code);
        assert!(told.ends_with(&format!("Stop({want:?})\n")), "{lines} lines");
    }
}

#[test]
fn what_cannot_be_read_explains_the_silence() {
    let expected = expect![[r#"
        bad_key: exit status 1: Error: Not logged in
    "#]];
    says(Format::Claude, true, &["starting", "Error: Not logged in", "bye"], 1, &expected);
    let expected = expect![[r#"
        refused: it ended without an answer
    "#]];
    says(Format::Codex, true, &["{}", "[]", "7", "\"x\"", "{\"type\":7}"], 0, &expected);
    says(Format::Text, true, &["", "  "], 0, &expected);
}

#[test]
fn gemini_as_one_object() {
    let whole = r#"{"response":"Yes.","stats":{"models":{
        "a":{"tokens":{"prompt":5,"candidates":2,"cached":1,"thoughts":3}},
        "b":{"tokens":{"prompt":1,"candidates":1}}}}}"#;
    let expected = expect![[r#"
        usage Some(6) in, Some(6) out, Some(1) cached, Some(3) reasoning
        text in 1: "Yes."
        Stop(End)
        done
    "#]];
    says(Format::Gemini, true, &[&whole.replace('\n', " ")], 0, &expected);
}

#[test]
fn steps_of_opencode_add_up() {
    let step = |reason: &str| {
        format!(
            r#"{{"type":"step_finish","part":{{"reason":"{reason}","tokens":{{"input":5,
            "output":2,"reasoning":1,"cache":{{"read":3,"write":1}}}}}}}}"#
        )
        .replace('\n', " ")
    };
    let text = r#"{"type":"text","part":{"text":"Yes."}}"#;
    let expected = expect![[r#"
        usage Some(9) in, Some(3) out, Some(3) cached, Some(1) reasoning
        text in 1: "Yes."
        usage Some(18) in, Some(6) out, Some(6) cached, Some(2) reasoning
        Stop(End)
        done
    "#]];
    says(Format::OpenCode, true, &[&step("tool-calls"), text, &step("stop")], 0, &expected);
}

#[test]
fn an_answer_without_end_is_a_failure() {
    let mut said = Said::new(Format::Claude, true);
    let long = TEXT.replace("Yes.", &"x".repeat(300_000));
    (0..4).for_each(|_| said.line(&long));
    assert!(said.is_failed());
    let fault = said.end(None).unwrap_err();
    assert_eq!(fault.message, "the answer is longer than 1048576 bytes");
}

#[test]
fn one_that_tries_again_is_told_for_what_it_tried() {
    let retry =
        r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}"#;
    let mut said = Said::new(Format::Codex, true);
    said.line(retry);
    assert!(said.is_retrying());
    said.line(r#"{"type":"item.started"}"#);
    assert!(said.is_retrying(), "nothing new was said");
    let late = said.late(Fault::new(Kind::TimedOut, "was not done within 5s"));
    assert_eq!(
        (late.kind, &*late.message),
        (Kind::Network, "was not done within 5s; Connection failed")
    );
    said.line(retry);
    said.line(r#"{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}"#);
    assert!(!said.is_retrying());
}

/// No line of any recording, cut anywhere, is more than noise.
#[test]
fn lines_that_are_cut_do_no_harm() {
    for name in ["claude", "codex", "gemini", "opencode"] {
        let out = fs::read_to_string(recordings().join(name).join("answer.out")).unwrap();
        for line in out.lines() {
            for cut in (0..line.len()).filter(|cut| line.is_char_boundary(*cut)).step_by(7) {
                let mut said = Said::new(Format::find(name).unwrap(), true);
                said.line(&line[..cut]);
                assert_eq!(said.take(), [], "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn a_value_over_many_lines_is_one_event() {
    let pretty = r#"Loaded cached credentials.
{
  "response": "Yes.\nIt {is}.",
  "stats": {
    "models": {}
  }
}"#;
    let lines: Vec<&str> = pretty.lines().collect();
    says(
        Format::Gemini,
        true,
        &lines,
        0,
        &expect![[r#"
            usage None in, None out, None cached, None reasoning
            text in 1: "Yes.\nIt {is}."
            Stop(End)
            done
        "#]],
    );
    let error =
        "{\n  \"error\": {\n    \"message\": \"API key not valid\",\n    \"code\": 41\n  }\n}";
    let played = play(Said::new(Format::Gemini, true), "", error, 41);
    assert_eq!(played, "bad_key: exit status 41: API key not valid\n");
}

#[test]
fn a_refusal_in_plain_words_is_no_answer() {
    let refusal = "I'm sorry, but I can't help with that.";
    let played = play(Said::new(Format::Text, true), refusal, "", 0);
    assert_eq!(played, format!("refused: the model declined to answer: {refusal}\n"));
}
