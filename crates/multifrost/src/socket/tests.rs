use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use super::link::SendError;
use super::*;
use crate::envelope::{Draft, Id, Kind, Packet};
use crate::limits::QUEUE_BYTES_MAX;
use crate::wait::block_on;

const DEALER: Terms = Terms { role: Role::Dealer, message_bytes_max: 1 << 20 };
const ROUTER: Terms = Terms { role: Role::Router, message_bytes_max: 1 << 20 };
/// A hang is a failure, not an endless test.
const PATIENCE: Duration = Duration::from_secs(60);

fn packet(text: &str) -> Packet {
    Draft::new(Kind::Stdout, Id::Text("1")).text("output", text).finish()
}

/// A server that hands out its connections.
fn server(terms: Terms) -> (Server, mpsc::Receiver<Peer>) {
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let (sender, receiver) = mpsc::channel();
    let serve = move |link, inbox| sender.send((link, inbox)).unwrap();
    thread::spawn(move || listening.run(terms, serve));
    (server, receiver)
}

type Peer = (Arc<Link>, Inbox);

fn pair() -> (Server, Peer, Peer) {
    let (server, peers) = server(ROUTER);
    let parent = connect(server.port(), DEALER).unwrap();
    let child = peers.recv_timeout(PATIENCE).unwrap();
    (server, parent, child)
}

#[test]
fn s3_4_what_one_side_sends_the_other_hears() {
    let (_server, (parent, mut answers), (child, mut calls)) = pair();
    block_on(parent.send(packet("there")), PATIENCE).unwrap().unwrap();
    let heard = calls.next(&child).unwrap();
    assert!(heard.ends_with(b"there"));
    block_on(child.send(packet("back")), PATIENCE).unwrap().unwrap();
    assert!(answers.next(&parent).unwrap().ends_with(b"back"));
}

#[test]
fn nothing_is_lost_when_the_other_side_reads_late() {
    let (_server, (parent, _answers), (child, mut calls)) = pair();
    let text = "x".repeat(500_000);
    let (mut sent, mut back) = (0, None);
    while back.is_none() {
        match parent.try_send(packet(&text)) {
            Ok(()) => sent += 1,
            Err(SendError::Full(packet)) => back = Some(packet),
            Err(SendError::Closed) => panic!("closed"),
        }
        assert!(sent * text.len() < QUEUE_BYTES_MAX * 8, "the queue has a limit");
    }
    let waiting = thread::spawn(move || {
        let sent = block_on(parent.send(back.unwrap()), PATIENCE).unwrap();
        parent.close();
        sent.unwrap();
    });
    for _ in 0..=sent {
        assert!(calls.next(&child).unwrap().len() > text.len());
    }
    assert!(calls.next(&child).is_err(), "all was sent before the end");
    waiting.join().unwrap();
}

#[test]
fn what_is_held_back_goes_first() {
    let (_server, (parent, _answers), (child, mut calls)) = pair();
    let long = "x".repeat(70_000);
    for text in ["one", "two"] {
        parent.hold(packet(text)).unwrap();
    }
    parent.try_send(packet("three")).unwrap();
    parent.hold(packet("four")).unwrap();
    parent.flush();
    parent.hold(packet("five")).unwrap();
    parent.hold(packet(&long)).unwrap();
    parent.hold(packet("seven")).unwrap();
    parent.close();
    for text in ["one", "two", "three", "four", "five", &long, "seven"] {
        assert!(calls.next(&child).unwrap().ends_with(text.as_bytes()), "{text:.9}");
    }
    assert!(calls.next(&child).is_err());
    assert!(matches!(parent.hold(packet("late")), Err(SendError::Closed)));
}

#[test]
fn a_reader_sends_what_is_held_back_before_it_waits() {
    let (_server, (parent, mut answers), (child, mut calls)) = pair();
    parent.hold(packet("there")).unwrap();
    let soon = crate::wait::now();
    assert!(answers.next_within(&parent, Patience::Awake(Some(soon))).unwrap().is_none());
    assert!(calls.next(&child).unwrap().ends_with(b"there"));
}

