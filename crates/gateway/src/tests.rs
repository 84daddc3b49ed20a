//! The whole way, from a model to a server on loopback and back.

use super::*;
use crate::embed::Texts;
use althing_chat::{Answer, Stop};
use althing_stdx::Kind;
use althing_testkit::upstream::{Options, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Nothing here takes so long; a test that waits longer has failed.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(30);
pub(crate) const KEY: &str = "a-key-that-no-pattern-knows";

pub(crate) fn gateway(attempts_max: u32) -> Gateway {
    Gateway::new(Limits { attempts_max, ..Limits::default() })
}

/// An endpoint of the provider called `name` at `origin`.
pub(crate) fn endpoint(name: &str, origin: &str) -> Arc<Endpoint> {
    let provider = provider(name).unwrap();
    let path = if provider.dialect.name == "openai" { "/v1" } else { "" };
    Arc::new(Endpoint {
        id: name.into(),
        provider,
        base_url: format!("{origin}{path}"),
        key: Some(Secret::new(KEY)),
        parallel: provider.parallel,
        access: None,
        headers: vec![],
    })
}

pub(crate) fn ask(stream: bool) -> Ask {
    Ask { stream, ..Ask::new("Be brief.", "Well?") }
}

/// A server that sends every caller the same bytes and hangs up.
async fn always(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut reader, mut writer) = stream.split();
            reader.read_u8().await.unwrap();
            // The client need not read it all, and what it still sends must not reset the line.
            let _ = writer.write_all(answer.as_bytes()).await;
            let _ = writer.shutdown().await;
            let _ = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await;
        }
    });
    format!("http://{address}")
}

async fn fault_of(endpoint: &Arc<Endpoint>, model: &str) -> Fault {
    let speaking = gateway(1).model(endpoint, model).speak(ask(true));
    Answer::collect(speaking).await.unwrap_err()
}

#[tokio::test]
async fn every_dialect_streamed_and_whole() {
    let upstream = Upstream::start(Options::default().text(|_| "It depends.".into()));
    for name in ["openai", "anthropic", "google", "ollama", "custom"] {
        for stream in [true, false] {
            let endpoint = endpoint(name, &upstream.url());
            let model = gateway(1).model(&endpoint, "fake-large@high");
            assert_eq!(model.id(), format!("{name}:fake-large@high"));
            let answer = Answer::collect(model.speak(ask(stream))).await.unwrap();
            assert_eq!(
                (answer.text.as_str(), answer.stop),
                ("It depends.", Some(Stop::End)),
                "{name}"
            );
            let seen = upstream.requests().pop().unwrap();
            assert_eq!((seen.model.as_str(), seen.stream), ("fake-large", stream), "{name}");
            assert!(seen.headers.values().any(|value| value.to_str().unwrap().contains(KEY)));
            assert!(seen.header("user-agent").starts_with("althing/"));
            assert_eq!(seen.header("x-althing-hops").len(), 16, "{name}");
        }
    }
    let seen = &upstream.requests()[0];
    assert_eq!(seen.body["reasoning_effort"], "high");
}

#[tokio::test]
async fn what_a_server_refuses_of_a_stream_is_left_out_from_then_on() {
    let upstream = Upstream::start(Options::default().text(|_| "It depends.".into()));
    let endpoint = endpoint("custom", &upstream.url());
    let gateway = gateway(1);
    for (name, want) in [
        ("no-stream-options", vec![(true, true), (true, false), (true, false)]),
        ("no-stream", vec![(true, true), (false, false), (false, false)]),
    ] {
        for _ in 0..2 {
            let speaking = gateway.model(&endpoint, name).speak(ask(true));
            assert_eq!(Answer::collect(speaking).await.unwrap().text, "It depends.", "{name}");
        }
        let seen = upstream.requests().into_iter().filter(|seen| seen.model == name);
        let sent = seen.map(|it| (it.stream, it.body.get("stream_options").is_some()));
        assert_eq!(sent.collect::<Vec<_>>(), want, "{name}");
    }
    let fault = fault_of(&endpoint, "err-400").await;
    assert_eq!(upstream.requests().iter().filter(|it| it.model == "err-400").count(), 1, "{fault}");
}

