//! Requests, to the byte: `testdata/requests/<dialect>-<case>.txt`.

use super::super::{ALL, Dialect, Request, anthropic, gemini, ollama, openai};
use althing_chat::{
    Ask, Attachment, AttachmentKind, AttachmentSource, Format, Message, Sampling, Tool, ToolCall,
    ToolChoice,
};
use expect_test::{ExpectFile, expect_file};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn expected(file: &str) -> ExpectFile {
    expect_file![format!("{}/testdata/requests/{file}", env!("CARGO_MANIFEST_DIR"))]
}

#[track_caller]
fn check(case: &str, dialect: &Dialect, model: &str, ask: &Ask) {
    let Request { path, headers, body, .. } = (dialect.write)(model, ask).expect("it has words");
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let body = serde_json::to_string_pretty(&sorted(body)).expect("JSON");
    let shown = format!("POST {path}\n{headers}\n{body}\n");
    expected(&format!("{}-{case}.txt", dialect.name)).assert_eq(&shown);
}

/// Members in the order of their names, whatever order `serde_json` was built to keep.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<String, Value> = map.into_iter().collect();
            map.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), signature: None }
}

/// Every kind of message, two calls at once, and every option.
fn everything() -> Ask {
    let calls =
        vec![call("call_0", "weather", r#"{"city":"Paris"}"#), call("call/é", "time", "not json")];
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "additionalProperties": false,
    });
    Ask {
        messages: vec![
            Message::system("Be brief."),
            Message::user("Paris?"),
            Message::user("And the time?"),
            Message::calls("Let me look.", calls),
            Message::tool("call_0", "sunny"),
            Message::tool("call/é", "noon"),
            Message::assistant("Sunny, noon."),
            Message::system("Be kind."),
            Message::user("Thanks."),
        ],
        tools: vec![Tool {
            name: "weather".into(),
            description: "Today's weather.".into(),
            parameters: schema,
        }],
        max_tokens: Some(4096),
        temperature: Some(0.7),
        effort: Some("low".into()),
        stream: true,
        ..Ask::new("", "")
    }
}

/// A single call without text, and no options.
fn plain() -> Ask {
    let messages = vec![
        Message::user("Paris?"),
        Message::calls("", vec![call("call_0", "weather", "{}")]),
        Message::tool("call_0", ""),
    ];
    Ask { messages, stream: false, ..Ask::new("", "") }
}

#[test]
fn every_dialect_writes_everything() {
    let everything = everything();
    check("everything", &openai::OPENAI, "llama-3.3-70b", &everything);
    check("everything", &anthropic::ANTHROPIC, "claude-sonnet-4-5", &everything);
    check("everything", &gemini::GEMINI, "gemini-2.5-flash", &everything);
    check("everything", &ollama::OLLAMA, "gpt-oss:20b", &everything);
}

#[test]
fn every_dialect_writes_a_call_without_text_or_options() {
    let plain = plain();
    check("plain", &openai::OPENAI, "gpt-5.1", &plain);
    check("plain", &anthropic::ANTHROPIC, "claude-haiku-4-5", &plain);
    check("plain", &gemini::GEMINI, "gemini-3-pro-preview", &plain);
    check("plain", &ollama::OLLAMA, "qwen3:8b", &plain);
}

/// Gemini sees again what it put beside a call, and the stand-in only where nobody kept it.
#[test]
fn gemini_gets_its_signatures_back() {
    #[track_caller]
    fn check(model: &str, signatures: [Option<&str>; 2], want: [Option<&str>; 2]) {
        let calls = signatures
            .map(|it| ToolCall { signature: it.map(String::from), ..call("fc", "weather", "{}") });
        let messages = vec![Message::user("Paris?"), Message::calls("", calls.to_vec())];
        let ask = Ask { messages, ..Ask::new("", "") };
        let body = (gemini::GEMINI.write)(model, &ask).unwrap().body;
        let parts = &body["contents"][1]["parts"];
        assert_eq!([0, 1].map(|at| parts[at]["thoughtSignature"].as_str()), want, "{model}");
    }
    let stand_in = Some("skip_thought_signature_validator");
    check("gemini-3-pro", [Some("a"), None], [Some("a"), None]);
    check("gemini-3-pro", [None, None], [stand_in, None]);
    check("gemini-4-argon", [None, Some("b")], [stand_in, Some("b")]);
    check("gemini-2.5-flash", [Some("a"), Some("b")], [Some("a"), Some("b")]);
    check("gemini-2.5-flash", [None, None], [None, None]);
}

