//! One call as it plays: steps in, deltas out.

use super::{
    Step,
    stage::{Cue, How},
};
use althing_chat::{Called, Delta, Retry, Stop, ToolCall, Usage};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::pending;
use std::{time::Duration, vec};
use tokio::time::sleep;

/// What `Step::Retry` waits.
const RETRY_WAIT: Duration = Duration::from_millis(100);

pub(super) struct Turn {
    steps: vec::IntoIter<Step>,
    cue: Cue,
    /// A wait that follows a delta already given.
    wait: Option<Duration>,
    retries: u32,
    calls: usize,
    over: bool,
}

/// What a step comes to.
enum Act {
    Give(Delta),
    Wait(Duration),
    /// The last item of the stream, if any.
    Last(Option<Result<Delta>>, How),
    Hang,
}

impl Turn {
    pub(super) fn new(steps: Vec<Step>, cue: Cue) -> Turn {
        let steps = steps.into_iter();
        Turn { steps, cue, wait: None, retries: 0, calls: 0, over: false }
    }

    /// The next item, for `stream::unfold`.
    pub(super) async fn next(mut self) -> Option<(Result<Delta>, Turn)> {
        if self.over {
            return None;
        }
        if let Some(wait) = self.wait.take() {
            sleep(wait).await;
        }
        loop {
            let act = match self.steps.next() {
                Some(step) => self.act(step),
                None => stop(if self.calls > 0 { Stop::ToolCalls } else { Stop::End }),
            };
            match act {
                Act::Give(delta) => return Some((Ok(delta), self)),
                Act::Wait(wait) => sleep(wait).await,
                Act::Hang => pending().await,
                Act::Last(item, how) => {
                    self.over = true;
                    self.cue.end(how);
                    return item.map(|item| (item, self));
                }
            }
        }
    }

    fn act(&mut self, step: Step) -> Act {
        let fail = |fault| Act::Last(Some(Err(fault)), How::Failed);
        match step {
            Step::Say(text) => Act::Give(Delta::Text(text.into())),
            Step::SayText(text) => Act::Give(Delta::Text(text)),
            Step::Think(text) => Act::Give(Delta::Reasoning(text.into())),
            Step::ThinkText(text) => Act::Give(Delta::Reasoning(text)),
            Step::Wait(seconds) => Act::Wait(Duration::from_secs(seconds)),
            Step::WaitMs(ms) => Act::Wait(Duration::from_millis(ms)),
            Step::Queue => Act::Give(Delta::Queued),
            Step::Start => Act::Give(Delta::Started),
            Step::Retry => Act::Give(self.retry()),
            Step::Call(name, arguments) => Act::Give(self.call(name, arguments)),
            Step::Called(name, arguments, result) => {
                let (id, result) = ("call".into(), result.into());
                let (name, arguments) = (name.into(), arguments.into());
                let call = ToolCall { id, name, arguments, signature: None };
                let called = Called { call, result, failed: false, took_ms: 1, kept: false };
                Act::Give(Delta::Called(called))
            }
            Step::Counted(usage) => Act::Give(Delta::Usage(usage)),
            Step::UsageOf(input, output) => Act::Give(Delta::Usage(Usage {
                input: Some(input),
                output: Some(output),
                ..Usage::default()
            })),
            Step::Fail(kind, message) => fail(Fault::new(kind, message)),
            Step::FailWith(fault) => fail(fault),
            Step::Refuse => stop(Stop::Refused),
            Step::End(why) => stop(why),
            Step::Hang => Act::Hang,
            Step::Cut => Act::Last(None, How::Cut),
        }
    }

    fn retry(&mut self) -> Delta {
        self.retries += 1;
        self.wait = Some(RETRY_WAIT);
        Delta::Retrying(Retry {
            attempt: self.retries,
            wait_ms: u64::try_from(RETRY_WAIT.as_millis()).expect("a hundred fits"),
            kind: Kind::RateLimited,
            message: "wait".into(),
        })
    }

    fn call(&mut self, name: &str, arguments: &str) -> Delta {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let (name, arguments) = (name.into(), arguments.into());
        Delta::ToolCall(ToolCall { id, name, arguments, signature: None })
    }
}

fn stop(why: Stop) -> Act {
    Act::Last(Some(Ok(Delta::Stop(why))), How::Stopped)
}
