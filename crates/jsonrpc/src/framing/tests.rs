mod fuzz;

use super::*;

/// Longest line and body that the framings of these tests take.
const MAX: usize = 20;

fn ndjson() -> Box<dyn Framing> {
    Box::new(Ndjson::new(MAX))
}

fn content_length() -> Box<dyn Framing> {
    Box::new(ContentLength::new(MAX, true))
}

/// What a framing finds, one line each: the body, `~ noise` or `! what is wrong`.
fn decode(mut framing: Box<dyn Framing>, pieces: &[&[u8]]) -> Vec<String> {
    let mut buf = BytesMut::new();
    let mut found = vec![];
    for piece in pieces {
        buf.extend_from_slice(piece);
        while let Some(frame) = framing.decode(&mut buf) {
            found.push(shown(frame));
        }
    }
    found.extend(framing.finish(&mut buf).map(shown));
    assert_eq!(framing.finish(&mut buf), None, "the end comes once");
    found
}

fn shown(frame: Frame) -> String {
    let text = |bytes: BytesMut| String::from_utf8_lossy(&bytes).into_owned();
    match frame {
        Frame::Body(body) => text(body),
        Frame::Noise(noise) => format!("~ {}", text(noise)),
        Frame::Bad { what, start } if start.is_empty() => format!("! {what}"),
        Frame::Bad { what, start } => format!("! {what}: {}", text(start)),
    }
}

#[track_caller]
fn check(make: fn() -> Box<dyn Framing>, wire: impl AsRef<[u8]>, want: &[&str]) {
    let wire = wire.as_ref();
    let bytes: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(decode(make(), &bytes), want, "byte by byte");
    for cut in 0..=wire.len() {
        let (head, tail) = wire.split_at(cut);
        assert_eq!(decode(make(), &[head, tail]), want, "cut at {cut}");
    }
}

#[test]
fn lines_are_the_same_however_they_are_cut() {
    check(ndjson, "", &[]);
    check(ndjson, "{}\n[1]\r\n", &["{}", "[1]"]);
    check(ndjson, "\n \r\n\t\n\n  {} \t\r\n\n", &["{}"]);
    check(ndjson, "{}\nlast", &["{}", "last"]);
    check(ndjson, "{}\n \r", &["{}"]);
    check(ndjson, "\u{feff}{}\n\u{feff}{}\n", &["{}", "\u{feff}{}"]);
    check(ndjson, b"\xef\xbb", &["\u{fffd}"]);
    check(ndjson, "\"né€🙂\"\n", &["\"né€🙂\""]);
    check(ndjson, b"\0\0\n\xff\xfe\n{}\n", &["\0\0", "\u{fffd}\u{fffd}", "{}"]);
    check(ndjson, "a\rb\n", &["a\rb"]);
}

#[test]
fn a_line_that_is_too_long_is_told_of_and_the_next_is_read() {
    let [fits, over] = [MAX, MAX + 1].map(|length| "x".repeat(length));
    let long = format!("! Request too large (21 bytes, max {MAX})");
    check(ndjson, format!("{fits}\n{fits}\r\n{fits}"), &[&fits, &fits, &fits]);
    check(ndjson, format!("{over}\n{{}}\n"), &[&long, "{}"]);
    check(ndjson, format!("{over}\r\n{{}}\n"), &[&long, "{}"]);
    check(ndjson, format!("{{}}\n{over}"), &["{}", &long]);
    check(ndjson, format!("{over}\n{over}\n"), &[&long, &long]);
}

