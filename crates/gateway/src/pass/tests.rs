//! Bytes through, over servers on loopback.

use super::*;
use crate::access::{self, Wanted};
use crate::dialect::anthropic::ANTHROPIC;
use crate::dialect::openai::OPENAI;
use crate::tests::{FOR_EVER, KEY, endpoint, gateway};
use crate::{Endpoint, Limits};
use althing_stdx::Kind;
use althing_testkit::upstream::{Dialect as Spoken, Options, Upstream};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A client of one of the two dialects.
#[derive(Clone, Copy)]
struct Client {
    provider: &'static str,
    dialect: &'static Dialect,
    path: &'static str,
}

const CHAT: Client = Client { provider: "openai", dialect: &OPENAI, path: "/chat/completions" };
const TEXTS: Client = Client { path: "/completions", ..CHAT };
const RESPONSES: Client = Client { path: "/responses", ..CHAT };
const MESSAGES: Client = Client { provider: "anthropic", dialect: &ANTHROPIC, path: "/messages" };

impl Client {
    fn target(self, id: &str, origin: &str, model: &str) -> Target {
        let endpoint = Endpoint::clone(&endpoint(self.provider, origin));
        Target { endpoint: Arc::new(Endpoint { id: id.into(), ..endpoint }), model: model.into() }
    }

    /// `a:MODEL` and then `b:fine`.
    fn targets(self, upstream: &Upstream, model: &str) -> [Target; 2] {
        [self.target("a", &upstream.url(), model), self.target("b", &upstream.url(), "fine")]
    }

    fn request(self, body: impl Into<String>) -> PassRequest {
        let body = Bytes::from(body.into());
        let head = Head::scan(&body).unwrap();
        let (dialect, path) = (self.dialect, self.path.into());
        PassRequest { dialect, path, body, head, headers: vec![] }
    }

    fn asks(self, stream: bool) -> PassRequest {
        self.request(asking(stream).to_string())
    }
}

fn asking(stream: bool) -> Value {
    let messages = json!([{ "role": "user", "content": "Well?" }]);
    json!({ "model": "best", "messages": messages, "max_tokens": 6, "stream": stream })
}

/// All bytes of an answer, how it ended, and what it counts.
async fn read(passed: Passed) -> (Vec<u8>, Option<How>, Option<Usage>) {
    match passed.body {
        Passing::Whole(bytes, usage) => (bytes.to_vec(), None, usage),
        Passing::Stream(mut stream) => {
            let ended: Arc<Mutex<Vec<Ended>>> = Arc::default();
            let notes = ended.clone();
            stream.on_end(move |end| notes.lock().unwrap().push(end));
            let mut all = vec![];
            while let Some(bytes) = stream.next().await {
                all.extend(bytes.into_iter().flatten());
            }
            drop(stream);
            let [Ended { how, usage }] = &ended.lock().unwrap()[..] else {
                panic!("it ends once");
            };
            (all, Some(how.clone()), *usage)
        }
    }
}

/// A server for one request: its bytes, and the answer it sends.
async fn once(answer: &'static str) -> (String, JoinHandle<String>) {
    let (origin, heard) = several([answer]).await;
    (origin, tokio::spawn(async { heard.await.unwrap().join("") }))
}

/// A server for as many requests as there are answers, each on a connection of its own.
async fn several<const N: usize>(answers: [&'static str; N]) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let heard = tokio::spawn(async move {
        let mut all = vec![];
        for answer in answers {
            let (socket, _) = listener.accept().await.unwrap();
            all.push(answer_one(socket, answer).await);
        }
        all
    });
    (origin, heard)
}

async fn answer_one(mut socket: TcpStream, answer: &'static str) -> String {
    let mut heard = String::new();
    let length = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.to_lowercase().split_once("content-length: ")?.1.to_string();
        let length: usize = length.split_whitespace().next()?.parse().ok()?;
        Some(body.len() >= length)
    };
    while length(&heard) != Some(true) {
        let mut piece = [0; 4096];
        let read = socket.read(&mut piece).await.unwrap();
        heard.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    socket.write_all(answer.as_bytes()).await.unwrap();
    heard
}

