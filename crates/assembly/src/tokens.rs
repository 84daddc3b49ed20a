//! How many tokens a text takes. Nobody's tokenizer is at hand, so this guesses on the safe side and
//! learns from what each model reports.

use std::collections::VecDeque;

/// Reports that count; older ones are forgotten.
const REPORTS_MAX: usize = 8;
/// The first text may be denser than those that the weights were fitted to.
const MARGIN_UNKNOWN: f64 = 1.1;
/// The next text may be denser than those reported.
const MARGIN_LEARNED: f64 = 1.05;
/// A report below this share of the guess counts only a part of the prompt, as servers do that
/// leave out what they had cached.
const SHARE_MIN: f64 = 0.4;
/// What a report has beyond this share of the guess stands beside the prompt: instructions of a
/// program, or tools. It is the same in every call.
const SHARE_MAX: f64 = 2.0;
/// Tokens that a server adds around the messages of a request.
const AROUND: f64 = 24.0;

/// The guess for one model.
#[derive(Debug, Clone, Default)]
pub struct TokenEstimate {
    reports: VecDeque<Report>,
}

#[derive(Debug, Clone, Copy)]
struct Report {
    /// Tokens for each one guessed.
    share: f64,
    /// Tokens that stand beside every prompt.
    beside: f64,
}

impl TokenEstimate {
    /// Returns the tokens that a request with `weight` takes.
    pub fn tokens(&self, weight: f64) -> u64 {
        let share = self.reports.iter().map(|it| it.share).reduce(f64::max);
        let share = share.map_or(MARGIN_UNKNOWN, |share| share * MARGIN_LEARNED);
        let beside = self.reports.iter().map(|it| it.beside).fold(0.0, f64::max);
        ((weight + AROUND) * share + beside).ceil() as u64
    }

    /// Learns that a request with `weight` took so many tokens. What stands beside the prompt may
    /// take `beside_max` of them: a report with more counts several calls.
    pub fn learn(&mut self, weight: f64, tokens: u64, beside_max: u64) {
        let guess = weight + AROUND;
        let share = (tokens as f64 / guess).min(SHARE_MAX);
        let beside = tokens as f64 - guess * share;
        if share < SHARE_MIN || beside > beside_max as f64 {
            return;
        }
        self.reports.push_back(Report { share, beside });
        if self.reports.len() > REPORTS_MAX {
            self.reports.pop_front();
        }
    }
}

/// Returns the tokens of `text` as a cautious guess: at least as many as the coarsest of the usual
/// tokenizers makes of it, but for a tenth. English prose has about a third less.
pub fn weight(text: &str) -> f64 {
    let mut weighed = Weighing::default();
    text.chars().for_each(|c| weighed.add(c));
    weighed.tokens()
}

/// A weight that grows character by character.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weighing {
    // In hundredths, so that the loop adds whole numbers.
    hundredths: u64,
    last: Option<char>,
}

/// A word that changes its kind in the middle, as in `x86` or `fooBar`, is cut there.
const CHANGE: u64 = 45;
/// A sign that repeats the one before it: rulers, indents, blank lines.
const REPEATED: u64 = 10;

impl Weighing {
    /// Adds one more character.
    pub fn add(&mut self, c: char) {
        let is_repeated = self.last == Some(c) && c.is_ascii() && !c.is_ascii_alphanumeric();
        self.hundredths += match is_repeated {
            true => REPEATED,
            false => weight_of_char(c) + self.weight_of_change(c),
        };
        self.last = Some(c);
    }

