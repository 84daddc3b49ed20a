//! What happens when there is too much of something.

use crate::kit::{Bench, Probe, STREAM_BYTES, Small, answer, bench};
use althing_jsonrpc::{ContentLength, Ended, Framing, Ndjson, Options, WhenFull, connect};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncWriteExt, duplex, split},
    time::timeout,
};

/// Long enough to know that nothing more happens; the clock is paused.
const LONG: Duration = Duration::from_secs(60);

const HARD: WhenFull = WhenFull::Refuse { outbox_bytes_hard_max: 4000 };

fn options(when_full: WhenFull, requests_max: usize, outbox_bytes_max: usize) -> Options {
    let mut options = Options { when_full, ..Options::server() };
    options.limits.requests_max = requests_max;
    options.limits.outbox_bytes_max = outbox_bytes_max;
    options
}

#[tokio::test]
async fn too_many_requests_are_refused() {
    let mut bench = bench(Ndjson::default(), options(HARD, 2, 1000));
    for id in 1..=3 {
        bench.to.ask(id, "wait", json!({})).await;
    }
    bench.to.send(r#"{"jsonrpc":"2.0","method":"echo"}"#).await;
    for id in ["3", "null"] {
        let busy: Value = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
        assert_eq!(busy["id"].to_string(), id);
        assert_eq!(busy["error"]["message"], "Busy: 2 requests are at work already");
    }
    bench.probe.gate.notify_waiters();
    assert_eq!(bench.from.next().await, answer(1, "waited"));
    assert_eq!(bench.from.next().await, answer(2, "waited"));
    bench.to.ask(4, "echo", json!([])).await;
    assert_eq!(bench.from.next().await, answer(4, json!([])));
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_make_the_reader_pause() {
    let mut bench = bench(Ndjson::default(), options(WhenFull::StopReading, 2, 1000));
    for id in 1..=3 {
        bench.to.ask(id, "wait", json!({})).await;
    }
    assert!(timeout(LONG, bench.from.next()).await.is_err());
    for (id, ()) in (1..).zip([(), (), ()]) {
        bench.probe.gate.notify_one();
        assert_eq!(bench.from.next().await, answer(id, "waited"));
    }
}

/// It reads on in search of the end, but not for ever, and loses nothing of it.
#[tokio::test(start_paused = true)]
async fn a_reader_that_pauses_holds_little() {
    const AHEAD_BYTES_MAX: usize = 1 << 20;
    let mut bench = bench(Ndjson::default(), options(WhenFull::StopReading, 1, 1000));
    bench.to.ask(0, "wait", json!({})).await;
    let params = json!(["x".repeat(1000)]);
    let mut asked = 0;
    while timeout(LONG, bench.to.ask(asked + 1, "echo", params.clone())).await.is_ok() {
        asked += 1;
    }
    let held = AHEAD_BYTES_MAX..AHEAD_BYTES_MAX + 3 * STREAM_BYTES;
    assert!(held.contains(&(asked as usize * 1000)), "{asked}");
    bench.probe.gate.notify_one();
    assert_eq!(bench.from.next().await, answer(0, "waited"));
    for id in 1..=asked {
        assert_eq!(bench.from.next().await, answer(id, params.clone()));
    }
}

/// A few long requests count like many short ones, and their room comes back.
#[tokio::test(start_paused = true)]
async fn long_requests_make_the_reader_pause_too() {
    let mut options = options(WhenFull::StopReading, 1000, 1000);
    options.limits.requests_bytes_max = 1000;
    let mut bench = bench(Ndjson::default(), options);
    bench.to.ask(1, "wait", json!(["x".repeat(1000)])).await;
    bench.to.ask(2, "echo", json!([])).await;
    assert!(timeout(LONG, bench.from.next()).await.is_err(), "the second was read");
    bench.probe.gate.notify_one();
    assert_eq!(bench.from.next().await, answer(1, "waited"));
    assert_eq!(bench.from.next().await, answer(2, json!([])));
}

/// Answers, errors and frames that cannot be read: none of them fills the memory, and none is lost.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_is_no_longer_read() {
    for method in ["echo", "fail", "nothing", ""] {
        let options = options(WhenFull::StopReading, 16, 1000);
        let Bench { peer, mut to, mut from, .. } = bench(Ndjson::default(), options);
        let params = json!(["x".repeat(100)]);
        let (mut asked, mut most) = (0, 0);
        while timeout(LONG, to.ask(asked, method, params.clone())).await.is_ok() {
            asked += 1;
            most = most.max(peer.outbox_bytes());
        }
        assert!((800..=1200).contains(&most), "{method}: {most}");
        to.end().await;
        let mut answered = 0;
        while from.next().await.is_some() {
            answered += 1;
        }
        // What was being written when it gave up is half a line, if anything.
        assert!((asked..=asked + 1).contains(&answered), "{method}: {answered} of {asked}");
    }
}

/// More answers than the hard limit holds, from one read.
#[tokio::test]
async fn a_peer_that_reads_may_be_refused_for_ever() {
    const REQUESTS: u64 = 1000;
    let Bench { mut to, mut from, .. } = bench(Ndjson::default(), options(HARD, 1, 1000));
    let ask = async {
        for id in 0..REQUESTS {
            to.ask(id, "wait", json!({})).await;
        }
    };
    let read = async {
        for id in 1..REQUESTS {
            let busy = from.next().await.expect("the connection is open");
            assert!(
                busy.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)),
                "{busy}"
            );
        }
    };
    tokio::join!(ask, read);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_asks_but_never_reads_is_left() {
    let mut bench = bench(Ndjson::default(), options(HARD, 1, 1000));
    let params = json!(["x".repeat(100)]);
    for id in 0.. {
        let mut wire = vec![];
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "echo", "params": params });
        Ndjson::default().encode(&request.to_string(), &mut wire);
        if bench.to.writer.write_all(&wire).await.is_err() {
            break;
        }
    }
    let ended = bench.driver.await.expect("no panic");
    assert!(matches!(ended, Ended::OutboxFull { bytes: 4001..4300 }), "{ended:?}");
    assert!(bench.peer.is_closed());
}

