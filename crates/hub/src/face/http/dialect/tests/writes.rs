//! Deltas as bytes. The gateway's own readers, which are tested against recordings of the real
//! providers, must get back what was said, however the bytes are cut.

use super::super::{Dialect, Echo, Head, anthropic, openai, responses};
use althing_chat::{Answer, Delta, Stop, ToolCall, Usage};
use althing_stdx::{Fault, Kind};
use expect_test::{Expect, expect};
use serde_json::Value;

fn head() -> Head {
    let echo = Echo {
        include_usage: true,
        thinking: true,
        custom: vec!["patch".into()],
        ..Echo::default()
    };
    Head { id: "1".into(), model: "m".into(), created: 7, echo }
}

fn call(id: &str, name: &str, arguments: &str) -> Delta {
    let (id, name, arguments) = (id.into(), name.into(), arguments.into());
    Delta::ToolCall(ToolCall { id, name, arguments, signature: None })
}

/// Thinking, two pieces of text, two calls, in an order that makes every block begin and end.
fn speech() -> Vec<Delta> {
    let usage = Usage { input: Some(10), output: Some(4), cached: Some(3), ..Usage::default() };
    vec![
        Delta::Queued,
        Delta::Started,
        Delta::Reasoning("hm".into()),
        Delta::Text("one ".into()),
        Delta::Text("\"zwei\"\n→".into()),
        call("c1", "f", r#"{"x":1}"#),
        call("c2", "g", "{}"),
        Delta::Usage(usage),
        Delta::Stop(Stop::ToolCalls),
    ]
}

fn stream(dialect: &Dialect, deltas: Vec<Delta>) -> String {
    let (mut writer, mut out) = ((dialect.writer)(head()), String::new());
    deltas.into_iter().for_each(|delta| writer.delta(delta, &mut out));
    out
}

fn answer(deltas: Vec<Delta>) -> Answer {
    let mut answer = Answer::default();
    deltas.into_iter().for_each(|delta| answer.add(delta));
    answer
}

/// What the gateway's reader makes of `bytes` in two pieces.
fn read_back(dialect: &Dialect, streamed: bool, bytes: &[u8], cut: usize) -> Answer {
    let mut reader = (dialect.upstream.reader)(streamed);
    let (head, tail) = bytes.split_at(cut);
    let mut deltas = reader.feed(head);
    deltas.extend(reader.feed(tail));
    deltas.extend(reader.end());
    let mut got = answer(deltas.into_iter().map(|delta| delta.unwrap()).collect());
    // What nobody counted is written as 0.
    let counted = |reasoning: &u64| *reasoning > 0;
    got.usage = got.usage.map(|it| Usage { reasoning: it.reasoning.filter(counted), ..it });
    got
}

#[track_caller]
fn check_read_back(dialect: &Dialect, deltas: &[Delta]) {
    let want = answer(deltas.to_vec());
    let bytes = stream(dialect, deltas.to_vec());
    for cut in 0..=bytes.len() {
        let got = read_back(dialect, true, bytes.as_bytes(), cut);
        assert_eq!(got, want, "{} cut at {cut}", dialect.path);
    }
    let whole = (dialect.writer)(head()).whole(&want).to_string();
    assert_eq!(read_back(dialect, false, whole.as_bytes(), 0), want, "{whole}");
}

#[test]
fn the_readers_get_back_what_was_said() {
    for dialect in [&openai::DIALECT, &anthropic::DIALECT] {
        check_read_back(dialect, &speech());
        for stop in [Stop::End, Stop::Length] {
            let usage =
                Usage { input: Some(1), output: Some(1), cached: Some(0), ..Usage::default() };
            let deltas = [Delta::Text("x".into()), Delta::Usage(usage), Delta::Stop(stop)];
            check_read_back(dialect, &deltas);
        }
    }
}

/// The events of a stream, by name and by what tells them apart.
fn outline(stream: &str) -> String {
    let mut out = String::new();
    for event in stream.split("\n\n").filter(|event| !event.is_empty()) {
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let name = event.lines().find_map(|line| line.strip_prefix("event: "));
        let data: Value = serde_json::from_str(data).unwrap_or_else(|_| data.into());
        if let Some(name) = name {
            assert_eq!(data["type"], name, "the name is said twice");
        }
        let brief = match name {
            None => data.to_string(),
            Some(name) => {
                let place = data.get("index").or(data.get("output_index"));
                let kind = ["item", "content_block", "delta", "part"]
                    .iter()
                    .find_map(|key| data[*key]["type"].as_str());
                let place = place.map_or(String::new(), |it| format!(" {it}"));
                format!("{name}{place} {}", kind.unwrap_or("")).trim_end().to_string()
            }
        };
        out += &brief;
        out.push('\n');
    }
    out
}

#[track_caller]
fn check_outline(dialect: &Dialect, deltas: Vec<Delta>, want: Expect) {
    want.assert_eq(&outline(&stream(dialect, deltas)));
}

#[test]
fn openai_ends_with_usage_and_done() {
    let deltas = vec![
        Delta::Text("x".into()),
        call("c", "f", "{}"),
        Delta::Usage(Usage { input: Some(2), output: Some(1), ..Usage::default() }),
        Delta::Stop(Stop::End),
    ];
    check_outline(
        &openai::DIALECT,
        deltas,
        expect![[r#"
        {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}
        {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":null}
        {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"index":0}]},"finish_reason":null}],"usage":null}
        {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}
        {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}
        "[DONE]"
    "#]],
    );
}

