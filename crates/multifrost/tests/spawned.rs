//! A parent and children that are real processes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use multifrost::parent::{CallOptions, Heartbeat, Options, Output, Restart};
use multifrost::{Error, Parent, Program, Value};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_frost-worker"))
}

fn spawn(options: Options) -> Parent {
    Parent::spawn(program(), options).unwrap()
}

/// A shell script as a worker that never connects.
fn shell(script: &str) -> Program {
    Program::new("sh").argument("-c").argument(script)
}

/// Waits for something of another process, without a clock.
async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it never came to be");
}

/// A call that was sent and is not answered for a minute.
async fn sleeping(parent: &Parent) -> tokio::task::JoinHandle<Result<f64, Error>> {
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let parent = parent.clone();
    let call = tokio::spawn(async move { parent.call("sleep", (60.0,)).await });
    // Now it runs, and sends before it waits.
    tokio::task::yield_now().await;
    call
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn s6_5_2_output_goes_where_the_parent_prints() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("says.sh");
    std::fs::write(&script, "echo one\necho two >&2\nexit 3\n").unwrap();
    let mut parent = std::process::Command::new(env!("CARGO_BIN_EXE_frost-worker"));
    let done = parent.args(["parent", "sh"]).arg(&script).output().unwrap();
    let [out, err] = [done.stdout, done.stderr].map(|it| String::from_utf8(it).unwrap());
    assert_eq!(out, "[says.sh STDOUT]: one\n");
    assert!(err.starts_with("[says.sh STDERR]: two\n"), "{err}");
}

#[tokio::test]
async fn s3_3_s8_1_s8_3_s10_1_1_s10_1_3_s23_9_s35_1_a_call_is_answered() {
    let parent = spawn(Options::default());
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let reply = parent.call_values("echo", &[Value::Bin(b"\xff"[..].into())]).await.unwrap();
    assert_eq!(reply.value(), Ok(Value::Bin(b"\xff"[..].into())));
    assert_eq!(parent.call("echo", ((),)).await, Ok(()));
    let wrong = parent.call::<i64>("echo", ("text",)).await.unwrap_err();
    assert!(matches!(wrong, Error::Answer(_)), "{wrong}");
    assert!(parent.is_connected());
}

#[test]
fn s40_4_the_blocking_handle_needs_no_runtime() {
    let blocking = spawn(Options::default()).blocking();
    assert_eq!(blocking.call("add", (1, 2)), Ok(3));
    assert_eq!(blocking.call("sleep", (0.0,)), Ok(0.0));
    let options = CallOptions { timeout: Some(Duration::ZERO), ..CallOptions::default() };
    assert_eq!(blocking.call_with(&options, "sleep", (60,)), Err(Error::TimedOut(Duration::ZERO)));
    blocking.stop();
    assert_eq!(blocking.call::<i64>("add", (1, 2)), Err(Error::Stopped));
}

#[tokio::test]
async fn s8_4_s9_8_s13_4_s26_3_errors_are_the_childs_own_words() {
    let parent = spawn(Options::default());
    for (function, args, text) in [
        ("fail", vec!["no"], "ValueError: no"),
        ("nope", vec![], "Function 'nope' not found"),
        ("_secret", vec![], "Cannot call private method '_secret'"),
        ("", vec![], "Message missing 'function' field"),
    ] {
        let Err(Error::Remote(said)) = parent.call::<()>(function, args).await else {
            panic!("{function} did not fail");
        };
        assert_eq!(said.text().lines().next(), Some(text));
    }
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3), "s9_8: it goes on after errors");
}

#[tokio::test]
async fn s8_5_s12_1_s25_8_s26_7_a_timeout_frees_its_place_and_late_answers_are_dropped() {
    let parent = spawn(Options { pending_calls_max: 1, ..Options::default() });
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let short = CallOptions { timeout: Some(Duration::from_millis(1)), ..CallOptions::default() };
    for _ in 0..3 {
        let error = parent.call_with(&short, "sleep", (0.05,)).await.unwrap_err();
        assert_eq!(error, Error::TimedOut(Duration::from_millis(1)));
    }
    assert_eq!(parent.call("add", (3, 4)).await, Ok(7));
}

