mod ext;
mod live;
mod results;
mod talk;

use std::io::Write as _;

use super::reply::Step;
use super::*;
use crate::envelope::{Draft, Envelope, Id, Kind, Packet};
use crate::limits::OUTPUT_LINE_BYTES_MAX;
use crate::msgpack;
use crate::socket::{Server, Terms, connect};
use crate::value::Value;
use crate::zmtp::{Role, Session};

fn child() -> Child {
    Child::new()
        .function("add", |(a, b): (i64, i64)| Ok(a + b))
        .function("nothing", |()| Ok(()))
        .function("fail", |()| -> Result<(), Failure> { Err(Failure::new("ValueError", "no")) })
        .function("panic", |()| -> Result<(), Failure> { panic!("out of luck") })
        .async_function("later", |(x,): (String,)| async move { Ok(format!("{x}!")) })
        .packed_function("echo", Ok)
        .function("_secret", |()| Ok(1))
}

/// A running child without connections, and a link to nowhere in particular.
struct Bench {
    running: Arc<Running>,
    link: Arc<Link>,
    _server: Server,
}

fn bench(child: Child) -> Bench {
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let terms = |role| Terms { role, message_bytes_max: 1 << 20 };
    std::thread::spawn(move || listening.run(terms(Role::Router), |_, _| {}));
    let (link, _) = connect(server.port(), terms(Role::Dealer)).unwrap();
    let running = Arc::new(Running {
        functions: child.functions,
        namespace: child.namespace,
        message_bytes_max: child.message_bytes_max,
        is_spawned: false,
        token: child.service.and_then(|service| service.token),
        desk: Desk::new(1),
        links: child.links,
        tokio: Tokio { callers: None, own: OnceLock::new() },
    });
    Bench { running, link, _server: server }
}

/// The message of a packet.
fn payload(packet: &Packet) -> Vec<u8> {
    let mut session = Session::new(Role::Router, 1 << 20);
    let hello = [&crate::zmtp::GREETING[..], &crate::zmtp::ready(Role::Dealer)].concat();
    let wire = [&hello[..], &packet.rest().concat()].concat();
    let mut input = &wire[..];
    loop {
        match session.feed(&mut input).unwrap() {
            Some(crate::zmtp::Event::Message(payload)) => return payload,
            Some(_) => {}
            None => panic!("no message in {packet:?}"),
        }
    }
}

impl Bench {
    /// What the child answers, as `kind id value`; `ignored` or `end` if nothing.
    fn answer(&self, message: &[u8]) -> String {
        let packet = match self.running.judge(message.to_vec(), &self.link) {
            Step::Ignore => return "ignored".into(),
            Step::End => return "end".into(),
            Step::Cancel(_) | Step::Taken(..) => return "noted".into(),
            Step::Answer(packet) => packet,
            Step::Run(job) => self.running.answer(&job),
        };
        let payload = payload(&packet);
        let envelope = Envelope::scan(&payload).unwrap();
        let id = Value::read(envelope.id.unwrap()).unwrap();
        let id = match id.as_str() {
            Some(id) if id.len() == 36 => "fresh".into(),
            Some(id) => id.to_string(),
            None => format!("{id:?}"),
        };
        match envelope.kind {
            Some(Kind::Error) => {
                format!("error {id} {}", msgpack::text(envelope.error.unwrap()).unwrap())
            }
            Some(Kind::Response) => {
                // Nil is written, though it scans as nothing.
                assert!(payload.windows(7).any(|it| it == b"\xa6result"));
                let result = envelope.result.map_or(Value::Nil, |it| Value::read(it).unwrap());
                format!("response {id} {result:?}")
            }
            kind => format!("{kind:?} {id} {:?}", Value::read(envelope.metadata.unwrap()).unwrap()),
        }
    }
}

fn call(function: &str, args: &[u8]) -> Draft {
    Draft::new(Kind::Call, Id::Text("1")).text("function", function).packed("args", args)
}

fn message(fields: Vec<(&str, Value)>) -> Vec<u8> {
    let core = vec![("app", "comlink_ipc_v4".into()), ("type", "call".into())];
    let fields = core.into_iter().chain(fields).map(|(key, value)| (key.into(), value));
    let mut out = Vec::new();
    Value::Map(fields.collect()).write(&mut out);
    out
}

