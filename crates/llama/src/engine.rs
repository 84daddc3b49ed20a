//! The one thread that owns the model: it takes requests one after another and says what the model
//! says. It stops as soon as nobody listens.

mod speech;

use crate::embedder::{Embedded, Embedder};
use crate::grammar::check_converted;
use crate::job_line::{Awaited, JobLine};
use crate::logprobs::TokenLogprob;
use crate::pieces::Pieces;
use crate::prompt::{self, AnswerForm, Prompt};
use crate::prompt_cache::{PromptCache, count_common};
use crate::pulse::{Phase, Pulse};
use crate::refusal::Refusal;
use crate::reply::Usage;
use crate::request::{ChatRequest, EmbeddingRequest};
use crate::sampler::TokenSampler;
use crate::template::ChatTemplate;
use crate::thoughts::{self, ThoughtScanner};
use crate::tokenizer::Tokenizer;
use crate::tool_calls::{CallScanner, ToolCall};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::session::{LlamaStateSeqFlags, SeqState};
use llama_cpp_2::json_schema_to_grammar;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use speech::Answer;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Tokens of a prompt that are read at once. Between two batches a client that left is noticed.
pub const BATCH_TOKENS: usize = 512;
/// Pieces that wait for a slow client; the model never does. Who is this far behind is cut off.
pub const PIECES_MAX: usize = 1 << 16;
/// The one sequence of the context.
const SEQUENCE: i32 = 0;
/// The first rule of a grammar, and of one with something around it.
const ROOT: &str = "root";
const WRAPPED_ROOT: &str = "wrapped-call";

/// A request, and who hears the answer.
pub enum Job {
    Chat(Box<ChatRequest>, mpsc::Sender<Reply>),
    Embed(EmbeddingRequest, oneshot::Sender<Result<Embedded, Refusal>>),
}

impl Awaited for Job {
    fn is_awaited(&self) -> bool {
        match self {
            Job::Chat(_, replies) => !replies.is_closed(),
            Job::Embed(_, reply) => !reply.is_closed(),
        }
    }
}

/// What becomes of a request: refused at once, or begun, texts, ended. A failure may cut it off.
#[derive(Debug)]
pub enum Reply {
    Begun,
    Text(String, Vec<TokenLogprob>),
    /// What the model thinks before it answers.
    Thought(String),
    Calls(Vec<ToolCall>),
    Ended {
        finish: &'static str,
        usage: Usage,
    },
    Refused(Refusal),
}

/// Why a job ends early.
enum Broken {
    /// The client left, or does not read.
    Unheard,
    Refused(Refusal),
}

impl From<Refusal> for Broken {
    fn from(refusal: Refusal) -> Broken {
        Broken::Refused(refusal)
    }
}

/// The parts of an engine.
pub struct Engine<'m> {
    pub model: &'m LlamaModel,
    pub context: LlamaContext<'m>,
    /// None: the model only makes embeddings.
    pub template: Option<ChatTemplate>,
    pub embedder: Embedder<'m>,
    pub tokenizer: Tokenizer<'m>,
    pub pulse: Arc<Pulse>,
    /// The tokens that the context holds, in their places.
    pub held: Vec<LlamaToken>,
    pub cache: PromptCache<LlamaToken, SeqState>,
}