#[tokio::test]
async fn the_body_passes_as_it_is_but_for_the_name() {
    let before = "{ \"odd\": [1.0, 1e400, \"\\u00e9\"],\t\"model\" : ";
    let after = " ,\"messages\":[],\n \"x_new_field\":{\"deep\":null}}\n";
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 21\r\n\
                  x-request-id: r7\r\nset-cookie: no\r\n\r\n{\"x\":[],\"usage\":null}";
    for (client, line, header) in [
        (CHAT, "POST /v1/chat/completions HTTP/1.1", "authorization: Bearer "),
        (MESSAGES, "POST /v1/messages?beta=true HTTP/1.1", "x-api-key: "),
    ] {
        let (origin, heard) = once(answer).await;
        let mut request = client.request(format!("{before}\"best\"{after}"));
        if client.provider == "anthropic" {
            request.path = "/messages?beta=true".into();
            request.headers = vec![("anthropic-beta", "tools".into())];
        }
        let target = client.target("a", &origin, "large \"one\"@high");
        let passed = gateway(1).pass(&[target], request, None).await.unwrap();
        assert_eq!((passed.status, passed.failed), (200, 0));
        let kept: Vec<&str> =
            passed.headers.keys().filter(|name| for_client(name)).map(|it| it.as_str()).collect();
        assert_eq!(kept, ["content-type", "x-request-id"]);
        assert_eq!(read(passed).await.0, b"{\"x\":[],\"usage\":null}");
        let heard = heard.await.unwrap();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, format!("{before}\"large \\\"one\\\"\"{after}"));
        assert!(head.starts_with(line), "{head}");
        assert!(head.contains(&format!("{header}{KEY}")), "{head}");
        let version = head.contains("anthropic-version: 2023-06-01\r\nanthropic-beta")
            || head.contains("anthropic-beta: tools\r\nanthropic-version: 2023-06-01");
        assert_eq!(version, client.provider == "anthropic", "{head}");
    }
}

#[tokio::test]
async fn an_answer_is_what_the_server_sent() {
    for client in [CHAT, TEXTS, MESSAGES] {
        for stream in [true, false] {
            // Answers are numbered, so each way gets a server of its own.
            let servers = [(); 2].map(|()| Upstream::start(Options::default()));
            let gateway = gateway(1);
            let request = client.asks(stream);
            let body = request.head.splice(&request.body, "fine").unwrap();
            let target = client.target("a", &servers[0].url(), "fine");
            let path = if client.provider == "anthropic" { "/v1/messages" } else { client.path };
            let wanted = Wanted { path: path.into(), body: Some(body), ..Wanted::default() };
            let direct = access::open(&gateway.http, &target.endpoint, &wanted).await.unwrap();
            let direct: Vec<Bytes> = direct.body.map(Result::unwrap).collect().await;
            let target = client.target("a", &servers[1].url(), "fine");
            let passed = gateway.pass(&[target], request, None).await.unwrap();
            // A count that only we asked for is not among them.
            assert!(!direct.is_empty());
            assert_eq!(read(passed).await.0, direct.concat(), "{} {stream}", client.path);
        }
    }
}