#[track_caller]
fn check(cases: Vec<(Vec<u8>, &str)>) {
    let bench = bench(child());
    for (message, expected) in cases {
        assert_eq!(bench.answer(&message), expected, "{message:?}");
    }
}

#[test]
fn s6_2_1_s22_9_s35_1_vector_a_add() {
    check(vec![(
        call("add", b"\x92\x01\x02").text("namespace", "default").payload(),
        "response 1 Int(3)",
    )]);
}

#[test]
fn s6_1_3_s22_5_s25_1_s35_2_vector_b_a_call_without_a_function() {
    let missing = "error 1 Message missing 'function' field";
    check(vec![
        (message(vec![("id", "1".into())]), missing),
        (message(vec![("id", "1".into()), ("function", Value::Nil)]), missing),
        (message(vec![("id", "1".into()), ("function", "".into())]), missing),
        (
            message(vec![("id", "1".into()), ("function", Value::Int(1))]),
            "error 1 TypeError: 'function' must be a string",
        ),
    ]);
}

#[test]
fn s6_1_6_s9_6_s21_6_s25_5_s35_3_vector_c_a_private_function() {
    check(vec![
        (call("_secret", b"\x90").payload(), "error 1 Cannot call private method '_secret'"),
        (call("_absent", b"\x90").payload(), "error 1 Cannot call private method '_absent'"),
    ]);
}

#[test]
fn s25_2_s9_4_a_call_without_an_id_is_answered_under_a_fresh_one() {
    let missing = "error fresh Message missing 'id' field";
    check(vec![
        (message(vec![("function", "add".into())]), missing),
        (message(vec![("function", "add".into()), ("id", "".into())]), missing),
        (message(vec![("function", "add".into()), ("id", Value::Nil)]), missing),
    ]);
}

#[test]
fn s7_2_1_s9_5_s25_3_s25_4_an_unknown_function() {
    check(vec![
        (call("nope", b"\x90").payload(), "error 1 Function 'nope' not found"),
        (call("a.add", b"\x90").payload(), "error 1 Function 'a.add' not found"),
    ]);
}

#[test]
fn s6_2_2_s6_3_2_s34_5_ids_come_back_as_they_were() {
    let with = |id| message(vec![("id", id), ("function", "nothing".into())]);
    check(vec![
        (with("x y".into()), "response x y Nil"),
        (with(Value::Int(7)), "response Int(7) Nil"),
        (with(Value::Array(vec![])), "response Array([]) Nil"),
    ]);
}

#[test]
fn s6_1_4_s7_2_2_s21_7_s22_6_arguments() {
    let with =
        |args| message(vec![("id", "1".into()), ("function", "nothing".into()), ("args", args)]);
    check(vec![
        (with(Value::Nil), "response 1 Nil"),
        (message(vec![("id", "1".into()), ("function", "nothing".into())]), "response 1 Nil"),
        (with("ab".into()), "error 1 TypeError: 'args' must be an array"),
        (with(Value::Map(vec![])), "error 1 TypeError: 'args' must be an array"),
        (call("echo", b"\x92\xc4\x01x\xc0").payload(), "response 1 Array([Bin([120]), Nil])"),
        (call("later", b"\x91\xa2ok").payload(), "response 1 Str(\"ok!\")"),
    ]);
    let bench = bench(child());
    for args in [&b"\x91\x01"[..], b"\x93\x01\x02\x03", b"\x92\xa1a\xa1b", b"\x92\xa1\xff\x01"] {
        let answer = bench.answer(&call("add", args).payload());
        assert!(answer.starts_with("error 1 TypeError: invalid arguments: "), "{answer}");
    }
}

#[test]
fn s6_1_5_s9_3_s15_1_s15_2_s21_5_s22_7_s25_7_s26_4_s30_3_s34_7_namespaces() {
    let with = |namespace| {
        message(vec![("id", "1".into()), ("function", "nothing".into()), ("namespace", namespace)])
    };
    check(vec![
        (with("default".into()), "response 1 Nil"),
        (with(Value::Nil), "response 1 Nil"),
        (with("other".into()), "ignored"),
        (with("".into()), "ignored"),
        (with(Value::Int(1)), "ignored"),
        (Draft::new(Kind::Shutdown, Id::Text("1")).text("namespace", "other").payload(), "ignored"),
    ]);
    let bench = bench(child().namespace("other"));
    assert_eq!(bench.answer(&with("other".into())), "response 1 Nil");
    assert_eq!(bench.answer(&with("default".into())), "ignored");
}

