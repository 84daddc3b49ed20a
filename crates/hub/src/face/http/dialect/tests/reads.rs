//! What a body asks for, and which field is to blame where it cannot be had.

use super::super::{Dialect, anthropic, completions, openai, responses};
use althing_chat::{Ask, Role, Sampling};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// An ask for people to read: one line per message, then what else is set.
fn shown(ask: &Ask) -> String {
    let mut out = String::new();
    for message in &ask.messages {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        let id = message.tool_call_id.as_ref().map_or(String::new(), |id| format!("({id})"));
        out += &format!("{role}{id}: {:?}\n", message.text);
        for it in &message.attachments {
            let kind = it.media_type.as_deref().unwrap_or("any");
            out += &format!("  at {} {:?} {kind} {:?} ({})\n", it.at, it.kind, it.source, it.name);
        }
        for call in &message.tool_calls {
            out += &format!("  calls {} {}({})\n", call.id, call.name, call.arguments);
        }
    }
    for tool in &ask.tools {
        out += &format!("tool {} {:?} {}\n", tool.name, tool.description, tool.parameters);
    }
    if let Some(choice) = &ask.tool_choice {
        out += &format!("must call {choice:?}\n");
    }
    for stop in &ask.stop {
        out += &format!("stops at {stop:?}\n");
    }
    if let Some(format) = &ask.format {
        out += &format!("as {}\n", serde_json::to_string(format).unwrap());
    }
    let Ask { max_tokens, temperature, effort, stream, .. } = ask;
    out + &format!("{max_tokens:?} {temperature:?} {effort:?} stream={stream}\n")
}

#[track_caller]
fn check(dialect: &Dialect, body: Value, want: Expect) {
    match (dialect.read)(&body) {
        Ok(wanted) => want.assert_eq(&shown(&wanted.ask)),
        Err(fault) => panic!("{fault}"),
    }
}

#[track_caller]
fn check_refused(dialect: &Dialect, cases: &[(Value, &str)]) {
    for (body, field) in cases {
        let fault = (dialect.read)(body).expect_err(&body.to_string());
        assert_eq!(fault.message.split(": ").next(), Some(*field), "{body}: {fault}");
    }
}

