//! Who may use a stream, for how long, and how much of everything.

use super::super::reply::{ANSWER_BYTES_MAX, PIECES_BYTES_MAX, PIECES_MAX};
use super::super::talk::{BYTES_MAX, MESSAGES_MAX, TOOLS_MAX};
use super::*;
use althing_chat::{Ask, Delta, Speaking, Stop};
use futures_util::{FutureExt, StreamExt, stream};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says the same thing so often, and counts how often it was listened to.
struct Talker {
    piece: String,
    times: usize,
    heard: Arc<AtomicUsize>,
}

impl Model for Talker {
    fn id(&self) -> &str {
        "talker"
    }

    fn speak(&self, _ask: Ask) -> Speaking {
        let (piece, heard) = (self.piece.clone(), self.heard.clone());
        let said = stream::iter(0..self.times).map(move |_| {
            heard.fetch_add(1, Ordering::Relaxed);
            Ok(Delta::Text(piece.clone()))
        });
        said.chain(stream::iter([Ok(Delta::Stop(Stop::End))])).boxed()
    }
}

/// A stream of a talker that was asked, and how often it was listened to so far.
fn talk(streams: &Stage, bytes: usize, times: usize) -> (String, Arc<AtomicUsize>) {
    let heard = Arc::<AtomicUsize>::default();
    let talker = Talker { piece: "x".repeat(bytes), times, heard: heard.clone() };
    let id = format!("stream_{}", fastrand::u64(..));
    let id = streams.create(&caller("a"), id, Arc::new(talker)).unwrap();
    say(streams, "a", &id, Message::user("go")).unwrap();
    (id, heard)
}

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_slows_the_model() {
    let streams = Stage::default();
    let big = PIECES_BYTES_MAX / 2 - 1;
    for (bytes, times, most) in [(1, 1000, PIECES_MAX), (big, 10, 3)] {
        let (id, heard) = talk(&streams, bytes, times);
        for taken in 0..5 {
            a_moment().await;
            assert_eq!(heard.load(Ordering::Relaxed), most + taken, "{bytes} bytes");
            assert_eq!(get(&streams, "a", &id).await.unwrap().chunks.len(), 1);
        }
        let mut chunks = 5;
        loop {
            let got = streams.receive(&caller("a"), &id, None, CHUNKS_MAX).await.unwrap();
            chunks += got.chunks.len();
            if got.done {
                break;
            }
        }
        assert_eq!(chunks, times);
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_ends() {
    let streams = Stage::default();
    let piece = 1024 * 1024;
    let (id, heard) = talk(&streams, piece, usize::MAX);
    let fault = loop {
        match get(&streams, "a", &id).await {
            Ok(got) => assert_eq!(got.chunks.len(), 1),
            Err(fault) => break fault,
        }
    };
    assert_eq!(shown(Err(fault)), "upstream: the answer is longer than 4194304 bytes");
    assert_eq!(heard.load(Ordering::Relaxed), ANSWER_BYTES_MAX / piece + 1);
}

#[tokio::test(start_paused = true)]
async fn one_receives_at_a_time() {
    let streams = Stage::default();
    let model = Scripted::new("m", [vec![Wait(5), Say("a"), Wait(5), Say("b")]]);
    let id = open(&streams, "a", &model);
    say(&streams, "a", &id, Message::user("go")).unwrap();
    let (first, second) = tokio::join!(get(&streams, "a", &id), get(&streams, "a", &id));
    assert_eq!(shown(first), "[\"a\"]");
    assert_eq!(shown(second), "busy: another call receives from this stream");
    // A client that stops waiting leaves the place free, and loses nothing.
    let waiting = tokio::time::timeout(Duration::from_secs(1), get(&streams, "a", &id));
    assert!(waiting.await.is_err());
    assert_eq!(shown(get(&streams, "a", &id).await), "[\"b\"]");
}

#[tokio::test(start_paused = true)]
async fn nobody_else_can_tell_that_it_is_there() {
    let streams = Stage::default();
    let id = open(&streams, "a", &Scripted::new("m", [vec![Say("a")]]));
    let want = format!("not_found: stream_id: no stream '{id}'");
    assert_eq!(shown(get(&streams, "b", &id).await), want);
    assert_eq!(sent(say(&streams, "b", &id, Message::user("x"))), want);
    assert_eq!(sent(streams.close(&caller("b"), &id)), want);
    streams.caller_left("b");
    assert_eq!(sent(say(&streams, "a", &id, Message::user("x"))), "sent");
    let odd = streams.close(&caller("a"), "\u{1b}[31m\nx").unwrap_err();
    assert_eq!(odd.message, "stream_id: no stream '\\u{1b}[31m x'");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_call_to_the_model() {
    type Close = fn(&mut Option<Stage>, &str);
    let closings: [Close; 3] = [
        |streams, id| streams.as_ref().unwrap().close(&caller("a"), id).unwrap(),
        |streams, _| streams.as_ref().unwrap().caller_left("a"),
        |streams, _| *streams = None,
    ];
    for close in closings {
        let mut streams = Some(Stage::default());
        let model = Scripted::new("m", [vec![Say("a"), Hang]]);
        let id = open(streams.as_ref().unwrap(), "a", &model);
        let line = streams.as_ref().unwrap().line(&caller("a"), &id).unwrap();
        say(streams.as_ref().unwrap(), "a", &id, Message::user("go")).unwrap();
        assert_eq!(shown(get(streams.as_ref().unwrap(), "a", &id).await), "[\"a\"]");
        let waiting = tokio::spawn({
            let line = line.clone();
            async move { line.receive(Instant::now() + WAIT_MAX, 1).await }
        });
        a_moment().await;
        assert!(!model.asks()[0].dropped());
        close(&mut streams, &id);
        assert!(waiting.await.unwrap().is_none());
        a_moment().await;
        assert!(model.asks()[0].dropped());
        assert_eq!(Arc::strong_count(&line), 1, "somebody still has the stream");
        if let Some(streams) = streams {
            assert_eq!(get(&streams, "a", &id).await.unwrap_err().kind, Kind::NotFound);
            assert!(streams.is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_uses_is_closed() {
    let streams = Stage::default();
    let model = Scripted::from_fn("m", |_, _| vec![Say("a"), Hang]);
    for _round in 0..2 {
        let used = open(&streams, "a", &model);
        let idle = open(&streams, "a", &model);
        say(&streams, "a", &used, Message::user("go")).unwrap();
        say(&streams, "a", &idle, Message::user("go")).unwrap();
        let start = Instant::now();
        // Waiting for the next piece is using it.
        while start.elapsed() < IDLE_MAX {
            assert_eq!(streams.len(), 2);
            get(&streams, "a", &used).await.unwrap();
        }
        a_moment().await;
        assert_eq!(streams.len(), 1);
        assert_eq!(get(&streams, "a", &idle).await.unwrap_err().kind, Kind::NotFound);
        tokio::time::sleep(IDLE_MAX * 2).await;
        assert!(streams.is_empty());
        assert!(model.asks().iter().all(|asked| asked.dropped()));
    }
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many() {
    let (streams, model) = (Stage::default(), Scripted::new("m", []));
    let create = |owner: &str| {
        let id = format!("stream_{}", fastrand::u64(..));
        streams.create(&caller(owner), id, Arc::new(model.clone()))
    };
    for owner in 0..STREAMS_MAX / STREAMS_PER_CONNECTION_MAX {
        let owner = owner.to_string();
        (0..STREAMS_PER_CONNECTION_MAX).for_each(|_| drop(create(&owner).unwrap()));
        let want = "busy: a connection can have 64 streams; close one";
        assert_eq!(sent(create(&owner).map(drop)), want);
    }
    let want = "busy: all 4096 streams are taken; try again later";
    assert_eq!(sent(create("one more").map(drop)), want);
    streams.caller_left("0");
    assert_eq!(streams.len(), STREAMS_MAX - STREAMS_PER_CONNECTION_MAX);
    create("one more").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_finite() {
    let (streams, model) = (Stage::default(), Scripted::from_fn("m", |_, _| vec![Say("ok")]));
    let id = open(&streams, "a", &model);
    (0..MESSAGES_MAX).for_each(|_| say(&streams, "a", &id, Message::system("s")).unwrap());
    let got = sent(say(&streams, "a", &id, Message::user("u")));
    let want =
        "context_too_long: message: a conversation holds 1000 messages; create another stream";
    assert_eq!(got, want);

    let id = open(&streams, "a", &model);
    let half = "x".repeat(BYTES_MAX / 2);
    say(&streams, "a", &id, Message::system(&half)).unwrap();
    let got = sent(say(&streams, "a", &id, Message::user(format!("{half}x"))));
    let want =
        "context_too_long: message: a conversation holds 4194304 bytes; create another stream";
    assert_eq!(got, want);
    // What was refused is not there: the other half still fits.
    say(&streams, "a", &id, Message::user(&half)).unwrap();

    let id = open(&streams, "a", &model);
    let tool = Tool { name: "f".into(), description: String::new(), parameters: json!({}) };
    let got = sent(streams.send("a", &id, Message::user("u"), vec![tool; TOOLS_MAX + 1]));
    assert_eq!(got, "invalid_params: tools: at most 256, not 257");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_breaks_leaves_nobody_waiting() {
    struct Broken;
    impl Model for Broken {
        fn id(&self) -> &str {
            "broken"
        }
        fn speak(&self, _ask: Ask) -> Speaking {
            async { panic!("on purpose") }.into_stream().boxed()
        }
    }
    let streams = Stage::default();
    let id = streams.create(&caller("a"), "stream_1".into(), Arc::new(Broken)).unwrap();
    for _ in 0..2 {
        say(&streams, "a", &id, Message::user("go")).unwrap();
        assert_eq!(shown(get(&streams, "a", &id).await), "internal: the reply was lost");
    }
}
