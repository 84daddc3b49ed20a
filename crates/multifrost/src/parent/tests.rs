mod each;
mod ext;
mod lead;

use super::*;
use crate::envelope::{Draft, Envelope, Id, Kind, Packet};
use crate::parent::shared::Answer;
use crate::socket::{Inbox, LOOPBACK, Link, Server, Terms};
use crate::wait::block_on;
use crate::zmtp::Role;
use bytes::Bytes;

const PATIENCE: Duration = Duration::from_secs(60);

/// The far end of a parent's connection, in the test's own hands.
pub(crate) struct Far {
    shared: Arc<Shared>,
    link: Arc<Link>,
    inbox: Inbox,
    server: Server,
}

const ROUTER: Terms = Terms { role: Role::Router, message_bytes_max: 1 << 20 };
const DEALER: Terms = Terms { role: Role::Dealer, message_bytes_max: 1 << 20 };

fn one_two() -> Bytes {
    Bytes::from_static(b"\x92\x01\x02")
}

pub(crate) fn far(options: Options) -> Far {
    let shared = Arc::new(Shared::new("far", options));
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let serving = shared.clone();
    let serve = move |link, inbox| serving.serve(&link, inbox, Error::Disconnected);
    thread::spawn(move || listening.run(DEALER, serve));
    let (link, inbox) = crate::socket::connect(server.port(), ROUTER).unwrap();
    // Our end of the handshake may be done before theirs.
    block_on(shared.up(), PATIENCE).unwrap().unwrap();
    Far { shared, link, inbox, server }
}

impl Far {
    /// The other end of a handshake may be a little later.
    fn wait_until_up(&self) {
        while !self.shared.is_up() {
            thread::yield_now();
        }
    }

    /// A call, the messages that come while it waits, and an answer: whatever they are, the caller
    /// gets one answer. `ID` in a message becomes the call's own id.
    pub(crate) fn hear(&mut self, messages: &[Vec<u8>]) {
        let shared = self.shared.clone();
        // With a connection the call is sent when it is first polled.
        self.wait_until_up();
        let options = CallOptions::default();
        let args = one_two();
        let mut call = Box::pin(shared.request(&options, "add", &args));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        let sent = self.inbox.next(&self.link).unwrap();
        let id = Envelope::scan(&sent).unwrap().id.and_then(msgpack::text).unwrap();
        for message in messages {
            shared.take(with_id(message, id)).into_iter().for_each(Answer::deliver);
        }
        let answer = Draft::new(Kind::Response, Id::Text(id)).packed("result", b"\x03").payload();
        shared.take(answer).into_iter().for_each(Answer::deliver);
        assert!(call.as_mut().poll(&mut context).is_ready());
        assert!(!shared.has_pending());
    }

    /// Calls `add`, answers with what `answers` makes of the id, and gives what the caller gets.
    fn check(&mut self, answers: impl Fn(&str) -> Vec<Packet>) -> Result<Reply, Error> {
        let shared = self.shared.clone();
        let options = CallOptions::default();
        let call = move || block_on(shared.request(&options, "add", &one_two()), PATIENCE);
        let caller = thread::spawn(call);
        let message = self.inbox.next(&self.link).unwrap();
        let id = Envelope::scan(&message).unwrap().id.and_then(msgpack::text).unwrap();
        for packet in answers(id) {
            block_on(self.link.send(packet), PATIENCE).unwrap().unwrap();
        }
        caller.join().unwrap().unwrap()
    }
}

/// What stands for the id of a call in a message of the corpus; as long as an id.
const ID: &[u8; 36] = b"00000000-0000-4000-8000-000000000000";

fn with_id(message: &[u8], id: &str) -> Vec<u8> {
    let mut message = message.to_vec();
    let at = message.windows(ID.len()).position(|it| it == ID);
    at.into_iter().for_each(|at| message[at..at + ID.len()].copy_from_slice(id.as_bytes()));
    message
}

fn response(id: Id<'_>, result: &[u8]) -> Packet {
    Draft::new(Kind::Response, id).packed("result", result).finish()
}

#[test]
fn s13_5_s30_6_s34_4_only_the_answer_under_the_right_id_counts() {
    let mut far = far(Options::default());
    let reply = far.check(|id| {
        vec![
            response(Id::Text("unknown"), b"\x07"),
            response(Id::Packed(b"\xc0"), b"\x07"),
            response(Id::Packed(b"\x05"), b"\x07"),
            Draft::new(Kind::Call, Id::Text(id)).packed("result", b"\x07").finish(),
            Draft::new(Kind::Heartbeat, Id::Text(id)).finish(),
            response(Id::Text(id), b"\x03"),
            response(Id::Text(id), b"\x07"),
        ]
    });
    assert_eq!(reply.unwrap().read(), Ok(3));
    assert!(!far.shared.has_pending());
}

