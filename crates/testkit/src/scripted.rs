//! Models that follow a script on tokio's clock, and the stage that notes who spoke when.

mod stage;
#[cfg(test)]
mod tests;
mod turn;

pub use stage::{Asked, End, How, Stage};

use althing_chat::{Ask, Model, Speaking, Stop, Usage};
use althing_stdx::{Fault, Kind};
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use turn::Turn;

/// One thing a scripted model does. A turn whose last step is none of `Fail`, `FailWith`,
/// `Refuse`, `End`, `Hang` and `Cut` ends well.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Say(&'static str),
    /// `Say` for text made on the spot.
    SayText(String),
    Think(&'static str),
    /// Thinks this aloud.
    ThinkText(String),
    /// Seconds.
    Wait(u64),
    /// Milliseconds.
    WaitMs(u64),
    /// Waits in line for its server.
    Queue,
    /// The wait in line is over.
    Start,
    /// A rate limit, with the wait it asks for.
    Retry,
    /// A tool's name and its arguments as JSON.
    Call(&'static str, &'static str),
    /// Somebody called a tool for it: name, arguments and result.
    Called(&'static str, &'static str, &'static str),
    /// Tokens in and out.
    UsageOf(u64, u64),
    /// All that a model can report of its tokens.
    Counted(Usage),
    Fail(Kind, &'static str),
    /// `Fail` with all that a fault can carry.
    FailWith(Fault),
    Refuse,
    /// Ends with this reason.
    End(Stop),
    /// Never says anything again.
    Hang,
    /// The stream ends without a stop.
    Cut,
}

type Script = dyn Fn(&Ask, usize) -> Vec<Step> + Send + Sync;

/// A model with a script. Clones are the same model.
#[derive(Clone)]
pub struct Scripted {
    id: String,
    script: Arc<Script>,
    stage: Stage,
}

impl Scripted {
    /// Plays one turn per call; asked once more, it fails loudly.
    pub fn new(id: &str, turns: impl IntoIterator<Item = Vec<Step>>) -> Scripted {
        let turns: Vec<Vec<Step>> = turns.into_iter().collect();
        let over = vec![Step::FailWith(Fault::internal(format!("script of {id} is over")))];
        Scripted::from_fn(id, move |_, nth| turns.get(nth).unwrap_or(&over).clone())
    }

    /// Decides by the ask and by how many calls went before it.
    pub fn from_fn(
        id: &str,
        script: impl Fn(&Ask, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Scripted {
        Scripted { id: id.to_owned(), script: Arc::new(script), stage: Stage::default() }
    }

    /// Shares `stage` with other models.
    pub fn on(mut self, stage: &Stage) -> Scripted {
        self.stage = stage.clone();
        self
    }

    /// What this model was asked, in order.
    pub fn asks(&self) -> Vec<Asked> {
        self.stage.asks(&self.id)
    }
}

impl Model for Scripted {
    fn id(&self) -> &str {
        &self.id
    }

    fn speak(&self, ask: Ask) -> Speaking {
        let (nth, cue) = self.stage.enter(&self.id, ask.clone());
        let turn = Turn::new((self.script)(&ask, nth), cue);
        stream::unfold(turn, Turn::next).boxed()
    }
}
