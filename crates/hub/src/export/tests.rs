//! One scripted run in every format, and a run in which everything that others write is hostile.

use super::*;
use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};

/// Everything at once that could break out of a document or drive a terminal.
const HOSTILE: &str = "# Result\n## 9. Fake\n```\n</blockquote><script>alert(1)</script>\n\
    [a](javascript:alert(2)) ![b](http://evil/c.png)\n\\[d](javascript:e) <http://evil> [f]: g\n\
    \x1b[31mred\x1b]0;title\x07 \u{9b}31m \u{202e}drow \u{0}end\n> quote\n~~~\n---\nEnding: \
    completed <!-- 'single' \"double\" & -->";

fn turn(number: u32, phase: u32, seat: usize, speech: &str) -> Value {
    let (model, name) = [("acme:one", "Ada"), ("demo:bard", "Bob")][seat];
    json!({"turn": number, "phase": phase, "seat": seat, "nth": 0, "model": model, "name": name,
        "speech": speech, "parallel": true})
}

fn with(mut object: Value, more: Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn phase(number: u32, name: &str) -> Value {
    json!({"type": "phase_started", "phase": number, "total": 3, "name": name,
        "participants": ["Ada", "Bob"]})
}

fn turn_started(turn: Value) -> Value {
    with(turn, json!({"type": "turn_started"}))
}

fn said(turn: Value, text: &str, parts: Value) -> Value {
    let said = json!({"text": text, "parts": parts, "stop": "end", "took_ms": 900,
        "usage": {"input": 100, "output": 20}, "cost_usd": 0.0125});
    with(turn, json!({"type": "turn_ended", "outcome": {"said": said}}))
}

fn failed(turn: Value, message: &str) -> Value {
    let failure = json!({"kind": "rate_limited", "message": message});
    with(turn, json!({"type": "turn_ended", "outcome": {"failed": failure}}))
}

/// A run that was stopped once: an answer, a failure, a position, an interruption, a synthesis.
fn script() -> Vec<Value> {
    vec![
        json!({
            "type": "run_started", "method": "standard", "turns": 2,
            "question": "Should a team of three start with a monolith?\nWe have a year.",
            "context": [{"name": "team.md", "text": "three people"}],
            "seats": [
                {"model": "acme:one", "name": "Ada", "stance": "a sceptic"},
                {"model": "demo:bard", "name": "Bob", "demo": true},
            ],
            "synthesizers": [0, 1], "synthesizer_mode": "first",
        }),
        phase(1, "answers"),
        turn_started(turn(0, 1, 0, "answer")),
        turn_started(turn(1, 1, 1, "answer")),
        json!({"type": "turn_delta", "turn": 0, "text": "hm", "reasoning": true}),
        json!({"type": "turn_delta", "turn": 0, "text": "Yes.\n\n"}),
        said(turn(0, 1, 0, "answer"), "Yes.\n\nIt is *one* thing to run.", json!({"is": "plain"})),
        failed(turn(1, 1, 1, "answer"), "too many requests"),
        phase(2, "positions"),
        said(
            with(turn(2, 2, 1, "position"), json!({"role": "for", "round": "closing"})),
            "POSITION: yes\nCONFIDENCE: high",
            json!({"is": "position", "position": "yes",
                "confidence": {"level": "HIGH", "score": 90}}),
        ),
        turn_started(turn(3, 2, 0, "critique")),
        json!({"type": "turn_delta", "turn": 3, "text": "I was about to"}),
        json!({"type": "run_resumed", "kept": 3, "max_cost_usd": null}),
        json!({"type": "turn_interrupted", "turn": 3}),
        said(
            turn(4, 2, 0, "critique"),
            "AGREEMENTS: all of it",
            json!({"is": "critique", "agreements": "all of it", "disagreements": "",
                "missing": "cost"}),
        ),
        phase(3, "synthesis"),
        failed(turn(5, 3, 1, "synthesis"), "too many requests"),
        said(
            turn(6, 3, 0, "synthesis"),
            "CONSENSUS: YES …",
            json!({
                "is": "synthesis", "consensus": "YES", "agreed": "one thing to run",
                "synthesis": "Start with a monolith.\nSplit it later.", "differences": "None",
                "more": [{"name": "How views moved", "text": "little"}],
                "confidences": [
                    {"seat": 0, "model": "acme:one", "name": "Ada", "level": "MEDIUM", "score": 60},
                    {"seat": 1, "model": "demo:bard", "name": "Bob", "level": "HIGH", "score": 91},
                ],
                "messages": 3, "debated": true,
            }),
        ),
        json!({"type": "run_ended", "ending": "completed", "totals": {
            "calls": 6, "input_tokens": 400, "output_tokens": 80, "cost_usd": 0.05,
            "uncounted": 0, "unpriced": 2,
        }}),
    ]
}

fn events(script: Vec<Value>) -> Vec<Event> {
    let event = |(seq, what): (u64, Value)| {
        let head =
            json!({"seq": seq, "run": "1t2v3w4x5y6z", "at_ms": 1_794_754_320_000 + seq * 9000});
        serde_json::from_value(with(what, head)).unwrap()
    };
    (0..).zip(script).map(event).collect()
}

/// Every text in `value` replaced by a hostile one, except words that have a meaning.
fn poison(value: &mut Value) {
    const MEANT: &[&str] = &["type", "speech", "is", "level", "stop", "kind", "ending"];
    match value {
        Value::String(text) => *text = HOSTILE.into(),
        Value::Array(all) => all.iter_mut().for_each(poison),
        Value::Object(all) => all
            .iter_mut()
            .filter(|(key, _)| !MEANT.contains(&key.as_str()))
            .for_each(|it| poison(it.1)),
        _ => {}
    }
}

fn hostile(format: &str) -> String {
    let mut script = script();
    script.iter_mut().for_each(poison);
    let ending = json!({"failed": {"kind": "upstream", "message": HOSTILE}});
    script.last_mut().unwrap()["ending"] = ending;
    let text = export(&events(script), Format::parse(format).unwrap()).unwrap();
    let is_bad = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
    assert_eq!(text.chars().find(is_bad), None, "drives a terminal");
    assert!(text.contains("alert"), "nothing is left out");
    text
}

#[track_caller]
fn check(format: &str, want: ExpectFile) {
    let text = export(&events(script()), Format::parse(format).unwrap()).unwrap();
    assert!(text.contains("(demo)") && text.contains("scripted"), "the demo is marked");
    want.assert_eq(&text);
}

#[test]
fn every_format_tells_the_whole_run() {
    check("md", expect_file!["testdata/run.md"]);
    check("txt", expect_file!["testdata/run.txt"]);
    check("html", expect_file!["testdata/run.html"]);
    check("json", expect_file!["testdata/run.json"]);
}

/// The run of one turn, in every format by its name.
fn in_every_format(events: Vec<Value>) -> Vec<(&'static str, String)> {
    let opening = script().remove(0);
    let all = self::events([opening].into_iter().chain(events).collect());
    FORMATS.iter().map(|format| (format.name, export(&all, format).unwrap())).collect()
}

/// What every format for people says of a turn, and where the JSON has it.
#[track_caller]
fn check_turn(turn: Vec<Value>, told: &[&str], json: &[(&str, Value)]) {
    for (format, text) in in_every_format(turn) {
        if format != "json" {
            told.iter().for_each(|words| assert!(text.contains(words), "no '{words}' in {text}"));
            continue;
        }
        let value: Value = serde_json::from_str(&text).unwrap();
        for (path, want) in json {
            let path = format!("/phases/0/lines/0/{path}");
            assert_eq!(value.pointer(&path), Some(want), "{path} in {value}");
        }
    }
}

/// A turn of Ada's that ended well, with these fields beside the usual ones.
fn ended(speech: &str, parts: Value, more: Value) -> Value {
    let mut ended = said(turn(0, 1, 0, speech), "What I had to say is", parts);
    let whole = with(ended["outcome"]["said"].take(), more);
    ended["outcome"]["said"] = whole;
    ended
}

#[test]
fn every_format_marks_what_was_cut_off() {
    let plain = || json!({"is": "plain"});
    for (cut, told) in [
        ("length", "cut off: too long"),
        ("looping", "cut off: it repeated itself"),
        ("time", "cut off: out of time"),
    ] {
        let more = json!({"cut": cut, "stop": "length"});
        let turn = ended("answer", plain(), more.clone());
        check_turn(vec![turn], &[told], &[("heard/said/cut", json!(cut))]);
        let parts = json!({"is": "synthesis", "agreed": "", "synthesis": "Tea", "differences": "",
            "messages": 1});
        check_turn(vec![ended("synthesis", parts, more)], &[told, "not stated"], &[]);
    }
    let stopped = ended("answer", plain(), json!({"stop": "length"}));
    check_turn(vec![stopped], &["cut off: too long"], &[]);
    let other = ended("answer", plain(), json!({"stop": {"other": "exit status 1"}}));
    let stop = ("heard/said/stop/other", json!("exit status 1"));
    check_turn(vec![other], &["perhaps incomplete: exit status 1"], &[stop]);
}

#[test]
fn every_format_says_what_was_not_stated() {
    let position = json!({"is": "position", "position": "", "confidence": null});
    let estimate =
        json!({"is": "estimate", "estimate": "", "unchanged": false, "confidence": null});
    for (parts, told) in [(position, "no position stated"), (estimate, "no estimate stated")] {
        let missing = ("heard/said/parts/confidence", json!(null));
        let turn = ended("position", parts, json!({}));
        // What was said instead is shown.
        check_turn(
            vec![turn],
            &[told, "confidence not stated", "What I had to say is"],
            &[missing],
        );
    }
}

#[test]
fn every_format_says_what_a_prompt_left_out() {
    let fitted = |words: u32| {
        let cut = json!({"dropped": 3, "until": 0, "chars": 0});
        json!({"type": "turn_noted", "turn": 0, "note": {"fitted": {"model": "acme:one",
            "transcript": "talk", "cut": cut, "dropped": 3, "shortened": 1, "words": words,
            "window": 2048}}})
    };
    let start = turn_started(turn(0, 1, 0, "answer"));
    let told = "lack 1 250 words of what was said, to fit its window of 2 048 tokens: \
                3 speeches left out, 1 speech shortened";
    let said = ended("answer", json!({"is": "plain"}), json!({}));
    let words = [("left_out/words", json!(1250)), ("left_out/window", json!(2048))];
    let turn = vec![start.clone(), fitted(700), fitted(1250), said];
    check_turn(turn, &[told], &words);
    check_turn(vec![start, fitted(1250)], &[told, "not finished"], &words);
}

#[test]
fn where_nobody_stated_a_confidence_it_is_said() {
    let synthesis = |unstated: Value| {
        let parts = json!({"is": "synthesis", "agreed": "", "synthesis": "Tea", "differences": "",
            "messages": 1, "unstated": unstated});
        in_every_format(vec![ended("synthesis", parts, json!({}))])
    };
    for (format, text) in synthesis(json!(["Ada", "Bob"])) {
        let told: &[&str] = match format {
            "md" => &["## Confidence", "**Ada:** not stated", "**Mean:** nobody stated one"],
            "html" => &["Confidence</h2>", "<b>Bob:</b> not stated", "nobody stated one"],
            "txt" => &["\nConfidence\n---", "\nBob: not stated\nMean: nobody stated one"],
            _ => &[r#""confidence_mean": null"#, r#""unstated": ["#],
        };
        told.iter().for_each(|words| assert!(text.contains(words), "no '{words}' in {text}"));
    }
    // Of a method that asks for none there is nothing to say.
    for (format, text) in synthesis(json!([])) {
        assert!(format == "json" || !text.contains("Confidence"), "{text}");
    }
}

#[test]
fn an_unknown_format_is_told_the_known_ones() {
    let fault = Format::parse("pdf").unwrap_err();
    expect!["format: no 'pdf'; there are md, json, html, txt"].assert_eq(&fault.message);
}

#[test]
fn a_log_without_a_beginning_is_no_run() {
    for script in [vec![], script().split_off(1)] {
        assert!(Account::of(&events(script)).is_err());
    }
}

#[test]
fn nothing_escapes_from_the_page() {
    const OURS: &[&str] = &[
        "!doctype html",
        "html lang=\"en\"",
        "head",
        "meta charset=\"utf-8\"",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "b",
        "p class=\"remark\"",
        "blockquote dir=\"auto\"",
        "blockquote",
        "html",
    ];
    let page = hostile("html");
    for tag in page.split('<').skip(1) {
        let name = tag.split('>').next().unwrap().trim_start_matches('/');
        let is_meta =
            name.starts_with("meta http-equiv=") || name.starts_with("meta name=\"viewport\"");
        assert!(OURS.contains(&name) || is_meta, "<{name}>");
    }
    for tag in ["blockquote", "h1", "h2", "h3", "h4", "title", "body"] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn nothing_escapes_from_its_quote() {
    let page = hostile("md");
    let own = ["# ", "## ", "### ", "- **", "**", "_", "> "];
    for line in page.lines().filter(|line| !line.is_empty() && *line != ">") {
        assert!(own.iter().any(|start| line.starts_with(start)), "{line}");
        for mark in ['[', '<'] {
            for (at, _) in line.match_indices(mark) {
                let slashes = line[..at].chars().rev().take_while(|c| *c == '\\').count();
                assert!(slashes % 2 == 1, "{mark} at {at}: {line}");
            }
        }
    }
    // As many headings as the harmless run has: one title, its sections and its speakers.
    let count = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(count(&page), count(&export(&events(script()), &md::FORMAT).unwrap()));
}

#[test]
fn nothing_passes_for_ours_in_plain_text() {
    let text = hostile("txt");
    let harmless = export(&events(script()), &txt::FORMAT).unwrap();
    let own = |text: &str| text.lines().filter(|line| line.starts_with(|c| c != ' ')).count();
    assert_eq!(own(&text), own(&harmless));
}

#[test]
fn data_stays_what_it_was() {
    let mut script = script();
    script.iter_mut().for_each(poison);
    let events = events(script);
    let text = export(&events, &json::FORMAT).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let back: Vec<Event> = serde_json::from_value(value["events"].clone()).unwrap();
    assert_eq!(back, events);
    assert_eq!(value["question"], HOSTILE);
    assert_eq!(value["phases"][0]["lines"][0]["heard"]["said"]["text"], HOSTILE);
    assert!(hostile("json").contains("\\u009b31m \\u202edrow"));
}

#[test]
fn a_run_that_goes_on_is_told_as_far_as_it_is() {
    let account = Account::of(&events(script()[..6].to_vec())).unwrap();
    assert_eq!(
        (account.ending.clone(), account.synthesis(), account.confidence_mean()),
        (None, None, None)
    );
    let lines: Vec<(String, Vec<String>)> =
        account.lines().map(|line| (line.title(), line.remarks())).collect();
    let open = vec!["not finished".to_string()];
    assert_eq!(lines, [("Ada".to_string(), open.clone()), ("Bob (demo)".to_string(), open)]);
    assert_eq!(account.phases[0].lines[0].sections()[0].text, "Yes.\n\n");

    let account = Account::of(&events(script()[..8].to_vec())).unwrap();
    expect!["2 calls, 100 tokens in and 20 out, $0.0125"].assert_eq(&totals(&account.totals));
}