    /// Returns the tokens so far.
    pub fn tokens(&self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    fn weight_of_change(&self, c: char) -> u64 {
        let change = self.last.and_then(ascii_kind).zip(ascii_kind(c));
        // A capital begins a word.
        let is_cut = change.is_some_and(|(last, next)| last != next && (last, next) != (1, 0));
        if is_cut { CHANGE } else { 0 }
    }
}

fn ascii_kind(c: char) -> Option<u8> {
    match c {
        'a'..='z' => Some(0),
        'A'..='Z' => Some(1),
        '0'..='9' => Some(2),
        _ => None,
    }
}

fn weight_of_char(c: char) -> u64 {
    match c {
        'a'..='z' => 36,
        ' ' => 12,
        'A'..='Z' => 55,
        '0'..='9' => 100,
        '\u{0}'..='\u{7f}' => 90,
        // Letters with accents; Greek and Cyrillic; Hebrew and Arabic; India to Georgia.
        '\u{80}'..='\u{2ff}' => 170,
        '\u{300}'..='\u{4ff}' => 120,
        '\u{500}'..='\u{8ff}' => 140,
        '\u{900}'..='\u{1dff}' => 210,
        '\u{1e00}'..='\u{1fff}' => 250,
        '\u{2000}'..='\u{2fff}' => 160,
        '\u{ac00}'..='\u{d7a3}' => 270,
        '\u{3000}'..='\u{ffff}' => 190,
        _ => 320,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_is_on_the_safe_side_of_real_tokenizers() {
        // Tokens as counted by the tokenizers of SmolLM2, of GPT-4 and of Claude 2.
        for (text, counted) in [
            ("Should a team of three start with a monolith? It is easier to run.", [15, 15, 15]),
            ("Sollte ein Team von drei Personen mit einem Monolithen anfangen?", [24, 17, 20]),
            ("Czy trzyosobowy zespół powinien zacząć od monolitu?", [26, 22, 25]),
            ("Một nhóm ba người có nên bắt đầu với một khối duy nhất không?", [52, 27, 45]),
            ("三人团队应该从单体开始吗？", [26, 14, 13]),
            ("三人のチームはモノリスから始めるべきですか？", [39, 23, 24]),
            ("세 명으로 된 팀은 모놀리스로 시작해야 하나요?", [56, 23, 24]),
            ("ทีมสามคนควรเริ่มต้นด้วยระบบเดี่ยวหรือไม่", [75, 37, 75]),
            ("மூன்று பேர் கொண்ட குழு ஒற்றை அமைப்புடன்", [67, 54, 73]),
            ("{\"id\":\"3f2b8c1e-9a4d-4e0b\",\"v\":[1,2,3.14159],\"ok\":true}", [42, 37, 37]),
            ("fn main() { println!(\"{}\", 1 + 2); }\n", [17, 13, 15]),
            ("[bcdfgh Ada (x)]\nYes.\n[/bcdfgh]", [18, 15, 17]),
            ("7KoX0p2mQvR9tYbLs4uWdE1zNcHf8gJa", [31, 31, 27]),
        ] {
            let guess = TokenEstimate::default().tokens(weight(text)) as f64 - AROUND;
            assert!(counted.iter().all(|it| guess >= f64::from(*it) * 0.95), "{guess} for {text}");
        }
    }

    #[test]
    fn a_weight_does_not_depend_on_how_a_text_is_cut() {
        let text = "Two words,   x86 and fooBar: 三人.\n\n\n----";
        for (at, _) in text.char_indices() {
            let mut weighed = Weighing::default();
            text[..at].chars().chain(text[at..].chars()).for_each(|c| weighed.add(c));
            assert_eq!(weighed.tokens(), weight(text));
        }
        assert!(weight("        ") < 2.0 * weight(" ") + 1.0, "indents are cheap");
    }

    #[test]
    fn it_learns_from_reports_and_stays_cautious() {
        // Without what rounding adds.
        let all = |estimate: &TokenEstimate| estimate.tokens(976.0) / 10 * 10;
        let mut estimate = TokenEstimate::default();
        assert_eq!(all(&estimate), 1_100);
        estimate.learn(976.0, 800, 0);
        assert_eq!(all(&estimate), 840);
        estimate.learn(976.0, 700, 0);
        assert_eq!(all(&estimate), 840, "the densest of the last counts");
        estimate.learn(976.0, 2, 0);
        estimate.learn(976.0, 900_000, 5_000);
        assert_eq!(all(&estimate), 840, "no lesson: not this one prompt");
        (0..REPORTS_MAX).for_each(|_| estimate.learn(976.0, 1_200, 0));
        assert_eq!(all(&estimate), 1_260);
    }

    #[test]
    fn what_stands_beside_a_prompt_is_no_factor() {
        let mut estimate = TokenEstimate::default();
        // A program has 15,000 tokens of its own around a prompt of 100.
        estimate.learn(76.0, 15_100, 50_000);
        let of_long = estimate.tokens(9_976.0);
        assert!((20_000..40_000).contains(&of_long), "{of_long}");
    }
}