#[test]
fn s6_3_3_s7_4_1_s9_7_s13_1_s22_10_failures() {
    let bench = bench(child());
    for (function, words) in [("fail", "ValueError: no"), ("panic", "Panic: out of luck")] {
        let answer = bench.answer(&call(function, b"\x90").payload());
        let (said, place) = answer.split_once("\nTraceback:\n  at ").unwrap();
        assert_eq!(said, format!("error 1 {words}"));
        assert!(place.starts_with(file!()), "{place}");
    }
}

#[test]
fn s6_3_3_s9_7_a_failure_has_its_causes_and_its_place() {
    #[derive(Debug)]
    struct Chain(u32);
    impl std::fmt::Display for Chain {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "link {}", self.0)
        }
    }
    impl std::error::Error for Chain {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            const CHAIN: [Chain; 3] = [Chain(0), Chain(1), Chain(2)];
            CHAIN.get(self.0 as usize + 1).map(|it| it as _)
        }
    }
    let fail = || -> Result<(), Failure> { Err(Chain(0))? };
    let place = format!("\nTraceback:\n  at {}:{}:", file!(), line!() - 1);
    let failure = fail().unwrap_err();
    let text = failure.text();
    let words = "link 0\nCaused by: link 1\nCaused by: link 2";
    assert!(text.strip_prefix(words).is_some_and(|it| it.starts_with(&place)), "{text}");
}

#[test]
fn s6_3_3_s9_7_any_error_can_be_a_failure() {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    let boxed = |text: &str| -> Result<(), Boxed> { Err(text.into()) };
    let fail = || -> Result<(), Failure> { boxed("odd").map_err(Failure::of) };
    assert!(fail().unwrap_err().text().starts_with("odd\nTraceback:\n  at "));
    let parse = || -> Result<u8, Failure> { Ok("x".parse()?) };
    assert!(parse().unwrap_err().to_string().starts_with("invalid digit"));
}

#[test]
fn s4_1_s6_1_4_arguments_are_taken_as_other_libraries_send_them() {
    let child = Child::new()
        .function("double", |(n,): (i64,)| Ok(2 * n))
        .function("bytes", |(bytes,): (Vec<u8>,)| Ok(crate::Blob(bytes)))
        .function("open", |(name, mode): (String, Option<u8>)| Ok((name, mode.unwrap_or(7))));
    let bench = bench(child);
    let call = |function: &str, args: &[Value<'_>]| {
        let mut packed = Vec::new();
        Value::Array(args.to_vec()).write(&mut packed);
        bench.answer(&call(function, &packed).payload())
    };
    let wide = 1_i64 << 40;
    assert_eq!(call("double", &[(wide as f64).into()]), format!("response 1 Int({})", 2 * wide));
    assert_eq!(call("bytes", &[b"ab"[..].into()]), "response 1 Bin([97, 98])");
    let opened = "response 1 Array([Str(\"x\"), Int(7)])";
    assert_eq!(call("open", &["x".into()]), opened);
    assert_eq!(call("open", &["x".into(), Value::Nil]), opened);
    let wrong = |why| format!("error 1 TypeError: invalid arguments: {why}");
    assert_eq!(call("open", &[]), wrong("argument 1: it is missing"));
    assert_eq!(
        call("double", &[1_i64.into(), 2_i64.into()]),
        wrong("2 arguments were given, 1 are taken")
    );
}