/// Both outboxes and both streams are full most of the time.
#[tokio::test(start_paused = true)]
async fn two_peers_that_refuse_do_not_wait_for_each_other() {
    let (here, there) = duplex(64);
    let sides = [here, there].map(|stream| {
        let (reader, writer) = split(stream);
        let small = Small(Arc::<Probe>::default());
        let options = options(HARD, 1024, 256);
        let (peer, driver) = connect(reader, writer, ContentLength::default(), small, options);
        (peer, tokio::spawn(driver))
    });
    let params = json!(["x".repeat(200)]);
    let calls = sides.iter().flat_map(|(peer, _)| {
        let params = &params;
        (0..500).map(move |_| peer.call("echo", params))
    });
    let answers = timeout(LONG, join_all(calls)).await.expect("no deadlock");
    assert_eq!(answers.len(), 1000);
    assert!(answers.into_iter().all(|answer| answer.as_ref() == Ok(&params)));
}

#[tokio::test]
async fn a_message_longer_than_the_outbox_goes_out_alone() {
    let options = options(WhenFull::StopReading, 16, 10);
    let Bench { mut to, mut from, .. } = bench(Ndjson::default(), options);
    let long = json!(["x".repeat(2 * STREAM_BYTES)]);
    let ask = async {
        to.ask(1, "echo", long.clone()).await;
        to.ask(2, "echo", long.clone()).await;
    };
    let read = async {
        assert_eq!(from.next().await, answer(1, long.clone()));
        assert_eq!(from.next().await, answer(2, long.clone()));
    };
    tokio::join!(ask, read);
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_answered_and_the_next_is_served() {
    async fn check(framing: impl Framing + Clone) {
        let mut bench = bench(framing, Options::server());
        bench.to.ask(1, "echo", json!(["x".repeat(1000)])).await;
        bench.to.ask(2, "echo", json!([])).await;
        let error: Value = serde_json::from_str(&bench.from.next().await.unwrap()).unwrap();
        assert_eq!((&error["id"], &error["error"]["code"]), (&Value::Null, &json!(-32600)));
        assert_eq!(error["error"]["message"], "Request too large (1054 bytes, max 200)");
        assert_eq!(bench.from.next().await, answer(2, json!([])));
    }
    check(Ndjson::new(200)).await;
    check(ContentLength::new(200, true)).await;
}

#[tokio::test]
async fn noise_reaches_the_owner() {
    let mut bench = bench(ContentLength::default(), Options::peer());
    bench.to.writer.write_all(b"hello\nContent-Length: x\n").await.unwrap();
    bench.to.send("{}").await;
    bench.to.ask(1, "echo", json!([])).await;
    assert_eq!(bench.from.next().await, answer(1, json!([])));
    let want = [
        "not part of a message: hello",
        "Content-Length is not a number of bytes",
        "Invalid Request: missing jsonrpc 2.0 (-32600)",
    ];
    assert_eq!(*bench.probe.troubles.lock().unwrap(), want);
}
