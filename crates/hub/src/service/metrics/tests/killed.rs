//! What only a killed process can show: this test program starts itself again as that process.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const PATH: &str = "ALTHING_TEST_METRICS";
/// What the child says when everything it counted is in the file.
const READY: &str = "ready for the parent";

#[tokio::test]
async fn a_killed_process_loses_only_the_last_moment() {
    let (_folder, path) = place();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["service::metrics::tests::killed::counts_and_hangs", "--exact"])
        .args(["--ignored", "--nocapture"])
        .env(PATH, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(READY)), "the child ended early");
    child.kill().unwrap();
    child.wait().unwrap();
    let metrics = Hand::new(TEN).metrics(&Store::open(&path).unwrap());
    check([metrics.snapshot().await.unwrap()], &["0+0: 1000 0 1000 2000 $500 0"]);
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn counts_and_hangs() {
    let store = Store::open(std::env::var_os(PATH).expect("started by a test").as_ref()).unwrap();
    let (hand, count) = (Hand::new(TEN), 1000);
    let (metrics, reader) = (hand.metrics(&store), hand.metrics(&store));
    (0..count).for_each(|_| metrics.record(sample("a:b", false, 1, Some(0.5))));
    // Nobody flushes: what another reader sees is in the file.
    while reader.snapshot().await.unwrap().requests_total < count {}
    println!("{READY}");
    // Until the parent kills this process, or ends itself.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
