//! The application through a real socket: who gets in, what the browser may do with what it gets, and
//! that a watcher who was cut off misses nothing.

use super::super::Limits;
use super::super::tests::kit::{Face, Line, TOKEN};
use super::watch::{self, WATCHERS_MAX, Watchers, follow};
use crate::store::Store;
use althing_assembly::Event;
use althing_stdx::Kind;
use futures_util::StreamExt;
use serde_json::{Value, from_value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};

/// Nothing here takes so long; a test that waits longer has failed.
const FOR_EVER: Duration = Duration::from_secs(30);

/// The whole policy, word by word: what is missing of it lets something in.
const POLICY: &str = "\r\ncontent-security-policy: default-src 'none'; script-src 'self'; \
    style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n";

/// A run of two planners and a judge, up to `events` of its log.
async fn run(store: &Store, name: &str, events: usize) {
    let seats = json!([{ "model": "a:x", "name": "Ada" }, { "model": "b:y", "name": "Bob" },
        { "model": "c:z", "name": "Cyd" }]);
    let opening = json!({ "type": "run_started", "method": "council", "question": "Build it",
        "seats": seats, "turns": 0, "synthesizers": [], "synthesizer_mode": "first" });
    let phase = |n: u32| {
        json!({ "type": "phase_started", "phase": n, "total": 3, "name": "x",
        "participants": [] })
    };
    let plan = json!({ "type": "plan_settled", "plan": {}, "markdown": "# The plan\n" });
    let totals = json!({ "calls": 1, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.5,
        "uncounted": 0, "unpriced": 0 });
    let end = json!({ "type": "run_ended", "ending": "completed", "totals": totals });
    let all = [opening, phase(1), phase(2), phase(3), plan, end];
    let event = |(seq, what): (usize, &Value)| {
        let mut what = what.clone();
        (what["seq"], what["run"], what["at_ms"]) = (json!(seq), json!(name), json!(seq));
        from_value::<Event>(what).unwrap()
    };
    let written = store.events(name).await.map_or(0, |events| events.len());
    let new = all.iter().enumerate().take(events).skip(written).map(event).collect();
    store.append(new).await.unwrap();
}

