//! Callers that read by themselves, and how they hand over. Nobody else reads until a test says so.

use std::sync::mpsc;

use super::*;
use crate::parent::shared::Up;

type Answer = Option<Result<Reply, Error>>;

struct Pair {
    shared: Arc<Shared>,
    up: Up,
    link: Arc<Link>,
    inbox: Inbox,
    _server: Server,
}

fn pair() -> Pair {
    let shared = Arc::new(Shared::new("far", Options::default()));
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let (sender, receiver) = mpsc::channel();
    let serve = move |link, inbox| sender.send((link, inbox)).unwrap();
    thread::spawn(move || listening.run(DEALER, serve));
    let (link, inbox) = crate::socket::connect(server.port(), ROUTER).unwrap();
    let (ours, read) = receiver.recv_timeout(PATIENCE).unwrap();
    let up = shared.connected(&ours, read);
    Pair { shared, up, link, inbox, _server: server }
}

impl Pair {
    /// A caller on a thread of its own, and the id of its call, which has arrived.
    fn call(&mut self, max: Duration) -> (thread::JoinHandle<Answer>, String) {
        let shared = self.shared.clone();
        let options = CallOptions::default();
        let call = move || shared.request_blocking(&options, "add", &one_two(), max);
        let caller = thread::spawn(call);
        let message = self.inbox.next(&self.link).unwrap();
        let id = Envelope::scan(&message).unwrap().id.and_then(msgpack::text).unwrap();
        (caller, id.to_string())
    }

    /// A caller that sits in the seat now.
    fn lead(&mut self, max: Duration) -> (thread::JoinHandle<Answer>, String) {
        assert!(self.up.seat.is_free());
        let called = self.call(max);
        while self.up.seat.is_free() && !called.0.is_finished() {
            thread::yield_now();
        }
        called
    }

    fn answer(&self, id: &str) {
        block_on(self.link.send(response(Id::Text(id), b"\x03")), PATIENCE).unwrap().unwrap();
    }

    /// The connection's own thread begins; its end is the connection's.
    fn read(&self) -> thread::JoinHandle<String> {
        let (shared, up) = (self.shared.clone(), self.up.clone());
        thread::spawn(move || shared.read(&up).to_string())
    }
}

fn is_three(caller: thread::JoinHandle<Answer>) -> bool {
    caller.join().unwrap().unwrap().unwrap().read() == Ok(3)
}

#[test]
fn s12_1_a_leader_that_gives_up_leaves_nobody_behind() {
    let mut pair = pair();
    let (leader, _) = pair.lead(Duration::from_millis(200));
    let (follower, id) = pair.call(PATIENCE);
    assert_eq!(leader.join().unwrap(), None, "its time is over");
    let reading = pair.read();
    pair.answer(&id);
    assert!(is_three(follower));
    assert!(!pair.shared.has_pending());
    pair.link.cut();
    assert_eq!(reading.join().unwrap(), "the other side closed it");
}

#[test]
fn s13_5_a_leader_that_is_answered_first_leaves_nobody_behind() {
    let mut pair = pair();
    let (leader, first) = pair.lead(PATIENCE);
    let (follower, second) = pair.call(PATIENCE);
    pair.answer(&first);
    assert!(is_three(leader));
    pair.read();
    pair.answer(&second);
    assert!(is_three(follower));
}

#[test]
fn s16_1_a_leader_reads_for_others() {
    let mut pair = pair();
    let (leader, first) = pair.lead(PATIENCE);
    let (follower, second) = pair.call(PATIENCE);
    pair.answer(&second);
    assert!(is_three(follower), "there is nobody else who could have read it");
    assert!(!leader.is_finished());
    pair.answer(&first);
    assert!(is_three(leader));
    assert!(pair.up.seat.is_free());
}

#[test]
fn s8_2_a_connection_that_ends_under_a_leader_ends_for_all() {
    let mut pair = pair();
    let (leader, _) = pair.lead(PATIENCE);
    let (follower, _) = pair.call(PATIENCE);
    let reading = pair.read();
    pair.link.cut();
    let reason = reading.join().unwrap();
    assert_eq!(reason, "the other side closed it");
    let ended = Error::Disconnected(reason);
    pair.shared.fail_all(&ended);
    for caller in [leader, follower] {
        assert_eq!(caller.join().unwrap(), Some(Err(ended.clone())));
    }
}

#[test]
fn s9_9_a_stop_reaches_a_leader() {
    let mut pair = pair();
    let (leader, _) = pair.lead(PATIENCE);
    pair.shared.stop();
    assert_eq!(leader.join().unwrap(), Some(Err(Error::Stopped)));
    assert!(pair.up.seat.is_free());
}

#[test]
fn what_has_come_of_a_message_is_kept_when_the_leader_changes() {
    let mut pair = pair();
    let (leader, _) = pair.lead(Duration::from_millis(200));
    let (follower, id) = pair.call(PATIENCE);
    let whole = response(Id::Text(&id), b"\x03").rest().concat();
    let (head, tail) = whole.split_at(20);
    let send = |bytes: &[u8]| pair.link.try_send(Packet::raw(bytes.to_vec())).unwrap();
    send(head);
    assert_eq!(leader.join().unwrap(), None);
    pair.read();
    send(tail);
    assert!(is_three(follower));
}

/// A call in a task, which has been sent.
fn task<'a>(shared: &'a Shared, options: &'a CallOptions, args: &'a Bytes) -> Task<'a> {
    let mut call: Task<'a> = Box::pin(shared.request(options, "add", args));
    assert!(poll(&mut call).is_pending());
    call
}

type Task<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Reply, Error>> + 'a>>;

fn poll(call: &mut Task<'_>) -> std::task::Poll<Result<Reply, Error>> {
    call.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[test]
fn s16_1_the_newest_task_reads_for_others() {
    let mut pair = pair();
    let (shared, options, args) = (pair.shared.clone(), CallOptions::default(), one_two());
    let mut first = task(&shared, &options, &args);
    let mut second = task(&shared, &options, &args);
    assert!(poll(&mut second).is_pending());
    for _ in 0..2 {
        let message = pair.inbox.next(&pair.link).unwrap();
        let id = Envelope::scan(&message).unwrap().id.and_then(msgpack::text).unwrap();
        pair.answer(id);
    }
    while poll(&mut second).is_pending() {}
    assert!(poll(&mut first).is_ready(), "there is nobody else who could have read it");
    assert!(pair.up.seat.is_free());
}

#[test]
fn s16_1_a_newest_task_that_gives_up_leaves_nobody_behind() {
    let mut pair = pair();
    let (shared, options, args) = (pair.shared.clone(), CallOptions::default(), one_two());
    let mut first = task(&shared, &options, &args);
    let message = pair.inbox.next(&pair.link).unwrap();
    let id = Envelope::scan(&message).unwrap().id.and_then(msgpack::text).unwrap();
    drop(task(&shared, &options, &args));
    let reading = pair.read();
    pair.answer(id);
    while poll(&mut first).is_pending() {
        thread::yield_now();
    }
    pair.link.cut();
    assert_eq!(reading.join().unwrap(), "the other side closed it");
}