#[test]
fn openai_with_everything() {
    let body = json!({
        "model": "m", "stream": true, "max_completion_tokens": 9, "temperature": 0.5,
        "reasoning_effort": "low", "tool_choice": "auto", "n": 1, "stop": null, "top_p": 1,
        "stream_options": { "include_usage": true }, "response_format": { "type": "text" },
        "messages": [
            { "role": "developer", "content": "d" },
            { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{\"x\":1}" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "r" },
        ],
        "tools": [
            { "type": "function", "function": { "name": "f", "description": "F.", "parameters": { "type": "object" } } },
            { "type": "function", "function": { "name": "g" } },
        ],
    });
    assert!((openai::DIALECT.read)(&body).unwrap().echo.include_usage);
    check(
        &openai::DIALECT,
        body,
        expect![[r#"
        system: "d"
        user: "ab"
        assistant: ""
          calls c1 f({"x":1})
        tool(c1): "r"
        tool f "F." {"type":"object"}
        tool g "" {"type":"object","properties":{}}
        Some(9) Some(0.5) Some("low") stream=true
    "#]],
    );
}

#[test]
fn openai_names_the_field() {
    let with = |field: &str, value: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "x" }] });
        body[field] = value;
        body
    };
    let said = |message: Value| with("messages", json!([message]));
    check_refused(
        &openai::DIALECT,
        &[
            (json!([]), "the body must be a JSON object"),
            (json!({}), "messages"),
            (with("messages", json!("x")), "messages"),
            (with("messages", json!([7])), "messages[0].role"),
            (said(json!({ "role": "robot", "content": "x" })), "messages[0].role"),
            (said(json!({ "role": "user", "content": 7 })), "messages[0].content"),
            (
                said(
                    json!({ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }),
                ),
                "messages[0].content[0].image_url.url",
            ),
            (
                said(
                    json!({ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "file:///x" } }] }),
                ),
                "messages[0].content[0].image_url.url",
            ),
            (
                said(json!({ "role": "user", "content": [{ "type": "input_audio" }] })),
                "messages[0].content[0].type",
            ),
            (
                said(
                    json!({ "role": "user", "content": [{ "type": "file", "file": { "file_data": "data:text/plain;base64,AA" } }] }),
                ),
                "messages[0].content[0].file.file_data",
            ),
            (
                said(
                    json!({ "role": "system", "content": [{ "type": "image_url", "image_url": { "url": "https://x" } }] }),
                ),
                "messages[0].content[0]",
            ),
            (said(json!({ "role": "tool", "content": "x" })), "messages[0].tool_call_id"),
            (
                said(json!({ "role": "assistant", "tool_calls": [{ "id": "c", "function": {} }] })),
                "messages[0].tool_calls[0].function.name",
            ),
            (with("n", json!(2)), "n"),
            (with("stop", json!(7)), "stop"),
            (with("stop", json!(["x", null])), "stop[1]"),
            (with("response_format", json!({ "type": "xml" })), "response_format.type"),
            (
                with("response_format", json!({ "type": "json_schema", "json_schema": {} })),
                "response_format.json_schema.schema",
            ),
            (with("logprobs", json!(true)), "logprobs"),
            (with("audio", json!({})), "audio"),
            (with("functions", json!([])), "functions"),
            (with("max_tokens", json!(-1)), "max_tokens"),
            (with("temperature", json!("hot")), "temperature"),
            (with("stream", json!(1)), "stream"),
            (with("tools", json!([{ "type": "web" }])), "tools[0].type"),
            (with("tools", json!([{ "type": "function" }])), "tools[0].function.name"),
            (with("tool_choice", json!("sometimes")), "tool_choice"),
            (with("tool_choice", json!({ "type": "allowed_tools" })), "tool_choice.type"),
            (with("tool_choice", json!({ "type": "function" })), "tool_choice.function.name"),
        ],
    );
}

