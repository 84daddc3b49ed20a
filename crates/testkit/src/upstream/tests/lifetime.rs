//! What the upstream knows of its clients: who is there, who left, who is being answered.

use super::client::{chat, connect, get};
use crate::upstream::{Dialect, Options, Route, Seen, State, Upstream};
use http_body_util::BodyExt;
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// Sends `call`, waits until the upstream has it, leaves, and expects the upstream to notice. A
/// client that got the head also waits for `frames` frames of the body.
async fn check_abort(call: super::client::Call, options: Options, frames: Option<usize>) {
    let upstream = Upstream::start(options);
    let mut sender = connect(&upstream).await;
    let client = async {
        let mut response = call.send(&mut sender).await;
        for _ in 0..frames.unwrap_or(usize::MAX) {
            response.frame().await.unwrap().unwrap();
        }
        response
    };
    if frames.is_some() {
        drop(client.await);
    } else {
        tokio::select! {
            _ = client => panic!("{call:?} was answered"),
            _ = upstream.wait_for(|seen| seen.len() == 1) => {}
        }
    }
    assert_eq!(upstream.requests()[0].state, State::Open, "{call:?}");
    assert_eq!(upstream.in_flight(), 1);
    drop(sender);
    upstream.wait_for(|seen| seen[0].aborted()).await;
    assert_eq!(upstream.in_flight(), 0);
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_at_every_point() {
    for dialect in Dialect::ALL {
        check_abort(chat(dialect, "hang", true), Options::default(), None).await;
        check_abort(chat(dialect, "stall", false), Options::default(), Some(1)).await;
        check_abort(chat(dialect, "stall", true), Options::default().chunks(2), Some(1)).await;
    }
    let hour = Duration::from_secs(3600);
    let call = || chat(Dialect::OpenAi, "m", true);
    check_abort(call(), Options::default().latency(hour), None).await;
    check_abort(call().header("x-fake-latency-ms", "3600000"), Options::default(), None).await;
    // The opening chunk is there at once, the first delta is not.
    check_abort(call(), Options::default().delay(hour), Some(1)).await;
    check_abort(call().header("x-fake-delay-us", "3600000000"), Options::default(), Some(1)).await;
}

#[tokio::test]
async fn requests_are_recorded_and_counted() {
    let upstream = Upstream::start(Options::default());
    let mut sender = connect(&upstream).await;
    let first = chat(Dialect::OpenAi, "m", true).header("authorization", "Bearer sk-1");
    for call in [first, chat(Dialect::Anthropic, "m", false), get("/v1/models")] {
        call.send(&mut sender).await.into_body().collect().await.unwrap();
    }
    get("/elsewhere").send(&mut connect(&upstream).await).await;
    let seen = upstream.requests();
    let row = |seen: &Seen| (seen.route, seen.model.clone(), seen.nth, seen.connection);
    assert_eq!(
        seen.iter().map(row).collect::<Vec<_>>(),
        [
            (Route::Chat(Dialect::OpenAi), "m".into(), 1, 1),
            (Route::Chat(Dialect::Anthropic), "m".into(), 2, 1),
            (Route::List(Dialect::OpenAi), String::new(), 1, 1),
            (Route::Unknown, String::new(), 2, 2),
        ]
    );
    assert!(seen.iter().all(|seen| seen.state == State::Answered));
    assert!(seen[0].stream && !seen[1].stream);
    assert_eq!(seen[0].header("authorization"), "Bearer sk-1");
    assert_eq!(seen[0].prompt(), "Why?");
    assert_eq!((upstream.count("m"), upstream.count("other")), (2, 0));
}

#[tokio::test]
async fn the_peak_of_parallel_requests_is_kept() {
    let upstream = Upstream::start(Options::default());
    let (mut one, mut two) = (connect(&upstream).await, connect(&upstream).await);
    let call = chat(Dialect::Ollama, "hang", true);
    tokio::select! {
        _ = call.send(&mut one) => panic!("a hanging model answered"),
        _ = call.send(&mut two) => panic!("a hanging model answered"),
        _ = upstream.wait_for(|seen| seen.len() == 2) => {}
    }
    drop((one, two));
    upstream.wait_for(|seen| seen.iter().all(Seen::aborted)).await;
    get("/api/version").send(&mut connect(&upstream).await).await;
    assert_eq!((upstream.in_flight(), upstream.peak_in_flight()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn waiting_does_not_use_the_callers_paused_clock() {
    let upstream = Upstream::start(Options::default());
    let mut sender = connect(&upstream).await;
    let client = async { get("/v1/models").send(&mut sender).await.status() };
    let wait = upstream.wait_for(|seen| seen.iter().any(|seen| seen.state == State::Answered));
    let (seen, status) = tokio::join!(wait, client);
    assert_eq!((seen.len(), status.as_u16()), (1, 200));
}

#[test]
fn it_serves_callers_without_a_runtime_and_ends_with_its_handle() {
    let upstream = Upstream::start(Options::default());
    let address = upstream.url().replace("http://", "");
    let mut socket = TcpStream::connect(&address).unwrap();
    socket.write_all(b"GET /api/version HTTP/1.1\r\nhost: it\r\n\r\n").unwrap();
    let seen = upstream.wait_for_sync(|seen| seen.len() == 1);
    assert_eq!(seen[0].route, Route::Version);
    drop(upstream);
    let mut answer = String::new();
    // The end may come as a reset; what arrived before it is in `answer` either way.
    let _ = socket.read_to_string(&mut answer);
    assert!(TcpStream::connect(&address).is_err());
}
