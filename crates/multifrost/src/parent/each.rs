//! One function called for many arguments, by a thread that takes the answers in their order.

use std::collections::VecDeque;
use std::iter::Fuse;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::options::CallOptions;
use super::reply::Reply;
use super::sent::Sent;
use super::shared::{Shared, Who};
use crate::error::Error;
use crate::limits::EACH_CALLS_MAX;
use crate::wait;

/// Arguments of one call, packed.
type Args = Arc<Vec<u8>>;

/// The answers, as they are asked for; calls are sent ahead of that.
pub(super) struct Each<'a, I> {
    shared: &'a Shared,
    options: CallOptions,
    function: &'a str,
    args: Fuse<I>,
    /// There was no room for it so far.
    unsent: Option<Args>,
    sent: VecDeque<Result<(Sent<'a>, Args), Error>>,
}

impl<'a, I: Iterator<Item = Result<Args, Error>>> Each<'a, I> {
    pub(super) fn new(shared: &'a Shared, function: &'a str, args: I) -> Each<'a, I> {
        let (options, args) = (CallOptions::default(), args.fuse());
        Each { shared, options, function, args, unsent: None, sent: VecDeque::new() }
    }

    /// Sends what there is room for.
    fn fill(&mut self) {
        while self.sent.len() < EACH_CALLS_MAX {
            let unsent = self.unsent.take().map(Ok);
            let Some(args) = unsent.or_else(|| self.args.next()) else { return };
            let sent = match args {
                Ok(args) => match self.submit(&args) {
                    Some(sent) => sent.map(|sent| (sent, args)),
                    None => {
                        self.unsent = Some(args);
                        return;
                    }
                },
                Err(error) => Err(error),
            };
            self.sent.push_back(sent);
        }
    }

    /// Sends a call unless it would have to wait.
    fn submit(&self, args: &Args) -> Option<Result<Sent<'a>, Error>> {
        let sent = pin!(self.shared.submit(&self.options, self.function, args, Who::Each));
        match sent.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(sent) => Some(sent),
            Poll::Pending => None,
        }
    }

    fn answer(&self, mut sent: Sent<'a>, args: &Args) -> Result<Reply, Error> {
        let (max, had_token) = (self.shared.options.call_max, sent.had_token);
        let answer = sent.answer_now().or_else(|| sent.wait(wait::now().checked_add(max)));
        let answer = answer.unwrap_or(Err(Error::TimedOut(max)));
        if had_token || !self.shared.is_asked_for_token(&answer) {
            return answer;
        }
        self.ask(args)
    }

    /// A call of its own.
    fn ask(&self, args: &Args) -> Result<Reply, Error> {
        let max = self.shared.options.call_max;
        let answer = self.shared.request_blocking(&self.options, self.function, args, max);
        answer.unwrap_or(Err(Error::TimedOut(max)))
    }
}

impl<'a, I: Iterator<Item = Result<Args, Error>>> Iterator for Each<'a, I> {
    type Item = Result<Reply, Error>;

    fn next(&mut self) -> Option<Result<Reply, Error>> {
        self.fill();
        match self.sent.pop_front() {
            Some(Ok((sent, args))) => Some(self.answer(sent, &args)),
            Some(Err(error)) => Some(Err(error)),
            // Others have taken all the room there is.
            None => self.unsent.take().map(|args| self.ask(&args)),
        }
    }
}
