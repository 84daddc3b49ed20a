//! Many clients at once, many of which die: everything comes back and nothing is miscounted.

use super::*;
use crate::service::metrics::{Metrics, Sample};
use crate::store::Store;
use althing_chat::{Ask, Speaking, Usage};
use futures_util::StreamExt;
use futures_util::future::join_all;
use std::os::unix::net::UnixStream as End;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;

const CLIENTS: u64 = 60;
const CLIENTS_SOAK: u64 = 1000;
/// Messages that a client sends which lives.
const MESSAGES: u64 = 3;
const CHUNKS: usize = 40;
/// What every call is said to use.
const USAGE: Usage = Usage {
    input: Some(10),
    output: Some(20),
    cached: None,
    cache_written: None,
    reasoning: None,
    cost_nano_usd: None,
};

/// A model whose every call is counted when it ends, however it ends.
struct Counted {
    model: Scripted,
    metrics: Arc<Metrics>,
}

struct Ticket(Arc<Metrics>);

impl Drop for Ticket {
    fn drop(&mut self) {
        let (provider, model) = ("soak".into(), "m".into());
        self.0.record(Sample { provider, model, failed: false, usage: USAGE, cost_usd: Some(0.5) });
    }
}

impl Model for Counted {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn speak(&self, ask: Ask) -> Speaking {
        let ticket = Ticket(self.metrics.clone());
        self.model.speak(ask).inspect(move |_| _ = &ticket).boxed()
    }
}

/// Talks until it has said everything, or until it dies; counts what it sent.
async fn client(streams: Arc<Streams>, number: u64, model: Arc<Counted>, sent: Arc<AtomicI64>) {
    let mut dice = fastrand::Rng::with_seed(number);
    let owner = format!("conn_{number}");
    let id = streams.create(&caller(&owner), format!("stream_{number}"), nobody()).unwrap();
    let mut life = if dice.bool() { dice.u64(..MESSAGES * CHUNKS as u64) } else { u64::MAX };
    let mut lane = number.is_multiple_of(3).then(|| {
        let fd = lane::open(&streams.line(&caller(&owner), &id).unwrap()).unwrap();
        let end = End::from(fd);
        end.set_nonblocking(true).unwrap();
        BufReader::new(UnixStream::from_std(end).unwrap()).lines()
    });
    for _ in 0..MESSAGES {
        let line = streams.line(&caller(&owner), &id).unwrap();
        line.send(model.clone(), None, Message::user("go"), vec![]).unwrap();
        sent.fetch_add(1, Ordering::Relaxed);
        let mut done = false;
        while !done && life > 0 {
            life -= 1;
            done = match &mut lane {
                Some(lines) => lines.next_line().await.unwrap().unwrap().contains("\"done\""),
                None => get(&streams, &owner, &id).await.unwrap().done,
            };
        }
        if life == 0 {
            break;
        }
    }
    streams.caller_left(&owner);
}

#[tokio::test]
async fn soak_clients_that_die_leave_nothing_behind() {
    let full = std::env::var_os("ALTHING_SOAK").is_some();
    let clients = if full { CLIENTS_SOAK } else { CLIENTS };
    let metrics = Arc::new(Metrics::open(Store::in_memory().unwrap()).await.unwrap());
    let descriptors = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let before = descriptors();
    let (streams, sent) = (Arc::new(Streams::default()), Arc::<AtomicI64>::default());
    let mut lines = Vec::new();
    let all = (0..clients).map(|number| {
        // One stage each: a stage remembers every ask.
        let script = |_: &Ask, _| {
            let mut steps = vec![Say("some words "); CHUNKS];
            steps.insert(CHUNKS / 2, WaitMs(1));
            steps
        };
        let model = Counted { model: Scripted::from_fn("m", script), metrics: metrics.clone() };
        let model = Arc::new(model);
        lines.push(Arc::downgrade(&model));
        tokio::spawn(client(streams.clone(), number, model, sent.clone()))
    });
    let all: Vec<_> = all.collect();
    for ended in join_all(all).await {
        ended.unwrap();
    }
    assert!(streams.is_empty());
    // The tasks of streams that are closed end by themselves.
    while lines.iter().any(|model| model.strong_count() > 0) {
        tokio::task::yield_now().await;
    }
    let sent = sent.load(Ordering::Relaxed);
    let used = metrics.snapshot().await.unwrap();
    assert_eq!(used.requests_total, sent);
    assert_eq!((used.prompt_tokens_total, used.completion_tokens_total), (10 * sent, 20 * sent));
    assert_eq!(used.cost_total, Some(0.5 * sent as f64));
    // Other tests open files too, so only the soak, which runs alone, can tell.
    if full {
        assert_eq!(descriptors(), before);
    }
}
