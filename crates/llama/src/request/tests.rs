use super::*;
use serde_json::json;

fn read(fields: Value) -> Result<ChatRequest, Refusal> {
    let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    ChatRequest::read(body.to_string().as_bytes())
}

fn tool(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name, "parameters": {} } })
}

#[test]
fn what_the_runner_cannot_do_is_refused_by_name() {
    for (field, value) in [
        ("n", json!(2)),
        ("audio", json!({ "voice": "x" })),
        ("functions", json!([{ "name": "f" }])),
        ("web_search_options", json!({})),
        ("verbosity", json!("low")),
        ("a_field_of_tomorrow", json!(1)),
        ("temperature", json!(3)),
        ("temperature", json!("hot")),
        ("top_p", json!(-1)),
        ("top_k", json!(-1)),
        ("stop", json!(["a", "b", "c", "d", "e"])),
        ("stop", json!("")),
        ("logit_bias", json!({ "x": 1 })),
        ("top_logprobs", json!(3)),
        ("tools", json!([{ "type": "web_search" }])),
        ("tool_choice", json!("required")),
        ("response_format", json!({ "type": "xml" })),
        ("response_format", json!({ "type": "json_schema" })),
        ("response_format.strict", json!({ "type": "text", "strict": true })),
        ("grammar", json!("root ::= \"a\"{5,1}")),
        ("json_schema.maxLength", json!({ "type": "string", "minLength": 2, "maxLength": 1 })),
        ("messages", json!([])),
        ("messages", json!([{ "role": "bard", "content": "hi" }])),
        ("messages", json!([{ "role": "user", "content": [{ "type": "image_url" }] }])),
        ("cache_prompt", json!(false)),
        ("chat_template_kwargs.messages", json!({ "messages": [] })),
        ("chat_template_kwargs.add_generation_prompt", json!({ "add_generation_prompt": false })),
        ("stream_options.x", json!({ "x": 1 })),
        ("stream_options.include_usage", json!({ "include_usage": 1 })),
        ("timings_per_token", json!(true)),
    ] {
        let name = field.split('.').next().unwrap();
        let why = read(json!({ name: value })).expect_err(field).message;
        assert!(why.starts_with(field), "{why}");
    }
    let two = json!({ "max_tokens": 1, "max_completion_tokens": 2 });
    assert!(read(two).unwrap_err().message.starts_with("max_tokens: differs"));
    let biased = read(json!({ "logit_bias": { "99": 1 } })).unwrap();
    assert!(biased.check_tokens(99).unwrap_err().message.starts_with("logit_bias: the model has"));
    assert!(biased.check_tokens(100).is_ok());
    let both = json!({ "tools": [tool("f")], "response_format": { "type": "json_object" } });
    assert!(read(both).unwrap_err().message.starts_with("response_format: "));
    assert_eq!(ChatRequest::read(b"{}").unwrap_err().message, "messages: is missing");
}

#[test]
fn fields_of_messages_are_refused_by_their_place() {
    let call = |function: Value| json!([{ "id": "1", "type": "function", "function": function }]);
    for (field, value, why) in [
        ("images", json!(["x"]), "messages[1].images: this runner cannot do that"),
        ("audio", json!({ "id": "x" }), "messages[1].audio: this runner cannot do that"),
        ("function_call", json!({}), "messages[1].function_call: this runner cannot do that"),
        ("prefix", json!(true), "messages[1].prefix: this runner cannot do that"),
        ("name", json!(3), "messages[1].name: must be a text"),
        ("reasoning_content", json!("\0"), "messages[1].reasoning_content: a zero byte"),
        ("content", json!([{ "type": "image_url" }]), "messages[1].content[0]: a part of type"),
        ("content", json!(3), "messages[1].content: must be a text"),
        ("tool_calls", json!("x"), "messages[1].tool_calls: must be a list"),
        ("tool_calls", call(json!({})), "messages[1].tool_calls[0].function.name: is missing"),
        (
            "tool_calls",
            call(json!({ "name": "f", "arguments": "{\"x\": " })),
            "messages[1].tool_calls[0].function.arguments: must be a JSON object, as text",
        ),
    ] {
        let mut message = json!({ "role": "assistant" });
        message[field] = value;
        let messages = json!([{ "role": "user", "content": "hi" }, message]);
        let refused = read(json!({ "messages": messages })).unwrap_err().message;
        assert!(refused.starts_with(why), "{refused}");
    }
    let harmless = json!({ "role": "assistant", "content": "x", "refusal": null, "audio": null,
                           "annotations": [], "prefix": false, "tool_calls": [] });
    assert!(read(json!({ "messages": [harmless] })).is_ok());
}

