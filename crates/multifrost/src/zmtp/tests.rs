use super::*;
use crate::tests::fuzz;

/// `wire` gives the same events whole and cut at `cut`, and what comes out
/// is no more than what went in.
pub(crate) fn check(role: Role, wire: &[u8], cut: usize) -> (Vec<Event>, Option<Refused>) {
    const MAX: usize = 1 << 16;
    let run = |parts: &[&[u8]]| {
        let (mut session, mut events) = (Session::new(role, MAX), Vec::new());
        for part in parts {
            let mut rest = *part;
            loop {
                match session.feed(&mut rest) {
                    Ok(Some(event)) => events.push(event),
                    Ok(None) => break,
                    Err(refused) => return (events, Some(refused)),
                }
            }
            assert!(rest.is_empty(), "all that is fed is taken");
        }
        (events, None)
    };
    let whole = run(&[wire]);
    let (head, tail) = wire.split_at(cut.min(wire.len()));
    assert_eq!(run(&[head, tail]), whole, "cut at {cut}");
    let bytes: usize =
        whole.0.iter().map(|it| if let Event::Message(it) = it { it.len() } else { 0 }).sum();
    assert!(bytes <= wire.len());
    whole
}

/// A greeting as the libraries send it: version 3.`minor`, `length` inside the signature.
fn greeting(minor: u8, length: u8) -> Vec<u8> {
    let mut bytes = GREETING.to_vec();
    bytes[8] = length;
    bytes[11] = minor;
    bytes
}

fn ready_with(properties: &[(&str, &str)]) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    for (name, value) in properties {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    command(&body)
}

fn handshake() -> Vec<u8> {
    [greeting(1, 1), ready_with(&[("Socket-Type", "DEALER"), ("Identity", "")])].concat()
}

/// What a child hears in `wire`, cut at every byte; messages as text, refusals after `!`.
#[track_caller]
fn check_all(wire: &[u8], expected: &[&str]) {
    for cut in 0..=wire.len() {
        let (events, refused) = check(Role::Router, wire, cut);
        let mut told: Vec<String> = events.iter().map(tell).collect();
        told.extend(refused.map(|it| format!("! {it}")));
        assert_eq!(told, expected, "cut at {cut}");
    }
}

fn tell(event: &Event) -> String {
    match event {
        Event::Greeted => "greeted".into(),
        Event::Ready => "ready".into(),
        Event::Message(payload) => format!("message {}", String::from_utf8_lossy(payload)),
        Event::Ping(context) => format!("ping {}", String::from_utf8_lossy(context)),
    }
}

#[track_caller]
fn check_after_handshake(wire: &[u8], expected: &[&str]) {
    check_all(&[&handshake(), wire].concat(), &[&["greeted", "ready"], expected].concat());
}

#[test]
fn s3_1_every_library_is_greeted() {
    let identity = "0b5c1ae4-9d0c-4e4b-8a52-1a2b3c4d5e6f";
    let libzmq = ready_with(&[("Socket-Type", "DEALER"), ("Identity", "")]);
    let zeromq = ready_with(&[("Socket-Type", "DEALER")]);
    let zmq4 = ready_with(&[("Socket-Type", "DEALER"), ("Identity", identity)]);
    let shouting = ready_with(&[("SOCKET-TYPE", "DEALER"), ("X-Later", "1")]);
    for (minor, length, ready) in [(1, 1, libzmq), (0, 0, zeromq), (0, 0, zmq4), (1, 0, shouting)] {
        check_all(&[greeting(minor, length), ready].concat(), &["greeted", "ready"]);
    }
}

#[test]
fn s3_2_s9_1_only_the_partner_is_let_in() {
    let wire = [greeting(1, 1), ready_with(&[("Socket-Type", "SUB")])].concat();
    check_all(&wire, &["greeted", "! a SUB socket cannot talk to a ROUTER"]);
    let wire = [greeting(1, 1), ready_with(&[])].concat();
    check_all(&wire, &["greeted", "! a  socket cannot talk to a ROUTER"]);
}

