use super::*;
use crate::prompt::{Prompt, hear};
use crate::tokens::TokenEstimate;
use crate::transcript::Quote;

/// A deterministic source of numbers, so that a failure can be repeated.
struct Dice(fastrand::Rng);

/// Code blocks as models write them, and what only looks like one.
const BLOCKS: &[&str] = &[
    "\n\n```rust\nlet x = 1. ;\nfn y() {}\n```\n",
    "\n~~~\na. b.\n```\nc. d.\n~~~\n",
    "\n````md\n```rust\nlet a = 1.\n```\nx. y.\n````\n",
    "\n```cargo test``` is enough.\n",
];

impl Dice {
    fn words(&mut self, count: usize) -> String {
        let word = |dice: &mut Dice| match dice.0.u8(..40) {
            0 => "end.\n".to_string(),
            1 => "so?".to_string(),
            2 => BLOCKS[dice.0.usize(..BLOCKS.len())].to_string(),
            3 => "三人团队。".to_string(),
            4 => "\n".to_string(),
            n => "word"[..1 + n as usize % 4].to_string() + if n % 6 == 0 { "." } else { "" },
        };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }

    fn quote(&mut self, name: String) -> Quote {
        let count = self.0.usize(0..300);
        let mark: String = (0..6).map(|_| ['c', 'd', 'f', 'g'][self.0.usize(..4)]).collect();
        Quote { name, text: self.words(count), mark }
    }

    fn quotes(&mut self, most: usize) -> Vec<Quote> {
        (0..self.0.usize(1..=most)).map(|seat| self.quote(format!("n{seat}"))).collect()
    }
}

/// How many lines open or close a code block, counted as a reader would who knows only fences.
fn is_whole(text: &str) -> bool {
    text.lines().fold(None, |open, line| block_after(line, open)).is_none()
}

fn prompt(transcript: &Transcript) -> Prompt {
    Prompt::new().rule("Rules.").question("Why?").transcript(transcript).text("Answer now.")
}

/// A discussion as it grows, with and without speeches that only one prompt has: every prompt is
/// fitted, and the next one keeps what the one before it left out.
#[test]
fn prompts_are_never_over_budget_keep_their_order_and_leave_fences_whole() {
    let estimate = TokenEstimate::default();
    for seed in 0..120 {
        let mut dice = Dice(fastrand::Rng::with_seed(seed));
        let budget = dice.0.u64(60..6_000);
        let mut transcript = Transcript::default();
        let mut before = Cut::default();
        for turn in 0..6 {
            transcript.add_round(format!("Round {turn}"), dice.quotes(4));
            let shown = match dice.0.bool() {
                true => transcript.with_aside("Aside", dice.quotes(3)),
                false => transcript.clone(),
            };
            let prompt = prompt(&shown);
            let tokens = |cut: &Cut| estimate.tokens(prompt.weight(cut));
            let Some(cut) = fit(&shown, before, budget, tokens) else {
                let (dropped, until) = (shown.len() - 1, shown.len());
                let newest = Cut { dropped, until, chars: 0, aside_chars: Some(0) };
                assert!(tokens(&newest) > budget, "seed {seed}: only what cannot fit is refused");
                break;
            };
            assert!(tokens(&cut) <= budget, "seed {seed}");
            if tokens(&before) <= budget {
                assert_eq!(cut, before, "seed {seed}: nothing is cut without need");
            }
            check_shown(&prompt, &shown, &cut, seed);
            before = cut.lasting();
        }
    }
}

fn check_shown(prompt: &Prompt, transcript: &Transcript, cut: &Cut, seed: u64) {
    let heard = hear(&prompt.ask(cut));
    let all: Vec<&Quote> = transcript.quotes().collect();
    // What is dropped is a beginning: the newest speech never goes before an older one.
    assert!(cut.dropped < all.len(), "seed {seed}: the newest speech is there");
    let aside = transcript.aside_quotes().iter().filter(|_| cut.aside_chars != Some(0));
    let kept: Vec<&Quote> = all[cut.dropped..].iter().copied().chain(aside).collect();
    assert_eq!(heard.quotes.len(), kept.len(), "seed {seed}");
    for ((name, text), quote) in heard.quotes.iter().zip(kept) {
        assert_eq!(*name, quote.name, "seed {seed}: the order is kept");
        let kept = match text.strip_suffix(" words are left out here)") {
            Some(_) => text.rsplit_once('\n').unwrap_or_default().0,
            None => text,
        };
        let said = quote.text.lines().collect::<Vec<_>>().join("\n");
        assert!(said.starts_with(kept.trim_end()), "seed {seed}: {kept:?} of {said:?}");
        assert!(is_whole(kept) || !is_whole(&quote.text), "seed {seed}: a code block is whole");
    }
}