#[test]
fn anthropic_starts_and_stops_every_block_in_order() {
    check_outline(
        &anthropic::DIALECT,
        speech(),
        expect![[r#"
        message_start
        content_block_start 0 thinking
        ping
        content_block_delta 0 thinking_delta
        content_block_delta 0 signature_delta
        content_block_stop 0
        content_block_start 1 text
        content_block_delta 1 text_delta
        content_block_delta 1 text_delta
        content_block_stop 1
        content_block_start 2 tool_use
        content_block_delta 2 input_json_delta
        content_block_stop 2
        content_block_start 3 tool_use
        content_block_delta 3 input_json_delta
        content_block_stop 3
        message_delta
        message_stop
    "#]],
    );
    check_outline(
        &anthropic::DIALECT,
        vec![Delta::Stop(Stop::End)],
        expect![[r#"
        message_start
        message_delta
        message_stop
    "#]],
    );
}

#[test]
fn responses_announces_fills_and_finishes_every_item() {
    let mut deltas = speech();
    deltas.insert(7, call("c3", "patch", r#"{"input":"+x"}"#));
    check_outline(
        &responses::DIALECT,
        deltas.clone(),
        expect![[r#"
        response.created
        response.in_progress
        response.output_item.added 0 reasoning
        response.reasoning_summary_part.added 0 summary_text
        response.reasoning_summary_text.delta 0
        response.reasoning_summary_text.done 0
        response.reasoning_summary_part.done 0 summary_text
        response.output_item.done 0 reasoning
        response.output_item.added 1 message
        response.content_part.added 1 output_text
        response.output_text.delta 1
        response.output_text.delta 1
        response.output_text.done 1
        response.content_part.done 1 output_text
        response.output_item.done 1 message
        response.output_item.added 2 function_call
        response.function_call_arguments.delta 2
        response.function_call_arguments.done 2
        response.output_item.done 2 function_call
        response.output_item.added 3 function_call
        response.function_call_arguments.delta 3
        response.function_call_arguments.done 3
        response.output_item.done 3 function_call
        response.output_item.added 4 custom_tool_call
        response.custom_tool_call_input.delta 4
        response.custom_tool_call_input.done 4
        response.output_item.done 4 custom_tool_call
        response.completed
    "#]],
    );
    check_last_is_whole(deltas);
}

/// The last event has the same response as an answer that is not streamed, and events are counted.
#[track_caller]
fn check_last_is_whole(deltas: Vec<Delta>) {
    let text = stream(&responses::DIALECT, deltas.clone());
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    let whole = (responses::DIALECT.writer)(head()).whole(&answer(deltas));
    assert_eq!(events.last().unwrap()["response"], whole);
    assert_eq!(whole["output"][1]["content"][0]["text"], "one \"zwei\"\n→");
    assert_eq!(whole["output"][4]["input"], "+x");
    assert_eq!(whole["usage"]["total_tokens"], 14);
}

#[test]
fn responses_says_what_cut_it() {
    let deltas = vec![Delta::Text("x".into()), Delta::Stop(Stop::Length)];
    let text = stream(&responses::DIALECT, deltas);
    assert!(text.contains("event: response.incomplete\n"), "{text}");
    assert!(text.contains(r#""incomplete_details":{"reason":"max_output_tokens"}"#), "{text}");
}

#[test]
fn thinking_is_shown_to_whoever_asked_for_it() {
    let mut writer = (anthropic::DIALECT.writer)(Head::default());
    let mut out = String::new();
    writer.delta(Delta::Reasoning("hm".into()), &mut out);
    assert_eq!(out, "");
}

#[test]
fn an_error_in_the_middle() {
    let fault = Fault::new(Kind::Overloaded, "too busy");
    for (dialect, want) in [
        (&openai::DIALECT, r#"data: {"error":{"message":"too busy","type":"server_error""#),
        (&anthropic::DIALECT, "event: error\ndata: {\"type\":\"error\""),
        (&responses::DIALECT, "event: response.failed\n"),
    ] {
        let (mut writer, mut out) = ((dialect.writer)(head()), String::new());
        writer.delta(Delta::Text("x".into()), &mut out);
        let before = out.len();
        writer.fault(&fault, &mut out);
        assert!(out[before..].starts_with(want), "{}", &out[before..]);
    }
}
