//! The same recordings over a socket to another implementation, `genai`: both must hear the same
//! text, reasoning, tool calls, counts and end, or both must fail.

use super::{Recording, read, recordings};
use althing_chat::{Answer, Stop, Usage};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent, StopReason, ToolCall};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget, WebConfig};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Recordings that `genai` hears otherwise, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("openai/no_done.sse", "wants [DONE] though the stop is there"),
    ("openai/no_reason.sse", "gives no reason where the wire gives none; we say that it ended"),
    ("openai/not_streamed.sse", "hears nothing where a server does not stream"),
    ("openai/null_everywhere.sse", "takes `error: null` for an error"),
    ("openai/reasoning_tags.sse", "leaves tags in streamed text"),
    ("openai/reasoning_tags_open.sse", "leaves tags in streamed text"),
    ("openai/refusal.json", "drops refusals"),
    ("openai/refusal.sse", "drops refusals"),
    ("openai/tool_call_one_index.sse", "joins two calls of one index"),
    ("openai/tool_call_whole.sse", "drops calls without an index"),
    ("openai/usage_deepseek.sse", "reads these counts only where told that it is DeepSeek"),
    ("openai/usage_llama.sse", "does not read llama-server's timings"),
    ("openai/usage_groq.sse", "reads these counts only where told that it is Groq"),
    ("openai/usage_moonshot.sse", "does not read these counts"),
    ("openai/usage_reasoning_apart.sse", "adds these counts only where told that it is xAI"),
    ("anthropic/no_stop_event.sse", "wants message_stop though the stop is there"),
    ("anthropic/pause_turn.sse", "fails on blocks of the provider's own tools"),
    ("anthropic/unknown_events.sse", "fails on deltas it does not know"),
    ("gemini/every_chunk_stops.sse", "ends at the first reason to stop"),
    ("gemini/refusal.json", "takes a refused prompt for an error"),
    ("gemini/refusal_prompt.sse", "takes a refused prompt for an error"),
    ("ollama/null_everywhere.ndjson", "gives no reason where the wire gives none"),
    ("ollama/reasoning_tags.ndjson", "leaves tags in streamed text"),
];

/// An answer in the terms both have; `None` where it failed.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    text: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
    ids: Vec<String>,
    usage: Usage,
    stop: Option<Stop>,
}

fn ours(recording: &Recording) -> Option<Heard> {
    let mut answer = Answer::default();
    for item in read(recording.dialect, recording.stream, [&recording.bytes[..]]) {
        answer.add(item.ok()?);
    }
    let calls = answer.tool_calls.iter();
    let arguments = |text: &str| serde_json::from_str(text).unwrap_or(Value::from(text));
    Some(Heard {
        text: answer.text,
        reasoning: answer.reasoning,
        ids: calls.clone().map(|call| call.id.clone()).collect(),
        calls: calls.map(|call| (call.name.clone(), arguments(&call.arguments))).collect(),
        usage: answer.usage.unwrap_or_default(),
        stop: answer.stop,
    })
}

async fn theirs(listener: &TcpListener, client: &Client, recording: &Recording) -> Option<Heard> {
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_normalize_reasoning_content(true);
    let hearing = async {
        if recording.stream {
            streamed(client, recording.dialect.name, &options).await
        } else {
            whole(client, recording.dialect.name, &options).await
        }
    };
    let ((), heard) = tokio::join!(serve(listener, recording), hearing);
    heard
}

/// A client of the server at `port`; the model's name chooses the wire. The server is also named
/// as the proxy, so that no proxy of the environment comes in between.
fn client(port: u16) -> Client {
    let url = format!("http://127.0.0.1:{port}/");
    let endpoint = Endpoint::from_owned(url.clone());
    let resolver = ServiceTargetResolver::from_resolver_fn(move |target: ServiceTarget| {
        let name = target.model.model_name;
        let kind = match &*name {
            "openai" => AdapterKind::OpenAI,
            "anthropic" => AdapterKind::Anthropic,
            "gemini" => AdapterKind::Gemini,
            "ollama" => AdapterKind::Ollama,
            other => panic!("no adapter for {other}"),
        };
        let (model, auth) = (ModelIden::new(kind, name), AuthData::from_single("key"));
        Ok(ServiceTarget { endpoint: endpoint.clone(), auth, model })
    });
    let web = WebConfig::default().with_proxy_url(&url).expect("a proxy");
    let client = Client::builder().with_web_config(web).with_service_target_resolver(resolver);
    client.build().expect("a client")
}