/// A model that thinks by budget does not while results of its calls go back to it.
#[test]
fn anthropic_does_not_think_within_a_turn() {
    let ask = Ask { effort: Some("high".into()), ..plain() };
    let thinks = |model| {
        let written = (anthropic::ANTHROPIC.write)(model, &ask).expect("it has words");
        written.body.get("thinking").is_some()
    };
    assert!(!thinks("claude-sonnet-4-5"));
    assert!(thinks("claude-opus-4-6"));
}

/// What a model is asked for in its own words: one line for each.
#[test]
fn options_follow_the_model() {
    let mut shown = String::new();
    let mut ask = Ask::new("", "hi");
    (ask.max_tokens, ask.temperature) = (Some(4000), Some(0.5));
    ask.context_tokens = Some(16_384);
    for (dialect, model, effort) in [
        (&openai::OPENAI, "o3-mini", "high"),
        (&openai::OPENAI, "openai/gpt-5", "high"),
        (&anthropic::ANTHROPIC, "claude-opus-4-7", "xhigh"),
        (&anthropic::ANTHROPIC, "claude-opus-4-1-20250805", "max"),
        (&anthropic::ANTHROPIC, "claude-3-5-haiku-latest", "high"),
        (&anthropic::ANTHROPIC, "claude-sonnet-4-5", "none"),
        (&gemini::GEMINI, "gemini-3-pro", "low"),
        (&gemini::GEMINI, "gemini-3-flash", "none"),
        (&gemini::GEMINI, "gemini-2.5-pro", "high"),
        (&gemini::GEMINI, "gemini-2.5-flash", "none"),
        (&gemini::GEMINI, "gemini-2.0-flash", "high"),
        (&ollama::OLLAMA, "gpt-oss:20b", "high"),
        (&ollama::OLLAMA, "qwen3", "high"),
        (&ollama::OLLAMA, "qwen3", "none"),
    ] {
        ask.effort = Some(effort.into());
        shown += &format!("{model} {effort}: {}\n", options(dialect, model, &ask));
    }
    expected("options.txt").assert_eq(&shown);
}

/// What a request says besides what it is about; or the fault.
fn options(dialect: &Dialect, model: &str, ask: &Ask) -> String {
    let mut body = match (dialect.write)(model, ask) {
        Ok(request) => request.body,
        Err(fault) => return fault.to_string(),
    };
    for known in ["model", "messages", "contents", "stream", "stream_options"] {
        body.as_object_mut().expect("an object").remove(known);
    }
    sorted(body).to_string()
}

/// Calls that must be made, ends and forms of an answer: each in the words of each dialect.
#[test]
fn what_an_answer_must_be_follows_the_dialect() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let named = ToolChoice::Named("weather".into());
    let cases = [
        ("any tool", Ask { tool_choice: Some(ToolChoice::Any), ..Ask::new("", "hi") }),
        ("this tool", Ask { tool_choice: Some(named), ..Ask::new("", "hi") }),
        ("stop", Ask { stop: vec!["\n".into(), "END".into()], ..Ask::new("", "hi") }),
        ("json", Ask { format: Some(Format::Json), ..Ask::new("", "hi") }),
        ("schema", {
            let format = Format::Schema { name: "point".into(), schema, strict: true };
            Ask { format: Some(format), effort: Some("high".into()), ..Ask::new("", "hi") }
        }),
    ];
    let mut shown = String::new();
    for (case, ask) in &cases {
        for (dialect, model) in ALL.iter().zip(["m", "claude-opus-4-7", "gemini-2.0-flash", "m"]) {
            shown += &format!("{case}, {}: {}\n", dialect.name, options(dialect, model, ask));
        }
    }
    expected("forms.txt").assert_eq(&shown);
}

fn picture(name: &str, at: usize, source: AttachmentSource) -> Attachment {
    let (kind, media_type) = (AttachmentKind::Image, None);
    Attachment { name: name.into(), kind, media_type, source, pages: None, at }
}

fn base64(data: &str) -> AttachmentSource {
    AttachmentSource::Base64(Arc::from(data))
}

fn document(source: AttachmentSource) -> Attachment {
    let media_type = Some("application/pdf".into());
    Attachment { kind: AttachmentKind::Document, media_type, ..picture("plan.pdf", 0, source) }
}

