//! Whole answers, and what a conversation must look like.

use super::messages::{MESSAGES_BYTES_MAX, MESSAGES_MAX};
use super::*;
use crate::service::discuss::Discussion;
use crate::service::tests::{add, caller, service, upstream};
use crate::service::words::RouteTarget;
use althing_assembly::event::Ending;
use althing_chat::{Delta, Role, Tool, ToolCall};
use futures_util::StreamExt;

fn request(model: &str, messages: Vec<Message>) -> CompleteRequest {
    CompleteRequest {
        model_id: model.into(),
        messages,
        tools: vec![],
        max_tokens: None,
        temperature: None,
    }
}

#[tokio::test]
async fn an_answer_says_who_gave_it() {
    let (service, upstream) = (service(&[]).await, upstream(&["m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let target = RouteTarget { provider_id: "box".into(), model_id: "m".into() };
    service.set_route("fast", vec![target]).await.unwrap();
    for name in ["fast", "box:m", "m"] {
        let request = request(name, vec![Message::user("Hello?")]);
        let done = service.complete(&caller(), request).await.unwrap();
        assert_eq!(done.answered_by, "box:m");
        assert_eq!(done.message.role, Role::Assistant);
        assert!(!done.message.text.is_empty() && done.usage.is_some(), "{done:?}");
    }
    let demo = request("demo:skeptic", vec![Message::user("Hello?")]);
    let done = service.complete(&caller(), demo).await.unwrap();
    assert_eq!(done.answered_by, "demo:skeptic");

    let mut tools = request("m", vec![Message::user("Hello?")]);
    let parameters = serde_json::json!({"type": "object", "properties": {}});
    tools.tools = vec![Tool { name: "look".into(), description: String::new(), parameters }];
    let done = service.complete(&caller(), tools).await.unwrap();
    assert_eq!(done.message.tool_calls[0].name, "look");
    let fault = service.complete(&caller(), request("m", vec![])).await.unwrap_err();
    assert_eq!(fault.message, "messages: 1 to 10000, not 0");
}

#[tokio::test]
async fn a_discussion_seats_who_was_added() {
    let (service, upstream) = (service(&[]).await, upstream(&["m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let target = RouteTarget { provider_id: "box".into(), model_id: "m".into() };
    service.set_route("fast", vec![target]).await.unwrap();
    for models in [vec![], vec!["fast".to_string()], vec!["box:m".to_string()]] {
        let wanted = Discussion {
            question: "Why?".into(),
            context: vec![],
            attachments: vec![],
            method: althing_assembly::methods::ANSWER,
            models: models.clone(),
            rounds: None,
            language: None,
            max_cost_usd: None,
        };
        let before = upstream.count("m");
        let held = service.discuss(wanted).await.unwrap();
        assert!(!held.demo, "{models:?}");
        assert_eq!(held.run.ending().await.unwrap(), Ending::Completed, "{models:?}");
        assert_eq!(upstream.count("m"), before + 1, "{models:?}");
    }
}

#[tokio::test]
async fn a_bad_name_is_a_fault_of_its_field() {
    let service = service(&[]).await;
    let completed = service.complete(&caller(), request("", vec![Message::user("Hello?")])).await;
    assert_eq!(completed.unwrap_err().message, "model_id: '' is no name");
    let opened = service.create_stream(&caller(), "").await;
    assert_eq!(opened.unwrap_err().message, "model_id: '' is no name");
}

#[tokio::test]
async fn a_dead_target_is_passed_over() {
    let (service, upstream) = (service(&[]).await, upstream(&["err-503", "m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let target =
        |model: &str| RouteTarget { provider_id: "box".into(), model_id: model.to_string() };
    service.set_route("safe", vec![target("err-503"), target("m")]).await.unwrap();
    let request = request("safe", vec![Message::user("Hello?")]);
    let done = service.complete(&caller(), request).await.unwrap();
    assert_eq!(done.answered_by, "box:m");
}

#[tokio::test]
async fn every_call_is_counted_however_it_ends() {
    let (service, upstream) = (service(&[]).await, upstream(&["gpt-5.1", "err-401", "stall"]));
    add(&service, "Mine", "openai", &upstream).await.unwrap();
    let ask = || Ask::new("", "Hello?");
    let finished = service.voice("mine:gpt-5.1", None).unwrap();
    Answer::collect(finished.speak(ask())).await.unwrap();
    let failed = service.voice("mine:err-401", None).unwrap();
    Answer::collect(failed.speak(ask())).await.unwrap_err();
    let left = service.voice("mine:stall", None).unwrap();
    let mut speaking = left.speak(ask());
    while !matches!(speaking.next().await, Some(Ok(Delta::Text(_)))) {}
    drop(speaking);
    // Nobody listened, so nothing was sent.
    drop(finished.speak(ask()));

    let all = service.metrics.snapshot().await.unwrap();
    assert_eq!((all.requests_total, all.requests_failed), (3, 1));
    assert!(all.prompt_tokens_total > 0 && all.completion_tokens_total > 0, "{all:?}");
    // What was not counted, or has no known price, costs nobody knows what.
    assert!(all.cost_total.unwrap() > 0.0 && all.requests_unpriced == 2, "{all:?}");
}

#[test]
fn tool_messages_answer_the_oldest_open_call() {
    let call = |id: &str| ToolCall {
        id: id.into(),
        name: "f".into(),
        arguments: "{}".into(),
        signature: None,
    };
    let without_id = || Message { tool_call_id: None, ..Message::tool("", "done") };
    let asked = vec![
        Message::user("go"),
        Message::calls("", vec![call("a"), call("b"), call("c")]),
        Message::tool("b", "done"),
        without_id(),
        without_id(),
    ];
    let ids: Vec<Option<String>> =
        check_messages(asked.clone()).unwrap().into_iter().map(|it| it.tool_call_id).collect();
    let id = |text: &str| Some(text.to_string());
    assert_eq!(ids, [None, None, id("b"), id("a"), id("c")]);

    #[track_caller]
    fn refused(messages: Vec<Message>, part: &str) {
        let fault = check_messages(messages).unwrap_err();
        assert!(fault.message.contains(part), "{fault}");
    }
    refused([asked, vec![without_id()]].concat(), "messages[5].tool_call_id: a tool message");
    refused(vec![Message::user(""); MESSAGES_MAX + 1], "messages: 1 to 10000, not 10001");
    refused(vec![Message::user("x".repeat(MESSAGES_BYTES_MAX + 1))], "bytes together");
    let odd = Message { tool_calls: vec![call("a")], ..Message::user("") };
    refused(vec![odd], "messages[0].tool_calls");
}

#[test]
fn a_conversation_keeps_its_affinity() {
    let start = vec![Message::system("be brief"), Message::user("first")];
    let more = [start.clone(), vec![Message::assistant("so"), Message::user("second")]].concat();
    assert_eq!(affinity(&start), affinity(&more));
    assert_ne!(affinity(&start), affinity(&start[1..]));
}