#[test]
fn s7_3_1_a_missing_result_is_nothing() {
    let mut far = far(Options::default());
    let reply = far.check(|id| vec![Draft::new(Kind::Response, Id::Text(id)).finish()]);
    assert_eq!(reply.unwrap().value(), Ok(Value::Nil));
    let reply = far.check(|id| vec![response(Id::Text(id), b"\xc0")]);
    assert_eq!(reply.unwrap().read(), Ok(()));
}

#[test]
fn s4_5_an_answer_that_cannot_be_read_is_an_error_at_once() {
    let mut far = far(Options::default());
    let deep = [vec![0x91; 300], vec![0xc0]].concat();
    for (result, why) in [
        (&deep[..], "msgpack nested too deep"),
        (b"", "msgpack that breaks off"),
        (b"\xc1", "0xc1 begins no msgpack value"),
        (b"\x01\x02", "bytes after the message"),
    ] {
        let answer = far.check(|id| vec![response(Id::Text(id), result)]);
        assert_eq!(answer, Err(Error::Answer(why.into())));
    }
    // What is no answer is dropped, as ever.
    let reply = far.check(|id| {
        let call = Draft::new(Kind::Call, Id::Text(id)).packed("args", &deep).finish();
        vec![call, response(Id::Text(id), b"\x03")]
    });
    assert_eq!(reply.unwrap().read(), Ok(3));
}

#[test]
fn s16_2_a_call_beyond_the_limit_waits_for_a_place() {
    let mut far = far(Options { pending_calls_max: 1, ..Options::default() });
    let (shared, options, args) = (far.shared.clone(), CallOptions::default(), one_two());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let begin = || Box::pin(shared.request(&options, "add", &args));
    let (mut first, mut second) = (begin(), begin());
    // Calls that are sent together are sent when they are polled again.
    for _ in 0..3 {
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
    }
    let mark = Draft::new(Kind::Heartbeat, Id::Text("mark")).finish();
    far.shared.link_now().unwrap().try_send(mark).unwrap();
    let mut heard = || {
        let message = far.inbox.next(&far.link).unwrap();
        let envelope = Envelope::scan(&message).unwrap();
        (envelope.kind.unwrap(), envelope.id.and_then(msgpack::text).unwrap().to_string())
    };
    let (kind, id) = heard();
    assert_eq!(kind, Kind::Call);
    assert_eq!(heard(), (Kind::Heartbeat, "mark".into()), "no second call before it");
    let answer = Draft::new(Kind::Response, Id::Text(&id)).packed("result", b"\x03").payload();
    shared.take(answer).into_iter().for_each(Answer::deliver);
    assert!(first.as_mut().poll(&mut context).is_ready());
    drop(first);
    assert!(second.as_mut().poll(&mut context).is_pending());
    let (kind, other) = heard();
    assert!(kind == Kind::Call && other != id);
}

