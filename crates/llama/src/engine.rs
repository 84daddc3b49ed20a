//! The one thread that owns the model: it takes requests one after another and says what the model
//! says. It stops as soon as nobody listens.

use crate::pieces::Pieces;
use crate::wire::{Refusal, Usage, Wanted};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Tokens of a prompt that are read at once. Between two batches a client that left is noticed.
pub const BATCH_TOKENS: usize = 512;
/// Pieces that wait for a slow client; then the model waits, for so long.
pub const HEARD_MAX: usize = 256;
const STALL_MAX: Duration = Duration::from_secs(60);
/// How freely the model speaks where nobody says otherwise: llama.cpp's own habits.
const TEMPERATURE_DEFAULT: f32 = 0.8;
const TOP_P_DEFAULT: f32 = 0.95;
const TOP_K: i32 = 40;
const MIN_P: f32 = 0.05;

/// A request, and who hears the answer.
pub struct Job {
    pub wanted: Wanted,
    pub heard: mpsc::Sender<Heard>,
}

/// What becomes of a request: refused at once, or begun, texts, ended. A failure may cut it off.
#[derive(Debug)]
pub enum Heard {
    Begun,
    Text(String),
    Ended { finish: &'static str, usage: Usage },
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

pub struct Engine<'m> {
    model: &'m LlamaModel,
    context: LlamaContext<'m>,
    template: LlamaChatTemplate,
    runtime: Handle,
    /// The tokens that the context holds, in their places.
    held: Vec<LlamaToken>,
}

impl<'m> Engine<'m> {
    pub fn new(
        model: &'m LlamaModel,
        context: LlamaContext<'m>,
        template: LlamaChatTemplate,
        runtime: Handle,
    ) -> Engine<'m> {
        Engine { model, context, template, runtime, held: Vec::new() }
    }

    pub fn context_tokens(&self) -> u32 {
        self.context.n_ctx()
    }

