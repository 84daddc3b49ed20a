//! Streams of the whole service, against a server that speaks as providers do.

use super::*;
use crate::service::tests::{add, caller as client, service, upstream};
use crate::service::words::RouteTarget;
use althing_testkit::{Options, Upstream};
use std::io::Read;

/// The reply to its end: text, calls and whether tokens were counted.
async fn reply(service: &Service, id: &str) -> (String, Vec<ToolCall>, bool) {
    let (mut text, mut calls) = (String::new(), vec![]);
    loop {
        let got = service.receive_stream(&client(), id, None, 16).await.unwrap();
        text.extend(got.chunks);
        calls.extend(got.tool_call);
        if got.done {
            return (text, calls, got.usage.is_some());
        }
    }
}

#[tokio::test]
async fn a_conversation_with_a_provider_is_counted() {
    let (service, upstream) = (service(&[]).await, upstream(&["m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let id = service.create_stream(&client(), "box:m").await.unwrap();
    let parameters = json!({"type": "object", "properties": {}});
    let look = Tool { name: "look".into(), description: String::new(), parameters };
    let hello = Message::user("Hello?");
    service.send_message(&client(), &id, hello.clone(), vec![look]).await.unwrap();
    let (_, calls, counted) = reply(&service, &id).await;
    assert_eq!((calls.len(), calls[0].name.as_str(), counted), (1, "look", true));
    let result = Message { tool_call_id: None, ..Message::tool("", "a sea") };
    service.send_message(&client(), &id, result, vec![]).await.unwrap();
    let (text, calls, counted) = reply(&service, &id).await;
    assert!(!text.is_empty() && calls.is_empty() && counted);

    let fd = service.open_stream_fd(&client(), &id).await.unwrap();
    service.send_message(&client(), &id, hello, vec![]).await.unwrap();
    let lines = tokio::task::spawn_blocking(move || {
        // It blocks, as the clients of a bus expect.
        let (mut end, mut lines) = (std::os::unix::net::UnixStream::from(fd), String::new());
        let mut byte = [0];
        while !(lines.ends_with("}\n") && lines.contains("\"done\":true")) {
            end.read_exact(&mut byte).unwrap();
            lines.push(char::from(byte[0]));
        }
        lines
    });
    assert!(lines.await.unwrap().contains("{\"tool_call\":{\"id\":"));

    let used = service.metrics.snapshot().await.unwrap();
    assert_eq!((used.requests_total, used.requests_failed, used.cost_total), (3, 0, Some(0.0)));
    let text = service.prometheus().await.unwrap();
    assert!(text.contains("althing_requests_total{provider=\"box\",model=\"m\"} 3\n"), "{text}");
    assert!(text.contains("althing_streams 1\n"), "{text}");
    service.close_stream(&client(), &id).await.unwrap();
    assert!(service.close_stream(&client(), &id).await.is_err());
    service.close().await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_calls() {
    let (service, upstream) = (service(&[]).await, upstream(&["hang"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let fault = service.create_stream(&client(), "nobody-has-this").await.unwrap_err();
    assert_eq!(fault.kind, Kind::UnknownModel);
    let id = service.create_stream(&client(), "box:hang").await.unwrap();
    service.send_message(&client(), &id, Message::user("Hello?"), vec![]).await.unwrap();
    let moment = Some(Duration::from_millis(1));
    assert_eq!(
        service.receive_stream(&client(), &id, moment, 1).await.unwrap(),
        Received::default()
    );
    service.caller_left(&client().connection);
    assert!(service.streams.is_empty());
    while service.metrics.snapshot().await.unwrap().requests_total < 1 {}
}

/// One turn of `id`: the reply's text, or why there is none.
async fn turn(service: &Service, id: &str) -> Result<String> {
    service.send_message(&client(), id, Message::user("Hello?"), vec![]).await?;
    Ok(reply(service, id).await.0)
}

#[tokio::test]
async fn what_a_name_means_is_looked_up_at_every_turn() {
    let service = service(&[]).await;
    let says = |text: &'static str| {
        Upstream::start(Options::default().models(["m"]).text(move |_| text.into()))
    };
    let (first, second) = (says("one"), says("two"));
    add(&service, "Box", "vllm", &first).await.unwrap();
    add(&service, "Spare", "vllm", &second).await.unwrap();
    let to = |provider_id: &str| {
        vec![RouteTarget { provider_id: provider_id.into(), model_id: "m".into() }]
    };
    service.set_route("fast", to("box")).await.unwrap();
    let routed = service.create_stream(&client(), "fast").await.unwrap();
    let direct = service.create_stream(&client(), "box:m").await.unwrap();
    for id in [&routed, &direct] {
        assert_eq!(turn(&service, id).await.unwrap(), "one");
    }
    service.set_route("fast", to("spare")).await.unwrap();
    assert_eq!(turn(&service, &routed).await.unwrap(), "two");

    service.set_model_enabled("box", "m", false).await.unwrap();
    let refused = service.create_stream(&client(), "box:m").await.unwrap_err();
    assert_eq!(turn(&service, &direct).await.unwrap_err(), refused);
    service.set_model_enabled("box", "m", true).await.unwrap();
    assert_eq!(turn(&service, &direct).await.unwrap(), "one", "what was refused was not said");

    service.delete_provider("box").await.unwrap();
    let fault = turn(&service, &direct).await.unwrap_err();
    assert_eq!(fault.kind, Kind::UnknownModel);
    assert_eq!(turn(&service, &routed).await.unwrap(), "two");
    let told = second.requests();
    let told = told.iter().rfind(|seen| !seen.body["messages"].is_null()).unwrap();
    assert_eq!(told.body["messages"].as_array().unwrap().len(), 5, "the conversation is kept");
}