async fn raw(face: &Face, path: &str, headers: &[&str]) -> (u16, String, String) {
    let mut line = face.connect().await;
    let host = format!("host: {}", face.address);
    let has_host = headers.iter().any(|header| header.starts_with("host:"));
    let own: &[&str] = if has_host { &[] } else { &[&host] };
    let head = [own, headers].concat().join("\r\n");
    line.send(&format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n")).await;
    let answer = line.answer().await;
    (answer.status, answer.head.to_ascii_lowercase(), answer.body)
}

/// The status alone, of an answer that may have no end.
async fn status(face: &Face, path: &str, headers: &[&str]) -> u16 {
    let mut line = face.connect().await;
    let head = [&[format!("host: {}", face.address).as_str()], headers].concat().join("\r\n");
    line.send(&format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n")).await;
    let head = until(&mut line, "\r\n\r\n").await;
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_key_on_every_path_in_every_place() {
    let face = Face::start(Limits::default()).await;
    let page_key = face.page_key();
    let bearer = format!("authorization: Bearer {page_key}");
    let (own, key) = (format!("x-ui-token: {page_key}"), format!("x-api-key: {page_key}"));
    // What lies in a file opens no page: whoever reads the files of a person could be an extension.
    let gateway = format!("authorization: Bearer {TOKEN}");
    run(&face.service.store, "r1", 6).await;
    let pages = super::pages::ALL.iter().map(|page| (page.path, 200));
    let extensions = ["document", "log", "folder", "icon?extension=x&button=y", "events"];
    let extensions = extensions.map(|path| format!("/ui/extensions/{path}"));
    // Nothing of an extension is there; that is told to who has the token only.
    let extensions = extensions.iter().map(|path| (path.as_str(), 404));
    let others = [("/ui/state", 200), ("/ui/plan.md", 200), ("/ui/extensions/state", 200)];
    for (path, want) in pages.chain(others).chain([("/ui/events", 200)]).chain(extensions) {
        for header in [&bearer, &own, &key] {
            assert_eq!(status(&face, path, &[header]).await, want, "{path} {header}");
        }
        let tokened = match path.contains('?') {
            true => format!("{path}&token={page_key}"),
            false => format!("{path}?token={page_key}"),
        };
        assert_eq!(status(&face, &tokened, &[]).await, want, "{path}");
        let wrong = [&[][..], &["x-ui-token: wrong"], &["cookie: althing_ui=1"], &[&gateway]];
        for headers in wrong {
            let (status, head, body) = raw(&face, path, headers).await;
            assert_eq!(status, 401, "{path} {headers:?}");
            assert!(head.contains(POLICY) && !body.contains(&page_key), "{path}: {head}");
        }
        let foreign = ["host: evil.example:80", "origin: https://evil.example"];
        for header in foreign {
            assert_eq!(raw(&face, path, &[header, &bearer]).await.0, 403, "{path} {header}");
        }
    }
    assert_eq!(raw(&face, "/ui/none", &[&bearer]).await.0, 404);
    assert_eq!(status(&face, &format!("/ui/?token={TOKEN}"), &[]).await, 401);
    assert_eq!(raw(&face, "/v1/models", &[&bearer]).await.0, 401, "it opens nothing else");
    assert_ne!(Face::start(Limits::default()).await.page_key(), page_key, "each run has its own");
}

#[tokio::test]
async fn a_browser_trades_the_token_for_a_cookie_that_only_our_pages_can_use() {
    let face = Face::start(Limits::default()).await;
    let page = "accept: text/html";
    let page_key = face.page_key();
    let path = format!("/ui/?run_id=x&token={page_key}");
    let (status, head, _) = raw(&face, &path, &[page]).await;
    assert_eq!(status, 303, "{head}");
    assert!(head.contains("location: /ui/?run_id=x\r\n"), "{head}");
    assert!(head.contains("; path=/ui; httponly; samesite=strict"), "{head}");
    assert!(!head.contains(&page_key), "the cookie is not the key: {head}");
    let mut line = face.connect().await;
    let host = face.address;
    let close = "connection: close";
    line.send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{page}\r\n{close}\r\n\r\n")).await;
    let sent = line.rest().await;
    let at = sent.find("althing_ui_").unwrap();
    let cookie = format!("cookie: a=b; {}", sent[at..].split(';').next().unwrap());
    let port = face.address.port();
    let (own, other) = (format!("origin: http://127.0.0.1:{port}"), "origin: http://127.0.0.1:1");
    for (headers, want) in [
        (vec![cookie.as_str()], 200),
        (vec![&cookie, "sec-fetch-site: same-origin"], 200),
        (vec![&cookie, "sec-fetch-site: none"], 200),
        (vec![&cookie, &own], 200),
        (vec![&cookie, other], 401),
        (vec![&cookie, "sec-fetch-site: same-site"], 401),
        (vec![&cookie, "sec-fetch-site: cross-site"], 401),
    ] {
        assert_eq!(raw(&face, "/ui/state", &headers).await.0, want, "{headers:?}");
    }
    assert_eq!(raw(&face, "/v1/models", &[&cookie]).await.0, 401, "it opens nothing else");
}

#[tokio::test]
async fn the_newest_run_or_the_one_that_is_named() {
    let face = Face::start(Limits::default()).await;
    let state = async |query: &str| face.ask("GET", &format!("/ui/state{query}"), "").await;
    assert_eq!(state("").await.json()["phase"], "idle");
    run(&face.service.store, "20260101-aaaa", 6).await;
    run(&face.service.store, "20260101-bbbb", 2).await;
    let newest = state("").await.json();
    assert_eq!((&newest["run_id"], &newest["sequence"]), (&json!("20260101-bbbb"), &json!(1)));
    // Nobody holds it.
    assert_eq!(newest["resume"], "althing resume 20260101-bbbb", "{newest}");
    let named = state("?run_id=20260101-aaaa").await.json();
    assert_eq!(
        (&named["phase"], &named["final_plan"]),
        (&json!("complete"), &json!("# The plan\n"))
    );
    assert_eq!(state("?run_id=none").await.status, 404);
    let plan = face.ask("GET", "/ui/plan.md?run_id=20260101-aaaa", "").await;
    assert!(plan.head.to_ascii_lowercase().contains("attachment"), "{}", plan.head);
    assert_eq!(plan.body, "# The plan\n");
    assert_eq!(face.ask("GET", "/ui/plan.md", "").await.status, 404);
}

/// Reads a stream until `end` stands in it.
async fn until(line: &mut Line, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let mut piece = [0; 4096];
        let read = timeout(FOR_EVER, line.socket.read(&mut piece)).await.unwrap().unwrap();
        assert!(read > 0, "it ended: {text}");
        text += std::str::from_utf8(&piece[..read]).unwrap();
    }
    text
}

/// The messages of a stream, each with its type and its id.
fn messages(text: &str) -> Vec<(String, Value)> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let all = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    all.map(|it| (it["type"].as_str().unwrap().to_string(), it["payload"].clone())).collect()
}

#[tokio::test]
async fn a_watcher_who_was_cut_off_misses_nothing() {
    let face = Face::start(Limits::default()).await;
    run(&face.service.store, "r1", 2).await;
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/ui/events", "", "")).await;
    let text = until(&mut line, "id: r1:1").await;
    assert!(text.contains("text/event-stream") && text.contains("retry: 1000"), "{text}");
    drop(line);
    run(&face.service.store, "r1", 6).await;
    for (path, header) in
        [("/ui/events", "last-event-id: r1:1\r\n"), ("/ui/events?after=r1%3A1", "")]
    {
        let mut line = face.connect().await;
        line.send(&face.request("GET", path, header, "")).await;
        let text = until(&mut line, "id: r1:5").await;
        let all = messages(&text);
        assert!(
            all.iter()
                .all(|(_, payload)| payload["run_id"] == "r1" && payload["timestamp"].is_string())
        );
        let plan = all.iter().find(|(kind, _)| kind == "final_plan").unwrap();
        assert_eq!(plan.1["final_plan"], "# The plan\n");
        assert_eq!(phases(&all), ["judging", "finalizing", "complete"]);
    }
    // Another run begins: who watches the newest is told of it.
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/ui/events?after=r1:5", "", "")).await;
    until(&mut line, "retry: 1000").await;
    run(&face.service.store, "r2", 1).await;
    let text = until(&mut line, "id: r2:0").await;
    assert_eq!(messages(&text).last().unwrap().1["phase"], "starting");
    // Who was away meanwhile is first told the rest of the run that was left.
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/ui/events", "last-event-id: r1:2\r\n", "")).await;
    let text = until(&mut line, "id: r2:0").await;
    assert_eq!(phases(&messages(&text)), ["finalizing", "complete", "starting"]);
}

/// The phases that messages tell, in order.
fn phases(messages: &[(String, Value)]) -> Vec<&str> {
    let told = messages.iter().filter(|(kind, _)| kind == "phase_change");
    told.map(|(_, payload)| payload["phase"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_long_silence_has_signs_of_life() {
    let (store, ping) = (Store::in_memory().unwrap(), b": ping\n\n".as_slice());
    let stream = follow(store.clone(), None, None, &Watchers::default()).await.unwrap();
    let mut stream = pin!(stream.map(|Ok(bytes)| bytes));
    assert_eq!(stream.next().await.unwrap(), "retry: 1000\n\n");
    // The log is looked at from time to time, so a sign comes a look later at most.
    let late = Duration::from_millis(200);
    let check = |began: Instant| {
        let took = began.elapsed();
        assert!(watch::PING <= took && took < watch::PING + late, "{took:?}");
    };
    for _ in 0..2 {
        let began = Instant::now();
        assert_eq!(stream.next().await.unwrap(), ping);
        check(began);
    }
    // What is said counts as one.
    assert!(timeout(watch::PING / 2, stream.next()).await.is_err());
    run(&store, "r1", 1).await;
    let said = stream.next().await.unwrap();
    assert_eq!(messages(str::from_utf8(&said).unwrap())[0].1["phase"], "starting");
    let began = Instant::now();
    assert_eq!(stream.next().await.unwrap(), ping);
    check(began);
}

#[tokio::test]
async fn one_watcher_too_many_is_told_to_come_later() {
    let face = Face::start(Limits::default()).await;
    let watchers = Watchers::default();
    let enter = async || follow(face.service.store.clone(), None, None, &watchers).await;
    let mut watching = Vec::new();
    for _ in 0..WATCHERS_MAX {
        watching.push(enter().await.map_err(|fault| fault.message).unwrap());
    }
    let refused = enter().await.map(drop).unwrap_err();
    assert_eq!(refused.kind, Kind::Busy);
    assert_eq!(refused.message, "64 pages are watching already; close one");
    drop(watching.pop());
    assert!(enter().await.is_ok(), "whoever goes leaves a place");
}

#[tokio::test]
async fn a_watcher_who_does_not_read_is_told_all_of_it_once() {
    const EVENTS: u64 = 3000;
    let face = Face::start(Limits::default()).await;
    run(&face.service.store, "r1", 1).await;
    let watchers = Watchers::default();
    let following = follow(face.service.store.clone(), None, None, &watchers).await.unwrap();
    let mut following = Box::pin(following);
    let mut next = async || {
        let next = timeout(FOR_EVER, following.next()).await.unwrap().unwrap().unwrap();
        String::from_utf8(next.to_vec()).unwrap()
    };
    assert_eq!(next().await, "retry: 1000\n\n");
    assert!(next().await.contains("id: r1:0\n"));
    let warned = |seq: u64| {
        let what = json!({ "type": "warned", "code": "note", "message": format!("number {seq}"),
            "seq": seq, "run": "r1", "at_ms": seq });
        from_value::<Event>(what).unwrap()
    };
    face.service.store.append((1..=EVENTS).map(warned).collect()).await.unwrap();
    let text = next().await;
    assert!(text.contains(&format!("id: r1:{EVENTS}\n")), "it has the last of them");
    let all = messages(&text);
    assert_eq!(all.len(), 1, "many changes of one part are one message");
    assert_eq!(all[0].1["warnings"].as_array().unwrap().len() as u64, EVENTS);
}

#[tokio::test]
async fn the_page_of_extensions_takes_json_of_who_has_the_token() {
    let face = Face::start(Limits::default()).await;
    let state = face.ask("GET", "/ui/extensions/state", "").await;
    assert_eq!(state.json(), json!({ "configured": false }));
    for path in ["document", "log", "schema", "folder", "events", "icon?extension=x&button=y"] {
        assert_eq!(face.ask("GET", &format!("/ui/extensions/{path}"), "").await.status, 404);
    }
    let (status, head, _) =
        raw(&face, "/ui/extensions", &[&format!("authorization: Bearer {}", face.page_key())])
            .await;
    assert_eq!(status, 200);
    assert!(head.contains("cross-origin-opener-policy: same-origin-allow-popups\r\n"), "{head}");
    let body = r#"{"do":"command","command":"x"}"#;
    for (header, want) in [
        ("", 415),
        ("content-type: text/plain\r\n", 415),
        ("content-type: application/json\r\n", 404),
        ("content-type: application/json\r\norigin: https://evil.example\r\n", 403),
    ] {
        let mut line = face.connect().await;
        line.send(&face.request("POST", "/ui/extensions/do", header, body)).await;
        assert_eq!(line.answer().await.status, want, "{header}");
    }
}