/// Pictures and documents: where they stand, how they are sent, and who takes which.
#[test]
fn pictures_and_documents_follow_the_dialect() {
    let url = |url: &str| AttachmentSource::Url(url.into());
    let said = |attachments| {
        let message = Message { attachments, ..Message::user("one two") };
        Ask { messages: vec![message], ..Ask::new("", "") }
    };
    let of_tool = Message {
        attachments: vec![picture("p", 0, base64("AAAA"))],
        ..Message::tool("call_0", "seen")
    };
    let calls = vec![call("call_0", "look", "{}"), call("call_1", "look", "{}")];
    let cases = [
        ("between the words", said(vec![picture("p", 3, base64("AAAA"))])),
        ("at an address", said(vec![picture("p", 0, url("https://x/y.jpg"))])),
        ("a document", said(vec![document(base64("AAAA"))])),
        ("a document at an address", said(vec![document(url("https://x/y"))])),
        (
            "in a result",
            Ask {
                messages: vec![
                    Message::user("Look."),
                    Message::calls("", calls),
                    of_tool,
                    Message::tool("call_1", "nothing"),
                ],
                ..Ask::new("", "")
            },
        ),
    ];
    let mut shown = String::new();
    for (case, ask) in &cases {
        for (dialect, model) in ALL.iter().zip(["m", "claude-opus-4-7", "gemini-2.5-pro", "m"]) {
            let said = match (dialect.write)(model, ask) {
                Ok(it) => sorted(it.body.get("messages").unwrap_or(&it.body["contents"]).clone())
                    .to_string(),
                Err(fault) => fault.to_string(),
            };
            shown += &format!("{case}, {}: {said}\n", dialect.name);
        }
    }
    expected("attachments.txt").assert_eq(&shown);
    let old = (gemini::GEMINI.write)("gemini-2.0-flash", &cases[1].1).unwrap_err();
    assert!(old.message.starts_with("p: gemini-2.0-flash reads no file by its address"), "{old}");
}

/// Settings in the words of each dialect, and those it has none for.
#[test]
fn settings_follow_the_dialect_and_what_is_left_out_is_named() {
    let sampling = Sampling {
        top_p: Some(0.5),
        top_k: Some(7),
        seed: Some(-1),
        frequency_penalty: Some(0.25),
        presence_penalty: Some(0.0),
    };
    let tool = Tool { name: "f".into(), description: String::new(), parameters: json!({}) };
    let all = Ask {
        sampling,
        temperature: Some(0.5),
        tools: vec![tool],
        parallel_tool_calls: Some(false),
        ..Ask::new("", "hi")
    };
    let cases = [
        ("all", all.clone()),
        ("no temperature", Ask { temperature: None, ..all.clone() }),
        ("no tool", Ask { tool_choice: Some(ToolChoice::None), ..all.clone() }),
        ("any tool", Ask { tool_choice: Some(ToolChoice::Any), ..all.clone() }),
        ("thinking", Ask { effort: Some("high".into()), ..all }),
    ];
    let models = [
        (&openai::OPENAI, "m"),
        (&openai::OPENAI, "o3"),
        (&anthropic::ANTHROPIC, "claude-sonnet-4-5"),
        (&anthropic::ANTHROPIC, "claude-opus-4-7"),
        (&anthropic::ANTHROPIC, "claude-3-haiku-20240307"),
        (&gemini::GEMINI, "gemini-2.0-flash"),
        (&ollama::OLLAMA, "m"),
    ];
    let mut shown = String::new();
    for (case, ask) in &cases {
        for (dialect, model) in models {
            let ignored = (dialect.write)(model, ask).expect("it has words").ignored.join(" ");
            shown +=
                &format!("{case}, {model}: {}; ignored: {ignored}\n", options(dialect, model, ask));
        }
    }
    expected("settings.txt").assert_eq(&shown);
}

#[test]
fn a_model_cannot_lead_the_path_astray() {
    let written = |model| (gemini::GEMINI.write)(model, &Ask::new("", "hi"));
    let path = |model| written(model).expect("it has words").path;
    assert_eq!(
        path("a?key=b#c d"),
        "/v1beta/models/a%3Fkey%3Db%23c%20d:streamGenerateContent?alt=sse"
    );
    assert_eq!(path("tunedModels/x"), "/v1beta/tunedModels/x:streamGenerateContent?alt=sse");
}

#[test]
fn the_key_goes_into_its_header() {
    let headers = ALL.map(|dialect| (dialect.key_header)("k"));
    let bearer = ("authorization", "Bearer k".to_string());
    let own = |name| (name, "k".to_string());
    assert_eq!(headers, [bearer.clone(), own("x-api-key"), own("x-goog-api-key"), bearer]);
}
