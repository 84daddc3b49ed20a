//! An answer while it is written: token by token, until the model or the client has had enough.

use super::{Broken, Engine, Reply, tell};
use crate::logprobs::{RankedToken, TokenLogprob, rank};
use crate::pieces::Pieces;
use crate::refusal::Refusal;
use crate::request::ChatRequest;
use crate::sampler::TokenSampler;
use crate::thoughts::ThoughtScanner;
use crate::tool_calls::CallScanner;
use llama_cpp_2::token::LlamaToken;
use tokio::sync::mpsc;

/// One answer while it is written.
pub(super) struct Answer<'j> {
    pub request: &'j ChatRequest,
    pub replies: &'j mpsc::Sender<Reply>,
    pub pieces: Pieces,
    pub thoughts: ThoughtScanner,
    pub calls: Option<CallScanner>,
    /// Of tokens whose text is not told yet.
    pub logprobs: Vec<TokenLogprob>,
}

impl Engine<'_> {
    /// Speaks until the model has ended, a stop sequence came or there is no room left. Returns
    /// why, and the number of tokens.
    pub(super) fn speak(
        &mut self,
        mut answer: Answer<'_>,
        sampler: &mut TokenSampler,
        room: usize,
    ) -> Result<(&'static str, usize), Broken> {
        let vocab = self.model.vocab();
        let mut bytes = Vec::new();
        let (mut finish, mut said, mut stopped) = ("length", 0, false);
        while said < room {
            let thinks = answer.thoughts.thinks();
            let chosen = sampler.choose(&self.context, thinks);
            let token = chosen.ok_or_else(|| {
                Refusal::failed("llama.cpp: no token fits the form that was asked for")
            })?;
            said += 1;
            if vocab.is_eog(token) {
                finish = "stop";
                break;
            }
            bytes.clear();
            // The markers of calls and thoughts are special tokens of some vocabularies.
            let shows_markers = thinks || answer.calls.is_some();
            vocab.token_to_piece_into(token, &mut bytes, shows_markers, None);
            if let Some(top) = answer.request.logprobs {
                answer.logprobs.push(self.rank_token(token, &bytes, top));
            }
            let (text, ended) = answer.pieces.push(&bytes);
            say(&mut answer, text)?;
            if ended {
                (finish, stopped) = ("stop", true);
                break;
            }
            if said < room {
                self.decode(&[token], true)?;
            }
        }
        let called = finish_answer(answer, stopped)?;
        Ok((if called { "tool_calls" } else { finish }, said))
    }

    /// Looks up how likely a token was, before samplers changed anything.
    fn rank_token(&self, token: LlamaToken, bytes: &[u8], top: usize) -> TokenLogprob {
        let vocab = self.model.vocab();
        let chosen = usize::try_from(token.0).unwrap_or(0);
        let (logprob, top) = rank(self.context.get_logits_ith(-1), chosen, top);
        let top = top.into_iter().map(|(token, logprob)| {
            let token = LlamaToken(i32::try_from(token).unwrap_or(0));
            RankedToken { bytes: vocab.token_to_piece(token, true, None), logprob }
        });
        let top = top.collect();
        TokenLogprob { chosen: RankedToken { bytes: bytes.to_vec(), logprob }, top }
    }
}

/// Tells what is left of an answer; says whether it ended with calls.
fn finish_answer(mut answer: Answer<'_>, stopped: bool) -> Result<bool, Broken> {
    let pieces = std::mem::replace(&mut answer.pieces, Pieces::new(vec![]));
    if !stopped {
        say(&mut answer, pieces.finish())?;
    }
    let thought = answer.thoughts.finish();
    tell_thought(&answer, thought)?;
    let Some((text, calls)) = answer.calls.take().map(CallScanner::finish) else {
        return Ok(false);
    };
    say_content(&mut answer, text)?;
    if calls.is_empty() {
        return Ok(false);
    }
    tell(answer.replies, Reply::Calls(calls))?;
    Ok(true)
}

/// Tells some text; a token may have none, and yet a client that left is noticed.
fn say(answer: &mut Answer<'_>, text: String) -> Result<(), Broken> {
    let (thought, text) = answer.thoughts.push(&text);
    tell_thought(answer, thought)?;
    say_content(answer, text)
}

fn tell_thought(answer: &Answer<'_>, thought: String) -> Result<(), Broken> {
    match thought.is_empty() {
        true => Ok(()),
        false => tell(answer.replies, Reply::Thought(thought)),
    }
}

fn say_content(answer: &mut Answer<'_>, text: String) -> Result<(), Broken> {
    let text = match &mut answer.calls {
        None => text,
        Some(calls) => calls.push(&text),
    };
    match text.is_empty() {
        true if answer.replies.is_closed() => Err(Broken::Unheard),
        true => Ok(()),
        false => {
            let logprobs = std::mem::take(&mut answer.logprobs);
            tell(answer.replies, Reply::Text(text, logprobs))
        }
    }
}
