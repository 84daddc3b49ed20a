use super::*;
use althing_assembly::event::{
    Confidence, CutOff, Ending, Failure, Fitted, Level, Parts, Said, SeatInfo, Totals,
};
use althing_assembly::fit::Cut;
use althing_chat::{Called, Retry, Stop, ToolCall};
use althing_stdx::{Fault, Kind};
use expect_test::{Expect, expect};

const LIVE: Screen = Screen { live: true, colour: false, columns: 60 };

fn opening(seats: &[&str]) -> What {
    let seat = |name: &&str| SeatInfo {
        model: format!("x:{name}"),
        name: name.to_string(),
        stance: None,
        demo: false,
        context_tokens: None,
    };
    What::RunStarted(Box::new(Opening {
        attachments: vec![],
        method: "standard".into(),
        question: "Why\x1b?".into(),
        mark: String::new(),
        context: vec![],
        continues: None,
        seats: seats.iter().map(seat).collect(),
        roles: Default::default(),
        turns: 2,
        synthesizers: vec![0],
        synthesizer_mode: "first".into(),
        language: None,
        pause_ms: None,
        max_cost_usd: Some(1.0),
        estimate_usd: Some(0.125),
        tools: vec![],
        offered: vec![],
        stream: true,
        council: None,
    }))
}

fn turn(turn: u32, name: &str) -> Turn {
    let seat = turn as usize;
    let (model, name) = (format!("x:{name}"), name.to_string());
    Turn {
        turn,
        phase: 1,
        seat,
        nth: 0,
        model,
        name,
        speech: Speech::Answer,
        role: None,
        round: None,
        parallel: true,
    }
}

fn said(by: Turn, text: &str) -> What {
    let said = speech(text);
    What::TurnEnded { by, outcome: Outcome::Said(Box::new(said)) }
}

fn speech(text: &str) -> Said {
    Said {
        text: text.into(),
        parts: Parts::Plain,
        stop: Stop::End,
        tool_calls: vec![],
        usage: None,
        cost_usd: None,
        took_ms: 1,
        cut: None,
        mark: String::new(),
    }
}

fn failed(by: Turn, message: &str) -> What {
    let failure = Failure::from(&Fault::new(Kind::TimedOut, message));
    What::TurnEnded { by, outcome: Outcome::Failed(failure) }
}

fn delta(turn: u32, text: &str) -> What {
    What::TurnDelta { turn, text: text.into(), reasoning: false }
}

fn check(screen: Screen, events: Vec<What>, want: Expect) {
    let mut live = Live::new(screen);
    let mut out = String::new();
    for (seq, what) in events.into_iter().enumerate() {
        out.push_str(&live.on(&Event { seq: seq as u64, run: "run1".into(), at_ms: 1000, what }));
        out.push_str(&live.tick(3000));
    }
    want.assert_eq(&out.replace('\r', "<").replace("\x1b[K", ">"));
}