#[tokio::test]
async fn s16_1_s16_2_s21_8_a_thousand_calls_at_once() {
    let parent = spawn(Options { pending_calls_max: 100, ..Options::default() });
    let calls = (0..1000).map(|n| {
        let parent = parent.clone();
        tokio::spawn(async move { parent.call::<i64>("add", (n, 1)).await })
    });
    for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Ok(n as i64 + 1));
    }
}

#[tokio::test]
async fn s16_2_a_thousand_calls_of_one_caller() {
    let parent = spawn(Options::default());
    let pairs = || (0..1000).map(|n| (n, 1));
    let wanted: Vec<Result<i64, Error>> = (0..1000).map(|n| Ok(n + 1)).collect();
    assert_eq!(parent.call_each("add", pairs()).collect::<Vec<_>>().await, wanted);
    let blocking = parent.blocking();
    let calling = move || blocking.call_each("add", pairs()).collect::<Vec<_>>();
    assert_eq!(tokio::task::spawn_blocking(calling).await.unwrap(), wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s16_1_callers_of_all_kinds_at_once() {
    let parent = spawn(Options::default());
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let blocking = parent.blocking();
        callers.spawn_blocking(move || {
            (0..300).for_each(|n| assert_eq!(blocking.call("add", (n, 1)), Ok(n + 1)));
            let sums = blocking.call_each::<i64, _>("add", (0..300).map(|n| (n, 1)));
            assert_eq!(sums.map(Result::unwrap).sum::<i64>(), 300 * 301 / 2);
        });
        let parent = parent.clone();
        callers.spawn(async move {
            for n in 0..300 {
                // One that is given up at any time leaves the others as they are.
                let given_up = parent.call::<i64>("add", (n, 2));
                let _ = tokio::time::timeout(Duration::from_micros(n as u64), given_up).await;
                assert_eq!(parent.call("add", (n, 1)).await, Ok(n + 1));
            }
            let sums = parent.call_each::<i64, _>("add", (0..300).map(|n| (n, 1)));
            assert_eq!(sums.map(Result::unwrap).collect::<Vec<_>>().await.len(), 300);
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(60), callers.join_all());
    assert_eq!(all.await.expect("nobody is left behind").len(), 8);
}

#[tokio::test]
async fn s16_3_calls_run_at_the_same_time_where_that_is_told() {
    let parent = Parent::spawn(program().variable("FROST_CONCURRENCY", "2"), Options::default());
    let parent = parent.unwrap();
    let slow = sleeping(&parent).await;
    // The second call overtakes the first, which never ends.
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    parent.stop().await;
    assert_eq!(slow.await.unwrap(), Err(Error::Stopped));
}

/// Only to catch a worker that never comes back.
const CALLS_MAX: usize = 100;

#[tokio::test]
async fn s38_1_a_child_that_hangs_is_replaced_where_that_is_wanted() {
    let often = Duration::from_millis(100);
    let beat = Heartbeat { first: often, interval: often, max: often, misses_max: 3 };
    let restart = Some(Restart { pause: Duration::ZERO, ..Restart::default() });
    let parent = spawn(Options { heartbeat: Some(beat), restart, ..Options::default() });
    let pid: u32 = parent.call("pid", ()).await.unwrap();
    let pid_text = pid.to_string();
    let stopped = std::process::Command::new("kill").args(["-s", "STOP", &pid_text]).status();
    assert!(stopped.unwrap().success());
    until(|| !is_alive(pid)).await;
    // A call that still meets the one that was killed ends with it; the next one meets the other.
    let mut again = parent.call::<u32>("pid", ()).await;
    for _ in 0..CALLS_MAX {
        match again {
            Err(Error::Exited(_)) => again = parent.call("pid", ()).await,
            _ => break,
        }
    }
    assert_ne!(again.unwrap(), pid);
}

#[tokio::test]
async fn s8_7_s10_1_2_s10_1_4_s23_3_s26_6_the_environment_of_a_child() {
    let parent = spawn(Options::default());
    let port: String = parent.call("getenv", ("COMLINK_ZMQ_PORT",)).await.unwrap();
    assert!(port.parse::<u16>().is_ok_and(|port| port >= 1024), "{port}");
    let mode: String = parent.call("getenv", ("COMLINK_WORKER_MODE",)).await.unwrap();
    assert_eq!(mode, "1");
}

#[tokio::test]
async fn s6_4_3_s7_5_1_s8_6_s14_4_s22_11_what_a_child_prints_is_told() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let output = Arc::new(move |it: Output<'_>| hear.lock().unwrap().push(it.to_string()));
    let parent = spawn(Options { output, ..Options::default() });
    assert_eq!(parent.call("say", ("žluť",)).await, Ok(()));
    let expected = ["[frost-worker STDOUT]: žluť", "[frost-worker STDERR]: žluť"];
    // Not before the answer: whoever is told may be slow.
    until(|| heard.lock().unwrap().len() == expected.len()).await;
    assert_eq!(*heard.lock().unwrap(), expected);
    // More than any pipe holds: somebody reads it.
    assert_eq!(parent.call("flood", (1 << 20,)).await, Ok(()));
    let bytes = || heard.lock().unwrap().iter().map(|it| it.matches('x').count()).sum::<usize>();
    until(|| bytes() == 1 << 20).await;
}

#[tokio::test]
async fn s18_2_listening_beyond_this_machine_is_warned_of() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let output = Arc::new(move |it: Output<'_>| hear.lock().unwrap().push(it.to_string()));
    let ip = std::net::Ipv4Addr::UNSPECIFIED.into();
    let parent = spawn(Options { output, ip, ..Options::default() });
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    until(|| !heard.lock().unwrap().is_empty()).await;
    let heard = heard.lock().unwrap();
    assert!(heard[0].contains("listening beyond this machine"), "{heard:?}");
}

#[tokio::test]
async fn s14_5_who_hears_output_slowly_holds_up_no_call() {
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let output = Arc::new(move |_: Output<'_>| {
        let _ = gate.lock().unwrap().recv();
    });
    let parent = spawn(Options { output, ..Options::default() });
    for _ in 0..3 {
        assert_eq!(parent.call("say", ("hello",)).await, Ok(()));
    }
    drop(go);
}

#[tokio::test]
async fn s18_3_only_the_worker_that_was_started_gets_the_calls() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // It says where it would connect, and does so when another has tried.
    let script = format!(
        "cd {}; echo $COMLINK_ZMQ_PORT > new; mv new port; while ! [ -e go ]; do sleep 0.01; done; exec {}",
        folder.path().display(),
        env!("CARGO_BIN_EXE_frost-worker")
    );
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let output = Arc::new(move |it: Output<'_>| hear.lock().unwrap().push(it.to_string()));
    let parent = Parent::spawn(shell(&script), Options { output, ..Options::default() }).unwrap();
    let calling = parent.clone();
    let call = tokio::spawn(async move { calling.call::<u32>("pid", ()).await });
    until(|| at("port").exists()).await;
    let port = std::fs::read_to_string(at("port")).unwrap();
    let mut stranger = std::process::Command::new(env!("CARGO_BIN_EXE_frost-worker"));
    let stranger = stranger.env("COMLINK_ZMQ_PORT", port.trim()).status();
    assert!(stranger.unwrap().success(), "its connection ends, and so does it");
    std::fs::write(at("go"), "").unwrap();
    assert_eq!(call.await.unwrap().ok(), parent.process_id());
    until(|| heard.lock().unwrap().iter().any(|it| it.contains("refused a connection"))).await;
}

#[tokio::test]
async fn s32_1_a_parent_that_is_killed_takes_its_group_along() {
    for name in ["KILL", "INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("deaf.sh");
        let text =
            "trap '' INT TERM HUP; cd \"${0%/*}\"; sleep 600 & echo $$ $! > new; mv new pids; wait";
        std::fs::write(&script, text).unwrap();
        let mut parent = std::process::Command::new(env!("CARGO_BIN_EXE_frost-worker"));
        let mut parent = parent.args(["parent", "sh"]).arg(&script).spawn().unwrap();
        let pids = folder.path().join("pids");
        until(|| pids.exists()).await;
        let pids = std::fs::read_to_string(pids).unwrap();
        let pids: Vec<u32> = pids.split_whitespace().map(|it| it.parse().unwrap()).collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
        let id = parent.id().to_string();
        let killed = std::process::Command::new("kill").args(["-s", name, &id]).status();
        assert!(killed.unwrap().success());
        parent.wait().unwrap();
        until(|| pids.iter().all(|pid| !is_alive(*pid))).await;
    }
}

#[tokio::test]
async fn s6_6_a_worker_that_has_died_is_not_responsive() {
    let parent = spawn(Options::default());
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    assert!(parent.is_responsive());
    parent.call::<()>("crash", (1,)).await.unwrap_err();
    until(|| !parent.is_connected()).await;
    assert!(!parent.is_responsive());
}

#[tokio::test]
async fn a_crash_fails_all_calls_at_once_and_says_how() {
    let parent = Parent::spawn(program().variable("FROST_CONCURRENCY", "2"), Options::default());
    let parent = parent.unwrap();
    let slow = sleeping(&parent).await;
    let crash = parent.call::<()>("crash", (3,)).await.unwrap_err();
    let Error::Exited(exit) = &crash else { panic!("{crash}") };
    assert_eq!((exit.status.as_str(), exit.stderr.len()), ("exit status: 3", 1));
    assert_eq!(exit.stderr[0], "these are my last words");
    assert_eq!(slow.await.unwrap(), Err(crash.clone()));
    assert_eq!(parent.call::<i64>("add", (1, 2)).await, Err(crash), "and later ones too");
}

#[tokio::test]
async fn a_child_that_never_connects_fails_its_calls_when_it_ends() {
    let parent = Parent::spawn(shell("echo sorry >&2; exit 7"), Options::default()).unwrap();
    let error = parent.call::<()>("add", (1, 2)).await.unwrap_err();
    assert_eq!(error.to_string(), "the worker ended: exit status: 7\nsorry");
    let error = Parent::spawn(Program::new("no/such/program"), Options::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot start the worker 'no/such/program': "),
        "{error}"
    );
}

#[tokio::test]
async fn s8_10_a_child_that_ends_is_started_again() {
    let restart = Restart { pause: Duration::ZERO, attempts_max: 2, ..Restart::default() };
    let parent = spawn(Options { restart: Some(restart), ..Options::default() });
    for _ in 0..2 {
        let before: u32 = parent.call("pid", ()).await.unwrap();
        assert!(matches!(parent.call::<()>("crash", (1,)).await, Err(Error::Exited(_))));
        assert_ne!(parent.call::<u32>("pid", ()).await.unwrap(), before);
    }
    let last = parent.call::<()>("crash", (1,)).await.unwrap_err();
    until(|| !parent.is_connected()).await;
    assert_eq!(parent.call::<()>("pid", ()).await, Err(last), "but not for ever");
}

#[tokio::test]
async fn s8_10_a_child_that_ends_at_once_is_started_again_after_growing_pauses() {
    let pause = Duration::from_millis(50);
    let restart = Restart { pause, attempts_max: 2, ..Restart::default() };
    let options = Options { restart: Some(restart), ..Options::default() };
    let began = tokio::time::Instant::now();
    let parent = Parent::spawn(shell("exit 7"), options).unwrap();
    assert!(matches!(parent.call::<()>("add", (1, 2)).await, Err(Error::Exited(_))));
    until(|| parent.call::<()>("add", (1, 2)).now_or_never().is_some()).await;
    assert!(began.elapsed() >= 3 * pause, "{:?}", began.elapsed());
}

#[tokio::test]
async fn s8_10_a_child_that_has_lived_long_enough_may_be_started_again_as_often() {
    let (pause, sound_after) = (Duration::ZERO, Duration::ZERO);
    let restart = Restart { pause, sound_after, attempts_max: 1, ..Restart::default() };
    let parent = spawn(Options { restart: Some(restart), ..Options::default() });
    for _ in 0..4 {
        assert!(matches!(parent.call::<()>("crash", (1,)).await, Err(Error::Exited(_))));
        assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    }
}

#[tokio::test]
async fn s23_10_s32_1_stop_and_drop_end_the_whole_group() {
    for is_dropped in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        // It heeds no signal but KILL, and neither does what it starts.
        let script = format!("trap '' TERM; sleep 600 & echo $! > {}; wait; wait", file.display());
        let parent = Parent::spawn(shell(&script), Options::default()).unwrap();
        let pid = || std::fs::read_to_string(&file).ok().and_then(|it| it.trim().parse().ok());
        until(|| pid().is_some()).await;
        let (child, grandchild) = (parent.process_id().unwrap(), pid().unwrap());
        assert!(is_alive(child) && is_alive(grandchild));
        if is_dropped {
            drop(parent);
        } else {
            parent.stop().await;
        }
        until(|| !is_alive(child) && !is_alive(grandchild)).await;
    }
}

#[tokio::test]
async fn s6_7_1_s9_9_shutdown_ends_a_child_without_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ended");
    let parent = Parent::spawn(program().variable("FROST_ENDED", &file), Options::default());
    let parent = parent.unwrap();
    let pid: u32 = parent.call("pid", ()).await.unwrap();
    parent.stop().await;
    assert!(!is_alive(pid));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "Shutdown", "as it says itself");
    assert_eq!(parent.call::<()>("pid", ()).await, Err(Error::Stopped));
}

