//! Prompts that fit their windows and turns that end.

use super::limits::first_turn;
use super::*;
use crate::event::{Fitted, Note};
use crate::prompt::hear;
use crate::tokens::weight;
use althing_chat::{Attachment, AttachmentKind, AttachmentSource, Usage, WindowSource};
use althing_testkit::Stage;
use althing_testkit::scripted::Asked;

/// Different words every time, so that nothing repeats.
pub(super) fn prose(seed: usize, words: usize) -> String {
    let word = |at: usize| format!("w{:x}{}", seed * 7919 + at * 31, ["", ",", "", ". So"][at % 4]);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// A table at which everybody says more than a small window holds.
fn talkative(method: &str, seats: usize, window: u64) -> Table {
    let table = kit::table(method, seats).script(move |call| {
        let seed = call.seat * 1000 + call.nth;
        vec![Step::SayText(format!("{}\n{}", voice(call), prose(seed, 150)))]
    });
    Table { window, ..table }
}

pub(super) fn prompt_tokens(ask: &Ask) -> u64 {
    ask.messages.iter().map(|message| weight(&message.text)).sum::<f64>() as u64 + 24
}

fn notes(events: &[Event]) -> Vec<Fitted> {
    let notes = events.iter().filter_map(|event| match &event.what {
        What::TurnNoted { note: Note::Fitted(fitted), .. } => Some(Fitted::clone(fitted)),
        _ => None,
    });
    notes.collect()
}

#[tokio::test(start_paused = true)]
async fn no_prompt_and_answer_exceed_the_window_and_every_method_ends() {
    for method in ALL {
        for window in [2_048, 4_096, 8_192] {
            let table = talkative(method.name, 4, window);
            let events = table.hold().await;
            assert_eq!(ending(&events), &Ending::Completed, "{} in {window}", method.name);
            for call in table.stage.calls() {
                let (prompt, answer) = (prompt_tokens(&call.ask), call.ask.max_tokens.unwrap());
                assert!(prompt + u64::from(answer) <= window, "{} in {window}", method.name);
                assert_eq!(call.ask.context_tokens, Some(window));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_left_out_is_in_the_log_and_in_the_prompt() {
    let mut table = talkative("standard", 3, 4_096);
    table.opening.turns = 12;
    let events = table.hold().await;
    let noted = notes(&events);
    assert!(!noted.is_empty());
    assert!(noted.iter().all(|it| it.words > 0 && it.window == 4_096), "{noted:?}");
    let calls = table.stage.calls();
    let told = calls.iter().filter(|call| {
        let plain = hear(&call.ask).plain;
        plain.contains("(left out here: ") && plain.contains("earlier speeches)")
    });
    assert!(told.count() > 3);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_keeps_its_cuts_and_marks() {
    check_resumed(talkative("standard", 2, 3_000)).await;
}

/// What the models' own counts taught before the stop is known after it.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_knows_what_its_turns_have_taught() {
    let table = talkative("standard", 2, 3_000).script(|call| {
        let tokens = prompt_tokens(call.ask) * 13 / 10;
        let seed = call.seat * 1000 + call.nth;
        let text = format!("{}\n{}", voice(call), prose(seed, 150));
        vec![Step::SayText(text), Step::UsageOf(tokens, 300)]
    });
    check_resumed(Table { window: 3_000, ..table }).await;
}

async fn check_resumed(mut table: Table) {
    table.opening.turns = 12;
    let whole = table.hold().await;
    // The same log up to the last turn of the discussion, resumed: its next prompt begins alike.
    let is_end = |event: &Event| matches!(&event.what, What::TurnEnded { by, .. } if by.phase == 3);
    let ends: Vec<usize> = (0..whole.len()).filter(|at| is_end(&whole[*at])).collect();
    let before = &whole[..=ends[ends.len() - 2]];
    let first = table.stage.calls();
    let mut again = Table { stage: Stage::default(), ..table.clone() };
    let What::RunStarted(opening) = &whole[0].what else { panic!("a run begins with its opening") };
    again.opening = Opening::clone(opening);
    again.resumed(before).await;
    let (last, resumed) = (&first[first.len() - 4], &again.stage.calls()[0]);
    let text = |ask: &Ask| ask.messages[1].text.clone();
    assert_eq!(text(&last.ask), text(&resumed.ask));
}

#[tokio::test(start_paused = true)]
async fn later_prompts_of_a_seat_begin_as_the_earlier_ones_did() {
    for method in ALL {
        let table = talkative(method.name, 4, 100_000);
        table.hold().await;
        let calls = table.stage.calls();
        for (at, call) in calls.iter().enumerate() {
            let (ask, ends) = (&call.ask, &call.ask.messages[1].cache_ends);
            assert_eq!(ask.messages[0], calls[0].ask.messages[0], "{}", method.name);
            let Some(end) = ends.last() else { continue };
            let kept = &ask.messages[1].text[..*end];
            // What is marked for the cache is the beginning of the seat's next prompt in all phases
            // but the last, which may read a shorter record. In an examination the advocate reads
            // more than those who are examined; elsewhere all seats read the same.
            let is_same = |it: &&Asked| method.name != "advocate" || it.seat == call.seat;
            let mut later = calls[at + 1..].iter().filter(|it| !is_synthesis_ask(&it.ask));
            if let Some(next) = later.find(is_same) {
                let next = &next.ask.messages[1].text;
                assert!(next.starts_with(kept), "{} call {at}", method.name);
            }
        }
    }
}

/// A provider that counts tokens more coarsely than we guess and refuses what its window does not
/// hold: the guess is raised, and every method ends.
#[tokio::test(start_paused = true)]
async fn every_method_ends_where_tokens_are_smaller_than_was_guessed() {
    let really = |ask: &Ask| ask.messages.iter().map(|it| it.text.chars().count()).sum::<usize>();
    for method in ALL {
        for names_the_limit in [true, false] {
            let table = kit::table(method.name, 4).script(move |call| {
                let tokens = really(call.ask) as u64 * 2 / 3;
                if tokens + u64::from(call.ask.max_tokens.unwrap()) > 8_192 {
                    let fault = Fault::new(Kind::ContextTooLong, "too long");
                    let named = names_the_limit.then_some(8_192);
                    return vec![Step::FailWith(fault.context_tokens(named))];
                }
                let seed = call.seat * 1000 + call.nth;
                let text = format!("{}\n{}", voice(call), prose(seed, 150));
                vec![Step::SayText(text), Step::UsageOf(tokens, 300)]
            });
            let events = Table { window: 8_192, ..table }.hold().await;
            assert_eq!(ending(&events), &Ending::Completed, "{}", method.name);
            let refused = render(&events).matches("FAILED").count();
            assert_eq!(refused, 0, "{}: {}", method.name, render(&events));
        }
    }
}

/// What the check before the run lets through is never found too large later on.
#[tokio::test(start_paused = true)]
async fn a_run_that_may_begin_finds_room_for_every_turn() {
    let mut begun = 0;
    for method in ALL.iter().copied().chain([crate::method("answer").unwrap()]) {
        for window in [2_048, 8_192] {
            for share in [40, 55, 62, 70, 80] {
                for thinks in [false, true] {
                    let mut table = thoughtful(method.name, window, thinks);
                    table.opening.question = prose(3, (window * share / 100 / 8) as usize);
                    let floor = table.floor(Past::none(), Arc::new(Record::new(&[])));
                    if check_windows(&floor.opening, floor.method, floor.seats()).is_err() {
                        continue;
                    }
                    begun += 1;
                    let told = render(&table.hold().await);
                    let name = method.name;
                    assert!(!told.contains("context_too_long"), "{name} {window} {share}: {told}");
                }
            }
        }
    }
    assert!(begun > 40, "{begun}");
}

fn thoughtful(method: &str, window: u64, thinks: bool) -> Table {
    let seats = if method == "answer" { 1 } else { 4 };
    let table = kit::table(method, seats).script(move |call| {
        let seed = call.seat * 1000 + call.nth;
        let text = Step::SayText(format!("{}\n{}", voice(call), prose(seed, 60)));
        if thinks { vec![Step::ThinkText("Well, tea then.".into()), text] } else { vec![text] }
    });
    Table { window, ..table }
}

#[tokio::test(start_paused = true)]
async fn seats_of_one_model_have_windows_of_their_own() {
    let mut table = talkative("standard", 2, 40_000);
    table.opening.seats[1].model = table.opening.seats[0].model.clone();
    table.opening.seats[1].context_tokens = Some(2_048);
    table.opening.turns = 8;
    let events = table.hold().await;
    let noted = notes(&events);
    assert!(!noted.is_empty() && noted.iter().all(|it| it.seat == 1), "{noted:?}");
    let calls = table.stage.calls();
    let windows: Vec<u64> = calls.iter().filter_map(|call| call.ask.context_tokens).collect();
    assert!(windows.contains(&2_048) && windows.contains(&40_000));
}

/// Functions were called for the answer, and their results were too much for the provider.
#[tokio::test(start_paused = true)]
async fn functions_are_not_called_again_for_a_prompt_that_was_too_long() {
    let table = table().script(|call| match (call.seat, call.nth) {
        (0, 0) => {
            vec![Step::Called("clock", "{}", "noon"), Step::Fail(Kind::ContextTooLong, "too long")]
        }
        _ => vec![Step::SayText(voice(call))],
    });
    let told = render(&table.hold().await);
    assert!(told.contains("&ada IDEATOR: FAILED context_too_long"), "{told}");
}

fn is_synthesis_ask(ask: &Ask) -> bool {
    kit::is_synthesis_ask(ask)
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_finds_a_prompt_too_long_gets_a_shorter_one_once() {
    for (holds, completes) in [(4_000, true), (0, false)] {
        let table = talkative("standard", 2, 100_000).script(move |call| {
            if call.nth > 1 && call.seat == 1 && call.ask.chars() > holds {
                return vec![Step::Fail(Kind::ContextTooLong, "too long")];
            }
            let seed = call.seat * 1000 + call.nth;
            vec![Step::SayText(format!("{}\n{}", voice(call), prose(seed, 250)))]
        });
        let events = table.hold().await;
        let lost = render(&events).contains("FAILED context_too_long");
        assert_eq!(lost, !completes);
        assert!(!notes(&events).is_empty(), "it was fitted to a smaller budget");
        let asked = table.stage.calls().iter().filter(|call| call.seat == "test:bob-1").count();
        assert!(asked <= 10, "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_holds_nothing_is_told_as_the_providers() {
    let fault = Fault::new(Kind::ContextTooLong, "too long").context_tokens(Some(60));
    let Outcome::Failed(failure) = first_turn(vec![Step::FailWith(fault)]).await else { panic!() };
    let why = "its window has 60 (since its provider found a prompt too long)";
    assert!(failure.message.contains(why), "{}", failure.message);
}

/// The provider names a limit into which the prompt fits by our guess, so the guess is wrong.
#[tokio::test(start_paused = true)]
async fn a_prompt_is_shortened_even_where_it_seems_to_fit_the_limit_that_was_named() {
    let table = talkative("standard", 2, 100_000).script(|call| {
        if call.nth > 1 && call.seat == 1 && call.ask.chars() > 4_000 {
            let fault = Fault::new(Kind::ContextTooLong, "too long").context_tokens(Some(90_000));
            return vec![Step::FailWith(fault)];
        }
        let seed = call.seat * 1000 + call.nth;
        vec![Step::SayText(format!("{}\n{}", voice(call), prose(seed, 250)))]
    });
    let events = table.hold().await;
    assert!(!render(&events).contains("FAILED"), "{}", render(&events));
}

/// Thoughts that nobody sees take tokens too: usage tells of them, or an answer without a word.
#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_unseen_gets_room_for_it() {
    for is_reported in [false, true] {
        let table = table().script(move |call| {
            let reasoning = is_reported.then_some(2_000);
            let usage = Usage { output: Some(2_010), reasoning, ..Usage::default() };
            match call.ask.max_tokens {
                Some(0..2_100) => vec![Step::Counted(usage), Step::End(Stop::Length)],
                _ => vec![Step::SayText(voice(call)), Step::Counted(usage)],
            }
        });
        let table = Table { window: 200_000, ..table };
        let events = table.hold().await;
        assert!(!render(&events).contains("FAILED"), "{}", render(&events));
        let Some(What::RunEnded { totals, .. }) = events.last().map(|it| &it.what) else {
            panic!()
        };
        let calls = table.stage.calls();
        assert_eq!(totals.output_tokens, 2_010 * calls.len() as u64, "no call is forgotten");
        let wasted = calls.len() - totals.calls as usize;
        assert_eq!(wasted, if is_reported { 0 } else { 2 }, "one for each model");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_word_says_why() {
    let table = table().script(|call| match call.seat {
        0 => vec![Step::End(Stop::Length)],
        _ => vec![Step::SayText(voice(call))],
    });
    let told = render(&table.hold().await);
    assert!(told.contains("it reached its limit of tokens before it said a word"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_no_window_holds_is_refused_before_the_first_call() {
    let mut table = kit::table("standard", 2);
    table.window = 2_048;
    table.opening.question = prose(1, 2_000);
    let check = |table: &Table| {
        let floor = table.floor(Past::none(), Arc::new(Record::new(&[])));
        check_windows(&floor.opening, floor.method, floor.seats())
    };
    let fault = check(&table).unwrap_err();
    assert_eq!(fault.kind, Kind::ContextTooLong);
    assert!(fault.message.starts_with("ada needs "), "{fault}");
    assert!(fault.message.contains("its window has 2048 (a default"), "{fault}");
    table.opening.question = "Tea?".into();
    check(&table).unwrap();
    assert_eq!(Window::UNKNOWN.source, WindowSource::Default);
}

/// A picture takes room in every prompt, whatever a model makes of its text.
#[tokio::test(start_paused = true)]
async fn pictures_count_against_the_window_and_stand_in_every_prompt() {
    let picture = Attachment {
        name: "p.png".into(),
        kind: AttachmentKind::Image,
        media_type: Some("image/png".into()),
        source: AttachmentSource::Base64("AAAA".into()),
        pages: None,
        at: 0,
    };
    let mut table = talkative("standard", 3, 8_192);
    table.opening.attachments = vec![picture.clone(); 2];
    let events = table.hold().await;
    assert_eq!(ending(&events), &Ending::Completed);
    for call in table.stage.calls() {
        let message = call.ask.messages.last().unwrap();
        assert_eq!(message.attachments, table.opening.attachments);
        assert!(message.text.contains("a picture (p.png), a picture (p.png)"), "{}", message.text);
        let tokens = prompt_tokens(&call.ask) + 2 * picture.tokens();
        assert!(tokens + u64::from(call.ask.max_tokens.unwrap()) <= 8_192);
    }
    table.opening.attachments = vec![picture; 4];
    let floor = table.floor(Past::none(), Arc::new(kit::Record::new(&[])));
    let fault = check_windows(&floor.opening, floor.method, floor.seats()).unwrap_err();
    assert_eq!(fault.kind, Kind::ContextTooLong);
}
