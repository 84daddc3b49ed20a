//! One question to an agent, from the wait for a place to the last word.

use crate::agent::{Adapter, Agent, Options};
use crate::failure;
use crate::invocation::Invocation;
use crate::process::{Ended, Event, Running, Workspace};
use crate::reader::Said;
use crate::timer::{self, Limit};
use althing_chat::{Ask, Delta, Retry, Speaking};
use althing_stdx::{Fault, Kind, Result};
use futures_util::stream::{StreamExt, unfold};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Agents at once in this process; more wait for a place.
const AGENTS_MAX: usize = 32;
static PLACES: Semaphore = Semaphore::const_new(AGENTS_MAX);

/// A question under way. Dropping it ends the agent and all that it started.
pub(crate) struct Call {
    agent: Agent,
    ask: Ask,
    phase: Phase,
    place: Option<SemaphorePermit<'static>>,
    said: Said,
    /// Models that gave nothing.
    failed: usize,
    ready: VecDeque<Result<Delta>>,
}

enum Phase {
    Arriving,
    Waiting,
    Starting,
    Listening(Box<Running>),
    Over,
}

impl Call {
    pub(crate) fn new(agent: Agent, ask: Ask) -> Call {
        let (said, ready) = (said_by(&agent), VecDeque::new());
        Call { agent, ask, phase: Phase::Arriving, place: None, said, failed: 0, ready }
    }

    pub(crate) fn speaking(self) -> Speaking {
        unfold(self, |mut call| async move { Some((call.next().await?, call)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Delta>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            // Before an await the phase is `Over`, so a cancelled call stays ended.
            self.phase = match mem::replace(&mut self.phase, Phase::Over) {
                Phase::Arriving => self.arrive(),
                Phase::Waiting => self.wait().await,
                Phase::Starting => self.start(),
                Phase::Listening(running) => self.listen(running).await,
                Phase::Over => return None,
            };
        }
    }

    fn arrive(&mut self) -> Phase {
        self.place = PLACES.try_acquire().ok();
        if self.place.is_some() {
            return Phase::Starting;
        }
        self.ready.push_back(Ok(Delta::Queued));
        Phase::Waiting
    }

    async fn wait(&mut self) -> Phase {
        self.place = PLACES.acquire().await.ok();
        Phase::Starting
    }

    fn start(&mut self) -> Phase {
        let Agent { adapter, options, .. } = &self.agent;
        let started = Workspace::open(options.repo.as_deref()).and_then(|mut workspace| {
            let invocation = Invocation::new(adapter, options, &self.ask, &mut workspace)?;
            Running::start(invocation, workspace, options)
        });
        match started {
            Ok(running) => {
                self.ready.push_back(Ok(Delta::Started));
                Phase::Listening(Box::new(running))
            }
            Err(fault) => self.fail(fault),
        }
    }

    async fn listen(&mut self, mut running: Box<Running>) -> Phase {
        match running.next().await {
            Event::Output(lines) => {
                lines.iter().for_each(|line| self.said.line(line));
                self.heard(&mut running);
            }
            Event::Errors(lines) => {
                lines.iter().for_each(|line| self.said.error_line(line));
                self.heard(&mut running);
            }
            Event::Ended(ended) => return self.end(&ended),
        }
        if self.said.is_failed() {
            // It would only try on.
            return self.end(&Ended::Stopped);
        }
        Phase::Listening(running)
    }

    fn heard(&mut self, running: &mut Running) {
        running.tries(self.said.is_retrying());
        if !self.said.is_retrying() {
            running.progress();
        }
        if self.said.is_done() {
            running.answered();
        }
        self.ready.extend(self.said.take().into_iter().map(Ok));
    }

    fn end(&mut self, ended: &Ended) -> Phase {
        let trouble = self.trouble(ended);
        let is_late = matches!(ended, Ended::Late(Limit::Idle | Limit::Trying | Limit::Total));
        match (is_late, trouble) {
            // What it said until then is no whole answer.
            (true, Some(late)) => {
                let fault = self.said.late(late);
                self.fail(fault)
            }
            (_, trouble) => match self.said.end(trouble) {
                Ok(rest) => {
                    self.ready.extend(rest.into_iter().map(Ok));
                    Phase::Over
                }
                Err(fault) => self.fail(fault),
            },
        }
    }

    /// What was wrong with the end of the process.
    fn trouble(&self, ended: &Ended) -> Option<Fault> {
        let limits = &self.agent.options.limits;
        match ended {
            Ended::Exit(0) | Ended::Stopped | Ended::Late(Limit::Leaving | Limit::Draining) => None,
            Ended::Exit(code) => Some(Fault::new(Kind::Upstream, format!("exit status {code}"))),
            Ended::Signal(signal) => {
                Some(Fault::new(Kind::Upstream, format!("ended by signal {signal}")))
            }
            Ended::Late(Limit::Idle) => {
                let text = format!("said nothing for {:?}", limits.idle);
                Some(Fault::new(Kind::TimedOut, text))
            }
            Ended::Late(Limit::Trying) => {
                let text = format!("only tried again for {:?}", timer::trying_max(limits));
                Some(Fault::new(Kind::TimedOut, text))
            }
            Ended::Late(Limit::Total) => {
                let text = format!("was not done within {:?}", limits.total);
                Some(Fault::new(Kind::TimedOut, text))
            }
        }
    }

    /// The end of the call, unless there is another model to be asked.
    fn fail(&mut self, fault: Fault) -> Phase {
        let next = self.agent.options.fallbacks.get(self.failed).cloned();
        match next.filter(|_| self.said.is_silent() && failure::may_differ(fault.kind)) {
            Some(model) => self.turn_to(model, &fault),
            None => self.over(fault),
        }
    }

    /// Asks `model` instead of the one that failed.
    fn turn_to(&mut self, model: String, fault: &Fault) -> Phase {
        self.failed += 1;
        let message = format!("{}; {model} is asked instead", fault.message);
        let attempt = u32::try_from(self.failed).unwrap_or(u32::MAX);
        let retry = Retry { attempt, wait_ms: 0, kind: fault.kind, message };
        self.ready.push_back(Ok(Delta::Retrying(retry)));
        let options = Options { model: Some(model), ..(*self.agent.options).clone() };
        self.agent.options = Arc::new(options);
        self.said = said_by(&self.agent);
        Phase::Starting
    }

    /// The end, with the name of a known agent in front and what to do about it. One of the person's
    /// own goes by the name of its seat.
    fn over(&mut self, mut fault: Fault) -> Phase {
        // Requests that were wrong before anything was started name their field.
        if let (Adapter::Known(row), true) =
            (&*self.agent.adapter, fault.kind != Kind::InvalidParams)
        {
            let help = match fault.kind {
                Kind::BadKey => format!(" ({})", row.login),
                Kind::NotFound => format!(" ({})", row.install),
                _ => String::new(),
            };
            let own = fault.message.strip_prefix(row.name).filter(|it| it.starts_with(' '));
            // Said once is enough.
            let told = own.map_or(&*fault.message, str::trim_start);
            fault.message = format!("{}: {told}{help}", row.name);
        }
        self.ready.push_back(Err(fault));
        Phase::Over
    }
}

/// With nothing to use, an agent says nothing but its answer.
fn said_by(agent: &Agent) -> Said {
    Said::new(agent.adapter.format(), agent.options.repo.is_none())
}
