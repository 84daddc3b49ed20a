//! How many tokens a text takes. Nobody's tokenizer is at hand, so this guesses on the safe side and
//! learns from what each model reports.

use std::collections::VecDeque;

/// Reports that count; older ones are forgotten.
const REPORTS_MAX: usize = 8;
/// The next text may be denser than those reported.
const MARGIN: f64 = 1.05;
/// A report below this share of the guess counts only a part of the prompt, as servers do that
/// leave out what they had cached.
const SHARE_MIN: f64 = 0.55;
/// A report above this has more in it than the prompt.
const SHARE_MAX: f64 = 4.0;
/// Tokens that a server adds around the messages of a request.
const AROUND: f64 = 24.0;

/// The guess for one model.
#[derive(Debug, Clone, Default)]
pub struct TokenEstimate {
    /// Tokens reported for each one guessed.
    shares: VecDeque<f64>,
}

impl TokenEstimate {
    /// Tokens that a request with `weight` takes.
    pub fn tokens(&self, weight: f64) -> u64 {
        let share = self.shares.iter().copied().reduce(f64::max);
        ((weight + AROUND) * share.map_or(1.0, |share| share * MARGIN)).ceil() as u64
    }

    /// Learns that a request with `weight` took so many tokens.
    pub fn learn(&mut self, weight: f64, tokens: u64) {
        let share = tokens as f64 / (weight + AROUND);
        if !(SHARE_MIN..=SHARE_MAX).contains(&share) {
            return;
        }
        self.shares.push_back(share);
        if self.shares.len() > REPORTS_MAX {
            self.shares.pop_front();
        }
    }
}

/// The tokens of `text` as a cautious guess: English prose has about a fifth less.
pub fn weight(text: &str) -> f64 {
    // In hundredths, so that the loop adds whole numbers.
    let hundredths: u64 = text.chars().map(weight_of_char).sum();
    hundredths as f64 / 100.0
}

fn weight_of_char(c: char) -> u64 {
    match c {
        'a'..='z' => 30,
        ' ' => 12,
        'A'..='Z' => 45,
        '0'..='9' => 70,
        '\u{0}'..='\u{7f}' => 70,
        '\u{80}'..='\u{24f}' => 80,
        '\u{250}'..='\u{2fff}' => 110,
        '\u{3000}'..='\u{ffff}' => 140,
        _ => 300,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_is_on_the_safe_side_of_real_tokenizers() {
        // Tokens as counted by the tokenizers of SmolLM2 (first) and GPT-4o (second).
        for (text, counted) in [
            ("Should a team of three start with a monolith?", [10, 10]),
            ("fn main() { println!(\"{}\", 1 + 2); }\n", [17, 14]),
            ("Ein Monolith ist am Anfang einfacher zu betreiben.", [15, 11]),
            ("三人团队应该从单体开始吗？", [20, 11]),
        ] {
            let guess = weight(text);
            assert!(counted.iter().all(|it| guess >= f64::from(*it) * 0.9), "{guess} for {text}");
        }
    }

    #[test]
    fn it_learns_from_reports_and_stays_cautious() {
        let mut estimate = TokenEstimate::default();
        assert_eq!(estimate.tokens(976.0), 1000);
        estimate.learn(976.0, 800);
        assert!((840..=841).contains(&estimate.tokens(976.0)));
        estimate.learn(976.0, 700);
        assert!((840..=841).contains(&estimate.tokens(976.0)), "the densest of the last counts");
        estimate.learn(976.0, 2);
        estimate.learn(976.0, 900_000);
        assert!((840..=841).contains(&estimate.tokens(976.0)), "no lesson: not the whole prompt");
        (0..REPORTS_MAX).for_each(|_| estimate.learn(976.0, 1_200));
        assert!((1_260..=1_261).contains(&estimate.tokens(976.0)));
    }
}