#[test]
fn tools_that_may_not_be_used_are_still_shown() {
    let tools = json!([{ "type": "function", "function": { "name": "f" } }]);
    let messages = json!([{ "role": "user", "content": "x" }]);
    let body = json!({ "messages": messages, "tools": tools, "tool_choice": "none" });
    check(
        &openai::DIALECT,
        body,
        expect![[r#"
        user: "x"
        tool f "" {"type":"object","properties":{}}
        must call None
        None None None stream=false
    "#]],
    );
}

#[test]
fn pictures_and_documents_are_read_from_every_language() {
    let url = "data:image/png;base64,AAAA";
    let user = |content: Value| json!([{ "role": "user", "content": content }]);
    let file = json!({ "filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB" });
    check(
        &openai::DIALECT,
        json!({ "messages": user(json!([
            { "type": "text", "text": "one" },
            { "type": "image_url", "image_url": { "url": url, "detail": "low" } },
            { "type": "text", "text": "two" },
            { "type": "file", "file": file },
        ])) }),
        expect![[r#"
            user: "onetwo"
              at 3 Image image/png Base64("AAAA") (messages[0].content[1])
              at 6 Document application/pdf Base64("BBBB") (messages[0].content[3])
            None None None stream=false
        "#]],
    );
    check(
        &responses::DIALECT,
        json!({ "input": [
            { "role": "user", "content": [
                { "type": "input_image", "image_url": "https://x/y" },
                { "type": "input_file", "file_data": "BBBB" },
                { "type": "input_file", "file_url": "https://x/z.pdf" },
            ] },
            { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c", "output": [
                { "type": "input_image", "image_url": url },
            ] },
        ] }),
        expect![[r#"
            user: ""
              at 0 Image any Url("https://x/y") (input[0].content[0])
              at 0 Document application/pdf Base64("BBBB") (input[0].content[1])
              at 0 Document any Url("https://x/z.pdf") (input[0].content[2])
            assistant: ""
              calls c f({})
            tool(c): ""
              at 0 Image image/png Base64("AAAA") (input[2].output[0])
            None None None stream=false
        "#]],
    );
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/gif", "data": "AAAA" } });
    let document = |source: Value| json!({ "type": "document", "source": source });
    check(
        &anthropic::DIALECT,
        json!({ "messages": [
            { "role": "user", "content": [
                image,
                document(json!({ "type": "url", "url": "https://x/y.pdf" })),
                document(json!({ "type": "text", "media_type": "text/plain", "data": "words" })),
            ] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "f", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "is_error": true, "content": [
                { "type": "text", "text": "seen" }, image,
            ] }] },
        ] }),
        expect![[r#"
            user: "words"
              at 0 Image image/gif Base64("AAAA") (messages[0].content[0])
              at 0 Document any Url("https://x/y.pdf") (messages[0].content[1])
            assistant: ""
              calls t f({})
            tool(t): "Error: seen"
              at 11 Image image/gif Base64("AAAA") (messages[2].content[0].content[1])
            None None None stream=false
        "#]],
    );
}

#[test]
fn what_nobody_reads_is_named() {
    let ignored = |dialect: &Dialect, body: Value| (dialect.read)(&body).unwrap().ignored;
    let messages = json!([{ "role": "user", "content": "x" }]);
    let chat = json!({ "model": "m", "messages": messages, "logit_bias": { "1": 2 }, "store": false, "metadata": {}, "verbosity": "low" });
    assert_eq!(ignored(&openai::DIALECT, chat), ["logit_bias", "verbosity"]);
    let tools = json!([{ "type": "web_search" }, { "type": "function", "name": "f" }]);
    let response =
        json!({ "input": "x", "tools": tools, "include": ["x"], "truncation": "disabled" });
    assert_eq!(ignored(&responses::DIALECT, response), ["include", "tools[0]"]);
    let tools = json!([{ "type": "web_search_20250305", "name": "web_search" }]);
    let message = json!({ "messages": messages, "tools": tools, "container": "c" });
    assert_eq!(ignored(&anthropic::DIALECT, message), ["container", "tools[0]"]);
    assert_eq!(ignored(&completions::DIALECT, json!({ "prompt": "x", "min_p": 0.1 })), ["min_p"]);
}

#[test]
fn settings_are_read_from_every_language() {
    let messages = json!([{ "role": "user", "content": "x" }]);
    let body = json!({
        "messages": messages, "input": "x", "prompt": "x",
        "top_p": 0.5, "top_k": 7, "seed": -1, "frequency_penalty": 1, "presence_penalty": 0.25,
        "parallel_tool_calls": false,
    });
    for dialect in [&openai::DIALECT, &completions::DIALECT] {
        let sampling = (dialect.read)(&body).unwrap().ask.sampling;
        let Sampling { top_p, top_k, seed, frequency_penalty, presence_penalty } = sampling;
        assert_eq!((top_p, top_k, seed), (Some(0.5), Some(7), Some(-1)));
        assert_eq!((frequency_penalty, presence_penalty), (Some(1.0), Some(0.25)));
    }
    let single = json!({ "messages": messages, "top_k": 7, "tool_choice": { "type": "auto", "disable_parallel_tool_use": true } });
    let ask = (anthropic::DIALECT.read)(&single).unwrap().ask;
    assert_eq!((ask.sampling.top_k, ask.parallel_tool_calls), (Some(7), Some(false)));
}

#[test]
fn anthropic_with_everything() {
    let body = json!({
        "model": "m", "max_tokens": 9, "temperature": 1, "stream": true,
        "thinking": { "type": "enabled", "budget_tokens": 1000 },
        "output_config": { "effort": "high" }, "metadata": { "user_id": "u" },
        "context_management": { "edits": [] }, "stop_sequences": [],
        "system": [
            { "type": "text", "text": "s", "cache_control": { "type": "ephemeral" } },
            { "type": "text", "text": "t" },
        ],
        "messages": [
            { "role": "user", "content": "a" },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "x" },
                { "type": "text", "text": "b" },
                { "type": "tool_use", "id": "t1", "name": "f", "input": { "x": 1 } },
                { "type": "tool_use", "id": "t2", "name": "g", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "r" }] },
                { "type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": "no" },
                { "type": "text", "text": "go on" },
            ] },
        ],
        "tools": [
            { "name": "f", "description": "F.", "input_schema": { "type": "object" } },
            { "type": "web_search_20250305", "name": "web_search" },
        ],
    });
    assert!((anthropic::DIALECT.read)(&body).unwrap().echo.thinking);
    check(
        &anthropic::DIALECT,
        body,
        expect![[r#"
        system: "s\n\nt"
        user: "a"
        assistant: "b"
          calls t1 f({"x":1})
          calls t2 g({})
        tool(t1): "r"
        tool(t2): "Error: no"
        user: "go on"
        tool f "F." {"type":"object"}
        Some(9) Some(1.0) Some("high") stream=true
    "#]],
    );
}

#[test]
fn anthropic_names_the_field() {
    let with = |field: &str, value: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "x" }] });
        body[field] = value;
        body
    };
    let said = |content: Value| with("messages", json!([{ "role": "user", "content": content }]));
    check_refused(
        &anthropic::DIALECT,
        &[
            (json!({}), "messages"),
            (json!({ "system": "s" }), "messages"),
            (with("messages", json!([{ "role": "tool", "content": "x" }])), "messages[0].role"),
            (
                said(json!([{ "type": "image", "source": {} }])),
                "messages[0].content[0].source.type",
            ),
            (
                said(json!([{ "type": "image", "source": { "type": "file", "file_id": "f" } }])),
                "messages[0].content[0].source.type",
            ),
            (
                said(json!([{ "type": "tool_use", "id": "t", "name": "f", "input": {} }])),
                "messages[0].content[0].type",
            ),
            (said(json!([{ "type": "tool_result" }])), "messages[0].content[0].tool_use_id"),
            (said(json!([{ "text": "x" }])), "messages[0].content[0].type"),
            (with("system", json!(7)), "system"),
            (with("stop_sequences", json!([7])), "stop_sequences[0]"),
            (with("output_format", json!({ "type": "json" })), "output_format.type"),
            (with("tools", json!([{ "name": "f" }])), "tools[0].input_schema"),
            (with("tool_choice", json!({ "type": "all" })), "tool_choice.type"),
            (with("tool_choice", json!({ "type": "tool" })), "tool_choice.name"),
            (with("max_tokens", json!("many")), "max_tokens"),
        ],
    );
}