#[tokio::test]
async fn a_failure_before_the_first_word_leads_to_the_next_target() {
    for client in [CHAT, MESSAGES] {
        for stream in [true, false] {
            for model in ["err-429", "err-503", "err-key", "err-early", "html", "redirect"] {
                let upstream = Upstream::start(Options::default());
                let (targets, gateway) = (client.targets(&upstream, model), gateway(3));
                let passed = gateway.pass(&targets, client.asks(stream), None).await.unwrap();
                let what = format!("{} {stream} {model}", client.path);
                assert_eq!((passed.target.id().as_str(), passed.failed), ("b:fine", 1), "{what}");
                let (bytes, how, _) = read(passed).await;
                assert!(!String::from_utf8(bytes).unwrap().contains("error"), "{what}");
                assert!(matches!(how, None | Some(How::Done)), "{what}");
                assert_eq!((upstream.count(model), upstream.count("fine")), (1, 1), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_on_the_way() {
    let upstream = Upstream::start(Options::default());
    let mut counted = asking(true);
    counted["stream_options"] = json!({ "include_usage": true });
    for (client, body, known) in [
        (CHAT, asking(false), true),
        (CHAT, asking(true), true),
        (CHAT, counted, true),
        (TEXTS, asking(false), true),
        (TEXTS, asking(true), true),
        (MESSAGES, asking(false), true),
        (MESSAGES, asking(true), true),
    ] {
        let request = client.request(body.to_string());
        let targets = client.targets(&upstream, "good");
        let passed = gateway(1).pass(&targets, request, None).await.unwrap();
        let (_, _, usage) = read(passed).await;
        let counts = usage.map(|usage| (usage.input.is_some(), usage.output.is_some()));
        assert_eq!(counts, known.then_some((true, true)), "{body}");
    }
}

/// A server that does not know the field which asks for a count is asked without, and from then on
/// at once.
#[tokio::test]
async fn a_server_that_refuses_to_be_asked_for_a_count_is_not_asked_again() {
    let refusal = "HTTP/1.1 400 No\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
                   {\"error\":{\"message\":\"Unrecognized argument: stream_options\"}}";
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                  data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
    let (origin, heard) = several([refusal, answer, answer]).await;
    let gateway = gateway(3);
    for _ in 0..2 {
        let targets = [CHAT.target("a", &origin, "fine")];
        let passed = gateway.pass(&targets, CHAT.asks(true), None).await.unwrap();
        let (bytes, how, usage) = read(passed).await;
        assert!(!bytes.is_empty() && matches!(how, Some(How::Done)), "{how:?}");
        assert_eq!(usage, None);
    }
    let heard = heard.await.unwrap();
    let counted = heard.iter().map(|it| it.contains("stream_options"));
    assert_eq!(counted.collect::<Vec<_>>(), [true, false, false]);
}

/// A path that a server lacks is no failure of the server, and is remembered for this model.
#[tokio::test]
async fn a_path_that_a_server_lacks_is_found_out_once() {
    let upstream = Upstream::start(Options::default().speaks([Spoken::OpenAi]));
    let gateway = gateway(3);
    for client in [RESPONSES, TEXTS] {
        let targets = client.targets(&upstream, "fine");
        for stream in [true, false] {
            let declined = gateway.pass(&targets, client.asks(stream), None).await.err().unwrap();
            assert_eq!(declined.fault.kind, Kind::UnknownMethod, "{declined:?}");
        }
        assert!(gateway.lacks(&targets[0], client.path));
        assert!(!gateway.lacks(&targets[0], "/chat/completions"));
        assert_eq!(gateway.rest(&targets[0]), None);
    }
    let passed = gateway.pass(&CHAT.targets(&upstream, "fine"), CHAT.asks(false), None).await;
    assert_eq!(passed.unwrap().target.id(), "a:fine");
}

#[tokio::test]
async fn the_last_refusal_is_the_providers_own_without_keys() {
    let upstream = Upstream::start(Options::default());
    for (client, model, status, word) in [
        (CHAT, "err-429", 429, "rate_limit_exceeded"),
        (CHAT, "err-400", 400, "invalid_request_error"),
        (MESSAGES, "err-529", 529, "overloaded_error"),
    ] {
        let alone = &client.targets(&upstream, model)[..1];
        let declined = gateway(1).pass(alone, client.asks(true), None).await.err().unwrap();
        assert_eq!(declined.fault.status, Some(status));
        assert_eq!(declined.target.unwrap().model, model);
        let answer = declined.answer.unwrap();
        assert_eq!(answer.status, status);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(body["error"].to_string().contains(word), "{body}");
    }
    let (origin, _heard) = once(
        "HTTP/1.1 401 No\r\ncontent-type: application/json\r\ncontent-length: 49\r\n\r\n\
         {\"error\":{\"message\":\"a-key-that-no-pattern-knows\"}}",
    )
    .await;
    let target = CHAT.target("a", &origin, "any");
    let declined = gateway(1).pass(&[target], CHAT.asks(true), None).await.err().unwrap();
    assert_eq!(declined.fault.kind, Kind::BadKey);
    assert!(declined.answer.is_some() && !format!("{declined:?}").contains(KEY), "{declined:?}");
}

#[tokio::test]
async fn a_failure_after_the_first_word_is_passed_on_and_noted() {
    for client in [CHAT, MESSAGES] {
        for model in ["cut", "err-midstream"] {
            let upstream = Upstream::start(Options::default());
            let targets = client.targets(&upstream, model);
            let passed = gateway(1).pass(&targets, client.asks(true), None).await.unwrap();
            let (bytes, how, _) = read(passed).await;
            assert!(!bytes.is_empty());
            assert!(matches!(how, Some(How::Failed(_))), "{} {model}: {how:?}", client.path);
            assert_eq!(upstream.count("fine"), 0);
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call_upstream_and_is_no_failure() {
    let upstream = Upstream::start(Options::default());
    let gateway = gateway(1);
    for nth in 1..=6 {
        let targets = CHAT.targets(&upstream, "stall");
        let passed = gateway.pass(&targets, CHAT.asks(true), None).await.unwrap();
        assert_eq!(passed.target.id(), "a:stall");
        let Passing::Stream(mut stream) = passed.body else { panic!("it streams") };
        stream.next().await.unwrap().unwrap();
        let ended = Arc::new(Mutex::new(None));
        let note = ended.clone();
        stream.on_end(move |end| *note.lock().unwrap() = Some(end.how));
        drop(stream);
        assert!(matches!(*ended.lock().unwrap(), Some(How::Left)));
        upstream.wait_for(|seen| seen.len() == nth && seen.iter().all(|it| it.aborted())).await;
    }
    // Before the first word too.
    let (targets, request) = (CHAT.targets(&upstream, "hang"), CHAT.asks(true));
    tokio::select! {
        _ = gateway.pass(&targets, request, None) => panic!("it never answers"),
        _ = upstream.wait_for(|seen| seen.len() == 7) => {}
    }
    upstream.wait_for(|seen| seen.iter().all(|it| it.aborted())).await;
    assert_eq!(gateway.rest(&targets[0]), None);
}

#[tokio::test]
async fn deadlines_and_lengths_hold() {
    let upstream = Upstream::start(Options::default());
    let tick = Duration::from_millis(1);
    let limits = |change: fn(&mut Limits, Duration)| {
        let mut limits = Limits { attempts_max: 1, ..Limits::default() };
        change(&mut limits, tick);
        Gateway::new(limits)
    };
    let alone = |model| [CHAT.target("a", &upstream.url(), model)];
    for (gateway, stream, words) in [
        (limits(|it, tick| it.first_token = tick), true, "gave no token within 1ms"),
        (limits(|it, tick| it.total = tick), true, "was not done within 1ms"),
        (limits(|it, tick| it.total = tick), false, "was not done within 1ms"),
    ] {
        let declined = gateway.pass(&alone("hang"), CHAT.asks(stream), None).await.err().unwrap();
        assert_eq!(declined.fault.kind, Kind::TimedOut);
        assert!(declined.fault.message.contains(words), "{declined:?}");
    }
    let gateway = limits(|it, tick| it.idle = tick);
    let passed = gateway.pass(&alone("stall"), CHAT.asks(true), None).await.unwrap();
    let (_, how, _) = read(passed).await;
    assert!(matches!(how, Some(How::Failed(fault)) if fault.message.contains("silent for 1ms")));
    let gateway = limits(|it, _| it.answer_bytes_max = 8);
    for stream in [true, false] {
        let declined = gateway.pass(&alone("fine"), CHAT.asks(stream), None).await.err().unwrap();
        assert!(declined.fault.message.contains("longer than 128 bytes"), "{declined:?}");
    }
}

#[tokio::test]
async fn a_local_server_has_its_lane_and_a_large_one_takes_many() {
    let upstream = Upstream::start(Options::default());
    let gateway = gateway(1);
    let local = Client { provider: "lmstudio", ..CHAT };
    let calls = (0..3).map(|_| async {
        let targets = local.targets(&upstream, "one");
        read(gateway.pass(&targets, local.asks(true), None).await.unwrap()).await
    });
    join_all(calls).await;
    assert_eq!(upstream.peak_in_flight(), 1);
    let calls = (0..20).map(|_| async {
        let targets = CHAT.targets(&upstream, "stall");
        gateway.pass(&targets, CHAT.asks(true), None).await.unwrap()
    });
    let _held = join_all(calls).await;
    assert_eq!(upstream.in_flight(), 20);
}

#[tokio::test]
async fn nobody_waits_at_a_full_server_while_another_has_a_place() {
    let servers = [(); 2].map(|()| Upstream::start(Options::default()));
    let local = Client { provider: "lmstudio", ..CHAT };
    let targets = ["a", "b"].into_iter().zip(&servers);
    let targets: Vec<Target> =
        targets.map(|(id, server)| local.target(id, &server.url(), "stall")).collect();
    let gateway = gateway(1);
    let pass = async || {
        let passed = timeout(FOR_EVER, gateway.pass(&targets, local.asks(true), None));
        passed.await.expect("another one has a place").unwrap()
    };
    let (first, second) = (pass().await, pass().await);
    assert_eq!((first.target.id().as_str(), second.target.id().as_str()), ("a:stall", "b:stall"));
    // Now both are full, and the first place is taken, whose ever it is.
    let third = pass();
    tokio::pin!(third);
    assert!(third.as_mut().now_or_never().is_none(), "nobody has a place");
    drop(second);
    assert_eq!(third.await.target.id(), "b:stall");
    drop(first);
}

#[tokio::test]
async fn nobody_to_ask() {
    let upstream = Upstream::start(Options::default().retry_after(Duration::from_secs(60)));
    let gateway = gateway(1);
    let foreign = MESSAGES.targets(&upstream, "fine");
    let declined = gateway.pass(&foreign, CHAT.asks(true), None).await.err().unwrap();
    assert_eq!(declined.fault.message, "model: no target of best speaks openai");
    let limited = CHAT.target("c", &upstream.url(), "err-429");
    let targets = [CHAT.target("a", &upstream.url(), "err-429"), foreign[1].clone(), limited];
    for _ in 0..2 {
        let declined = gateway.pass(&targets, CHAT.asks(true), None).await.err().unwrap();
        assert_eq!(declined.fault.kind, Kind::RateLimited, "{declined:?}");
        assert!(declined.fault.retry_after.unwrap() <= Duration::from_secs(60));
    }
    assert_eq!(upstream.count("err-429"), 2, "the second request asked nobody");
}

#[tokio::test]
async fn a_conversation_stays_where_it_was_answered() {
    let upstream = Upstream::start(Options::default());
    let gateway = gateway(1);
    for (model, who) in [("flaky-1", "b:fine"), ("flaky-1", "b:fine")] {
        let targets = CHAT.targets(&upstream, model);
        let passed = gateway.pass(&targets, CHAT.asks(false), Some(7)).await.unwrap();
        assert_eq!(passed.target.id(), who);
    }
    assert_eq!(upstream.count("flaky-1"), 1);
}
