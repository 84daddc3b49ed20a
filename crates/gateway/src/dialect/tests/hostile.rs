//! Bytes no honest server sends: never a panic, never an answer out of nothing, nothing after the
//! end.

use super::{ALL, read};
use crate::framing::EVENT_BYTES_MAX;
use althing_chat::Delta;
use althing_stdx::Kind;

/// Values where objects, lists, numbers or texts are expected.
const ODD: &[&str] = &[
    "null",
    "true",
    "-1",
    "1.5",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "[null]",
    "[[[]]]",
    "{\"\":null}",
];

/// Events with a hole for an odd value, of every dialect; each dialect is given all of them.
const HOLES: &[&str] = &[
    "{}",
    r#"{"choices":{}}"#,
    r#"{"choices":[{}]}"#,
    r#"{"choices":[{"delta":{}}]}"#,
    r#"{"choices":[{"delta":{"content":{}}}]}"#,
    r#"{"choices":[{"delta":{"content":[{}]}}]}"#,
    r#"{"choices":[{"delta":{"content":[{"thinking":{}}]}}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":{},"reasoning":{},"refusal":{}}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":{}}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":{},"function":{"name":"f"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"id":{},"function":{"arguments":{}}}]}}]}"#,
    r#"{"choices":[{"finish_reason":{}}]}"#,
    r#"{"usage":{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}}"#,
    r#"{"error":{}}"#,
    r#"{"error":{"message":{},"code":{},"details":{},"metadata":{}}}"#,
    r#"{"type":{}}"#,
    r#"{"type":"content_block_start","index":{},"content_block":{"type":"tool_use"}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{}}"#,
    r#"{"type":"content_block_delta","index":{},"delta":{"partial_json":"{"}}"#,
    r#"{"type":"message_delta","delta":{},"usage":{}}"#,
    r#"{"type":"message_start","message":{}}"#,
    r#"{"candidates":{}}"#,
    r#"{"candidates":[{"content":{},"finishReason":{}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":{},"thought":{}}]}}]}"#,
    r#"{"promptFeedback":{},"usageMetadata":{"promptTokenCount":{}}}"#,
    r#"{"message":{}}"#,
    r#"{"message":{"content":{},"thinking":{},"tool_calls":{}}}"#,
    r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}"#,
    r#"{"done":{},"eval_count":{}}"#,
];

/// Whatever `bytes` are: at most one error, and it or the stop comes last.
#[track_caller]
fn check(bytes: &[u8]) {
    for dialect in ALL {
        for stream in [true, false] {
            let said = read(dialect, stream, [bytes]);
            let ends =
                |item: &althing_stdx::Result<Delta>| matches!(item, Ok(Delta::Stop(_)) | Err(_));
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
            assert_eq!(said.iter().filter(|item| ends(item)).count(), 1, "{shown}");
            assert!(said.last().is_some_and(ends), "{shown}");
        }
    }
}

#[test]
fn odd_values_in_every_place_do_no_harm() {
    for hole in HOLES {
        for odd in ODD {
            let event = hole.replace("{}", odd);
            check(event.as_bytes());
            check(format!("data: {event}\n\ndata: {event}\n\n").as_bytes());
            check(format!("{event}\n{event}\n").as_bytes());
        }
    }
}

#[test]
fn bytes_that_mean_nothing_do_no_harm() {
    let deep = 200_000;
    for text in [
        String::new(),
        "\n\n\n\r\n".into(),
        ":\n\n:\n".into(),
        "data:\n\ndata:\n\n".into(),
        "data: [DONE]".into(),
        "data: [DONE]\n\ndata: {\"error\":\"late\"}\n\n".into(),
        "\u{feff}data: {}\n\n".into(),
        format!("data: {}\n\n", "[".repeat(deep)),
        format!("data: {{\"choices\":{}\n\n", "[{\"delta\":".repeat(deep)),
        format!("{{\"message\":{{\"tool_calls\":{}", "[".repeat(deep)),
        format!("data: {{\"x\":{}{}}}\n\n", "[".repeat(deep), "]".repeat(deep)),
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":{}{}}}}}]}}\n\n",
            "[{\"thinking\":".repeat(deep),
            "}]".repeat(deep)
        ),
    ] {
        check(text.as_bytes());
    }
    check(b"data: \xff\xfe\x00\n\n\xc3");
}

#[test]
fn a_giant_line_is_a_fault() {
    let mut line = b"data: ".to_vec();
    line.resize(EVENT_BYTES_MAX + 7, b'x');
    for dialect in ALL {
        let said = read(dialect, true, line.chunks(1 << 16));
        let [Err(fault)] = &said[..] else { panic!("{}: {said:?}", dialect.name) };
        assert_eq!(fault.kind, Kind::Upstream, "{}", dialect.name);
    }
}

#[test]
fn tool_calls_without_end_are_a_fault() {
    let event = |index: usize, arguments: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\
             \"function\":{{\"name\":\"f\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
        )
    };
    let many: String = (0..100_000).map(|index| event(index, "")).collect();
    let long = event(0, &"x".repeat(1 << 20)).repeat(10);
    for wire in [many, long] {
        let said = read(&super::super::openai::OPENAI, true, [wire.as_bytes()]);
        let [Err(fault)] = &said[..] else { panic!("{} items", said.len()) };
        assert_eq!(fault.kind, Kind::Upstream);
    }
}