#[test]
fn s6_6_heartbeats_are_answered_with_their_time() {
    let beat =
        |metadata: &[u8]| Draft::new(Kind::Heartbeat, Id::Text("1")).packed("metadata", metadata);
    let sent = crate::envelope::heartbeat_metadata(12.5, false);
    let answer = r#"Some(Heartbeat) 1 Map([(Str("hb_timestamp"), F64(12.5)), (Str("hb_response"), Bool(true))])"#;
    check(vec![(beat(&sent).payload(), answer)]);
    let whole = r#"Some(Heartbeat) 1 Map([(Str("hb_timestamp"), F64(3.0)), (Str("hb_response"), Bool(true))])"#;
    check(vec![(beat(b"\x81\xachb_timestamp\x03").payload(), whole)]);
    let bare = bench(child()).answer(&Draft::new(Kind::Heartbeat, Id::Text("1")).payload());
    assert!(bare.contains("hb_response"), "{bare}");
}

#[test]
fn s6_7_1_s17_10_other_kinds() {
    check(vec![
        (Draft::new(Kind::Shutdown, Id::Text("1")).payload(), "end"),
        (Draft::new(Kind::Response, Id::Text("1")).payload(), "ignored"),
        (b"\x81\xa3app\xaecomlink_ipc_v4".to_vec(), "ignored"),
        (b"junk".to_vec(), "ignored"),
        (vec![], "ignored"),
    ]);
}

#[test]
fn s4_5_arguments_that_cannot_be_read_are_answered_if_the_caller_is_known() {
    let deep = [vec![0x91; 300], vec![0xc0]].concat();
    check(vec![(call("echo", &deep).payload(), "error 1 ValueError: msgpack nested too deep")]);
}

#[test]
fn s40_8_s41_7_the_list_of_functions_has_three_names() {
    let bench = bench(child());
    for name in ["list_functions", "listFunctions", "ListFunctions"] {
        let names = bench.answer(&call(name, b"\x90").payload());
        let expected = ["add", "echo", "fail", "later", "nothing", "panic"];
        let expected: Vec<_> = expected.map(|it| Value::Str(it.into())).into();
        assert_eq!(names, format!("response 1 {:?}", Value::Array(expected)));
    }
}

#[test]
fn s36_1_an_answer_that_is_too_long_is_an_error() {
    let bench = bench(child().message_bytes_max(200));
    let answer =
        bench.answer(&call("echo", &[&b"\x91\xd9\x96"[..], &[b'x'; 150]].concat()).payload());
    assert!(answer.starts_with("error 1 ValueError: the answer has "), "{answer}");
}

#[test]
fn s20_2_s20_3_answers_on_the_wire() {
    let bench = bench(child());
    for (function, args, last) in
        [("add", &b"\x92\x01\x02"[..], "result"), ("nope", b"\x90", "error")]
    {
        let packet = match bench.running.judge(call(function, args).payload(), &bench.link) {
            Step::Answer(packet) => packet,
            Step::Run(job) => bench.running.answer(&job),
            step => panic!("{step:?}"),
        };
        let payload = payload(&packet);
        let Ok(Value::Map(fields)) = Value::read(&payload) else { panic!("{payload:?}") };
        let keys: Vec<_> = fields.iter().filter_map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["app", "id", "type", "timestamp", last]);
        assert!(matches!(fields[3].1, Value::F64(now) if now > 1.7e9));
    }
}

#[test]
fn s14_5_s36_2_output_is_told_in_pieces_or_not_at_all() {
    let mut nobody = child().stdout();
    writeln!(nobody, "hello").unwrap();
    nobody.flush().unwrap();

    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let terms = |role| Terms { role, message_bytes_max: 1 << 20 };
    let child = child();
    let links = child.links.clone();
    let serve = move |link: Arc<Link>, mut inbox: crate::socket::Inbox| {
        links.add(&link);
        while inbox.next(&link).is_ok() {}
    };
    std::thread::spawn(move || listening.run(terms(Role::Router), serve));
    let (link, mut inbox) = connect(server.port(), terms(Role::Dealer)).unwrap();
    while child.links.all().is_empty() {
        std::thread::yield_now();
    }
    let mut out = child.stdout();
    writeln!(out, "{}", "x".repeat(OUTPUT_LINE_BYTES_MAX * 2 + 1)).unwrap();
    for bytes in [OUTPUT_LINE_BYTES_MAX, OUTPUT_LINE_BYTES_MAX, 1] {
        let message = inbox.next(&link).unwrap();
        let output = Envelope::scan(&message).unwrap().output.and_then(msgpack::text).unwrap();
        assert_eq!(output.len(), bytes);
    }
}
