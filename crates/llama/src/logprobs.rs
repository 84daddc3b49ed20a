//! Log-probabilities: how likely the chosen token was, and which others were likely.

use serde_json::{Value, json};

/// A token that was said, with what else might have been.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    pub chosen: RankedToken,
    pub top: Vec<RankedToken>,
}

/// A token with its probability.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedToken {
    pub bytes: Vec<u8>,
    pub logprob: f32,
}

impl TokenLogprob {
    /// Returns the entry of OpenAI's `logprobs.content`.
    pub fn to_json(&self) -> Value {
        let mut entry = self.chosen.to_json();
        entry["top_logprobs"] = self.top.iter().map(RankedToken::to_json).collect();
        entry
    }
}

impl RankedToken {
    fn to_json(&self) -> Value {
        let token = String::from_utf8_lossy(&self.bytes);
        json!({ "token": token, "logprob": self.logprob, "bytes": self.bytes })
    }
}

/// Returns the log-probability of a token, and the most likely tokens with theirs.
pub fn rank(logits: &[f32], chosen: usize, top: usize) -> (f32, Vec<(usize, f32)>) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let scale = most + sum.ln() as f32;
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(top + 1);
    for (token, logit) in logits.iter().enumerate() {
        if best.len() == top && best.last().is_none_or(|(_, least)| logit <= least) {
            continue;
        }
        let at = best.partition_point(|(_, other)| other >= logit);
        best.insert(at, (token, *logit));
        best.truncate(top);
    }
    let best = best.into_iter().map(|(token, logit)| (token, logit - scale)).collect();
    (logits[chosen] - scale, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_and_are_sorted() {
        let logits = [1.0, 3.0, -2.0, 3.5, 0.0];
        let (chosen, top) = rank(&logits, 1, 3);
        let order: Vec<usize> = top.iter().map(|(token, _)| *token).collect();
        assert_eq!(order, [3, 1, 0]);
        assert_eq!(chosen.to_bits(), top[1].1.to_bits());
        let (_, all) = rank(&logits, 0, 5);
        let sum: f32 = all.iter().map(|(_, logprob)| logprob.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        assert_eq!(rank(&logits, 0, 0).1, []);
    }
}