#[test]
fn a_call_is_told_behind_the_speech_it_was_made_for() {
    let call = ToolCall {
        id: "1".into(),
        name: "calc_add".into(),
        arguments: r#"{"a":1}"#.into(),
        signature: None,
    };
    let called = |result: &str, failed| Called {
        call: call.clone(),
        result: result.into(),
        failed,
        took_ms: 1,
        kept: false,
    };
    let note = |note| What::TurnNoted { turn: 0, note };
    let events = vec![
        opening(&["Ada", "Bob"]),
        What::TurnStarted(turn(0, "Ada")),
        note(Note::Calling(call.clone())),
        note(Note::Called(called("3\x1b[31m", false))),
        note(Note::Called(called("no\nway", true))),
        said(turn(0, "Ada"), "Three."),
    ];
    let plain = Screen { live: false, colour: false, columns: 80 };
    check(
        plain,
        events,
        expect![[r#"
            Why\u{1b}?
            standard · Ada, Bob · about $0.12, stops at $1.00 · run run1

            Ada
              Three.

            (called calc_add with {"a":1} -> 3\u{1b}[31m)

            (called calc_add with {"a":1} -> failed: no way)
        "#]],
    );
}

/// What is remarked at the end of a turn.
#[track_caller]
fn check_remarks(said: Said, want: &[&str]) {
    let by = turn(0, "Ada");
    let end = What::TurnEnded { by: by.clone(), outcome: Outcome::Said(Box::new(said)) };
    let events = [opening(&["Ada", "Bob"]), What::TurnStarted(by), end];
    let mut live = Live::new(Screen::plain());
    let events = (0..).zip(events);
    let shown = events.map(|(seq, what)| live.on(&Event { seq, run: "r".into(), at_ms: 0, what }));
    let shown: String = shown.collect();
    let remarks: Vec<&str> = shown.lines().filter(|line| line.starts_with('(')).collect();
    assert_eq!(remarks, want, "{shown}");
}

#[test]
fn a_turn_says_what_it_lacks() {
    let cut = |cut| Said { cut: Some(cut), stop: Stop::Length, ..speech("Tea and") };
    check_remarks(cut(CutOff::Length), &["(cut off: too long)"]);
    check_remarks(cut(CutOff::Looping), &["(cut off: it repeated itself)"]);
    check_remarks(cut(CutOff::Time), &["(cut off: out of time)"]);
    check_remarks(Said { stop: Stop::Length, ..speech("Tea and") }, &["(cut off: too long)"]);
    let other = Stop::Other("exit status 1\x1b".into());
    check_remarks(
        Said { stop: other, ..speech("Tea and") },
        &["(perhaps incomplete: exit status 1\\u{1b})"],
    );
    let position = |text: &str, confidence| {
        let parts = Parts::Position { position: text.into(), confidence };
        Said { parts, ..speech("Well.") }
    };
    let sure = Confidence { level: Level::High, score: 90 };
    check_remarks(position("Tea.", Some(sure)), &[]);
    check_remarks(position("", Some(sure)), &["(no position stated)"]);
    check_remarks(position("", None), &["(no position stated)", "(confidence not stated)"]);
    let estimate = Parts::Estimate { estimate: String::new(), unchanged: false, confidence: None };
    check_remarks(
        Said { parts: estimate, cut: Some(CutOff::Length), ..speech("Well.") },
        &["(no estimate stated)", "(confidence not stated)", "(cut off: too long)"],
    );
}

#[test]
fn what_a_prompt_left_out_interrupts_nobody() {
    let fitted = |turn: u32, words: usize| {
        let fitted = Fitted {
            model: "x:Bob".into(),
            seat: 1,
            transcript: "talk".into(),
            cut: Cut { dropped: 2, ..Cut::default() },
            dropped: 2,
            shortened: 1,
            words,
            window: 900,
        };
        What::TurnNoted { turn, note: Note::Fitted(Box::new(fitted)) }
    };
    let (ada, bob, cyd) = (turn(0, "Ada"), turn(1, "Bob"), turn(2, "Cyd"));
    let events = vec![
        opening(&["Ada", "Bob", "Cyd"]),
        What::TurnStarted(ada.clone()),
        What::TurnStarted(bob.clone()),
        delta(0, "Ada "),
        fitted(1, 250),
        delta(0, "speaks."),
        said(ada, "Ada speaks."),
        said(bob, "Bob too."),
        What::TurnStarted(cyd),
        fitted(2, 90),
        What::TurnInterrupted { turn: 2 },
    ];
    check(
        Screen { columns: 80, ..LIVE },
        events,
        expect![[r#"
            Why\u{1b}?
            standard · Ada, Bob, Cyd · about $0.12, stops at $1.00 · run run1
            ··  Ada 2 s<>··· Ada 2 s · Bob 2 s<>
            Ada
              Ada speaks.
             ·· Bob 2 s<>
            Bob
              Bob too.

            (from here on its prompts lack 250 words of what was said, to fit its window of
            900 tokens: 2 speeches left out, 1 speech shortened)
            ·   Cyd 2 s<>··  Cyd 2 s<>
            Cyd was interrupted here; the turn is asked once more.

            (from here on its prompts lack 90 words of what was said, to fit its window of
            900 tokens: 2 speeches left out, 1 speech shortened)
        "#]],
    );
}

#[test]
fn one_voice_at_a_time_has_the_page() {
    let (ada, bob, cyd) = (turn(0, "Ada"), turn(1, "Bob"), turn(2, "Cyd"));
    let events = vec![
        opening(&["Ada", "Bob", "Cyd"]),
        What::TurnStarted(ada.clone()),
        What::TurnStarted(bob.clone()),
        What::TurnStarted(cyd.clone()),
        delta(1, "Bob "),
        delta(0, "Ada "),
        delta(1, "first."),
        failed(cyd, "too\x07 late"),
        said(bob, "Bob first."),
        delta(0, "second."),
        said(ada, "Ada second."),
    ];
    check(
        LIVE,
        events,
        expect![[r#"
        Why\u{1b}?
        standard · Ada, Bob, Cyd · about $0.12, stops at $1.00 · run
        run1
        ··  Ada 2 s<>··· Ada 2 s · Bob 2 s<> ·· Ada 2 s · Bob 2 s · Cyd 2 s<>
        Bob
          Bob first.

        ✗ Cyd lost this turn: too\u{7} late

        Ada
          Ada second.
    "#]],
    );
}

#[test]
fn into_a_pipe_go_whole_speeches_and_every_note() {
    let retry = Retry {
        attempt: 1,
        wait_ms: 1500,
        kind: Kind::RateLimited,
        message: "too many requests".into(),
    };
    let events = vec![
        opening(&["Ada", "Bob"]),
        What::PhaseStarted { phase: 1, total: 5, name: "Answers".into(), participants: vec![] },
        What::TurnStarted(turn(0, "Ada")),
        What::TurnNoted { turn: 0, note: Note::Retrying(retry) },
        delta(0, "half "),
        said(turn(0, "Ada"), "half and half"),
        What::TurnStarted(turn(1, "Bob")),
        delta(1, "unfini"),
        What::RunResumed { kept: 1, max_cost_usd: None },
        What::TurnInterrupted { turn: 1 },
        What::RunEnded {
            ending: Ending::Cancelled,
            totals: Totals { calls: 1, ..Totals::default() },
        },
    ];
    check(
        Screen::plain(),
        events,
        expect![[r#"
            Why\u{1b}?
            standard · Ada, Bob · about $0.12, stops at $1.00 · run run1

            ── 1/5 Answers ─────────────────────────────────────────────────────────────────

            Ada: too many requests, trying again in 1.5 s

            Ada
              half and half

            Resumed: 1 turn is kept and not asked again.

            Bob was interrupted here; the turn is asked once more.

            Stopped and saved. Go on with: althing resume run1

            1 call, 0 tokens in and 0 out, free
        "#]],
    );
}

#[test]
fn what_a_person_is_told_keeps_to_the_width() {
    let by = turn(0, "Ada");
    let events = vec![
        opening(&["Ada", "Bob"]),
        What::TurnStarted(by.clone()),
        failed(by, "the server said that it is far too busy at this hour"),
        What::RunEnded {
            ending: Ending::Failed(Failure::from(&Fault::new(
                Kind::TooFew,
                "standard needs 2 living models and 1 is left",
            ))),
            totals: Totals::default(),
        },
    ];
    check(
        Screen { columns: 40, ..LIVE },
        events,
        expect![[r#"
            Why\u{1b}?
            standard · Ada, Bob · about $0.12, stops
            at $1.00 · run run1
            ··  Ada 2 s<>
            ✗ Ada lost this turn: the server said
            that it is far too busy at this hour

            standard needs 2 living models and 1 is
            left
            Saved. Go on with: althing resume run1 --retry-failed

            0 calls, 0 tokens in and 0 out, free
        "#]],
    );
}

#[test]
fn a_single_answer_is_nothing_but_itself() {
    let long = "word ".repeat(40);
    let events = vec![
        opening(&["Ada"]),
        What::PhaseStarted { phase: 1, total: 1, name: "Answer".into(), participants: vec![] },
        What::TurnStarted(turn(0, "Ada")),
        delta(0, &long),
        delta(0, "end"),
        said(turn(0, "Ada"), &format!("{long}end")),
        What::RunEnded { ending: Ending::Completed, totals: Totals::default() },
    ];
    let mut live = Live::new(Screen::plain());
    let shown: String = events
        .into_iter()
        .map(|what| live.on(&Event { seq: 0, run: "r".into(), at_ms: 0, what }))
        .collect();
    assert_eq!(shown, format!("{long}end\n"));
}
