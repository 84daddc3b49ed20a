//! The answer of a discussion, word by word: its synthesis as it is written, then what belongs
//! behind it. All words together are the answer that a client gets which does not stream, but for a
//! synthesis that was cut off: words beyond the cut may have gone out before it was made.
//!
//! Words that were sent cannot be taken back. Where a model breaks off in the middle of its synthesis
//! and the next one writes it anew, both could only be avoided by holding every word until the end,
//! which is no stream at all. So the answer says that it begins again, and only then goes on.

use crate::service::discuss::Conclusion;
use althing_assembly::event::{Speech, What};
use althing_assembly::{Event, Method};

/// Between words that came to nothing and the synthesis that stands.
const ANEW: &str = "\n\n(The synthesis broke off here and is written anew.)\n\n";

/// A synthesis under way.
pub(super) struct Draft {
    method: &'static Method,
    /// Whether words go out before the synthesis is whole.
    streams: bool,
    /// The turn that writes it.
    turn: Option<u32>,
    /// What it has said.
    text: String,
    /// What went out of it.
    sent: String,
    /// Whether words of an earlier turn went out.
    is_anew: bool,
}

impl Draft {
    pub(super) fn new(method: &'static Method, streams: bool) -> Draft {
        let (text, sent) = (String::new(), String::new());
        Draft { method, streams, turn: None, text, sent, is_anew: false }
    }

    /// The words to send after `event`.
    pub(super) fn see(&mut self, event: &Event) -> Option<String> {
        match &event.what {
            What::TurnStarted(turn) if turn.speech == Speech::Synthesis => {
                self.begin(turn.turn);
                None
            }
            What::TurnDelta { turn, text, reasoning: false } if Some(*turn) == self.turn => {
                self.text.push_str(text);
                self.grow()
            }
            _ => Some(self.end(Conclusion::of(event)?)),
        }
    }

    fn begin(&mut self, turn: u32) {
        self.turn = self.streams.then_some(turn);
        self.text.clear();
        self.is_anew |= !std::mem::take(&mut self.sent).is_empty();
    }

    fn grow(&mut self) -> Option<String> {
        let shown = self.method.so_far(&self.text);
        let new = rest(&shown, &self.sent).filter(|new| !new.is_empty())?.to_string();
        self.sent = shown;
        Some(self.marked(new))
    }

    fn end(&mut self, conclusion: Conclusion) -> String {
        let Conclusion { text, more, is_cut } = conclusion;
        let is_beyond = || is_cut && rest(&self.sent, &text).is_some();
        match rest(&text, &self.sent) {
            Some(new) => self.marked(format!("{new}{more}")),
            None if is_beyond() => more,
            None => format!("{ANEW}{text}{more}"),
        }
    }

    fn marked(&mut self, text: String) -> String {
        if std::mem::take(&mut self.is_anew) { format!("{ANEW}{text}") } else { text }
    }
}

