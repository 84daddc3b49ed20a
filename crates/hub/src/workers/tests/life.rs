//! Answers that come in pieces, and workers that nobody needs any more.

use super::*;
use althing_chat::{Ask, Delta, Speaking, Stop};
use futures_util::stream::unfold;
use futures_util::{FutureExt, StreamExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{advance, pause, resume};

/// What a test lets happen in a worker, step by step.
struct Steps {
    /// Pieces that may be given.
    pieces: Semaphore,
    begun: Notify,
    dropped: Notify,
    living: AtomicUsize,
}

impl Steps {
    fn new() -> Arc<Steps> {
        let (begun, dropped) = (Notify::new(), Notify::new());
        Arc::new(Steps { pieces: Semaphore::new(0), begun, dropped, living: 0.into() })
    }

    async fn take(&self) {
        self.pieces.acquire().await.unwrap().forget();
    }

    fn let_go(&self, pieces: usize) {
        self.pieces.add_permits(pieces);
    }
}

/// An answer under way, on the side of the worker.
struct Spoken(Arc<Steps>);

impl Spoken {
    fn begin(steps: &Arc<Steps>) -> Spoken {
        steps.living.fetch_add(1, Ordering::SeqCst);
        steps.begun.notify_one();
        Spoken(steps.clone())
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::SeqCst);
        self.0.dropped.notify_one();
    }
}

/// Says `0`, `1`, … as it is let, and fails at the fourth; `wait` is let go too.
fn speaker(steps: &Arc<Steps>) -> Child {
    let (for_pieces, for_wait) = (steps.clone(), steps.clone());
    let wait = move |(): ()| {
        let spoken = Spoken::begin(&for_wait);
        async move {
            spoken.0.take().await;
            Ok("waited")
        }
    };
    Child::new().async_function("wait", wait).async_stream_function(
        "complete",
        move |(_,): (Value,)| {
            unfold((Spoken::begin(&for_pieces), 0), |(spoken, at)| async move {
                spoken.0.take().await;
                let piece = match at {
                    0 | 1 => Ok(json!(at.to_string())),
                    2 => Ok(json!({ "text": "2", "usage": { "input": 7, "output": 3 } })),
                    _ => Err(Failure::new("ValueError", "no more words")),
                };
                Some((piece, (spoken, at + 1)))
            })
        },
    )
}

fn speak(workers: &Arc<Workers>, stream: bool) -> Speaking {
    let gateway = althing_gateway::Gateway::new(althing_gateway::Limits::default());
    let model = gateway.model(&workers.endpoint().unwrap(), "w");
    model.speak(Ask { stream, ..Ask::new("", "Well?") })
}

async fn next(speaking: &mut Speaking) -> Option<Result<Delta>> {
    let bound = Duration::from_secs(20);
    tokio::time::timeout(bound, speaking.next()).await.expect("a hang")
}

fn text(text: &str) -> Option<Result<Delta>> {
    Some(Ok(Delta::Text(text.into())))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_piece_is_heard_when_it_comes() {
    let (home, steps) = (Home::new(), Steps::new());
    home.serve("speaker", speaker(&steps)).await;
    let workers = home.workers("[workers.w]\nservice = 'speaker'\n");
    let mut speaking = speak(&workers, true);
    for piece in ["0", "1"] {
        // The next one is not let go before this one was heard.
        steps.let_go(1);
        assert_eq!(next(&mut speaking).await, text(piece));
    }
    steps.let_go(2);
    assert_eq!(next(&mut speaking).await, text("2"));
    let Some(Ok(Delta::Usage(usage))) = next(&mut speaking).await else { panic!("no usage") };
    assert_eq!((usage.input, usage.output), (Some(7), Some(3)));
    let failed = next(&mut speaking).await.unwrap().unwrap_err();
    assert_eq!(failed.message, "worker 'w': complete failed: ValueError: no more words");
    assert!(next(&mut speaking).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_ends_the_answer() {
    let (home, steps) = (Home::new(), Steps::new());
    home.serve("speaker", speaker(&steps)).await;
    let workers = home.workers("[workers.w]\nservice = 'speaker'\n");
    let mut speaking = speak(&workers, true);
    steps.let_go(1);
    assert_eq!(next(&mut speaking).await, text("0"));
    assert_eq!(steps.living.load(Ordering::SeqCst), 1);
    drop(speaking);
    tokio::time::timeout(Duration::from_secs(20), steps.dropped.notified()).await.unwrap();
    assert_eq!(steps.living.load(Ordering::SeqCst), 0);
    let log = workers.logs(Some("w"), 1).unwrap().remove(0).1;
    assert!(log[0].text.starts_with("complete was given up after "), "{log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_no_stream_gets_the_same_answer() {
    let home = Home::new();
    let pieces = |(_,): (Value,)| Ok(["a", "b", "c"].map(Ok));
    home.serve("speaker", Child::new().stream_function("complete", pieces)).await;
    let workers = home.workers("[workers.w]\nservice = 'speaker'\n");
    for stream in [true, false] {
        let heard: Vec<_> = speak(&workers, stream).map(Some).collect().await;
        let stop = Some(Ok(Delta::Stop(Stop::End)));
        assert_eq!(heard, [text("a"), text("b"), text("c"), stop], "{stream}");
        let log = workers.logs(Some("w"), 1).unwrap().remove(0).1;
        assert!(log[0].text.starts_with("complete answered after "), "{log:?}");
    }
}

/// Whether the worker is still there when so many seconds have gone by.
async fn is_there_after(worker: &Arc<Worker>, seconds: u64) -> bool {
    pause();
    advance(Duration::from_secs(seconds)).await;
    // Whoever waits for this moment has its turn.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    resume();
    worker.is_there().await
}

#[tokio::test]
async fn one_that_nobody_calls_is_ended_in_time() {
    let (home, steps) = (Home::new(), Steps::new());
    home.serve("speaker", speaker(&steps)).await;
    let workers = home.workers("[workers.w]\nservice = 'speaker'\nidle = 100\ntimeout = 3600\n");
    let worker = workers.find("w").unwrap();
    let call = async || {
        steps.let_go(1);
        worker.call("wait", vec![], None).await.unwrap()
    };
    assert!(!worker.is_there().await, "nothing starts before it is needed");
    // A call begins the time anew.
    for _ in 0..3 {
        assert_eq!(call().await, "waited");
        assert!(is_there_after(&worker, 90).await);
    }
    assert!(!is_there_after(&worker, 11).await);
    assert_eq!(call().await, "waited", "it comes back when it is needed");

    // One that works is not idle, however long it takes; neither is one that speaks.
    while steps.begun.notified().now_or_never().is_some() {}
    let long = tokio::spawn({
        let worker = worker.clone();
        async move { worker.call("wait", vec![], None).await }
    });
    steps.begun.notified().await;
    assert!(is_there_after(&worker, 1_000).await);
    steps.let_go(1);
    assert_eq!(long.await.unwrap().unwrap(), "waited");
    let mut speaking = worker.items("complete", vec![json!([])]);
    steps.let_go(1);
    assert_eq!(speaking.next().await.unwrap().unwrap(), "0");
    assert!(is_there_after(&worker, 1_000).await);
    drop(speaking);
    assert!(is_there_after(&worker, 90).await, "the time begins with the end of the call");
    assert!(!is_there_after(&worker, 11).await);
    let log = workers.logs(Some("w"), 10).unwrap();
    assert_eq!(log[0].1.last().unwrap().text, "ended: nobody has called it for 100 s");
}
