//! The bulk lane, with real file descriptors and the machine's clock.

use super::super::reply::PIECES_MAX;
use super::*;
use std::os::unix::net::UnixStream as End;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::net::UnixStream;

type Reader = Lines<BufReader<UnixStream>>;

/// The client's end of the lane of `id`.
fn lane_of(streams: &Streams, id: &str) -> Reader {
    let fd = lane::open(&streams.line(&caller("a"), id).unwrap()).unwrap();
    let end = End::from(fd);
    end.set_nonblocking(true).unwrap();
    BufReader::new(UnixStream::from_std(end).unwrap()).lines()
}

async fn read(reader: &mut Reader, lines: usize) -> Vec<String> {
    let mut all = Vec::new();
    while all.len() < lines {
        all.push(reader.next_line().await.unwrap().expect("a line"));
    }
    all
}

/// Waits for something that another task does.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn replies_are_lines() {
    let limited = Fault::new(Kind::RateLimited, "slow down");
    let limited = limited.retry_after(Some(Duration::from_millis(1500)));
    let turns = [
        vec![Say("a\n\"b\""), Call("f", "{\"x\":1}"), UsageOf(3, 4)],
        vec![Say("b"), FailWith(limited)],
        vec![Say("c")],
    ];
    let streams = Stage::default();
    let id = open(&streams, "a", &Scripted::new("m", turns));
    let mut reader = lane_of(&streams, &id);
    say(&streams, "a", &id, Message::user("go")).unwrap();
    let mut lines = read(&mut reader, 3).await;
    let fault = get(&streams, "a", &id).await.unwrap_err();
    assert_eq!(fault.message, "the replies of this stream go to its file descriptor");
    assert!(lane::open(&streams.line(&caller("a"), &id).unwrap()).is_err());
    say(&streams, "a", &id, Message::tool("call-1", "2")).unwrap();
    lines.extend(read(&mut reader, 2).await);
    say(&streams, "a", &id, Message::tool("call-1", "2")).unwrap();
    lines.extend(read(&mut reader, 2).await);
    expect![[r#"
        {"chunk":{"role":"assistant","content":"a\n\"b\""}}
        {"tool_call":{"id":"call-1","name":"f","arguments_json":"{\"x\":1}"}}
        {"done":true,"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}
        {"chunk":{"role":"assistant","content":"b"}}
        {"error":{"code":"rate_limited","message":"slow down","retry_after_ms":1500}}
        {"chunk":{"role":"assistant","content":"c"}}
        {"done":true}"#]]
    .assert_eq(&lines.join("\n"));
    streams.close(&caller("a"), &id).unwrap();
    assert_eq!(reader.next_line().await.unwrap(), None, "the end of the stream is the end of file");
}

#[tokio::test]
async fn a_reader_that_leaves_cancels_the_reply() {
    let streams = Stage::default();
    let turns = [vec![Say("a"), Hang], vec![Say("b"), Hang], vec![Say("c")]];
    let model = Scripted::new("m", turns);
    let id = open(&streams, "a", &model);
    for turn in 0..2 {
        let mut reader = lane_of(&streams, &id);
        say(&streams, "a", &id, Message::user("go")).unwrap();
        read(&mut reader, 1).await;
        drop(reader);
        until(|| model.asks()[turn].dropped()).await;
        let line = streams.line(&caller("a"), &id).unwrap();
        until(|| line.take_lane().is_ok()).await;
    }
    say(&streams, "a", &id, Message::user("last")).unwrap();
    assert_eq!(shown(get(&streams, "a", &id).await), "[\"c\"]");
    assert_eq!(told(&model.asks()[2].ask.messages), "u:last");
}

#[tokio::test]
async fn a_slow_reader_slows_the_model() {
    let piece = 64 * 1024;
    let times = 1000;
    let script = move |_: &althing_chat::Ask, _| vec![SayText("x".repeat(piece)); times];
    let model = Scripted::from_fn("m", script);
    let streams = Stage::default();
    let id = open(&streams, "a", &model);
    let reader = lane_of(&streams, &id);
    say(&streams, "a", &id, Message::user("go")).unwrap();
    // More than the buffers hold would have to be read for the model to get to its end, and more
    // than the answer may be long: that it fails shows that all was passed on.
    let mut socket = reader.into_inner().into_inner();
    for _ in 0..PIECES_MAX {
        tokio::task::yield_now().await;
    }
    assert!(model.asks()[0].end.is_none(), "the model waits for the reader");
    let mut bytes = 0;
    let mut buffer = vec![0; piece];
    loop {
        let read = socket.read(&mut buffer).await.unwrap();
        bytes += read;
        if buffer[..read].ends_with(b"}}\n")
            && buffer[..read].windows(7).any(|it| it == b"\"error\"")
        {
            break;
        }
    }
    assert!(bytes > super::super::reply::ANSWER_BYTES_MAX);
}