#[tokio::test]
async fn lists_hold_chat_models_with_names() {
    let models = ["gpt-5.1", "text-embedding-3-small", "whisper-1"];
    let upstream = Upstream::start(Options::default().models(models));
    for name in ["openai", "anthropic", "google", "ollama"] {
        let listed =
            gateway(1).list(&endpoint(name, &upstream.url()), Duration::MAX).await.unwrap();
        assert_eq!(listed.len(), 1, "{name}: {listed:?}");
        assert_eq!(listed[0].id, "gpt-5.1", "{name}");
        assert!(listed[0].display_name.is_some());
    }
}

#[tokio::test]
async fn a_list_that_does_not_come() {
    let upstream = Upstream::start(Options::default().mishap(|_| Some("hang")));
    let endpoint = endpoint("ollama", &upstream.url());
    let fault = gateway(1).list(&endpoint, Duration::from_millis(1)).await.unwrap_err();
    let want = "Ollama did not list its models within 1ms";
    assert_eq!((fault.kind, fault.message.as_str()), (Kind::TimedOut, want));
}

#[tokio::test]
async fn a_flaky_server_is_asked_again_in_sight() {
    for name in ["openai", "anthropic", "google", "ollama"] {
        let upstream = Upstream::start(Options::default());
        let model = gateway(2).model(&endpoint(name, &upstream.url()), "flaky-1");
        let deltas: Vec<Delta> = model.speak(ask(true)).map(Result::unwrap).collect().await;
        assert!(matches!(deltas[0], Delta::Started), "{name}");
        assert!(matches!(&deltas[1], Delta::Retrying(retry) if retry.kind == Kind::RateLimited));
        assert_eq!(deltas.last(), Some(&Delta::Stop(Stop::End)), "{name}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_a_clear_fault() {
    let upstream = Upstream::start(Options::default());
    let openai = endpoint("openai", &upstream.url());
    let html = "OpenAI answered with text/html instead of JSON: the address may be wrong, or the \
                network asks for a login first";
    let moved = "OpenAI sends us on to another page of its own, which is not followed: set \
                 OPENAI_BASE_URL to the right address";
    for (model, kind, message) in
        [("html", Kind::Upstream, html), ("redirect", Kind::Upstream, moved)]
    {
        let fault = fault_of(&openai, model).await;
        assert_eq!((fault.kind, fault.message.as_str()), (kind, message));
    }
    assert!(upstream.requests().iter().all(|seen| seen.path == "/v1/chat/completions"));

    let away =
        always("HTTP/1.1 302 Found\r\nlocation: https://evil.example/x?y\r\n\r\n".into()).await;
    let fault = fault_of(&endpoint("openai", &away), "any").await;
    assert!(fault.message.contains("sends us on to evil.example,"), "{fault}");
}

#[tokio::test]
async fn of_a_huge_error_little_is_read() {
    let body = "x".repeat(64 << 20);
    let head = format!("HTTP/1.1 500 No\r\ncontent-length: {}\r\n\r\n", body.len());
    let url = always(head + &body).await;
    let fault = fault_of(&endpoint("openai", &url), "any").await;
    assert_eq!(fault.status, Some(500));
    assert!(format!("{fault:?}").len() < 100 * 1024);
}

#[tokio::test]
async fn keys_that_cannot_work_are_not_sent() {
    let upstream = Upstream::start(Options::default());
    let broken = "the key of OpenAI (work) holds a line break or another character no key has";
    let missing = "OpenAI (work) wants a key: set OPENAI_API_KEY";
    let table = [
        (Some("sk-a\nb"), broken),
        (Some("schlüssel"), broken),
        (Some(""), missing),
        (None, missing),
    ];
    for (key, message) in table {
        let endpoint = Endpoint::clone(&endpoint("openai", &upstream.url()));
        let key = key.map(Secret::new);
        let fault =
            fault_of(&Arc::new(Endpoint { id: "work".into(), key, ..endpoint }), "any").await;
        assert_eq!((fault.kind, fault.message.as_str()), (Kind::BadKey, message));
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn addresses_that_cannot_work_are_named() {
    let bad = ["", "localhost:1", "ftp://a", "http://user:word@a", "http://a b"];
    for base_url in bad.map(String::from) {
        let endpoint = Endpoint { base_url, ..Endpoint::clone(&endpoint("custom", "")) };
        let fault = fault_of(&Arc::new(endpoint), "any").await;
        assert_eq!(fault.kind, Kind::InvalidParams);
        assert!(fault.message.ends_with("(CUSTOM_BASE_URL)"), "{fault}");
        assert!(!fault.message.contains("word@"));
    }
}

#[tokio::test]
async fn no_key_in_anything_that_is_shown() {
    let error = format!(r#"{{"error":{{"message":"no such key: {KEY}","type":"x"}}}}"#);
    let answer = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let event = format!("data: {error}\n\n");
    for text in
        [answer("401", "application/json", &error), answer("200", "text/event-stream", &event)]
    {
        let endpoint = endpoint("openai", &always(text).await);
        let fault = fault_of(&endpoint, "any").await;
        assert!(fault.message.contains("[secret]"), "{fault:?}");
        let listed = gateway(1).list(&endpoint, Duration::MAX).await;
        let request = exchange::outgoing(&endpoint, "/x", &[], None).unwrap();
        for shown in [format!("{fault} {fault:?}"), format!("{endpoint:?} {listed:?} {request:?}")]
        {
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_local_server_runs_one_model_at_a_time() {
    let upstream = Upstream::start(Options::default().delay(Duration::from_millis(1)));
    let gateway = gateway(1);
    // Two endpoints, one server: the path does not make it another.
    let ids = [("ollama", "a"), ("lmstudio", "b"), ("ollama", "c")];
    let calls = ids.map(|(name, model)| {
        let speaking = gateway.model(&endpoint(name, &upstream.url()), model).speak(ask(true));
        speaking.map(Result::unwrap).collect::<Vec<Delta>>()
    });
    let deltas = futures_util::future::join_all(calls).await;
    assert_eq!(upstream.peak_in_flight(), 1);
    let queued: Vec<bool> = deltas.iter().map(|deltas| deltas[0] == Delta::Queued).collect();
    assert_eq!(queued, [false, true, true]);
}

#[tokio::test]
async fn cloud_models_speak_at_once_and_stop_when_nobody_listens() {
    let upstream = Upstream::start(Options::default());
    let model = gateway(1).model(&endpoint("openai", &upstream.url()), "stall");
    let mut calls = [model.speak(ask(true)), model.speak(ask(true))];
    for call in &mut calls {
        while !matches!(call.next().await, Some(Ok(Delta::Text(_)))) {}
    }
    assert_eq!(upstream.in_flight(), 2);
    drop(calls);
    upstream.wait_for(|seen| seen.iter().all(|seen| seen.aborted())).await;
}

#[tokio::test]
async fn answers_leave_their_connection_to_the_next() {
    let upstream = Upstream::start(Options::default());
    let model = gateway(1).model(&endpoint("openai", &upstream.url()), "any");
    for _ in 0..3 {
        Answer::collect(model.speak(ask(true))).await.unwrap();
        // The pool takes the connection back in a task of its own.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }
    assert!(upstream.requests().iter().all(|seen| seen.connection == 1));
}

#[tokio::test]
async fn texts_as_vectors() {
    let body = r#"{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":3}}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
    let url = always(format!("{head}{}\r\n\r\n{body}", body.len())).await;
    let embed = |name: &str, inputs: usize| {
        let target = Target { endpoint: endpoint(name, &url), model: "m".into() };
        let texts = Texts { inputs: vec!["a".to_string(); inputs], dimensions: None };
        async move {
            let done = gateway(1).embed(&[target], &texts).await;
            done.map(|(_, embedded)| embedded).map_err(|declined| declined.fault)
        }
    };
    let embedded = embed("openai", 1).await.unwrap();
    assert_eq!(embedded.vectors, [[1.0, 2.0]]);
    assert_eq!(embedded.usage.unwrap().input, Some(3));
    for (name, inputs, want) in [
        ("openai", 2, "OpenAI gave 1 vectors for 2 texts"),
        ("openai", 0, "input: 1 to 2048 texts, not 0"),
        ("openai", 2049, "input: 1 to 2048 texts, not 2049"),
        ("anthropic", 1, "model: Anthropic has no embeddings; take another provider"),
    ] {
        assert_eq!(embed(name, inputs).await.unwrap_err().message, want);
    }
}

#[tokio::test]
async fn vectors_come_from_the_next_where_the_first_hangs() {
    let upstream = Upstream::start(Options::default());
    let limits = Limits { first_token: Duration::from_millis(1), ..Limits::default() };
    let target = |model: &str| {
        let endpoint = endpoint("openai", &upstream.url());
        Target { endpoint, model: model.into() }
    };
    let texts = Texts { inputs: vec!["a".into()], dimensions: None };
    let done = Gateway::new(limits).embed(&[target("hang"), target("fine")], &texts).await;
    let (who, embedded) = done.map_err(|declined| declined.fault).unwrap();
    assert_eq!((who.model.as_str(), embedded.vectors.len()), ("fine", 1));
}
