//! The person at a page: questions lie on a table until somebody answers them.

use althing_exthost::desk::{Answer, Desk, Question};
use althing_exthost::{Error, Window, code};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// Open questions of all extensions; one more fails.
const QUESTIONS_MAX: usize = 64;

/// Where questions lie.
pub struct Table {
    open: Mutex<Questions>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Questions {
    last: u64,
    all: BTreeMap<u64, (Question, oneshot::Sender<Answer>)>,
}

impl Default for Table {
    fn default() -> Table {
        Table { open: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Table {
    /// The open questions, the oldest first.
    pub fn questions(&self) -> Vec<(u64, Question)> {
        self.lock().all.iter().map(|(id, (question, _))| (*id, question.clone())).collect()
    }

    /// One of them.
    pub fn question(&self, id: u64) -> Option<Question> {
        self.lock().all.get(&id).map(|(question, _)| question.clone())
    }

    /// Answers a question; false if it is none, or not any more.
    pub fn answer(&self, id: u64, answer: Answer) -> bool {
        let Some((_, waiting)) = self.lock().all.remove(&id) else { return false };
        self.changed.send_replace(());
        waiting.send(answer).is_ok()
    }

    /// Changes with every question that comes or goes.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Questions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, question: Question) -> Result<(u64, oneshot::Receiver<Answer>), Error> {
        let mut open = self.lock();
        if open.all.len() >= QUESTIONS_MAX {
            let what = format!("{QUESTIONS_MAX} questions are open already");
            return Err(Error::new(code::DIALOGUE, what));
        }
        open.last += 1;
        let (id, (sender, receiver)) = (open.last, oneshot::channel());
        open.all.insert(id, (question, sender));
        drop(open);
        self.changed.send_replace(());
        Ok((id, receiver))
    }
}

/// Takes a question away whose extension does not wait any more.
struct Withdrawn<'a>(&'a Table, u64);

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if self.0.lock().all.remove(&self.1).is_some() {
            self.0.changed.send_replace(());
        }
    }
}

impl Desk for Table {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async {
            let (id, answer) = self.put(question)?;
            let _withdrawn = Withdrawn(self, id);
            let gone = |_| Error::new(code::DIALOGUE, "the question was taken away");
            answer.await.map_err(gone)
        })
    }

    /// It is listed by the host; the page asks the person before anything opens.
    fn open(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    /// The host takes it off its list, which the page sees.
    fn close(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_exthost::desk::{Ask, MessageKind};
    use futures_util::FutureExt;

    fn question() -> Question {
        let ask = Ask::Message { message: "m".into(), title: None, kind: MessageKind::Info };
        Question { extension: "e".into(), name: "E".into(), ask }
    }

    #[test]
    fn a_question_lies_there_until_it_is_answered_or_withdrawn() {
        let table = Table::default();
        let mut asked = table.ask(question());
        assert!(asked.as_mut().now_or_never().is_none());
        let (id, _) = table.questions()[0].clone();
        assert!(table.answer(id, Answer::Read) && !table.answer(id, Answer::Read));
        assert_eq!(asked.now_or_never(), Some(Ok(Answer::Read)));
        let mut asked: Vec<_> = (0..=QUESTIONS_MAX).map(|_| table.ask(question())).collect();
        let refused = asked.iter_mut().filter_map(|it| it.as_mut().now_or_never()).count();
        assert_eq!((refused, table.questions().len()), (1, QUESTIONS_MAX));
        drop(asked);
        assert!(table.questions().is_empty());
    }
}