/// Answers one request with the recording and hangs up.
async fn serve(listener: &TcpListener, recording: &Recording) {
    let (mut socket, _) = listener.accept().await.expect("a call");
    let mut request = vec![];
    while !is_whole(&request) {
        assert_ne!(socket.read_buf(&mut request).await.expect("a request"), 0);
    }
    let kind = match recording.path.extension().and_then(|kind| kind.to_str()) {
        Some("sse") => "text/event-stream",
        Some("ndjson") => "application/x-ndjson",
        _ => "application/json",
    };
    let length = recording.bytes.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {length}\r\n\r\n"
    );
    let answer = [head.as_bytes(), &recording.bytes].concat();
    socket.write_all(&answer).await.expect("an answer");
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap_or(0))
}

async fn streamed(client: &Client, model: &str, options: &ChatOptions) -> Option<Heard> {
    let request = ChatRequest::from_user("hi");
    let answer = client.exec_chat_stream(model, request, Some(options)).await.ok()?;
    let (mut stream, mut heard) = (answer.stream, Heard::default());
    while let Some(event) = stream.next().await {
        match event.ok()? {
            ChatStreamEvent::Chunk(chunk) => heard.text.push_str(&chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => heard.reasoning.push_str(&chunk.content),
            ChatStreamEvent::End(end) => {
                heard.usage = counts(end.captured_usage.as_ref());
                let reason = end.captured_stop_reason.clone();
                let calls = end.captured_into_tool_calls().unwrap_or_default();
                return Some(heard.ended(calls, reason?));
            }
            _ => {}
        }
    }
    // No end was heard.
    None
}

async fn whole(client: &Client, model: &str, options: &ChatOptions) -> Option<Heard> {
    let request = ChatRequest::from_user("hi");
    let answer = client.exec_chat(model, request, Some(options)).await.ok()?;
    let heard = Heard {
        text: answer.texts().concat(),
        reasoning: answer.reasoning_content.clone().unwrap_or_default(),
        usage: counts(Some(&answer.usage)),
        ..Heard::default()
    };
    let reason = answer.stop_reason.clone()?;
    Some(heard.ended(answer.into_tool_calls(), reason))
}

impl Heard {
    fn ended(mut self, calls: Vec<ToolCall>, reason: StopReason) -> Heard {
        self.stop = Some(match reason {
            StopReason::Completed(_) if !calls.is_empty() => Stop::ToolCalls,
            StopReason::Completed(_) | StopReason::StopSequence(_) => Stop::End,
            StopReason::MaxTokens(_) => Stop::Length,
            StopReason::ToolCall(_) => Stop::ToolCalls,
            StopReason::ContentFilter(_) => Stop::Refused,
            StopReason::Other(word) => Stop::Other(word),
        });
        self.ids = calls.iter().map(|call| call.call_id.clone()).collect();
        self.calls = calls.into_iter().map(|call| (call.fn_name, call.fn_arguments)).collect();
        self
    }

    /// Ids that either side made up, and counts of nothing, may differ.
    fn comparable(mut self, recording: &Recording) -> Heard {
        let wire = String::from_utf8_lossy(&recording.bytes);
        self.ids.retain(|id| !id.is_empty() && wire.contains(id.as_str()));
        let Usage { input, output, cached, cache_written, reasoning, .. } = &mut self.usage;
        for count in [input, output, cached, cache_written, reasoning] {
            *count = count.filter(|count| *count > 0);
        }
        self
    }
}

fn counts(usage: Option<&genai::chat::Usage>) -> Usage {
    let Some(usage) = usage else { return Usage::default() };
    let number = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let (prompt, completion) = (&usage.prompt_tokens_details, &usage.completion_tokens_details);
    Usage {
        input: number(usage.prompt_tokens),
        output: number(usage.completion_tokens),
        cached: number(prompt.as_ref().and_then(|details| details.cached_tokens)),
        cache_written: number(prompt.as_ref().and_then(|details| details.cache_creation_tokens)),
        reasoning: number(completion.as_ref().and_then(|details| details.reasoning_tokens)),
        ..Usage::default()
    }
}

#[tokio::test]
async fn another_implementation_hears_the_same() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = client(listener.local_addr().expect("bound").port());
    for recording in recordings() {
        let heard = theirs(&listener, &client, &recording).await;
        let heard = heard.map(|heard| heard.comparable(&recording));
        let want = ours(&recording).map(|heard| heard.comparable(&recording));
        let name = recording.name();
        match EXCEPTIONS.iter().find(|(exception, _)| *exception == name) {
            None => assert_eq!(heard, want, "{name}"),
            Some((_, reason)) => assert_ne!(heard, want, "{name} is no exception: {reason}"),
        }
    }
}

#[test]
fn every_exception_has_its_recording() {
    let names: Vec<String> = recordings().iter().map(Recording::name).collect();
    for (name, reason) in EXCEPTIONS {
        assert!(names.iter().any(|other| other == name), "{name}: {reason}");
    }
}
