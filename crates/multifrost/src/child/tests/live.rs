//! A child that runs, and a caller whose messages are in the test's own hands.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::error::Error;
use crate::ext::{Extensions, Notes};
use crate::limits::{MESSAGE_BYTES_MAX, QUEUE_BYTES_MAX, STALLED_STREAMS_MAX, WAITING_BYTES_MAX};
use crate::socket::{Inbox, Patience};

/// A hang is a failure, not an endless test.
const PATIENCE: Duration = Duration::from_secs(60);

struct Live {
    caller: Caller,
    port: u16,
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
        Live { caller: Caller::new(port), port, stopper, running, registry, _folder: folder }
    }

    /// One more connection.
    fn another(&self) -> Caller {
        Caller::new(self.port)
    }

    fn stop(self) {
        self.stopper.stop();
        assert_eq!(self.running.join().unwrap(), Ok(Ended::Stopped));
        assert_eq!(self.registry.find("odd"), None);
    }
}

impl std::ops::Deref for Live {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl std::ops::DerefMut for Live {
    fn deref_mut(&mut self) -> &mut Caller {
        &mut self.caller
    }
}

struct Caller {
    link: Arc<Link>,
    inbox: Inbox,
}

impl Caller {
    fn new(port: u16) -> Caller {
        let terms = Terms { role: Role::Dealer, message_bytes_max: MESSAGE_BYTES_MAX };
        let (link, inbox) = connect(port, terms).unwrap();
        Caller { link, inbox }
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
        crate::wait::block_on(self.link.send(packet), PATIENCE).unwrap().unwrap();
    }

    /// What comes next, as `kind id`, with the words of an error.
    fn heard(&mut self) -> String {
        let until = Patience::Asleep(crate::wait::now().checked_add(PATIENCE));
        let message = loop {
            let next = self.inbox.next_within(&self.link, until).unwrap();
            match next {
                Some(message) => break message,
                None => assert!(self.inbox.has_read(), "nothing comes"),
            }
        };
        let envelope = Envelope::scan(&message).unwrap();
        let id = envelope.id.and_then(msgpack::text).unwrap();
        let words = envelope.error.and_then(msgpack::text).map_or("".into(), |it| format!(" {it}"));
        format!("{:?} {id}{words}", envelope.kind.unwrap())
    }
}

/// A child whose function `wait` is done when the test says so, or has ended.
fn waiting() -> (Child, mpsc::Sender<()>) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let wait = move |()| Ok(receiver.lock().unwrap().recv().is_ok());
    let nothing_of = |(_,): (serde::de::IgnoredAny,)| Ok(());
    (child().function("wait", wait).function("nothing_of", nothing_of), sender)
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
    let caller = &mut live.caller;
    let answer = caller.inbox.next(&caller.link).unwrap();
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

/// A call with so many bytes as its only argument.
fn long_call(id: &str, function: &str, bytes: usize) -> Packet {
    let args = [&b"\x91\xc6"[..], &(bytes as u32).to_be_bytes(), &vec![0; bytes]].concat();
    let draft = Draft::new(Kind::Call, Id::Text(id)).text("function", function);
    draft.packed("args", &args).finish()
}

#[test]
fn s16_3_a_burst_of_calls_is_answered_and_heartbeats_in_it_at_once() {
    const CALLS: usize = 20_000;
    let (child, done) = waiting();
    let mut live = Live::new(child);
    live.call("runs", "wait");
    (0..CALLS).for_each(|n| live.call(&n.to_string(), "nothing"));
    live.beat("behind");
    assert_eq!(live.heard(), "Heartbeat behind");
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response runs");
    for n in 0..CALLS {
        assert_eq!(live.heard(), format!("Response {n}"));
    }
    live.stop();
}

#[test]
fn s16_3_a_connection_with_too_many_bytes_of_calls_pauses_and_no_other_does() {
    let (child, done) = waiting();
    let mut live = Live::new(child.message_bytes_max(MESSAGE_BYTES_MAX));
    live.call("runs", "wait");
    let link = live.link.clone();
    let bytes = WAITING_BYTES_MAX / 4;
    let saying = std::thread::spawn(move || {
        // The last ones are not read before others have run.
        for n in 0..8 {
            let packet = long_call(&n.to_string(), "nothing_of", bytes);
            crate::wait::block_on(link.send(packet), PATIENCE).unwrap().unwrap();
        }
    });
    let mut other = live.another();
    for _ in 0..3 {
        other.beat("other");
        assert_eq!(other.heard(), "Heartbeat other");
    }
    done.send(()).unwrap();
    assert_eq!(live.heard(), "Response runs");
    for n in 0..8 {
        assert_eq!(live.heard(), format!("Response {n}"));
    }
    saying.join().unwrap();
    live.stop();
}

#[test]
fn s16_3_a_caller_that_reads_nothing_holds_up_nobody() {
    let mut live = Live::new(child());
    // Many times what any socket takes.
    let bytes = QUEUE_BYTES_MAX / 8;
    let link = live.link.clone();
    let saying = std::thread::spawn(move || {
        for n in 0..40 {
            let packet = long_call(&n.to_string(), "echo", bytes);
            crate::wait::block_on(link.send(packet), PATIENCE).unwrap().unwrap();
        }
    });
    // The child has read them all.
    saying.join().unwrap();
    let mut other = live.another();
    for n in 0..100 {
        other.call(&n.to_string(), "nothing");
        assert_eq!(other.heard(), format!("Response {n}"));
    }
    // Nothing was lost meanwhile.
    for n in 0..40 {
        assert_eq!(live.heard(), format!("Response {n}"));
    }
    live.stop();
}

#[test]
fn s38_3_a_stream_that_nobody_reads_holds_up_nobody() {
    let mut live = Live::new(ext::streams());
    let stream = Notes { ext: Some(Extensions::ALL), is_stream: true, ..Notes::default() };
    let begin = |id: &str| {
        let draft = Draft::new(Kind::Call, Id::Text(id)).notes(&stream);
        live.say(draft.text("function", "endless").packed("args", b"\x90").finish());
    };
    (0..2 * STALLED_STREAMS_MAX).for_each(|n| begin(&n.to_string()));
    let mut other = live.another();
    for n in 0..100 {
        other.call(&n.to_string(), "nothing");
        assert_eq!(other.heard(), format!("Response {n}"));
    }
    // None is refused: those that have not begun wait.
    live.beat("alive");
    loop {
        match live.heard() {
            beat if beat == "Heartbeat alive" => break,
            item => assert!(item.starts_with("Stream "), "{item}"),
        }
    }
    live.link.cut();
    other.call("after", "nothing");
    assert_eq!(other.heard(), "Response after");
    other.link.cut();
    live.stop();
}