/// A frame with a right header.
fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn bodies_are_the_same_however_they_are_cut() {
    check(content_length, "", &[]);
    check(content_length, frame("{}") + &frame("[1,\n2]"), &["{}", "[1,\n2]"]);
    check(content_length, frame("") + &frame("{}"), &["", "{}"]);
    check(content_length, frame("né€🙂"), &["né€🙂"]);
    check(content_length, "content-length:2\n\n{}", &["{}"]);
    check(content_length, "CONTENT-LENGTH:   +002 \r\n\r\n{}", &["{}"]);
    check(content_length, "  content-Length \t: 2\n\n{}", &["{}"]);
    check(content_length, "Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
    let typed = "Content-Type: x; charset=utf-8\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n{}";
    check(content_length, typed, &["{}"]);
    check(content_length, frame("{}") + "\r\n\n" + &frame("[]"), &["{}", "[]"]);
    check(content_length, format!("\u{feff}{}", frame("{}")), &["{}"]);
}

#[test]
fn noise_is_told_of_and_skipped() {
    let all = format!("hello: 1\n\n print\r\n{}", frame("{}"));
    check(content_length, all, &["~ hello: 1", "~ print", "{}"]);
    check(content_length, format!("... {}bye", frame("{}")), &["~ ...", "{}", "~ bye"]);
    check(content_length, "Content-Length: 2\r\noh no\r\n\r\n{}", &["~ oh no", "{}"]);
    check(content_length, b"\0\xff\n", &["~ \0\u{fffd}"]);
    check(content_length, "Content-Length", &["~ Content-Length"]);
}

#[test]
fn a_bad_header_costs_one_frame() {
    const NO_LENGTH: &str = "! Content-Length is not a number of bytes";
    for length in ["", "x", "-2", "0x2", "2.0", "1 2", "99999999999999999999999"] {
        let wire = format!("Content-Length: {length}\r\n\r\n{{\"a\":1}}{}", frame("[]"));
        check(content_length, wire, &[NO_LENGTH, "~ {\"a\":1}", "[]"]);
    }
    // Too short a length spoils its own frame only, too long a one also the next.
    let short = format!("Content-Length: 2\r\n\r\n[12]{}", frame("{}"));
    check(content_length, short, &["[1", "~ 2]", "{}"]);
    let long = format!("Content-Length: 12\r\n\r\n[12]{}{}", frame("{}"), frame("[]"));
    check(content_length, long, &["[12]Content-", "~ Length: 2", "~ {}", "[]"]);
}

#[test]
fn a_body_that_is_too_long_is_told_of_and_the_next_is_read() {
    let [fits, over] = [MAX, MAX + 1].map(|length| "x".repeat(length));
    let long = format!("! Request too large (21 bytes, max {MAX})");
    let long = format!("{long}: {over}");
    check(content_length, frame(&fits) + &frame(&over) + &frame("{}"), &[&fits, &long, "{}"]);
    // Of a very long one no more than its start is kept.
    let wire = frame(&"y".repeat(99_999)) + &frame("{}");
    let found = decode(content_length(), &wire.as_bytes().chunks(777).collect::<Vec<_>>());
    let start = "y".repeat(1024);
    assert_eq!(
        found,
        [format!("! Request too large (99999 bytes, max {MAX}): {start}"), "{}".into()]
    );
}

#[test]
fn what_is_announced_and_does_not_come_costs_one_frame() {
    let long = |body: &str| format!("! Request too large (10737418240 bytes, max {MAX}): {body}");
    let announced = "Content-Length: 10737418240\r\n\r\n";
    let wire = format!("{announced}{{\"id\":1}}{}{}", frame("{}"), frame("[]"));
    check(content_length, wire, &[&long("{\"id\":1}"), "{}", "[]"]);
    let nothing = long("");
    let nothing = nothing.trim_end_matches(": ");
    let wire = format!("{announced}{announced}content-length : 2\n\n{{}}");
    check(content_length, wire, &[nothing, nothing, "{}"]);
    // A text that has the words in it is none: within a message a line end is written as two letters.
    let words = "\"Content-Length: 2\\r\\n\\r\\n\"";
    check(content_length, format!("{announced}{words}{}", frame("{}")), &[&long(words), "{}"]);
    // Wherever it is cut, also where only the start was kept.
    for size in [1000, 1024 - 16, 1024 - 1, 1024, 3000] {
        let body = "x".repeat(size);
        let wire = format!("{announced}{body}{}", frame("{}"));
        for piece in [1, 63, 64, 65, 1024, wire.len()] {
            let found =
                decode(content_length(), &wire.as_bytes().chunks(piece).collect::<Vec<_>>());
            assert_eq!(found.last().map(String::as_str), Some("{}"), "{size} in {piece}");
        }
    }
}

#[test]
fn a_mark_before_a_message_is_skipped() {
    let wire = [frame("\u{feff}{}"), frame("\u{feff}[]")].concat();
    check(content_length, wire, &["{}", "[]"]);
}

#[test]
fn the_end_of_the_stream_cuts_a_frame() {
    const CUT: &str = "! the stream ended in the middle of a frame";
    check(content_length, "Content-Length:", &[CUT]);
    check(content_length, "Content-Length: 2\r\n", &[CUT]);
    check(content_length, frame("{}") + "Content-Length: 2\r\n\r\n{", &["{}", CUT]);
    let long = "Content-Length: 30\r\n\r\nxx";
    check(content_length, long, &["! Request too large (30 bytes, max 20): xx"]);
}

#[test]
fn a_header_that_is_too_long_costs_one_frame() {
    let flood = "X: y\r\n".repeat(HEADER_BYTES_MAX);
    let wire = format!("Content-Length: 2\r\n{flood}{}", frame("{}"));
    let found = decode(content_length(), &[wire.as_bytes()]);
    assert_eq!(found[0], format!("! Header too large (max {HEADER_BYTES_MAX} bytes)"));
    assert!(found[1..found.len() - 1].iter().all(|found| found.starts_with("~ ")));
    assert_eq!(found[found.len() - 1], "{}");

    let wire = format!("Content-Length: {}{}", "0".repeat(HEADER_BYTES_MAX), frame("{}"));
    let whole = decode(content_length(), &[wire.as_bytes()]);
    assert_eq!(whole[0], format!("! Header too large (max {HEADER_BYTES_MAX} bytes)"));
    assert_eq!(whole[2], "{}");
    assert_eq!(decode(content_length(), &wire.as_bytes().chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn a_long_line_of_noise_is_clipped() {
    let wire = format!("{}: {}{}", "x".repeat(HEADER_BYTES_MAX - 1), "y".repeat(99), frame("{}"));
    let want = [format!("~ {}:", "x".repeat(HEADER_BYTES_MAX - 1)), "{}".to_string()];
    for size in [1, 7, HEADER_BYTES_MAX, wire.len()] {
        let pieces: Vec<_> = wire.as_bytes().chunks(size).collect();
        assert_eq!(decode(content_length(), &pieces), want, "pieces of {size}");
    }
}

/// What was looked at once is not looked at again: it could be anything by then.
#[test]
fn a_long_frame_is_looked_at_once() {
    const PIECE: usize = 8 << 10;
    const PIECES: usize = (32 << 20) / PIECE;
    let framings: [(Box<dyn Framing>, &str); 2] = [
        (Box::new(Ndjson::new(PIECE * PIECES)), ""),
        (Box::new(ContentLength::new(PIECE * PIECES, true)), "Content-Length: 33554432\r\n\r\n"),
    ];
    for (mut framing, header) in framings {
        let mut buf = BytesMut::from(header);
        for _ in 0..PIECES - 1 {
            assert_eq!(framing.decode(&mut buf), None);
            let looked_at = buf.len();
            buf.resize(looked_at + PIECE, b'x');
            assert_eq!(framing.decode(&mut buf), None);
            buf[looked_at..].fill(b'\n');
        }
        buf.resize(buf.len() + PIECE, b'x');
        buf.extend_from_slice(b"\n");
        let body = framing.decode(&mut buf).expect("the frame is whole");
        // All but the last piece were made line ends, which are blanks to a line.
        assert!(matches!(&body, Frame::Body(body) if body.ends_with(&[b'x'; PIECE])));
    }
}

/// However much comes, no more is held than one frame and one read.
#[test]
fn memory_is_bounded_whatever_comes() {
    const PIECE: usize = 8 << 10;
    const PIECES: usize = 1000;
    let pieces: [&[u8]; 6] = [&[b'x'; PIECE], &[0; PIECE], &[b' '; PIECE], b":", b"\n", b"X: y\n"];
    let starts = ["", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 2\r\n"];
    for make in [ndjson, content_length] {
        for (start, piece) in starts.iter().flat_map(|start| pieces.map(|piece| (start, piece))) {
            let mut framing = make();
            let mut buf = BytesMut::from(*start);
            for _ in 0..PIECES {
                buf.extend_from_slice(piece);
                while framing.decode(&mut buf).is_some() {}
                let held = buf.capacity();
                assert!(held <= 8 * (HEADER_BYTES_MAX + PIECE), "{held} bytes for {start:?}");
            }
        }
    }
}

#[track_caller]
fn check_written(framing: impl Framing + Clone, body: &str, want: &str) {
    let mut wire = vec![];
    framing.encode(body, &mut wire);
    assert_eq!(String::from_utf8_lossy(&wire), want);
    let read = decode(Box::new(framing), &[&wire]);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(read.iter().map(|text| value(text)).collect::<Vec<_>>(), [value(body)]);
}

#[test]
fn what_is_written_is_read_back() {
    let lines = Ndjson::default();
    check_written(lines.clone(), "{}", "{}\n");
    check_written(lines.clone(), "[\"né€🙂 – \"]", "[\"né€🙂 – \"]\n");
    check_written(lines.clone(), "[\"a\u{2028}\u{2029}b\"]", "[\"a\\u2028\\u2029b\"]\n");
    check_written(lines, "[1,\r\n 2]", "[1,   2]\n");
    let ascii = ContentLength::default();
    check_written(ascii.clone(), "{}", "Content-Length: 2\r\n\r\n{}");
    check_written(ascii.clone(), "\"é\\n\"", "Content-Length: 10\r\n\r\n\"\\u00e9\\n\"");
    check_written(ascii, "\"a🙂b\"", "Content-Length: 16\r\n\r\n\"a\\ud83d\\ude42b\"");
    let raw = ContentLength::new(MAX, false);
    check_written(raw, "\"é🙂\"", "Content-Length: 8\r\n\r\n\"é🙂\"");
}