#[test]
fn what_only_one_prompt_has_gives_way_first() {
    let mut dice = Dice(fastrand::Rng::with_seed(3));
    let mut transcript = Transcript::default();
    transcript.add_round("Answers", (0..4).map(|_| long_quote(&mut dice)));
    let aside = (0..4).map(|_| long_quote(&mut dice)).collect::<Vec<_>>();
    let with_aside = transcript.with_aside("Aside", aside);
    let estimate = TokenEstimate::default();
    let whole = estimate.tokens(prompt(&transcript).weight(&Cut::default()));
    let cut_to = |budget| {
        let prompt = prompt(&with_aside);
        fit(&with_aside, Cut::default(), budget, |cut| estimate.tokens(prompt.weight(cut))).unwrap()
    };
    let cut = cut_to(whole * 3 / 2);
    assert_eq!(cut.lasting(), Cut::default(), "what later prompts read is whole");
    assert!(cut.aside_chars.is_some_and(|chars| chars >= SPEECH_CHARS_MIN), "{cut:?}");
    let cut = cut_to(whole * 2 / 3);
    assert_eq!(cut.dropped, 0, "{cut:?}: a round is shortened before it is dropped");
    assert!(cut.chars > 0 && cut.until == 4, "{cut:?}");
}

fn long_quote(dice: &mut Dice) -> Quote {
    Quote { text: "A sentence of it. ".repeat(60), ..dice.quote("ada".into()) }
}

#[test]
fn plans_become_shorter_together_and_none_is_left_out() {
    let mut dice = Dice(fastrand::Rng::with_seed(5));
    let mut plans = Transcript::default().keeping_all();
    plans.add_round("The plans:", (0..5).map(|_| long_quote(&mut dice)));
    let (prompt, estimate) = (prompt(&plans), TokenEstimate::default());
    let tokens = |cut: &Cut| estimate.tokens(prompt.weight(cut));
    let cut = fit(&plans, Cut::default(), tokens(&Cut::default()) / 2, tokens).unwrap();
    assert_eq!((cut.dropped, cut.until), (0, 5));
    assert_eq!(fit(&plans, Cut::default(), 100, tokens), None);
}

#[test]
fn later_prompts_keep_the_cut_and_begin_alike() {
    let estimate = TokenEstimate::default();
    let mut dice = Dice(fastrand::Rng::with_seed(7));
    let mut transcript = Transcript::default();
    let (mut cut, mut cuts) = (Cut::default(), 0);
    let mut last = String::new();
    for turn in 0..60 {
        if turn % 3 == 0 {
            transcript.open_round("");
        }
        let text = dice.words(80);
        transcript.add(Quote { name: "a".into(), text, mark: "bcdfgh".into() });
        let prompt = prompt(&transcript).with_mark("cccccc");
        let tokens = |cut: &Cut| estimate.tokens(prompt.weight(cut));
        let next = fit(&transcript, cut, 2_000, tokens).unwrap();
        let text = prompt.ask(&next).messages[1].text.clone();
        let said = text.rsplit_once("\n\nAnswer now.").unwrap().0.to_string();
        match next == cut {
            true => assert!(said.starts_with(&last), "turn {turn}"),
            false => {
                assert!(tokens(&next) <= 1_400, "one cut makes room for more");
                cuts += 1;
            }
        }
        (cut, last) = (next, said);
    }
    assert!((2..12).contains(&cuts), "{cuts} cuts in 60 turns");
}

#[test]
fn speeches_are_shortened_at_sentence_ends_outside_code() {
    #[track_caller]
    fn check(text: &str, chars: usize, want: Option<(&str, usize)>) {
        let got = shorten(text, chars);
        assert_eq!(got.as_ref().map(|it| (it.text, it.words_left_out)), want);
    }
    check("One. Two three. Four", 100, None);
    check("One. Two three. Four", 17, Some(("One. Two three.", 1)));
    check("One. Two three. Four", 8, Some(("One.", 3)));
    check("One two three four", 9, Some(("One two", 2)));
    check("Onetwothree", 4, Some(("", 1)));
    check("Look:\n```\na. b. c.\n```\nSo. It is.", 20, Some(("Look:", 6)));
    check("Look:\n```\na. b.\n```\nSo. It is.", 24, Some(("Look:\n```\na. b.\n```\nSo.", 2)));
    check("第一句。第二句。第三句。", 9, Some(("第一句。第二句。", 3)));
    check("anything", 0, Some(("", 1)));
    // A block ends where its own fence does.
    let nested = "So.\n````md\n```\na. b.\n```\nc.\n````\nEnd. Of it.";
    check(nested, 30, Some(("So.", 7)));
    check(nested, 37, Some(("So.\n````md\n```\na. b.\n```\nc.\n````\nEnd.", 2)));
    check("So.\n~~~\na. b.\n```\n~~~\nEnd. Of.", 17, Some(("So.", 4)));
    check("```cargo test``` is enough. So. It", 32, Some(("```cargo test``` is enough. So.", 1)));
}

#[test]
fn words_are_counted_in_any_script() {
    for (text, words) in
        [("", 0), ("two words", 2), ("it's well-known — yes", 3), ("三人团队", 4), ("a 三 b", 3)]
    {
        assert_eq!(count_words(text), words, "{text}");
    }
}