#[tokio::test]
async fn s36_1_long_messages_pass_and_longer_ones_are_errors() {
    let parent = spawn(Options { message_bytes_max: 11 << 20, ..Options::default() });
    let text = "x".repeat(10 << 20);
    let reply = parent.call_values("echo", &[text.as_str().into()]).await.unwrap();
    assert_eq!(reply.value(), Ok(text.as_str().into()));
    let error = parent.call::<()>("echo", (text.repeat(2),)).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { max: 11_534_336, .. }), "{error}");
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
async fn s15_3_another_namespace_is_not_answered() {
    let parent = spawn(Options::default());
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let namespace = Some("other".to_string());
    let timeout = Some(Duration::from_millis(50));
    let options = CallOptions { namespace, timeout, ..CallOptions::default() };
    assert!(matches!(parent.call_with(&options, "add", (1, 2)).await, Err(Error::TimedOut(_))));
}

#[tokio::test]
async fn an_answer_does_not_wait_for_the_call_after_it() {
    let parent = spawn(Options::default());
    assert_eq!(parent.call("add", (1, 2)).await, Ok(3));
    let fast = async { tokio::join!(parent.call("add", (1, 2)), parent.call("add", (3, 4))) };
    tokio::select! {
        biased;
        // The second goes with the slow one in one write, and the worker reads them as one.
        both = fast => assert_eq!(both, (Ok(3), Ok(7))),
        slow = parent.call::<f64>("sleep", (60.0,)) => panic!("{slow:?}"),
    }
}
