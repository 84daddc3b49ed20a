//! What ends a turn before its model does, and what is kept of it.

use super::budget::{prompt_tokens, prose};
use super::*;
use crate::event::{CutOff, Said};
use crate::prompt::hear;
use althing_chat::Usage;

/// The first turn of a table, whose first voice plays `steps`.
pub(super) async fn first_turn(steps: Vec<Step>) -> Outcome {
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

#[tokio::test(start_paused = true)]
async fn a_turn_has_one_clock_for_all_its_calls() {
    let round = |_| [Step::Start, Step::Wait(100)];
    let said = said(
        first_turn([vec![Step::Say("Tea.")], (0..60).flat_map(round).collect()].concat()).await,
    );
    assert_eq!(said.cut, Some(CutOff::Time));
    assert!((590_000..=610_000).contains(&said.took_ms), "{}", said.took_ms);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_now_and_then_may_think_as_long_as_any() {
    let think = |at: usize| Step::ThinkText(prose(at, 50) + " ");
    let table = table().script(move |call| {
        let thoughts = if call.nth == 1 { (0..40).map(think).collect() } else { vec![] };
        [thoughts, vec![Step::SayText(voice(call))]].concat()
    });
    let told = render(&table.hold().await);
    assert!(!told.contains("FAILED"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn words_before_endless_thoughts_are_kept() {
    let circles = Step::ThinkText("wait, no. ".repeat(2_000));
    let said = said(first_turn(vec![Step::Say("Tea. "), circles, Step::Hang]).await);
    assert_eq!((said.cut, said.text.as_str()), (Some(CutOff::Looping), "Tea."));
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_blanks_is_not_told_as_thinking() {
    let blanks = vec![Step::SayText("\n ".repeat(20_000)), Step::Hang];
    let Outcome::Failed(failure) = first_turn(blanks).await else { panic!("it said nothing") };
    assert_eq!(failure.message, "the model said nothing");
}

#[tokio::test(start_paused = true)]
async fn what_is_cut_off_is_paid_for() {
    let table = table().script(|call| match (call.seat, call.nth) {
        (0, 0) => vec![Step::SayText("It is what it is. ".repeat(900))],
        _ => vec![Step::SayText(voice(call))],
    });
    let per_token = |usage: &Usage| usage.output.unwrap_or_default() as f64;
    let table = Table { price: Some(Arc::new(per_token)), ..table };
    let events = table.hold().await;
    let cost = events.iter().find_map(|event| match &event.what {
        What::TurnEnded { by, outcome: Outcome::Said(said) } if by.turn == 0 => said.cost_usd,
        _ => None,
    });
    assert!(cost.is_some_and(|tokens| tokens > 500.0), "{cost:?}");
}

/// An answer in any language may be as long as its prompt asks for.
#[tokio::test(start_paused = true)]
async fn answers_of_the_length_asked_for_are_whole_in_any_script() {
    for question in [
        "Следует ли команде из трёх человек начинать с монолита?",
        "Πρέπει μια ομάδα τριών ατόμων να ξεκινήσει με μονόλιθο;",
        "هل يجب أن يبدأ فريق من ثلاثة أشخاص بنظام موحد؟",
        "האם צוות של שלושה צריך להתחיל במערכת אחת?",
        "세 명으로 된 팀은 모놀리스로 시작해야 하나요?",
        "மூன்று பேர் கொண்ட குழு ஒற்றை அமைப்புடன் தொடங்க வேண்டுமா?",
        "Một nhóm ba người có nên bắt đầu với một khối duy nhất không?",
    ] {
        let words: Vec<&str> = question.split(' ').collect();
        let word = |at: usize| words[((at * 2_654_435_761) >> 9) % words.len()];
        let text = (0..300).map(word).collect::<Vec<_>>().join(" ");
        let mut table = kit::table("standard", 2).script({
            let text = text.clone();
            move |call| vec![Step::SayText(if call.nth == 0 { text.clone() } else { voice(call) })]
        });
        table.opening.question = question.into();
        table.window = 65_536;
        let events = table.hold().await;
        let cuts = events.iter().filter_map(|event| match &event.what {
            What::TurnEnded { outcome: Outcome::Said(said), .. } => said.cut,
            _ => None,
        });
        assert_eq!(cuts.collect::<Vec<_>>(), [], "{question}");
    }
}