impl Engine<'_> {
    /// Answers until nobody can ask any more.
    pub fn run(mut self, jobs: &JobLine<Job>) {
        while let Some(job) = jobs.pop() {
            match job {
                Job::Chat(request, replies) => {
                    if let Err(Broken::Refused(refusal)) = self.answer(&request, &replies) {
                        // A client that left needs no refusal.
                        let _ = tell(&replies, Reply::Refused(refusal));
                    }
                }
                Job::Embed(request, reply) => {
                    self.pulse.beat(Phase::Decoding);
                    let pulse = self.pulse.clone();
                    let embedded = self.embedder.embed(&request.inputs, || {
                        pulse.beat(Phase::Decoding);
                        !reply.is_closed()
                    });
                    if let Some(told) = embedded.transpose() {
                        // A client that left needs no vectors.
                        let _ = reply.send(told);
                    }
                }
            }
            self.pulse.beat(Phase::Waiting);
        }
    }

    fn answer(
        &mut self,
        request: &ChatRequest,
        replies: &mpsc::Sender<Reply>,
    ) -> Result<(), Broken> {
        self.pulse.beat(Phase::Thinking);
        request.check_tokens(self.model.n_vocab())?;
        let prompt = self.build_prompt(request)?;
        self.pulse.beat(Phase::Thinking);
        let grammar = self.build_grammar(&prompt.form)?;
        self.pulse.beat(Phase::Thinking);
        let size = self.context.n_ctx() as usize;
        let tokens = self.tokenizer.tokenize(&prompt.text, "the prompt", size)?;
        if replies.is_closed() {
            return Err(Broken::Unheard);
        }
        let room = self.count_room(&tokens, request)?;
        let cached = self.read_prompt(&tokens, replies)?;
        tell(replies, Reply::Begun)?;
        let mut sampler = TokenSampler::new(self.model, &request.sampling, grammar);
        let calls = prompt.calls.map(|style| CallScanner::new(style, &request.tools));
        let thoughts = ThoughtScanner::new(thoughts::are_opened_by(&prompt.text));
        // A stop sequence within a forced call would leave half of it.
        let is_call = matches!(prompt.form, AnswerForm::Call(..));
        let pieces = Pieces::new(if is_call { vec![] } else { request.stops.clone() });
        let answer = Answer { request, replies, pieces, thoughts, calls, logprobs: Vec::new() };
        let (finish, completion) = self.speak(answer, &mut sampler, room)?;
        let usage = Usage { prompt: tokens.len(), cached, completion };
        tell(replies, Reply::Ended { finish, usage })
    }

    fn build_prompt(&self, request: &ChatRequest) -> Result<Prompt, Refusal> {
        let template = self.template.as_ref().ok_or_else(|| {
            Refusal::invalid("messages: this model only makes embeddings; ask /v1/embeddings")
        })?;
        prompt::build(template, request)
    }

    /// Makes the sampler that holds an answer to its form.
    fn build_grammar(&self, form: &AnswerForm) -> Result<Option<LlamaSampler>, Refusal> {
        let convert = |field: &str, schema: &serde_json::Value| {
            let grammar = json_schema_to_grammar(&schema.to_string()).map_err(|_| {
                Refusal::invalid(format!("{field}: llama.cpp cannot make a grammar of the schema"))
            })?;
            check_converted(&grammar).map(|()| grammar).map_err(|why| {
                Refusal::invalid(format!("{field}: the grammar of the schema: {why}"))
            })
        };
        let (field, grammar, root) = match form {
            AnswerForm::Free => return Ok(None),
            AnswerForm::Grammar(grammar) => ("grammar", grammar.clone(), ROOT),
            AnswerForm::Schema(schema) => {
                ("response_format", convert("response_format", schema)?, ROOT)
            }
            AnswerForm::Call(schema, style) => {
                let grammar = convert("tools", schema)?;
                ("tools", style.wrap_grammar(&grammar, WRAPPED_ROOT), WRAPPED_ROOT)
            }
        };
        let sampler = LlamaSampler::grammar(self.model, &grammar, root);
        sampler.map(Some).map_err(|_| {
            Refusal::invalid(format!(
                "{field}: llama.cpp cannot read the grammar, or it is too long"
            ))
        })
    }

    /// Returns how many tokens the answer may have.
    fn count_room(&self, prompt: &[LlamaToken], request: &ChatRequest) -> Result<usize, Refusal> {
        let (size, used) = (self.context.n_ctx() as usize, prompt.len());
        if used == 0 {
            return Err(Refusal::invalid("messages: nothing in them that the model can read"));
        }
        if used >= size {
            return Err(Refusal::too_long("the prompt", used, size));
        }
        let wished = request.tokens_max.map_or(usize::MAX, |most| most as usize);
        Ok(wished.min(size - used))
    }

    /// Reads the prompt, without what the context or a saved conversation holds of it. Returns how
    /// many tokens that were.
    fn read_prompt(
        &mut self,
        prompt: &[LlamaToken],
        replies: &mpsc::Sender<Reply>,
    ) -> Result<usize, Broken> {
        self.switch_conversation(prompt);
        let same = count_common(&self.held, prompt);
        // The last one is read again in any case: what follows it is asked for.
        let kept = self.keep(same.min(prompt.len().saturating_sub(1)));
        let mut read = kept;
        while read < prompt.len() {
            if replies.is_closed() {
                return Err(Broken::Unheard);
            }
            let end = prompt.len().min(read + BATCH_TOKENS);
            self.decode(&prompt[read..end], end == prompt.len())?;
            read = end;
        }
        Ok(kept)
    }

    /// Saves the conversation that the context holds, and goes back to the one that the prompt
    /// continues, where that is worth it.
    fn switch_conversation(&mut self, prompt: &[LlamaToken]) {
        let plan = self.cache.plan(&self.held, prompt);
        if plan.save {
            // Without memory for it the conversation is read again later.
            if let Ok(state) = self.context.state_seq_get(SEQUENCE, LlamaStateSeqFlags::empty()) {
                let bytes = state.byte_len();
                self.cache.save(self.held.clone(), state, bytes);
            }
        }
        if !plan.restore {
            return;
        }
        self.keep(0);
        if let Some((tokens, state)) = self.cache.restore(prompt) {
            match self.context.state_seq_set(state, SEQUENCE) {
                Ok(()) => self.held = tokens.to_vec(),
                Err(_) => self.context.clear_kv_cache(),
            }
        }
    }

    /// Forgets all but the first tokens. Some kinds of models can only forget everything.
    fn keep(&mut self, tokens: usize) -> usize {
        if tokens == self.held.len() && tokens > 0 {
            return tokens;
        }
        let from = u32::try_from(tokens).ok();
        let kept = self.context.clear_kv_cache_seq(Some(0), from, None).unwrap_or(false);
        let tokens = if kept { tokens } else { 0 };
        if !kept {
            self.context.clear_kv_cache();
        }
        self.held.truncate(tokens);
        tokens
    }

    /// Reads tokens. Only where something follows them is it computed what that may be.
    fn decode(&mut self, tokens: &[LlamaToken], is_end: bool) -> Result<(), Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal::failed(format!("llama.cpp: {error}"));
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        for (at, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.held.len() + at).map_err(|error| failed(&error))?;
            let is_last = is_end && at + 1 == tokens.len();
            batch.add(*token, position, &[SEQUENCE], is_last).map_err(|error| failed(&error))?;
        }
        self.pulse.beat(Phase::Decoding);
        let decoded = self.context.decode(&mut batch);
        self.pulse.beat(Phase::Thinking);
        if let Err(error) = decoded {
            // Who knows what the context holds now.
            self.keep(0);
            return Err(failed(&error));
        }
        self.held.extend_from_slice(tokens);
        Ok(())
    }
}

/// Tells a client something, without ever waiting for it.
fn tell(replies: &mpsc::Sender<Reply>, reply: Reply) -> Result<(), Broken> {
    replies.try_send(reply).map_err(|_| Broken::Unheard)
}