#[test]
fn strangers_are_told_at_their_first_wrong_byte() {
    check_all(b"GET / HTTP/1.1\r\n", &["! it does not speak ZeroMQ"]);
    let mut old = GREETING;
    old[10] = 1;
    check_all(&old, &["! it speaks a ZeroMQ protocol older than version 3"]);
    let mut curve = GREETING;
    curve[12..17].copy_from_slice(b"CURVE");
    check_all(&curve, &["! it wants a security mechanism other than NULL"]);
    let early = [&GREETING[..], b"\x00\x01x"].concat();
    check_all(&early, &["greeted", "! a message before READY"]);
    let early = [&GREETING[..], &command(b"\x04PING\0\0")].concat();
    check_all(&early, &["greeted", "! a command before READY"]);
    let broken = [&GREETING[..], &command(b"\x05READY\x0bSocket")].concat();
    check_all(&broken, &["greeted", "! a READY that breaks off"]);
    let error = [&GREETING[..], &command(b"\x05ERROR\x02no")].concat();
    check_all(&error, &["greeted", "! the other side refused: no"]);
    check_all(&[&GREETING[..], &[4, 1, 9]].concat(), &["greeted", "! a command without a name"]);
}

#[test]
fn s3_5_s3_6_s21_1_s23_7_s34_9_the_payload_is_the_frame_after_the_delimiter() {
    check_after_handshake(b"\x01\x00\x00\x05hello", &["message hello"]);
    // The delimiter's content and further frames are of no interest, nor how lengths are written.
    check_after_handshake(b"\x01\x02xy\x01\x01a\x00\x01b", &["message a"]);
    check_after_handshake(b"\x03\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02ok", &["message ok"]);
    check_after_handshake(b"\x01\x00\x00\x00", &["message "]);
    // Without a delimiter it is dropped, and the next one is heard.
    check_after_handshake(b"\x00\x05hello\x01\x00\x00\x01x", &["message x"]);
}

#[test]
fn s3_7_s23_6_s23_8_what_we_send_is_what_is_heard() {
    for length in [0, 1, 255, 256, 3000] {
        let mut bytes = vec![b'x'; HEAD_ROOM + length];
        let start = frame(&mut bytes);
        let expected = format!("message {}", "x".repeat(length));
        let wire = [&handshake(), &bytes[start..]].concat();
        let (events, refused) = check(Role::Router, &wire, 100);
        assert_eq!((events.last().map(tell), refused), (Some(expected), None));
    }
}

#[test]
fn a_ping_is_answered_and_other_commands_are_nothing() {
    check_after_handshake(&command(b"\x04PING\x00\x0aabc"), &["ping abc"]);
    check_after_handshake(&command(b"\x04PING"), &["ping "]);
    check_after_handshake(&command(b"\x09SUBSCRIBEx"), &[]);
    // Commands may stand between the frames of a message.
    let between = [b"\x01\x00", &command(b"\x04PINGttx")[..], b"\x00\x01m"].concat();
    check_after_handshake(&between, &["ping x", "message m"]);
    assert_eq!(pong(b"0123456789abcdefXX"), b"\x04\x15\x04PONG0123456789abcdef");
}

#[test]
fn lengths_have_limits() {
    let long = |flags: u8, length: u64| [&[flags][..], &length.to_be_bytes()].concat();
    let what = format!("! a message of {} bytes, 65536 at most", u64::MAX);
    check_after_handshake(&long(2, u64::MAX), &[&what]);
    // What counts is the message, not the frame.
    let wire = [long(3, 65_536), vec![0; 65_536], vec![0, 1]].concat();
    let wire = [handshake(), wire].concat();
    let refused = check(Role::Router, &wire, 70_000).1.unwrap();
    assert_eq!(refused.0, "a message of 65537 bytes, 65536 at most");
    check_after_handshake(&long(6, 1025), &["! a command of 1025 bytes, 1024 at most"]);
    check_after_handshake(&[1, 0].repeat(65), &["! a message of more than 64 frames"]);
    check_after_handshake(&[8], &["! no frame begins with 0x08"]);
    check_after_handshake(&[5], &["! no frame begins with 0x05"]);
}

#[test]
fn our_own_words_are_understood() {
    let wire = [&GREETING[..], &ready(Role::Dealer)].concat();
    check_all(&wire, &["greeted", "ready"]);
    let wire = [&GREETING[..], &ready(Role::Router)].concat();
    assert_eq!(check(Role::Dealer, &wire, 70), (vec![Event::Greeted, Event::Ready], None));
}

#[test]
fn soak_fuzz_frames() {
    fuzz::run("zmtp", |input, rng| {
        for role in [Role::Router, Role::Dealer] {
            check(role, input, rng.usize(0..=input.len()));
        }
    });
}
