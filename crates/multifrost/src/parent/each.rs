//! One function called for many arguments, by a caller that takes the answers in their order. What
//! one call costs beyond its message is small then: no future, timer or wake-up of its own.

use std::collections::VecDeque;
use std::iter::Fuse;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::time::timeout;

use super::options::CallOptions;
use super::reply::Reply;
use super::sent::Sent;
use super::shared::{Shared, Who};
use crate::error::Error;
use crate::limits::EACH_CALLS_MAX;
use crate::wait;

/// Arguments of one call, packed.
type Args = Bytes;

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

    /// For a task.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Reply, Error>> {
        stream::unfold(self, |mut each| async {
            let call = each.next_call()?;
            Some((each.answer(call).await, each))
        })
    }

    /// The oldest call without an answer, if it could be sent, and its arguments. Calls are sent
    /// ahead of it as long as there is room.
    fn next_call(&mut self) -> Option<Result<(Option<Sent<'a>>, Args), Error>> {
        self.fill();
        match self.sent.pop_front() {
            Some(Ok((sent, args))) => Some(Ok((Some(sent), args))),
            Some(Err(error)) => Some(Err(error)),
            None => self.unsent.take().map(|args| Ok((None, args))),
        }
    }

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

    async fn answer(&self, call: Result<(Option<Sent<'a>>, Args), Error>) -> Result<Reply, Error> {
        let (sent, args) = call?;
        let max = self.shared.options.call_max;
        let late = |_| Err(Error::TimedOut(max));
        if let Some(mut sent) = sent {
            let answer = match sent.answer_now() {
                Some(answer) => answer,
                None => timeout(max, sent.answer_as_task()).await.unwrap_or_else(late),
            };
            if !self.shared.is_to_be_repeated(&sent, &answer) {
                return answer;
            }
        }
        let request = self.shared.request(&self.options, self.function, &args);
        timeout(max, request).await.unwrap_or_else(late)
    }

    fn answer_blocking(
        &self,
        call: Result<(Option<Sent<'a>>, Args), Error>,
    ) -> Result<Reply, Error> {
        let (sent, args) = call?;
        let max = self.shared.options.call_max;
        let late = || Err(Error::TimedOut(max));
        if let Some(mut sent) = sent {
            let answer = sent.answer_now();
            let answer = answer.or_else(|| sent.wait(wait::now().checked_add(max)));
            let answer = answer.unwrap_or_else(late);
            if !self.shared.is_to_be_repeated(&sent, &answer) {
                return answer;
            }
        }
        let answer = self.shared.request_blocking(&self.options, self.function, &args, max);
        answer.unwrap_or_else(late)
    }
}

/// For a thread.
impl<I: Iterator<Item = Result<Args, Error>>> Iterator for Each<'_, I> {
    type Item = Result<Reply, Error>;

    fn next(&mut self) -> Option<Result<Reply, Error>> {
        let call = self.next_call()?;
        Some(self.answer_blocking(call))
    }
}