#[test]
fn a_long_value_is_sent_as_it_is() {
    let (_server, (parent, _answers), (child, mut calls)) = pair();
    let value = bytes::Bytes::from(vec![7; 500_000]);
    let draft = || Draft::new(Kind::Call, Id::Text("1"));
    let long = draft().long("args", &value).text("namespace", "n");
    let copied = draft().packed("args", &value).text("namespace", "n");
    assert_eq!(long.len(), copied.len());
    parent.try_send(long.finish()).unwrap();
    let heard = calls.next(&child).unwrap();
    let wanted = copied.payload();
    // All but the time is the same.
    let time = b"timestamp".len() + 9;
    let at = wanted.windows(9).position(|it| it == b"timestamp").unwrap();
    assert_eq!(heard.len(), wanted.len());
    assert!(heard[..at] == wanted[..at] && heard[at + time..] == wanted[at + time..]);
}

#[test]
fn the_end_of_a_connection_is_noticed() {
    let (_server, (parent, _answers), (child, mut calls)) = pair();
    parent.cut();
    assert_eq!(calls.next(&child).unwrap_err().to_string(), "the other side closed it");
    assert!(matches!(parent.try_send(packet("x")), Err(SendError::Closed)));
    assert!(parent.is_closed());
}

#[test]
fn s36_1_a_giant_message_ends_the_connection() {
    let (_server, (parent, _answers), (child, mut calls)) = pair();
    parent.try_send(packet(&"x".repeat(2 << 20))).unwrap();
    let why = calls.next(&child).unwrap_err().to_string();
    assert!(why.ends_with("1048576 at most"), "{why}");
}

#[test]
fn strangers_are_closed_and_others_served() {
    let (server, peers) = server(ROUTER);
    let mut stranger = TcpStream::connect((LOOPBACK, server.port())).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // The connection is closed or reset, depending on what was still unread.
    let _ = stranger.read_to_end(&mut answer);
    assert!(answer.len() <= 64);
    assert!(connect(server.port(), ROUTER).is_err(), "two of a kind have nothing to say");
    connect(server.port(), DEALER).unwrap();
    peers.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn there_are_so_many_connections_at_once_and_no_more() {
    let (server, mut listening) = Server::bind(LOOPBACK, 0).unwrap();
    assert_eq!(listening.connections_max, CONNECTIONS_MAX);
    listening.connections_max = 2;
    let (sender, peers) = mpsc::channel();
    let serve = move |link, inbox| sender.send((link, inbox)).unwrap();
    thread::spawn(move || listening.run(ROUTER, serve));
    let first: Vec<_> = (0..2).map(|_| connect(server.port(), DEALER).unwrap()).collect();
    let served: Vec<Peer> = peers.iter().take(2).collect();
    assert!(connect(server.port(), DEALER).is_err(), "it is closed without a greeting");
    // When one has ended there is room again.
    drop((first, served));
    connect(server.port(), DEALER).unwrap();
    peers.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn who_says_nothing_is_not_waited_for_longer_than_is_allowed() {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let error = inbox::shake_hands(stream, ROUTER, Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
}

#[test]
fn a_ping_is_answered() {
    let (server, peers) = server(ROUTER);
    let mut raw = TcpStream::connect((LOOPBACK, server.port())).unwrap();
    raw.write_all(&crate::zmtp::GREETING).unwrap();
    raw.write_all(&crate::zmtp::ready(Role::Dealer)).unwrap();
    raw.write_all(b"\x04\x0a\x04PING\0\0abc").unwrap();
    let (child, mut calls) = peers.recv_timeout(PATIENCE).unwrap();
    let reading = thread::spawn(move || calls.next(&child).is_err());
    let mut heard = vec![0; 64 + crate::zmtp::ready(Role::Router).len() + 10];
    raw.read_exact(&mut heard).unwrap();
    assert!(heard.ends_with(b"\x04\x08\x04PONGabc"));
    drop(raw);
    assert!(reading.join().unwrap());
}

#[test]
fn a_closed_server_takes_nobody() {
    let (server, listening) = Server::bind(LOOPBACK, 0).unwrap();
    let running = thread::spawn(move || listening.run(ROUTER, |_, _| {}));
    let port = server.port();
    drop(server);
    running.join().unwrap();
    assert!(connect(port, DEALER).is_err());
}