#[test]
fn what_changes_no_answer_is_taken() {
    let harmless = json!({
        "model": "any", "user": "me", "metadata": {}, "store": true, "prompt_cache_key": "k",
        "cache_prompt": true, "id_slot": 3, "n": 1, "modalities": ["text"], "audio": null,
        "service_tier": "auto", "tools": [], "seed": -1, "response_format": { "type": "text" },
    });
    let request = read(harmless).unwrap();
    assert_eq!((request.output, request.sampling), (OutputForm::Text, Sampling::default()));
}

#[test]
fn contents_may_be_text_or_parts_or_nothing() {
    let body = json!({ "messages": [
        { "role": "developer", "content": "a" },
        { "role": "user", "content": [{ "type": "text", "text": "b" }, { "type": "text", "text": "c" }] },
        { "role": "assistant", "content": null,
          "tool_calls": [{ "id": "1", "function": { "name": "f", "arguments": "{\"x\":1}" } }] },
    ], "stream_options": { "include_usage": true }, "max_tokens": 5, "stop": "x" });
    let request = ChatRequest::read(body.to_string().as_bytes()).unwrap();
    let texts: Vec<_> = request.messages.iter().map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "bc", ""]);
    assert_eq!(request.messages[0]["role"], "system");
    assert_eq!(request.messages[2]["tool_calls"][0]["function"]["arguments"], json!({ "x": 1 }));
    assert_eq!((request.tokens_max, request.include_usage), (Some(5), true));
    assert_eq!(request.stops, ["x"]);
}

#[test]
fn tools_are_read_with_their_choice() {
    let tools = json!([tool("f"), tool("g")]);
    let read = |choice: Value| read(json!({ "tools": tools, "tool_choice": choice }));
    let named = json!({ "type": "function", "function": { "name": "g" } });
    let named = read(named).unwrap().tools;
    assert_eq!(named.allowed().count(), 1);
    assert!(named.is_forced());
    let (auto, none) = (read(json!("auto")).unwrap().tools, read(json!("none")).unwrap().tools);
    assert!(auto.is_offered() && !auto.is_forced() && !none.is_offered());
    let unknown = json!({ "type": "function", "function": { "name": "h" } });
    assert_eq!(read(unknown).unwrap_err().message, "tool_choice: no tool is called \"h\"");
}

#[test]
fn a_schema_is_strict_unless_it_says_otherwise() {
    let format = |strict: Value| {
        let schema = json!({ "type": "array", "uniqueItems": true });
        let named = json!({ "name": "x", "schema": schema, "strict": strict });
        read(json!({ "response_format": { "type": "json_schema", "json_schema": named } }))
    };
    assert!(format(json!(true)).unwrap_err().message.contains("uniqueItems"));
    assert!(matches!(format(json!(false)).unwrap().output, OutputForm::Json(_)));
}

#[test]
fn inputs_of_embeddings_are_texts() {
    let read = |body: Value| EmbeddingRequest::read(body.to_string().as_bytes());
    let one = read(json!({ "input": "a", "model": "m", "encoding_format": "base64" })).unwrap();
    assert_eq!(one, EmbeddingRequest { inputs: vec!["a".into()], base64: true });
    for (field, value) in [
        ("input", json!([])),
        ("input", json!([1, 2])),
        ("dimensions", json!(64)),
        ("encoding_format", json!("hex")),
    ] {
        let mut body = json!({ "input": "a" });
        body[field] = value;
        let why = read(body).unwrap_err().message;
        assert!(why.starts_with(&format!("{field}: ")), "{why}");
    }
}

#[test]
fn strict_tools_are_checked_like_answers() {
    let tool = |strict: bool, schema: Value| {
        let function = json!({ "name": "f", "parameters": schema, "strict": strict });
        read(json!({ "tools": [{ "type": "function", "function": function }] }))
    };
    let loose = json!({ "type": "object", "minProperties": 1 });
    let why = tool(true, loose.clone()).unwrap_err().message;
    assert!(why.starts_with("tools[0].function.parameters.minProperties: cannot"), "{why}");
    assert!(tool(false, loose).is_ok());
    let impossible = json!({ "properties": { "a": { "minLength": 5, "maxLength": 1 } } });
    let why = tool(false, impossible).unwrap_err().message;
    assert!(why.starts_with("tools[0].function.parameters.properties.a.maxLength: "), "{why}");
}
