//! Extensions between processes: calls that are cancelled, answers in items, tokens.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use multifrost::limits::STREAM_ITEMS_MAX;
use multifrost::parent::{CallOptions, Options};
use multifrost::registry::Registry;
use multifrost::{Error, Parent, Program, Token};

const WORKER: &str = env!("CARGO_BIN_EXE_frost-worker");

fn spawn(concurrency: &str) -> Parent {
    let program = Program::new(WORKER).variable("FROST_CONCURRENCY", concurrency);
    Parent::spawn(program, Options::default()).unwrap()
}

fn short() -> CallOptions {
    CallOptions { timeout: Some(Duration::from_millis(50)), ..CallOptions::default() }
}

async fn until(parent: &Parent, function: &str, value: u64) {
    let waiting = async {
        while parent.call::<u64>(function, ()).await != Ok(value) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it never came to be");
}

#[tokio::test]
async fn s38_2_a_timeout_ends_the_function() {
    let parent = spawn("1");
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    // A worker that runs one call at a time is free again, whether the function waits or computes.
    for function in ["sleep", "wait_for_cancel"] {
        let args: &[f64] = if function == "sleep" { &[600.0] } else { &[] };
        let error = parent.call_with(&short(), function, args).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut(_)), "{error}");
        assert_eq!(parent.call("add", (1, 2)).await, Ok(3), "{function}");
    }
    let blocking = parent.blocking();
    let error = tokio::task::spawn_blocking(move || {
        blocking.call_with(&short(), "wait_for_cancel", ()).unwrap_err()
    });
    assert!(matches!(error.await.unwrap(), Error::TimedOut(_)));
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
async fn s38_2_a_call_that_is_dropped_ends_the_function() {
    let parent = spawn("2");
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let calling = parent.clone();
    let call = tokio::spawn(async move { calling.call::<()>("wait_for_cancel", ()).await });
    until(&parent, "begun", 1).await;
    call.abort();
    until(&parent, "cancelled", 1).await;
}

#[tokio::test]
async fn s38_3_items_come_one_by_one() {
    let parent = spawn("1");
    for function in ["count", "tick"] {
        let mut items = parent.stream::<u64>(function, (5000,)).await.unwrap();
        for n in 0..5000 {
            assert_eq!(items.next().await, Some(Ok(n)));
        }
        assert_eq!(items.next().await, None);
        // A caller that does not ask for items gets a list.
        let list: Vec<u64> = parent.call(function, (5000,)).await.unwrap();
        assert!(list.into_iter().eq(0..5000));
    }
    let list = parent.stream::<String>("list_functions", ()).await.unwrap();
    let names: Vec<_> = futures_util::StreamExt::collect(list.into_stream()).await;
    assert!(names.contains(&Ok("add".into())));
    let mut wrong = parent.stream::<String>("count", (1,)).await.unwrap();
    assert!(matches!(wrong.next().await, Some(Err(Error::Answer(_)))));
    let mut failing = parent.stream::<String>("nope", ()).await.unwrap();
    let not_found = Error::Remote("Function 'nope' not found".into());
    assert_eq!(failing.next().await, Some(Err(not_found)));
}

#[test]
fn s38_3_a_thread_iterates() {
    let blocking = spawn("1").blocking();
    let items = blocking.stream::<u64>("count", (1000,)).unwrap();
    assert_eq!(items.sum::<Result<u64, Error>>(), Ok(499_500));
    let mut silent = blocking.stream_with::<u64>(&short(), "sleep", (600,)).unwrap();
    assert!(matches!(silent.next(), Some(Err(Error::TimedOut(_)))));
    assert!(silent.next().is_none());
    assert_eq!(blocking.call("add", (1, 2)), Ok(3), "and it was cancelled");
}

#[tokio::test]
async fn s38_3_a_slow_caller_is_waited_for() {
    let parent = spawn("2");
    let mut items = parent.stream::<u64>("count", (u64::MAX,)).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(0)));
    // One more is made, and waits.
    let most = STREAM_ITEMS_MAX as u64 + 1;
    until(&parent, "produced", most).await;
    assert_eq!(parent.call("produced", ()).await, Ok(most));
    for n in 1..1000 {
        assert_eq!(items.next().await, Some(Ok(n)));
    }
    drop(items);
    // Whoever drops an endless stream ends it: there is room for two calls again.
    let calls = [parent.call::<f64>("sleep", (0.0,)), parent.call("sleep", (0.0,))];
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer, Ok(0.0));
    }
}

#[tokio::test]
async fn s38_3_a_stream_ends_with_its_worker() {
    let parent = spawn("2");
    let mut items = parent.stream::<u64>("count", (u64::MAX,)).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(0)));
    let crash = parent.call::<()>("crash", (3,)).await.unwrap_err();
    let last = async {
        loop {
            if let Some(Err(error)) = items.next().await {
                return error;
            }
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), last).await, Ok(crash));
    assert_eq!(items.next().await, None);
}

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn s38_4_a_service_with_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(WORKER);
    command.arg("math").arg(folder.path()).env_remove("COMLINK_ZMQ_PORT");
    command.env("FROST_TOKEN", "a long secret").stdin(Stdio::null());
    let _service = Service(command.spawn().unwrap());
    let options = |token: Option<&str>| Options {
        registry: Some(Registry::at(folder.path())),
        connect_max: Duration::from_secs(60),
        token: token.map(Token::new),
        ..Options::default()
    };
    for token in [None, Some("another"), Some("")] {
        let parent = Parent::connect("math", options(token)).await.unwrap();
        for _ in 0..2 {
            let error = parent.call::<i64>("add", (1, 2)).await.unwrap_err();
            assert_eq!(error, Error::Remote("Authentication required".into()));
        }
    }
    let parent = Parent::connect("math", options(Some("a long secret"))).await.unwrap();
    let items = parent.stream::<u64>("count", (3,)).await.unwrap();
    let items: Vec<_> = futures_util::StreamExt::collect(items.into_stream()).await;
    assert_eq!(items, [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    assert!(!format!("{parent:?}").contains("a long secret"));
}

#[tokio::test]
async fn s38_4_a_spawned_worker_has_a_token_of_its_own() {
    let (one, two) = (spawn("1"), spawn("1"));
    let token = async |parent: &Parent| {
        let token: String = parent.call("getenv", ("COMLINK_TOKEN",)).await.unwrap();
        let port: String = parent.call("getenv", ("COMLINK_ZMQ_PORT",)).await.unwrap();
        token.strip_prefix(&format!("{port}:")).unwrap().to_string()
    };
    let (first, second) = (token(&one).await, token(&two).await);
    assert_eq!((first.len(), second.len()), (64, 64));
    assert_ne!(first, second);
    assert!(!format!("{one:?}").contains(&first));
}