#[test]
fn responses_with_everything() {
    let body = json!({
        "model": "m", "instructions": "i", "stream": true, "store": false,
        "reasoning": { "effort": "medium", "summary": "auto" }, "max_output_tokens": 9,
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
        "text": { "verbosity": "low" }, "parallel_tool_calls": false, "tool_choice": "auto",
        "input": [
            { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "d" }] },
            { "role": "user", "content": "a" },
            { "type": "reasoning", "summary": [], "encrypted_content": "x" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "b" }] },
            { "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" },
            { "type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "+x" },
            { "type": "function_call_output", "call_id": "c1", "output": "r" },
            { "type": "custom_tool_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "ok" }] },
        ],
        "tools": [
            { "type": "function", "name": "f", "strict": false, "parameters": { "type": "object" } },
            { "type": "custom", "name": "patch", "description": "P.", "format": { "type": "grammar", "syntax": "lark", "definition": "start: x" } },
            { "type": "web_search" },
        ],
    });
    let wanted = (responses::DIALECT.read)(&body).unwrap();
    assert_eq!(wanted.echo.custom, ["patch"]);
    assert_eq!(wanted.echo.fields["instructions"], "i");
    check(
        &responses::DIALECT,
        body,
        expect![[r#"
        system: "i"
        system: "d"
        user: "a"
        assistant: "b"
          calls c1 f({})
          calls c2 patch({"input":"+x"})
        tool(c1): "r"
        tool(c2): "ok"
        tool f "" {"type":"object"}
        tool patch "P.\n\nThe input follows this grammar:\nstart: x" {"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}
        Some(9) None Some("medium") stream=true
    "#]],
    );
    check(
        &responses::DIALECT,
        json!({ "input": "hello" }),
        expect![[r#"
        user: "hello"
        None None None stream=false
    "#]],
    );
}

#[test]
fn responses_names_the_field() {
    let with = |field: &str, value: Value| {
        let mut body = json!({ "input": "x" });
        body[field] = value;
        body
    };
    check_refused(
        &responses::DIALECT,
        &[
            (json!({}), "input"),
            (with("input", json!([])), "input"),
            (with("input", json!([{ "type": "image_generation_call" }])), "input[0].type"),
            (
                with("input", json!([{ "role": "user", "content": [{ "type": "input_image" }] }])),
                "input[0].content[0].image_url",
            ),
            (
                with(
                    "input",
                    json!([{ "role": "user", "content": [{ "type": "input_file", "file_id": "f" }] }]),
                ),
                "input[0].content[0].file_id",
            ),
            (with("input", json!([{ "role": "robot", "content": "x" }])), "input[0].role"),
            (with("input", json!([{ "type": "function_call" }])), "input[0].arguments"),
            (with("previous_response_id", json!("resp_1")), "previous_response_id"),
            (with("conversation", json!("conv_1")), "conversation"),
            (with("background", json!(true)), "background"),
            (with("text", json!({ "format": { "type": "json_schema" } })), "text.format.schema"),
            (with("tools", json!([{ "type": "function" }])), "tools[0].name"),
            (with("tool_choice", json!({ "type": "file_search" })), "tool_choice.type"),
        ],
    );
}

#[test]
fn what_an_answer_must_be_is_read_from_every_language() {
    let schema = json!({ "type": "object" });
    let messages = json!([{ "role": "user", "content": "x" }]);
    let named = json!({ "name": "n", "schema": schema, "strict": true });
    check(
        &openai::DIALECT,
        json!({
            "messages": messages, "tool_choice": "required", "stop": "x",
            "response_format": { "type": "json_schema", "json_schema": named },
        }),
        expect![[r#"
            user: "x"
            must call Any
            stops at "x"
            as {"schema":{"name":"n","schema":{"type":"object"},"strict":true}}
            None None None stream=false
        "#]],
    );
    check(
        &openai::DIALECT,
        json!({
            "messages": messages, "stop": ["x", "y"], "response_format": { "type": "json_object" },
            "tool_choice": { "type": "function", "function": { "name": "f" } },
        }),
        expect![[r#"
            user: "x"
            must call Named("f")
            stops at "x"
            stops at "y"
            as "json"
            None None None stream=false
        "#]],
    );
    check(
        &anthropic::DIALECT,
        json!({
            "messages": messages, "tool_choice": { "type": "tool", "name": "f" },
            "stop_sequences": ["x"],
            "output_config": { "format": { "type": "json_schema", "schema": schema } },
        }),
        expect![[r#"
            user: "x"
            must call Named("f")
            stops at "x"
            as {"schema":{"name":"answer","schema":{"type":"object"},"strict":true}}
            None None None stream=false
        "#]],
    );
    check(
        &responses::DIALECT,
        json!({
            "input": "x", "tool_choice": { "type": "function", "name": "f" },
            "text": { "format": { "type": "json_schema", "name": "n", "schema": schema } },
        }),
        expect![[r#"
            user: "x"
            must call Named("f")
            as {"schema":{"name":"n","schema":{"type":"object"},"strict":false}}
            None None None stream=false
        "#]],
    );
}
