//! What only another process can show: this test program starts itself again as that process.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const PATH: &str = "ALTHING_TEST_STORE";
/// What a child says when it has done its part.
const READY: &str = "ready for the parent";
const CHILDREN: usize = 4;

/// Starts `part` of this file as a process that lets everybody read its files, if it can.
fn start(part: &str, path: &Path) -> Child {
    Command::new("sh")
        .args(["-c", "umask 000; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([&format!("store::tests::process::{part}"), "--exact", "--ignored", "--nocapture"])
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(READY)), "the child ended before it was ready");
}

fn given_path() -> PathBuf {
    std::env::var_os(PATH).expect("started by a test").into()
}

#[tokio::test]
async fn a_killed_process_leaves_its_run_whole_and_free() {
    let (_folder, path) = place();
    let mut child = start("writes_and_hangs", &path);
    wait_until_ready(&mut child);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.run("last").await.unwrap().standing, Standing::Running);
    check_fault(store.lease("r1").await, &path, "busy: run r1 is being written by another process");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.run("last").await.unwrap().standing, Standing::Stopped);
    let lease = store.lease("r1").await.unwrap();
    assert_eq!(store.events("r1").await.unwrap().len(), 50);
    drop(lease);
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn writes_and_hangs() {
    let path = given_path();
    let store = Store::open(&path).unwrap();
    let _lease = store.lease("r1").await.unwrap();
    for event in events("r1", std::iter::once(started("?")).chain((1..50).map(|_| delta("a")))) {
        store.append(vec![event]).await.unwrap();
    }
    println!("{READY}");
    // Until the parent kills this process, or ends itself.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn processes_that_begin_at_once_share_one_private_file() {
    let (_folder, path) = place();
    let children: Vec<Child> = (0..CHILDREN).map(|_| start("opens_and_writes", &path)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let row = Connection::open(&path).unwrap().query_row(
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM events), value FROM kv",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    let count = CHILDREN as u32;
    assert_eq!(row.unwrap(), (count, 20 * count, (count - 1).to_string()));
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn opens_and_writes() {
    let path = given_path();
    let store = Store::open(&path).unwrap();
    let run = format!("p{}", std::process::id());
    let _lease = store.lease(&run).await.unwrap();
    for event in events(&run, std::iter::once(started("?")).chain((1..20).map(|_| delta("a")))) {
        store.append(vec![event]).await.unwrap();
    }
    store.rotate(1).await.unwrap();
    for (name, want) in [
        ("", 0o700),
        ("althing.db", 0o600),
        ("althing.db-wal", 0o600),
        ("althing.db-shm", 0o600),
        ("runs", 0o700),
        (&format!("runs/{run}.lock"), 0o600),
    ] {
        assert_eq!(mode(&path.parent().unwrap().join(name)), want, "{name}");
    }
}

#[test]
fn threads_that_open_at_once_agree() {
    let (_folder, path) = place();
    let open = || Store::open(&path).map(drop);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
}