#[test]
fn s6_3_1_odd_errors_are_errors_still() {
    let mut far = far(Options::default());
    for (packed, text) in [
        (Some(&b"\xa2no"[..]), "no"),
        (Some(b"\xc0"), "Unknown error"),
        (None, "Unknown error"),
        (Some(b"\x81\xa1a\x01"), r#"{"a":1}"#),
        (Some(b"\xa1\xff"), "Unknown error"),
    ] {
        let answer = far.check(|id| {
            let draft = Draft::new(Kind::Error, Id::Text(id));
            vec![packed.into_iter().fold(draft, |it, packed| it.packed("error", packed)).finish()]
        });
        assert_eq!(answer, Err(Error::Remote(text.into())));
    }
}

#[test]
fn s6_4_2_output_needs_no_id() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hear = heard.clone();
    let output = Arc::new(move |it: Output<'_>| hear.lock().unwrap().push(it.to_string()));
    let mut far = far(Options { output, ..Options::default() });
    let reply = far.check(|id| {
        let out = |kind, id, text| Draft::new(kind, id).text("output", text).finish();
        vec![
            out(Kind::Stdout, Id::Packed(b"\xc0"), "one"),
            out(Kind::Stderr, Id::Text("x"), "two"),
            out(Kind::Stdout, Id::Text("x"), ""),
            response(Id::Text(id), b"\x03"),
        ]
    });
    assert!(reply.is_ok());
    assert_eq!(*heard.lock().unwrap(), ["[far STDOUT]: one", "[far STDERR]: two"]);
}

#[test]
fn s8_2_the_end_of_a_connection_fails_what_is_pending() {
    let mut far = far(Options::default());
    let link = far.link.clone();
    let answer = far.check(|_| {
        link.cut();
        vec![]
    });
    assert_eq!(answer, Err(Error::Disconnected("the other side closed it".into())));
    assert!(!far.shared.has_pending());
}

#[test]
fn a_second_connection_beside_a_live_one_is_refused() {
    let mut far = far(Options::default());
    assert!(far.check(|id| vec![response(Id::Text(id), b"\x03")]).is_ok());
    let (link, mut inbox) = crate::socket::connect(far.server.port(), ROUTER).unwrap();
    assert!(inbox.next(&link).is_err());
    assert!(far.check(|id| vec![response(Id::Text(id), b"\x03")]).is_ok());
}

#[test]
fn s3_5_s20_1_a_call_on_the_wire() {
    let mut far = far(Options::default());
    let shared = far.shared.clone();
    let options = CallOptions { client_name: Some("me".into()), ..CallOptions::default() };
    let call = move || block_on(shared.request(&options, "add", &one_two()), PATIENCE);
    let caller = thread::spawn(call);
    let message = far.inbox.next(&far.link).unwrap();
    let Ok(Value::Map(fields)) = Value::read(&message) else { panic!("{message:?}") };
    let keys: Vec<_> = fields.iter().filter_map(|(key, _)| key.as_str()).collect();
    let core = ["app", "id", "type", "timestamp", "metadata"];
    let more = ["function", "args", "namespace", "client_name"];
    assert_eq!(keys, [&core[..], &more].concat());
    assert_eq!(Value::Map(fields).get("namespace"), Some(&"default".into()));
    far.shared.stop();
    assert_eq!(caller.join().unwrap(), Some(Err(Error::Stopped)));
}

#[test]
fn s6_6_s38_1_a_heartbeat_on_the_wire() {
    // The answer of Python, Go and Rust, and that of JavaScript, which sends back what it got.
    for is_marked in [true, false] {
        let mut far = far(Options::default());
        far.wait_until_up();
        let terms =
            Heartbeat { first: Duration::ZERO, interval: PATIENCE, max: PATIENCE, misses_max: 1 };
        let shared = far.shared.clone();
        let asking = thread::spawn(move || heartbeat::run(&shared, terms, || panic!("it lives")));
        let message = far.inbox.next(&far.link).unwrap();
        let asked = Envelope::scan(&message).unwrap();
        assert_eq!((asked.kind, asked.namespace), (Some(Kind::Heartbeat), None));
        let Ok(Value::Map(said)) = Value::read(asked.metadata.unwrap()) else { panic!() };
        let [(key, Value::F64(sent))] = &said[..] else { panic!("{said:?}") };
        assert_eq!(key.as_str(), Some("hb_timestamp"));
        let answer = Draft::new(Kind::Heartbeat, Id::Packed(asked.id.unwrap()));
        let metadata = crate::envelope::heartbeat_metadata(*sent, is_marked);
        block_on(far.link.send(answer.packed("metadata", &metadata).finish()), PATIENCE);
        // The answer to a call shows that what stands before it was heard.
        assert!(far.check(|id| vec![response(Id::Text(id), b"\x03")]).is_ok());
        assert!(far.shared.beat.is_answered());
        far.shared.stop();
        asking.join().unwrap();
    }
}

#[test]
fn s38_1_a_service_is_not_asked_for_signs_of_life() {
    let folder = tempfile::tempdir().unwrap();
    let registry = crate::registry::Registry::at(folder.path());
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let serve = |link: Arc<Link>, mut inbox: Inbox| {
        while let Ok(message) = inbox.next(&link) {
            let envelope = Envelope::scan(&message).unwrap();
            // A heartbeat would have no answer and no end.
            assert_eq!(envelope.kind, Some(Kind::Call));
            let answer = response(Id::Packed(envelope.id.unwrap()), b"\x03");
            block_on(link.send(answer), PATIENCE).unwrap().unwrap();
        }
    };
    thread::spawn(move || listening.run(ROUTER, serve));
    let _registration = registry.register("math", server.port()).unwrap();
    let none = Duration::ZERO;
    let often = Heartbeat { first: none, interval: none, max: none, misses_max: 1 };
    let heartbeat = Some(often);
    let options = Options { heartbeat, registry: Some(registry), ..Options::default() };
    let parent = Blocking::connect("math", options).unwrap();
    for _ in 0..100 {
        assert_eq!(parent.call("add", (1, 2)), Ok(3));
    }
}

#[test]
fn s38_1_a_worker_that_stays_silent_hangs() {
    let far = far(Options::default());
    far.wait_until_up();
    let none = Duration::ZERO;
    let terms = Heartbeat { first: none, interval: none, max: none, misses_max: 3 };
    let (shared, stopping) = (far.shared.clone(), far.shared.clone());
    thread::spawn(move || heartbeat::run(&shared, terms, || stopping.stop())).join().unwrap();
    assert!(!far.shared.beat.is_answered());
}
