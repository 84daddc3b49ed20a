//! Extensions, to callers that know them and to old ones.

use super::*;
use crate::child::desk::Admitted;
use crate::child::ticket::Ticket;
use crate::ext::{Extensions, Notes};
use crate::limits::{STREAM_BYTES_MAX, STREAM_ITEMS_MAX};

pub(super) fn streams() -> Child {
    let fails = || vec![Ok(1), Err(Failure::new("ValueError", "no more"))];
    child()
        .stream_function("count", |(n,): (u32,)| Ok((0..n).map(Ok)))
        .stream_function("fails", move |()| Ok(fails()))
        .stream_function("endless", |()| Ok(std::iter::repeat_with(|| Ok("x".repeat(100)))))
        .async_stream_function("later", |(n,): (u32,)| futures_util::stream::iter((0..n).map(Ok)))
}

const OFFER: Notes<'static> =
    Notes { ext: Some(Extensions::ALL), token: None, is_stream: false, items: None, taken: None };

/// What `metadata` of the answer says about extensions; `None` if there is no such field.
fn notes_of(bench: &Bench, message: &[u8]) -> Option<bool> {
    let packet = match bench.running.judge(message.to_vec(), &bench.link) {
        Step::Answer(packet) => packet,
        Step::Run(job) => bench.running.answer(&job),
        step => panic!("{step:?}"),
    };
    let payload = payload(&packet);
    let metadata = Envelope::scan(&payload).unwrap().metadata;
    metadata.map(|_| Notes::read(metadata).ext == Some(Extensions::ALL))
}

#[test]
fn s19_2_s33_3_s38_only_who_names_extensions_is_told_ours() {
    let bench = bench(streams());
    for (function, args) in [
        ("add", &b"\x92\x01\x02"[..]),
        ("fail", b"\x90"),
        ("nope", b"\x90"),
        ("count", b"\x91\x02"),
    ] {
        assert_eq!(notes_of(&bench, &call(function, args).payload()), None, "{function}");
        let sent = call(function, args).packed("metadata", b"\x81\xaetimestamp_sent\x01");
        assert_eq!(notes_of(&bench, &sent.payload()), None, "{function}");
        let offer = call(function, args).notes(&OFFER).payload();
        assert_eq!(notes_of(&bench, &offer), Some(true), "{function}");
    }
}

#[test]
fn s38_3_an_old_parent_gets_a_list() {
    let bench = bench(streams().message_bytes_max(2000));
    let stream = Notes { is_stream: true, ..OFFER };
    for (message, expected) in [
        (call("count", b"\x91\x03").payload(), "response 1 Array([Int(0), Int(1), Int(2)])"),
        (call("later", b"\x91\x02").payload(), "response 1 Array([Int(0), Int(1)])"),
        (call("count", b"\x91\x00").payload(), "response 1 Array([])"),
        (call("fails", b"\x90").payload(), "error 1 ValueError: no more"),
        (
            call("endless", b"\x90").payload(),
            "error 1 ValueError: the answer has 2040 bytes, 2000 at most",
        ),
        // Who knows streams and does not want one gets a list too, and so does who only says so.
        (call("count", b"\x91\x01").notes(&OFFER).payload(), "response 1 Array([Int(0)])"),
        (
            call("count", b"\x91\x01").notes(&Notes { ext: None, ..stream }).payload(),
            "response 1 Array([Int(0)])",
        ),
        // A function without items answers as ever.
        (call("add", b"\x92\x01\x02").notes(&stream).payload(), "response 1 Int(3)"),
    ] {
        let answer = bench.answer(&message);
        assert_eq!(answer.split("\nTraceback").next(), Some(expected));
    }
}

#[test]
fn s38_4_a_service_that_wants_a_token_lets_nobody_else_in() {
    let token = Some(Token::new("secret"));
    let bench = bench(child().service(Service { token, ..Service::new("s") }));
    let with = |draft: Draft, token| draft.notes(&Notes { token, ..Notes::default() }).payload();
    let refused = "error 1 Authentication required";
    for function in ["add", "_secret", "nope", "", "list_functions"] {
        for token in [None, Some(""), Some("secre"), Some("secrets")] {
            assert_eq!(bench.answer(&with(call(function, b"\x90"), token)), refused);
        }
    }
    // What cannot be read is told to who is let in.
    let deep = [vec![0x91; 300], vec![0xc0]].concat();
    let notes = Notes { token: Some("secret"), ..Notes::default() };
    let unread = Draft::new(Kind::Call, Id::Text("1")).notes(&notes).packed("args", &deep);
    assert_eq!(bench.answer(&unread.payload()), "error 1 ValueError: msgpack nested too deep");
    let shutdown = || Draft::new(Kind::Shutdown, Id::Text("1"));
    assert_eq!(
        bench.answer(&with(call("add", b"\x92\x01\x02"), Some("secret"))),
        "response 1 Int(3)"
    );
    assert_eq!(bench.answer(&with(shutdown(), None)), "ignored");
    assert_eq!(bench.answer(&with(shutdown(), Some("secret"))), "end");
    let beat = bench.answer(&Draft::new(Kind::Heartbeat, Id::Text("1")).payload());
    assert!(beat.contains("hb_response"), "{beat}");
}

