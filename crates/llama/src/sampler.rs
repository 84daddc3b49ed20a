//! Which token comes next: llama.cpp's own chain of samplers, and a grammar where one holds the
//! answer to its form.

use crate::request::Sampling;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llama_cpp_2::token::logit_bias::LlamaLogitBias;

/// How freely the model speaks where nobody says otherwise: llama.cpp's own habits.
const TEMPERATURE_DEFAULT: f32 = 0.8;
const TOP_P_DEFAULT: f32 = 0.95;
const TOP_K_DEFAULT: i32 = 40;
const MIN_P_DEFAULT: f32 = 0.05;
/// Tokens that penalties look back on.
const PENALTY_TOKENS: i32 = 64;

/// Chooses tokens, one after another.
pub struct TokenSampler {
    chain: LlamaSampler,
    grammar: Option<LlamaSampler>,
}

impl TokenSampler {
    pub fn new(model: &LlamaModel, wanted: &Sampling, grammar: Option<LlamaSampler>) -> Self {
        TokenSampler { chain: build_chain(model, wanted), grammar }
    }

    /// Chooses the token after the last one that was decoded; none: the grammar allows nothing. It
    /// holds the answer, not the thoughts before it.
    pub fn choose(&mut self, context: &LlamaContext<'_>, thinks: bool) -> Option<LlamaToken> {
        let Some(grammar) = self.grammar.as_mut().filter(|_| !thinks) else {
            return Some(self.chain.sample(context, -1));
        };
        // Most tokens fit: asking the grammar about one of them is far cheaper than about all.
        let mut candidates = context.token_data_array_ith(-1);
        self.chain.apply(&mut candidates);
        let mut token = candidates.selected_token()?;
        let mut single =
            LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
        grammar.apply(&mut single);
        if single.data.first().is_none_or(|it| it.logit() == f32::NEG_INFINITY) {
            candidates = context.token_data_array_ith(-1);
            grammar.apply(&mut candidates);
            candidates.data.retain(|it| it.logit() != f32::NEG_INFINITY);
            if candidates.data.is_empty() {
                return None;
            }
            self.chain.apply(&mut candidates);
            token = candidates.selected_token()?;
        }
        grammar.try_accept(token).ok()?;
        self.chain.accept(token);
        Some(token)
    }
}

fn build_chain(model: &LlamaModel, wanted: &Sampling) -> LlamaSampler {
    let tokens = model.n_vocab();
    let mut samplers = Vec::new();
    let biases: Vec<_> = wanted
        .logit_bias
        .iter()
        .map(|(token, bias)| LlamaLogitBias::new(LlamaToken(*token), *bias))
        .collect();
    if !biases.is_empty() {
        samplers.push(LlamaSampler::logit_bias(tokens, &biases));
    }
    let (repeat, frequency, presence) =
        (wanted.repeat_penalty.unwrap_or(1.0), wanted.frequency_penalty, wanted.presence_penalty);
    if repeat != 1.0 || frequency != 0.0 || presence != 0.0 {
        samplers.push(LlamaSampler::penalties(tokens, PENALTY_TOKENS, repeat, frequency, presence));
    }
    let temperature = wanted.temperature.unwrap_or(TEMPERATURE_DEFAULT);
    if temperature == 0.0 {
        samplers.push(LlamaSampler::greedy());
        return LlamaSampler::chain_simple(samplers);
    }
    samplers.extend([
        LlamaSampler::top_k(wanted.top_k.unwrap_or(TOP_K_DEFAULT)),
        LlamaSampler::top_p(wanted.top_p.unwrap_or(TOP_P_DEFAULT), 1),
        LlamaSampler::min_p(wanted.min_p.unwrap_or(MIN_P_DEFAULT), 1),
        LlamaSampler::temp(temperature),
        LlamaSampler::dist(wanted.seed.unwrap_or_else(|| fastrand::u32(..))),
    ]);
    LlamaSampler::chain_simple(samplers)
}
