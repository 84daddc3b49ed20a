//! From text to tokens. A text far beyond the context is found out before all of it is read.

use crate::pulse::{Phase, Pulse};
use crate::refusal::Refusal;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use std::sync::Arc;

/// Bytes that are counted at once, where a text may be too long.
const PIECE_BYTES: usize = 16 << 10;

/// Cuts texts into tokens.
pub struct Tokenizer<'m> {
    model: &'m LlamaModel,
    pub pulse: Arc<Pulse>,
}

impl<'m> Tokenizer<'m> {
    pub fn new(model: &'m LlamaModel, pulse: Arc<Pulse>) -> Tokenizer<'m> {
        Tokenizer { model, pulse }
    }

    /// Cuts a text into tokens; refuses one that must have more than `most`. A template may write
    /// the marker of the beginning itself; the vocabulary must not add it again.
    pub fn tokenize(
        &self,
        text: &str,
        what: &str,
        most: usize,
    ) -> Result<Vec<LlamaToken>, Refusal> {
        let vocab = self.model.vocab();
        let count = |piece: &str| {
            self.pulse.beat(Phase::Thinking);
            vocab.tokenize(piece.as_bytes(), false, true).len()
        };
        if let Some(tokens) = estimate_excess(text, most, count) {
            return Err(Refusal::too_long(what, tokens, most));
        }
        let mut tokens = vocab.tokenize(text.as_bytes(), true, true);
        let begin = vocab.bos();
        if vocab.should_add_bos() && tokens.starts_with(&[begin, begin]) {
            tokens.remove(0);
        }
        Ok(tokens)
    }
}

/// Counts the tokens of a long text piece by piece until there are clearly too many; then returns
/// how many it has in all, about.
fn estimate_excess(text: &str, most: usize, count: impl Fn(&str) -> usize) -> Option<usize> {
    if text.len() <= PIECE_BYTES {
        return None;
    }
    let (mut read, mut tokens) = (0, 0);
    // A cut through a word makes a few tokens more of it: the limit is well beyond that.
    let clearly = most + most / 8 + 64;
    while read < text.len() {
        let end = text.floor_char_boundary(read + PIECE_BYTES);
        tokens += count(&text[read..end]);
        read = end;
        if tokens > clearly {
            return Some((tokens as f64 * (text.len() as f64 / read as f64)) as usize);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_text_far_too_long_is_not_read_to_its_end() {
        let read = Cell::new(0);
        let count = |piece: &str| {
            read.set(read.get() + piece.len());
            piece.len() / 4
        };
        let text = "é".repeat(8 << 20);
        let tokens = estimate_excess(&text, 8_192, count);
        assert_eq!(tokens, Some(4 << 20));
        assert!(read.get() < 64 << 10, "{}", read.get());
        assert_eq!(estimate_excess(&text[..20_000], 8_192, count), None);
    }
}