#[test]
fn s38_2_a_call_is_cancelled_by_its_own_caller_only() {
    let first = bench(child());
    let message = call("add", b"\x92\x01\x02").payload();
    let Step::Run(job) = first.running.judge(message, &first.link) else { panic!() };
    let cancel = |id| Draft::new(Kind::Cancel, Id::Text(id)).payload();
    assert_eq!(first.answer(&cancel("1")), "ignored", "it is not there yet");
    let Admitted::Now(job) = first.running.desk.admit(job) else { panic!() };
    assert_eq!(first.answer(&cancel("2")), "ignored");
    let stranger = bench(child());
    assert!(matches!(first.running.judge(cancel("1"), &stranger.link), Step::Ignore));
    let Step::Cancel(ticket) = first.running.judge(cancel("1"), &first.link) else { panic!() };
    ticket.cancel();
    let answer = payload(&first.running.answer(&job));
    let error = Envelope::scan(&answer).unwrap().error.and_then(msgpack::text);
    assert_eq!(error, Some("Cancelled: the caller has given up"), "it does not even begin");
    assert!(first.running.desk.done(&job.ticket).is_none());
    assert_eq!(first.answer(&cancel("1")), "ignored", "it is gone");
}

#[test]
fn s38_2_a_call_that_waits_is_cancelled_too() {
    let bench = bench(child());
    let job = |id| {
        let call = Draft::new(Kind::Call, Id::Text(id)).text("function", "nothing").payload();
        let Step::Run(job) = bench.running.judge(call, &bench.link) else { panic!() };
        bench.running.desk.admit(job)
    };
    let Admitted::Now(first) = job("1") else { panic!() };
    assert!(matches!(job("2"), Admitted::Later));
    let cancel = Draft::new(Kind::Cancel, Id::Text("2")).payload();
    let Step::Cancel(ticket) = bench.running.judge(cancel, &bench.link) else { panic!() };
    ticket.cancel();
    let second = bench.running.desk.done(&first.ticket).unwrap();
    let answer = payload(&bench.running.answer(&second));
    let error = Envelope::scan(&answer).unwrap().error.and_then(msgpack::text);
    assert_eq!(error, Some("Cancelled: the caller has given up"));
}

#[test]
fn s38_3_a_child_waits_for_its_caller() {
    let bench = bench(child());
    let ticket = Arc::new(Ticket::new(&bench.link, b"\xa11", &OFFER));
    for _ in 0..STREAM_ITEMS_MAX {
        ticket.wait_for_room().unwrap();
        ticket.sent(1);
    }
    let waiting = |ticket: &Arc<Ticket>| {
        let ticket = ticket.clone();
        std::thread::spawn(move || ticket.wait_for_room().map_err(|it| it.text().to_string()))
    };
    let next = waiting(&ticket);
    ticket.taken(1);
    assert_eq!(next.join().unwrap(), Ok(()));
    // Bytes count too, but one item of any size may go.
    ticket.taken(STREAM_ITEMS_MAX as u64);
    ticket.sent(STREAM_BYTES_MAX * 2);
    let next = waiting(&ticket);
    ticket.taken(u64::MAX);
    assert_eq!(next.join().unwrap(), Ok(()));
    ticket.sent(STREAM_BYTES_MAX);
    let next = waiting(&ticket);
    ticket.hang_up();
    assert_eq!(next.join().unwrap(), Err("BrokenPipe: the caller is gone".into()));
    assert!(!Cancel::current().is_cancelled(), "outside of calls it never comes");
    ticket.cancel();
    assert!(ticket.around(|| Cancel::current().is_cancelled()));
    let next = waiting(&ticket);
    assert_eq!(next.join().unwrap(), Err("Cancelled: the caller has given up".into()));
}
