use super::*;
use crate::prompt::{Prompt, hear};
use crate::tokens::TokenEstimate;
use crate::transcript::Quote;

/// A deterministic source of numbers, so that a failure can be repeated.
struct Dice(fastrand::Rng);

impl Dice {
    fn words(&mut self, count: usize) -> String {
        let word = |dice: &mut Dice| match dice.0.u8(..40) {
            0 => "end.\n".to_string(),
            1 => "so?".to_string(),
            2 => "\n\n```rust\nlet x = 1. ;\nfn y() {}\n```\n".to_string(),
            3 => "三人团队。".to_string(),
            4 => "\n".to_string(),
            n => "word"[..1 + n as usize % 4].to_string() + if n % 6 == 0 { "." } else { "" },
        };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }

    fn transcript(&mut self) -> Transcript {
        let mut transcript = Transcript::default();
        let mut number = 0;
        for round in 0..self.0.usize(1..6) {
            transcript.open_round(format!("Round {round}"));
            for seat in 0..self.0.usize(1..5) {
                let count = self.0.usize(0..300);
                let (text, mark) =
                    (self.words(count), format!("{:b<6}", "cdfg".repeat(number % 2)));
                let mark = mark[..6].to_string();
                number += 1;
                transcript.add(Quote { name: format!("n{seat}"), text, mark });
            }
        }
        transcript
    }
}

fn prompt(transcript: &Transcript) -> Prompt {
    Prompt::new().rule("Rules.").question("Why?").transcript(transcript).text("Answer now.")
}

#[test]
fn prompts_are_never_over_budget_keep_their_order_and_leave_fences_whole() {
    let estimate = TokenEstimate::default();
    for seed in 0..80 {
        let mut dice = Dice(fastrand::Rng::with_seed(seed));
        let transcript = dice.transcript();
        let budget = dice.0.u64(60..4_000);
        let before = Cut::default();
        let prompt = prompt(&transcript);
        let tokens = |cut: &Cut| estimate.tokens(prompt.weight(cut));
        let Some(cut) = fit(&transcript, before, budget, tokens) else {
            let newest = Cut { dropped: transcript.len() - 1, until: transcript.len(), chars: 0 };
            assert!(tokens(&newest) > budget, "seed {seed}: only what cannot fit is refused");
            continue;
        };
        assert!(tokens(&cut) <= budget, "seed {seed}");
        if tokens(&before) <= budget {
            assert_eq!(cut, before, "seed {seed}: nothing is cut without need");
        }
        let heard = hear(&prompt.ask(&cut));
        let all: Vec<&Quote> = transcript.rounds().flat_map(|round| &round.quotes).collect();
        // What is dropped is a beginning: the newest speech never goes before an older one.
        assert_eq!(heard.quotes.len(), all.len() - cut.dropped, "seed {seed}");
        assert!(cut.dropped < all.len(), "seed {seed}: the newest speech is there");
        for ((name, text), quote) in heard.quotes.iter().zip(&all[cut.dropped..]) {
            assert_eq!(*name, quote.name, "seed {seed}: the order is kept");
            let kept = text.split("\n(").next().unwrap_or_default();
            let said = quote.text.lines().collect::<Vec<_>>().join("\n");
            assert!(said.starts_with(kept.trim_end()), "seed {seed}: {kept:?} of {said:?}");
            assert_eq!(text.matches("```").count() % 2, 0, "seed {seed}: a code block is whole");
        }
    }
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
}

#[test]
fn words_are_counted_in_any_script() {
    for (text, words) in
        [("", 0), ("two words", 2), ("it's well-known — yes", 3), ("三人团队", 4), ("a 三 b", 3)]
    {
        assert_eq!(count_words(text), words, "{text}");
    }
}