/// What is left of `whole` behind `sent`. The marks of a bold label may stay at the front of the one
/// and not of the other; none where the two differ in more.
fn rest<'a>(whole: &'a str, sent: &str) -> Option<&'a str> {
    if sent.is_empty() {
        return Some(whole);
    }
    let bare = |text: &'a str| text.trim_start_matches(['*', '_', ' ']);
    bare(whole).strip_prefix(sent.trim_start_matches(['*', '_', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_assembly::event::{CutOff, Failure, Outcome, Parts, Said, Synthesis, Turn};
    use althing_assembly::methods;
    use althing_chat::Stop;
    use althing_stdx::{Fault, Kind};
    use expect_test::{Expect, expect};

    fn turn(number: u32) -> Turn {
        Turn {
            turn: number,
            phase: 5,
            seat: 0,
            nth: 0,
            model: "a:m".into(),
            name: "Ada".into(),
            speech: Speech::Synthesis,
            role: None,
            round: None,
            parallel: false,
        }
    }

    fn said(synthesis: &str, cut: Option<CutOff>) -> Outcome {
        let parts = Parts::Synthesis(Box::new(Synthesis {
            consensus: Some("YES".into()),
            agreed: "Tea.".into(),
            synthesis: synthesis.into(),
            differences: String::new(),
            more: vec![],
            confidences: vec![],
            unstated: vec![],
            messages: 1,
            debated: false,
        }));
        let (tool_calls, stop) = (vec![], Stop::End);
        let text = "as it was".into();
        Outcome::Said(Box::new(Said {
            text,
            parts,
            stop,
            cut,
            mark: String::new(),
            tool_calls,
            usage: None,
            cost_usd: None,
            took_ms: 1,
        }))
    }

    fn failed() -> Outcome {
        Outcome::Failed(Failure::from(&Fault::new(Kind::Network, "gone")))
    }

    /// What goes out of these turns of words, of which all but the last one fail. Words in brackets
    /// are only thought.
    #[track_caller]
    fn check(streams: bool, turns: &[&[&str]], want: Expect) {
        check_end(streams, turns, said("Drink tea, all of you.", None), want);
    }

    /// As `check`, with the end of the last turn.
    #[track_caller]
    fn check_end(streams: bool, turns: &[&[&str]], end: Outcome, want: Expect) {
        let mut draft = Draft::new(methods::method("standard").unwrap(), streams);
        let mut see = |what| draft.see(&Event { seq: 0, run: "r".into(), at_ms: 0, what });
        let mut sent = vec![];
        for (number, words) in (1..).zip(turns) {
            sent.extend(see(What::TurnStarted(turn(number))));
            for text in *words {
                let reasoning = text.starts_with('[');
                let what = What::TurnDelta { turn: number, text: text.to_string(), reasoning };
                sent.extend(see(what));
            }
            let outcome = if number as usize == turns.len() { end.clone() } else { failed() };
            sent.extend(see(What::TurnEnded { by: turn(number), outcome }));
        }
        want.assert_eq(&sent.iter().map(|text| format!("{text:?}\n")).collect::<String>());
    }

    const WORDS: &[&str] =
        &["[SYNTHESIS: I think so]", "CONSENSUS: YES\n**SYNTHESIS:** Drink tea for", " ever"];
    const WHOLE: &[&str] = &[
        "[SYNTHESIS: I think so]",
        "CONSENSUS: YES\nAGREED: Tea.\n**SYNTHESIS:** Drink tea",
        ", all",
        " of you.\nDIFF",
        "ERENCES: None",
    ];

    #[test]
    fn words_go_out_as_they_come_and_once() {
        check(
            true,
            &[WHOLE],
            expect![[r#"
            "Drink tea"
            ", all"
            " of you."
            "\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
    }

    #[test]
    fn who_does_not_stream_gets_the_whole() {
        check(
            false,
            &[WORDS, WHOLE],
            expect![[r#"
            "Drink tea, all of you.\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
    }

    #[test]
    fn what_has_no_form_comes_at_its_end() {
        check(
            true,
            &[&["Drink tea, all of you, said nobody"]],
            expect![[r#"
            "Drink tea, all of you.\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
    }

    #[test]
    fn words_of_one_who_broke_off_are_told_from_the_next_ones() {
        check(
            true,
            &[WORDS, &["CONSENSUS: YES"], WHOLE],
            expect![[r#"
            "Drink tea for"
            " ever"
            "\n\n(The synthesis broke off here and is written anew.)\n\nDrink tea"
            ", all"
            " of you."
            "\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
        check(
            true,
            &[&["CONSENSUS: YES"], WHOLE],
            expect![[r#"
            "Drink tea"
            ", all"
            " of you."
            "\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
    }

    #[test]
    fn a_synthesis_that_was_cut_off_is_sent_once_and_says_so() {
        // The words beyond the cut had gone out before it was made.
        let cut = |text| said(text, Some(CutOff::Looping));
        check_end(
            true,
            &[&["CONSENSUS: YES\nSYNTHESIS: Drink tea", ", tea, tea, tea, tea"]],
            cut("Drink tea, tea"),
            expect![[r#"
                "Drink tea"
                ", tea, tea, tea, tea"
                "\n\nAgreed: Tea.\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)"
            "#]],
        );
        // It broke off once before.
        check_end(
            true,
            &[WORDS, WORDS],
            cut("Drink tea"),
            expect![[r#"
            "Drink tea for"
            " ever"
            "\n\n(The synthesis broke off here and is written anew.)\n\nDrink tea for"
            " ever"
            "\n\nAgreed: Tea.\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)"
        "#]],
        );
        // The cut came behind what had gone out.
        check_end(
            true,
            &[WORDS],
            cut("Drink tea for ever and ever"),
            expect![[r#"
            "Drink tea for"
            " ever"
            " and ever\n\nAgreed: Tea.\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)"
        "#]],
        );
        check_end(
            false,
            &[WORDS],
            cut("Drink tea"),
            expect![[r#"
            "Drink tea\n\nAgreed: Tea.\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)"
        "#]],
        );
        // It is another one nevertheless.
        check_end(
            true,
            &[WORDS],
            cut("Coffee"),
            expect![[r#"
            "Drink tea for"
            " ever"
            "\n\n(The synthesis broke off here and is written anew.)\n\nCoffee\n\nAgreed: Tea.\n\nConsensus: YES\n\n(The synthesis is cut off: it repeated itself.)"
        "#]],
        );
    }

    #[test]
    fn a_synthesis_that_became_another_is_sent_whole() {
        check(
            true,
            &[WORDS],
            expect![[r#"
            "Drink tea for"
            " ever"
            "\n\n(The synthesis broke off here and is written anew.)\n\nDrink tea, all of you.\n\nAgreed: Tea.\n\nConsensus: YES"
        "#]],
        );
    }
}
