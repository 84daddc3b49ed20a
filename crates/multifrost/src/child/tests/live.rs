//! A child that runs, and a caller whose messages are in the test's own hands.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::error::Error;
use crate::limits::{MESSAGE_BYTES_MAX, WAITING_BYTES_MAX, WAITING_CALLS_MAX};
use crate::socket::Inbox;

struct Live {
    link: Arc<Link>,
    inbox: Inbox,
    stopper: Stopper,
    running: JoinHandle<Result<Ended, Error>>,
    registry: Registry,
    _folder: tempfile::TempDir,
}

impl Live {
    fn new(child: Child) -> Live {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(folder.path());
        let service = Service { registry: Some(registry.clone()), ..Service::new("odd") };
        let child = child.service(service);
        let stopper = child.stopper();
        let running = std::thread::spawn(move || child.serve(None, None));
        let port = loop {
            match registry.find("odd") {
                Some(found) => break found.port,
                None => crate::wait::pause(Duration::from_millis(5)),
            }
        };
        let terms = Terms { role: Role::Dealer, message_bytes_max: MESSAGE_BYTES_MAX };
        let (link, inbox) = connect(port, terms).unwrap();
        Live { link, inbox, stopper, running, registry, _folder: folder }
    }

    fn call(&self, id: &str, function: &str) {
        self.call_with(id, function, b"\x90");
    }

    fn call_with(&self, id: &str, function: &str, args: &[u8]) {
        let draft = Draft::new(Kind::Call, Id::Text(id)).text("function", function);
        self.say(draft.packed("args", args).finish());
    }

    fn beat(&self, id: &str) {
        self.say(Draft::new(Kind::Heartbeat, Id::Text(id)).finish());
    }

    fn say(&self, packet: Packet) {
        crate::wait::block_on(self.link.send(packet), Duration::from_secs(60)).unwrap().unwrap();
    }

    /// What comes next, as `kind id`, with the words of an error.
    fn heard(&mut self) -> String {
        let message = self.inbox.next(&self.link).unwrap();
        let envelope = Envelope::scan(&message).unwrap();
        let id = envelope.id.and_then(msgpack::text).unwrap();
        let words = envelope.error.and_then(msgpack::text).map_or("".into(), |it| format!(" {it}"));
        format!("{:?} {id}{words}", envelope.kind.unwrap())
    }

    fn stop(self) {
        self.stopper.stop();
        assert_eq!(self.running.join().unwrap(), Ok(Ended::Stopped));
        assert_eq!(self.registry.find("odd"), None);
    }
}

/// A child whose function `wait` is done when the test says so, or has ended.
fn waiting() -> (Child, mpsc::Sender<()>) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let wait = move |()| Ok(receiver.lock().unwrap().recv().is_ok());
    (child().function("wait", wait), sender)
}

#[test]
fn s4_5_s9_8_a_running_child_survives_what_is_no_call() {
    let mut live = Live::new(child());
    let junk: &[&[u8]] = &[b"", b"junk", b"\xc1", b"\xdf\xff\xff\xff\xff", b"\x81\xa3app\xa1x"];
    for payload in junk {
        let framed = [&[1, 0, 0, payload.len() as u8], *payload].concat();
        live.say(Packet::raw(framed));
    }
    // A message without a delimiter.
    live.say(Packet::raw(b"\0\x01x".to_vec()));
    live.say(call("add", b"\x92\x01\x02").finish());
    let answer = live.inbox.next(&live.link).unwrap();
    assert_eq!(Envelope::scan(&answer).unwrap().result, Some(&b"\x03"[..]));
    live.stop();
}

#[test]
fn s6_6_s16_3_calls_run_one_at_a_time_and_heartbeats_wait_for_none() {
    let (child, done) = waiting();
    let mut live = Live::new(child);
    live.call("first", "wait");
    live.call("second", "nothing");
    // It has read the second call when it answers what stands behind it, again and again.
    for beat in ["one", "two", "three"] {
        live.beat(beat);
        assert_eq!(live.heard(), format!("Heartbeat {beat}"));
    }
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response first");
    assert_eq!(live.heard(), "Response second");
    live.stop();
}

#[test]
fn s16_3_calls_run_at_the_same_time_where_that_is_told() {
    let (child, done) = waiting();
    let mut live = Live::new(child.concurrency(2));
    live.call("first", "wait");
    live.call("second", "nothing");
    assert_eq!(live.heard(), "Response second");
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response first");
    live.stop();
}

#[test]
fn s38_2_a_call_that_waits_is_cancelled_while_another_runs() {
    let (child, done) = waiting();
    let mut live = Live::new(child);
    live.call("first", "wait");
    live.call("second", "nothing");
    live.say(Draft::new(Kind::Cancel, Id::Text("second")).finish());
    live.beat("read");
    assert_eq!(live.heard(), "Heartbeat read");
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response first");
    assert_eq!(live.heard(), "Error second Cancelled: the caller has given up");
    live.stop();
}

fn too_many() -> String {
    format!(
        "Busy: too many calls wait, {WAITING_CALLS_MAX} at most, of {WAITING_BYTES_MAX} bytes together"
    )
}

#[test]
fn s16_3_too_many_calls_are_refused_and_nothing_waits_behind_them() {
    let (child, done) = waiting();
    let mut live = Live::new(child);
    live.call("runs", "wait");
    (0..WAITING_CALLS_MAX).for_each(|n| live.call(&n.to_string(), "nothing"));
    live.call("refused", "nothing");
    assert_eq!(live.heard(), format!("Error refused {}", too_many()));
    live.beat("behind");
    assert_eq!(live.heard(), "Heartbeat behind");
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response runs");
    for n in 0..WAITING_CALLS_MAX {
        assert_eq!(live.heard(), format!("Response {n}"));
    }
    live.call("again", "nothing");
    assert_eq!(live.heard(), "Response again");
    live.stop();
}

#[test]
fn s16_3_long_calls_that_wait_have_a_limit_together() {
    let (child, done) = waiting();
    let mut live = Live::new(child);
    live.call("runs", "wait");
    // A list of bytes, three of which are nearly all that may wait.
    let bytes = WAITING_BYTES_MAX / 4 - (1 << 10);
    let args = [&b"\x91\xc6"[..], &(bytes as u32).to_be_bytes(), &vec![0; bytes]].concat();
    for id in ["1", "2", "3", "4"] {
        live.call_with(id, "nothing", &args);
    }
    live.call_with("refused", "nothing", &args);
    assert_eq!(live.heard(), format!("Error refused {}", too_many()));
    live.call("short", "nothing");
    done.send(()).unwrap();
    let heard: Vec<String> = (0..6).map(|_| live.heard()).collect();
    assert_eq!(heard[..1], ["Response runs"]);
    assert_eq!(heard[5], "Response short");
    live.call_with("again", "nothing", &args);
    assert!(live.heard().contains(" again"));
    live.stop();
}
