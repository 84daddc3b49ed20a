//! Texts as vectors, in a context of their own: it is made when the first text comes.

use crate::args::Pooling;
use crate::pulse::Phase;
use crate::refusal::Refusal;
use crate::tokenizer::Tokenizer;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use std::num::NonZeroU32;

/// A text must be read at once; a longer one is refused. Memory grows with it.
const TEXT_TOKENS_MAX: u32 = 2_048;

/// The vectors of some texts, and how many tokens those had.
#[derive(Debug, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub tokens: usize,
}

/// Makes vectors; without a kind of pooling it only says why it cannot.
pub struct Embedder<'m> {
    backend: &'m LlamaBackend,
    model: &'m LlamaModel,
    pooling: Option<LlamaPoolingType>,
    threads: i32,
    tokens_max: u32,
    tokenizer: Tokenizer<'m>,
    context: Option<LlamaContext<'m>>,
}

impl<'m> Embedder<'m> {
    /// The model's file names the pooling it was trained for; `chosen` goes before it.
    pub fn new(
        backend: &'m LlamaBackend,
        model: &'m LlamaModel,
        chosen: Option<Pooling>,
        threads: i32,
        context_tokens: u32,
        tokenizer: Tokenizer<'m>,
    ) -> Embedder<'m> {
        let pooling = match chosen {
            Some(Pooling::Mean) => Some(LlamaPoolingType::Mean),
            Some(Pooling::Cls) => Some(LlamaPoolingType::Cls),
            Some(Pooling::Last) => Some(LlamaPoolingType::Last),
            None => read_pooling(model),
        };
        let tokens_max = context_tokens.min(TEXT_TOKENS_MAX);
        Embedder { backend, model, pooling, threads, tokens_max, tokenizer, context: None }
    }

    /// Makes a vector of length one of every text. `goes_on` is asked between two texts.
    pub fn embed(
        &mut self,
        texts: &[String],
        goes_on: impl Fn() -> bool,
    ) -> Result<Option<Embedded>, Refusal> {
        let Some(pooling) = self.pooling else {
            return Err(Refusal::invalid(
                "input: this model has no embeddings, its file names no pooling; use a model made \
                 for them, or start the runner with --pooling",
            ));
        };
        let mut embedded = Embedded { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
        for text in texts {
            if !goes_on() {
                return Ok(None);
            }
            let (vector, tokens) = self.embed_one(pooling, text)?;
            embedded.vectors.push(vector);
            embedded.tokens += tokens;
        }
        Ok(Some(embedded))
    }

    fn embed_one(
        &mut self,
        pooling: LlamaPoolingType,
        text: &str,
    ) -> Result<(Vec<f32>, usize), Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal::failed(format!("llama.cpp: {error}"));
        let most = self.tokens_max as usize;
        let tokens = self.tokenizer.tokenize(text, "a text of input", most)?;
        if tokens.is_empty() {
            return Err(Refusal::invalid("input: nothing in it that the model can read"));
        }
        if tokens.len() > most {
            return Err(Refusal::too_long("a text of input", tokens.len(), most));
        }
        // Reading a text may take longer than thinking may.
        self.tokenizer.pulse.beat(Phase::Decoding);
        let context = self.open(pooling)?;
        context.clear_kv_cache();
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        batch.add_sequence(&tokens, 0, true).map_err(|error| failed(&error))?;
        context.decode(&mut batch).map_err(|error| failed(&error))?;
        let vector = context.embeddings_seq_ith(0).map_err(|error| failed(&error))?;
        Ok((normalise(vector), tokens.len()))
    }

    fn open(&mut self, pooling: LlamaPoolingType) -> Result<&mut LlamaContext<'m>, Refusal> {
        if self.context.is_none() {
            let params = LlamaContextParams::default()
                .with_n_ctx(NonZeroU32::new(self.tokens_max))
                .with_n_batch(self.tokens_max)
                .with_n_ubatch(self.tokens_max)
                .with_n_threads(self.threads)
                .with_n_threads_batch(self.threads)
                .with_pooling_type(pooling)
                .with_embeddings(true);
            let made = self.model.new_context(self.backend, params);
            let made = made
                .map_err(|error| Refusal::failed(format!("no memory for embeddings: {error}")))?;
            self.context = Some(made);
        }
        self.context.as_mut().ok_or_else(|| Refusal::failed("no context for embeddings"))
    }
}

/// Reads what the file says: its numbers are llama.cpp's own.
fn read_pooling(model: &LlamaModel) -> Option<LlamaPoolingType> {
    let architecture = model.meta_val_str("general.architecture").ok()?;
    match model.meta_val_str(&format!("{architecture}.pooling_type")).ok()?.as_str() {
        "1" => Some(LlamaPoolingType::Mean),
        "2" => Some(LlamaPoolingType::Cls),
        "3" => Some(LlamaPoolingType::Last),
        _ => None,
    }
}

/// Scales a vector to length one, as OpenAI's are.
fn normalise(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|it| (f64::from(*it) * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn vectors_have_length_one() {
        assert_eq!(super::normalise(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(super::normalise(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
