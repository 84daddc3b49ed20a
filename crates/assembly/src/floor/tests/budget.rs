//! Prompts that fit their windows and turns that end.

use super::*;
use crate::event::{CutOff, Fitted, Note, Said};
use crate::prompt::hear;
use crate::tokens::weight;
use althing_chat::{Usage, WindowSource};
use althing_testkit::Stage;

/// Different words every time, so that nothing repeats.
fn prose(seed: usize, words: usize) -> String {
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

fn prompt_tokens(ask: &Ask) -> u64 {
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
    let mut table = talkative("standard", 2, 3_000);
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
            // What is marked for the cache is the beginning of the next prompt, whoever gets it, in
            // all phases but the last, which may read a shorter record.
            if let Some(next) = calls.get(at + 1).filter(|it| !is_synthesis_ask(&it.ask)) {
                let next = &next.ask.messages[1].text;
                assert!(next.starts_with(kept), "{} call {at}", method.name);
            }
        }
    }
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

/// The first turn of a table, whose first voice plays `steps`.
async fn first_turn(steps: Vec<Step>) -> Outcome {
    let table = table().script(move |call| match (call.seat, call.nth) {
        (0, 0) => steps.clone(),
        _ => vec![Step::SayText(voice(call))],
    });
    let events = table.hold().await;
    let ends = events.into_iter().filter_map(|event| match event.what {
        What::TurnEnded { by, outcome } if by.turn == 0 => Some(outcome),
        _ => None,
    });
    ends.into_iter().next().unwrap()
}

fn said(outcome: Outcome) -> Said {
    match outcome {
        Outcome::Said(said) => *said,
        Outcome::Failed(failure) => panic!("{failure:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_is_cut_at_its_ceiling_and_says_so() {
    let steps = (0..400).map(|at| Step::SayText(prose(at, 40) + " ")).collect();
    let said = said(first_turn(steps).await);
    assert_eq!((said.cut, said.stop), (Some(CutOff::Length), Stop::Length));
    let words = said.text.split(' ').count();
    assert!((150..2_000).contains(&words), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_loop_is_cut_where_it_begins() {
    let start = "Tea is cheaper to make. ";
    let steps = vec![Step::Say(start), Step::SayText("It is what it is. ".repeat(900))];
    let said = said(first_turn(steps).await);
    assert_eq!(said.cut, Some(CutOff::Looping));
    assert_eq!(said.text, "Tea is cheaper to make. It is what it is.");
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_told_to_those_who_read_the_speech() {
    let table = table().script(|call| match (call.seat, call.nth) {
        (0, 0) => vec![Step::SayText("It is what it is. ".repeat(900))],
        _ => vec![Step::SayText(voice(call))],
    });
    table.hold().await;
    let heard = hear(&table.stage.calls().last().unwrap().ask);
    let critiques =
        table.stage.calls().iter().map(|call| hear(&call.ask)).find(|it| it.quotes.len() == 3);
    let names: Vec<String> = critiques.unwrap_or(heard).quotes.into_iter().map(|it| it.0).collect();
    assert!(names.contains(&"ada, cut off: it repeated itself".to_string()), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_out_of_time_keeps_what_it_said() {
    let half = "Tea, because it is cheaper to make and everyone here likes it. And";
    let said = said(first_turn(vec![Step::Say(half), Step::Hang]).await);
    assert_eq!((said.cut, said.text.as_str()), (Some(CutOff::Time), half));
    let outcome = first_turn(vec![Step::Think("Tea"), Step::Hang]).await;
    assert!(matches!(outcome, Outcome::Failed(failure) if failure.kind == Kind::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn thinking_has_a_ceiling_of_its_own() {
    let think = |at: usize| Step::ThinkText(prose(at, 50) + " ");
    let mut steps: Vec<Step> = (0..40).map(think).collect();
    steps.push(Step::Say("Tea."));
    assert_eq!(said(first_turn(steps).await).text, "Tea.", "longer than an answer may be");
    let endless = first_turn((0..2_000).map(think).collect()).await;
    let Outcome::Failed(failure) = endless else { panic!("it never comes to an answer") };
    assert!(failure.message.starts_with("it thought for more than"), "{}", failure.message);
    let circles = vec![Step::ThinkText("wait, no. ".repeat(2_000)), Step::Hang];
    let Outcome::Failed(failure) = first_turn(circles).await else { panic!("it goes in circles") };
    assert_eq!(failure.message, "its thoughts went in circles");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_think_gets_the_visible_limit_and_the_estimate_learns() {
    let table = table().script(|call| {
        let usage = Usage { input: Some(prompt_tokens(call.ask) * 7 / 10), ..Usage::default() };
        vec![Step::SayText(voice(call)), Step::UsageOf(usage.input.unwrap(), 20)]
    });
    table.hold().await;
    let calls = table.stage.calls();
    let of_ada: Vec<_> = calls.iter().filter(|call| call.seat == "test:ada-1").collect();
    let limits: Vec<u32> = of_ada.iter().map(|call| call.ask.max_tokens.unwrap()).collect();
    assert!(limits[0] > 4_000, "nothing is known of it yet: {limits:?}");
    assert!(limits[1..].iter().all(|limit| *limit < 2_000), "{limits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_large_model_is_told_no_limit_before_it_is_known_whether_it_thinks() {
    let table = Table { window: 200_000, ..table() };
    table.hold().await;
    let calls = table.stage.calls();
    let of_ada = calls.iter().filter(|call| call.seat == "test:ada-1");
    let limits: Vec<_> = of_ada.map(|call| call.ask.max_tokens).collect();
    assert_eq!(limits[0], None);
    assert!(limits[1..].iter().all(|limit| limit.is_some_and(|it| it < 2_000)), "{limits:?}");
}
