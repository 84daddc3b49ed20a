//! From a name to a voice: routed, and counted.

mod count;
mod messages;
mod noted;
#[cfg(test)]
mod tests;

pub(crate) use count::Counted;
pub use messages::{affinity, check_messages};
pub use noted::NotedVoice;

use super::Service;
use super::words::{Caller, CompleteRequest, Completion};
use crate::lineup;
use crate::runs::Runs;
use crate::workers::{Tooled, split_tools};
use althing_assembly::demo::Pace;
use althing_chat::{Answer, Ask, Message, Model};
use althing_gateway::Target;
use althing_stdx::{Fault, Kind, Result};
use std::sync::Arc;

/// Functions that one request may offer.
const TOOLS_MAX: usize = 256;

impl Service {
    /// The voice behind an alias, `provider:model`, a model's name or `demo:voice`: falls back along
    /// its targets and counts what it uses. `affinity` keeps a conversation at the target that
    /// knows it. Touches nothing but memory.
    pub fn voice(&self, name: &str, affinity: Option<u64>) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(self.counted(name, affinity)?))
    }

    /// As `voice`; behind a name that ends in `+tools`, the functions of workers are called for it,
    /// unless a request brings tools of its own.
    pub async fn tooled(&self, name: &str, affinity: Option<u64>) -> Result<Arc<dyn Model>> {
        Ok(self.tooled_noting(name, affinity).await?.0)
    }

    /// As `tooled`, and beside the voice who answers for it.
    pub async fn tooled_noting(
        &self,
        name: &str,
        affinity: Option<u64>,
    ) -> Result<(Arc<dyn Model>, Arc<NotedVoice>)> {
        let (bare, has_tools) = split_tools(name);
        let noted = Arc::new(NotedVoice::new(self.counted(bare, affinity)?));
        let voice: Arc<dyn Model> = noted.clone();
        let voice = if has_tools { self.with_tools(voice).await } else { voice };
        Ok((voice, noted))
    }

    /// `voice` with what workers offer.
    pub(crate) async fn with_tools(&self, voice: Arc<dyn Model>) -> Arc<dyn Model> {
        Tooled::over(voice, self.library.workers().offer().await)
    }

    /// As `voice`, with what other processes have just written, and for a name that nobody knows
    /// the providers are asked for their models.
    pub async fn find_voice(&self, name: &str, affinity: Option<u64>) -> Result<Arc<dyn Model>> {
        Ok(self.find_voice_noting(name, affinity).await?.0)
    }

    /// As `find_voice`, and beside the voice who answers for it.
    pub async fn find_voice_noting(
        &self,
        name: &str,
        affinity: Option<u64>,
    ) -> Result<(Arc<dyn Model>, Arc<NotedVoice>)> {
        self.find_targets(name).await?;
        self.tooled_noting(name, affinity).await
    }

    /// What a name means, in the order in which it is tried; empty: a demo voice.
    pub fn targets(&self, name: &str) -> Result<Vec<Target>> {
        self.library.book().targets(split_tools(name).0)
    }

    /// As `targets`, asking where `find_voice` asks.
    pub async fn find_targets(&self, name: &str) -> Result<Vec<Target>> {
        self.library.refresh().await?;
        match self.targets(name) {
            Err(fault) if fault.kind == Kind::UnknownModel && self.look_again().await => {
                self.targets(name)
            }
            done => done,
        }
    }

    /// Discussions by the same book, counted as well.
    pub fn runs(&self) -> Runs {
        Runs {
            library: self.library.clone(),
            metrics: Some(self.metrics.clone()),
            pace: Pace { word_ms: 0 },
            #[cfg(test)]
            voices: Default::default(),
        }
    }

    /// One whole answer.
    pub async fn complete(&self, _caller: &Caller, request: CompleteRequest) -> Result<Completion> {
        let messages = check_messages(request.messages)?;
        if request.tools.len() > TOOLS_MAX {
            let count = request.tools.len();
            return Err(Fault::invalid(format!("tools: at most {TOOLS_MAX}, not {count}")));
        }
        let found = self.find_voice_noting(&request.model_id, Some(affinity(&messages))).await;
        let (voice, noted) = found.map_err(lineup::in_field("model_id"))?;
        let ask = Ask {
            messages,
            tools: request.tools,
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            stream: false,
            ..Ask::new("", "")
        };
        let answer = Answer::collect(voice.speak(ask)).await?;
        Ok(Completion {
            message: Message::calls(answer.text, answer.tool_calls),
            reasoning: answer.reasoning,
            usage: answer.usage,
            answered_by: noted.answered_by().unwrap_or_else(|| noted.id().to_string()),
        })
    }

    fn counted(&self, name: &str, affinity: Option<u64>) -> Result<Counted> {
        let sitting = lineup::sitting(name, &self.library.book())?;
        let voice = Counted::new(&self.library, &sitting, affinity, Pace { word_ms: 0 })?;
        Ok(voice.by(self.metrics.clone()))
    }
}