    /// Answers until nobody can ask any more.
    pub fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.blocking_recv() {
            if let Err(Broken::Refused(refusal)) = self.answer(&job) {
                // A client that left needs no refusal.
                let _ = self.tell(&job, Heard::Refused(refusal));
            }
        }
    }

    fn answer(&mut self, job: &Job) -> Result<(), Broken> {
        let prompt = self.prompt(&job.wanted)?;
        let room = self.room(&prompt, &job.wanted)?;
        let cached = self.read(&prompt, job)?;
        self.tell(job, Heard::Begun)?;
        let (finish, completion) = self.speak(job, room)?;
        let usage = Usage { prompt: prompt.len(), cached, completion };
        self.tell(job, Heard::Ended { finish, usage })
    }

    /// The conversation as the model was taught to read it.
    fn prompt(&self, wanted: &Wanted) -> Result<Vec<LlamaToken>, Refusal> {
        let messages = wanted.messages.iter().map(|said| {
            let role = if said.role == "developer" { "system" } else { &said.role };
            LlamaChatMessage::new(role.to_string(), said.text())
        });
        let messages: Vec<_> = messages.collect::<Result<_, _>>().map_err(|error| {
            Refusal::invalid(format!("messages: a zero byte is no text: {error}"))
        })?;
        let text = self.model.apply_chat_template(&self.template, &messages, true);
        let text = text.map_err(|error| Refusal::failed(format!("the chat template: {error}")))?;
        Ok(self.model.vocab().tokenize(text.as_bytes(), true, true))
    }

    /// Tokens that the answer may have.
    fn room(&self, prompt: &[LlamaToken], wanted: &Wanted) -> Result<usize, Refusal> {
        let (size, used) = (self.context.n_ctx() as usize, prompt.len());
        if used == 0 {
            return Err(Refusal::invalid("messages: nothing in them that the model can read"));
        }
        if used >= size {
            let message =
                format!("the prompt has {used} tokens, and the context of this model holds {size}");
            return Err(Refusal { status: 400, code: "context_length_exceeded", message });
        }
        let wished = wanted.tokens_max().map_or(usize::MAX, |most| most as usize);
        Ok(wished.min(size - used))
    }

    /// Reads the prompt, without what the context still holds of the request before. Gives how
    /// many tokens that were.
    fn read(&mut self, prompt: &[LlamaToken], job: &Job) -> Result<usize, Broken> {
        let same = self.held.iter().zip(prompt).take_while(|(held, new)| held == new).count();
        // The last one is read again in any case: what follows it is asked for.
        let kept = self.keep(same.min(prompt.len().saturating_sub(1)));
        for batch in prompt[kept..].chunks(BATCH_TOKENS) {
            if job.heard.is_closed() {
                return Err(Broken::Unheard);
            }
            self.decode(batch)?;
        }
        Ok(kept)
    }

    /// Forgets all but the first tokens. Some kinds of models can only forget everything.
    fn keep(&mut self, tokens: usize) -> usize {
        let from = u32::try_from(tokens).ok();
        let kept = self.context.clear_kv_cache_seq(Some(0), from, None).unwrap_or(false);
        let tokens = if kept { tokens } else { 0 };
        if !kept {
            self.context.clear_kv_cache();
        }
        self.held.truncate(tokens);
        tokens
    }

    fn decode(&mut self, tokens: &[LlamaToken]) -> Result<(), Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal::failed(format!("llama.cpp: {error}"));
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        for (at, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.held.len() + at).map_err(|error| failed(&error))?;
            let is_last = at + 1 == tokens.len();
            batch.add(*token, position, &[0], is_last).map_err(|error| failed(&error))?;
        }
        if let Err(error) = self.context.decode(&mut batch) {
            // Who knows what the context holds now.
            self.keep(0);
            return Err(failed(&error));
        }
        self.held.extend_from_slice(tokens);
        Ok(())
    }

    /// Speaks until the model has ended, a stop sequence came or there is no room left. Gives why,
    /// and the number of tokens.
    fn speak(&mut self, job: &Job, room: usize) -> Result<(&'static str, usize), Broken> {
        let mut sampler = sampler(&job.wanted);
        let mut pieces = Pieces::new(job.wanted.stops());
        let mut finish = "length";
        let mut said = 0;
        while said < room {
            let token = sampler.sample(&self.context, -1);
            said += 1;
            if self.model.vocab().is_eog(token) {
                finish = "stop";
                break;
            }
            let bytes = self.model.vocab().token_to_piece(token, false, None);
            let (text, stopped) = pieces.push(&bytes);
            self.say(job, text)?;
            if stopped {
                return Ok(("stop", said));
            }
            if said < room {
                self.decode(&[token])?;
            }
        }
        self.say(job, pieces.finish())?;
        Ok((finish, said))
    }

    /// Tells some text; a token may have none, and yet a client that left is noticed.
    fn say(&self, job: &Job, text: String) -> Result<(), Broken> {
        match text.is_empty() {
            true if job.heard.is_closed() => Err(Broken::Unheard),
            true => Ok(()),
            false => self.tell(job, Heard::Text(text)),
        }
    }

    fn tell(&self, job: &Job, heard: Heard) -> Result<(), Broken> {
        let heard = match job.heard.try_send(heard) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(Broken::Unheard),
            Err(mpsc::error::TrySendError::Full(heard)) => heard,
        };
        // One client that does not read must not keep the model from all others.
        let sent = job.heard.send_timeout(heard, STALL_MAX);
        self.runtime.block_on(sent).map_err(|_| Broken::Unheard)
    }
}

fn sampler(wanted: &Wanted) -> LlamaSampler {
    let temperature = wanted.temperature.unwrap_or(TEMPERATURE_DEFAULT);
    if temperature == 0.0 {
        return LlamaSampler::greedy();
    }
    LlamaSampler::chain_simple([
        LlamaSampler::top_k(TOP_K),
        LlamaSampler::top_p(wanted.top_p.unwrap_or(TOP_P_DEFAULT), 1),
        LlamaSampler::min_p(MIN_P, 1),
        LlamaSampler::temp(temperature),
        LlamaSampler::dist(wanted.seed.unwrap_or_else(|| fastrand::u32(..))),
    ])
}
