//! A worker's `complete(messages)` as a model: `worker:<name>`. What it gives piece by piece is heard
//! piece by piece.

use super::worker::Worker;
use althing_chat::{Ask, Delta, Message, Role, Speaking, Stop, Usage};
use althing_gateway::{Access, Endpoint, Grant, Limits, Listed, Need, WORKER};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{self, BoxStream, StreamExt, unfold};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The function that is asked.
const FUNCTION: &str = "complete";

/// Where all workers are asked. An answer keeps to `limits`.
pub(super) fn endpoint(all: Vec<Arc<Worker>>, limits: Limits) -> Endpoint {
    Endpoint {
        id: WORKER.name.into(),
        provider: &WORKER,
        base_url: "multifrost".into(),
        key: None,
        parallel: WORKER.parallel,
        access: Some(Arc::new(Speakers { all, limits })),
        headers: vec![],
    }
}

#[derive(Debug)]
struct Speakers {
    all: Vec<Arc<Worker>>,
    limits: Limits,
}

impl Access for Speakers {
    fn grant<'a>(&'a self, _need: Need<'a>) -> BoxFuture<'a, Result<Grant>> {
        let fault = Fault::invalid("model: a worker only completes conversations");
        Box::pin(ready(Err(fault)))
    }

    fn speak(&self, model: &str, ask: &Ask) -> Option<Speaking> {
        let Some(worker) = self.all.iter().find(|worker| worker.name() == model) else {
            let fault = Fault::new(Kind::UnknownModel, format!("there is no worker '{model}'"));
            return Some(stream::iter([Err(fault)]).boxed());
        };
        if let Err(fault) = ask.check_text_only(worker.name()) {
            return Some(stream::iter([Err(fault)]).boxed());
        }
        let messages: Value = ask.messages.iter().map(message).collect();
        let pieces = match ask.stream {
            true => worker.items(FUNCTION, vec![messages]),
            false => whole(worker.clone(), vec![messages]),
        };
        // A whole answer may take as long as the person allows this worker.
        let total = self.limits.total.max(worker.timeout());
        let bytes_max = self.limits.answer_bytes_max;
        let said = Speech::new(worker.name(), pieces, total, bytes_max).speaking();
        Some(stream::iter(ask.ignored_by_text().map(Ok)).chain(said).boxed())
    }

    fn listed(&self) -> BoxFuture<'_, Option<Result<Vec<Listed>>>> {
        let models = self.all.iter().filter(|worker| worker.is_model());
        let listed = models.map(|worker| Listed {
            id: worker.name().into(),
            display_name: None,
            owned_by: None,
            context_tokens: None,
        });
        Box::pin(ready(Some(Ok(listed.collect()))))
    }
}

/// The answer of one call; the pieces of a list, which one that could have streamed gives.
fn whole(worker: Arc<Worker>, arguments: Vec<Value>) -> BoxStream<'static, Result<Value>> {
    let call = async move {
        match worker.call(FUNCTION, arguments, None).await {
            Ok(Value::Array(pieces)) => pieces.into_iter().map(Ok).collect(),
            done => vec![done],
        }
    };
    stream::once(call).flat_map(stream::iter).boxed()
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    json!({ "role": role, "content": message.text })
}

/// One answer under way. Dropping it ends the worker's call.
struct Speech {
    who: String,
    pieces: BoxStream<'static, Result<Value>>,
    /// What the last piece gave, at most its text, its usage and the end.
    ready: VecDeque<Result<Delta>>,
    total: Duration,
    until: Instant,
    bytes: usize,
    bytes_max: usize,
    is_over: bool,
}

impl Speech {
    fn new(
        who: &str,
        pieces: BoxStream<'static, Result<Value>>,
        total: Duration,
        bytes_max: usize,
    ) -> Speech {
        Speech {
            who: who.into(),
            pieces,
            ready: VecDeque::new(),
            total,
            until: Instant::now() + total,
            bytes: 0,
            bytes_max,
            is_over: false,
        }
    }

    fn speaking(self) -> Speaking {
        unfold(self, |mut speech| async move { Some((speech.next().await?, speech)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Delta>> {
        while self.ready.is_empty() && !self.is_over {
            let heard = match timeout_at(self.until, self.pieces.next()).await {
                Ok(Some(piece)) => piece.and_then(|piece| self.hear(&piece)),
                Ok(None) => self.end(Ok(Delta::Stop(Stop::End))),
                Err(_) => {
                    let text = format!("was not done within {} s", self.total.as_secs_f64());
                    Err(self.fault(Kind::TimedOut, &text))
                }
            };
            if let Err(fault) = heard {
                self.ready.clear();
                // What it cannot fail at is the end.
                let _ = self.end(Err(fault));
            }
        }
        self.ready.pop_front()
    }

    fn hear(&mut self, piece: &Value) -> Result<()> {
        let (text, usage) = read(piece)?;
        self.bytes += text.len();
        if self.bytes > self.bytes_max {
            let text = format!("gave an answer of more than {} bytes", self.bytes_max);
            return Err(self.fault(Kind::Upstream, &text));
        }
        self.ready.extend((!text.is_empty()).then(|| Ok(Delta::Text(text.into()))));
        self.ready.extend(usage.map(|usage| Ok(Delta::Usage(usage))));
        Ok(())
    }

    /// The last thing, and the end of the call.
    fn end(&mut self, last: Result<Delta>) -> Result<()> {
        self.pieces = stream::empty().boxed();
        self.is_over = true;
        self.ready.push_back(last);
        Ok(())
    }

    fn fault(&self, kind: Kind, text: &str) -> Fault {
        Fault::new(kind, format!("worker '{}': `{FUNCTION}` {text}", self.who))
    }
}

/// A text, or `{text, usage}` with the tokens `input` and `output`, of which one may be missing.
fn read(piece: &Value) -> Result<(&str, Option<Usage>)> {
    let text = piece.as_str().or_else(|| piece["text"].as_str());
    if text.is_none() && !piece["usage"].is_object() {
        let text = "the worker's `complete` gave neither a text nor {text, usage}";
        return Err(Fault::new(Kind::Upstream, text));
    }
    let count = |name: &str| piece["usage"][name].as_u64();
    let usage = Usage { input: count("input"), output: count("output"), ..Usage::default() };
    Ok((text.unwrap_or_default(), (usage != Usage::default()).then_some(usage)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is heard of these pieces, within 60 seconds and 10 bytes.
    async fn heard(pieces: BoxStream<'static, Result<Value>>) -> Vec<Result<Delta, String>> {
        let speech = Speech::new("w", pieces, Duration::from_secs(60), 10);
        let deltas: Vec<_> = speech.speaking().collect().await;
        deltas.into_iter().map(|it| it.map_err(|fault| fault.message)).collect()
    }

    async fn check(pieces: &[Value], want: &[Delta], failure: Option<&str>) {
        let given = stream::iter(pieces.to_vec()).map(Ok).boxed();
        let mut heard = heard(given).await;
        if let Some(words) = failure {
            let last = heard.pop().unwrap().unwrap_err();
            assert!(last.contains(words), "{last}");
        }
        assert_eq!(heard, want.iter().cloned().map(Ok).collect::<Vec<_>>(), "{pieces:?}");
    }

    #[tokio::test]
    async fn what_a_worker_may_answer() {
        let stop = || Delta::Stop(Stop::End);
        let text = |text: &str| Delta::Text(text.into());
        let usage = || Usage { input: Some(3), output: Some(1), ..Usage::default() };
        let used = json!({ "input": 3, "output": 1 });
        check(&[json!("yes")], &[text("yes"), stop()], None).await;
        let both = json!({ "text": "yes", "usage": used });
        check(&[both], &[text("yes"), Delta::Usage(usage()), stop()], None).await;
        let pieces = [json!("a"), json!({ "text": "b" }), json!({ "usage": used })];
        check(&pieces, &[text("a"), text("b"), Delta::Usage(usage()), stop()], None).await;
        check(&[json!("")], &[stop()], None).await;
        check(&[], &[stop()], None).await;
        for wrong in [json!(null), json!(5), json!({ "content": "x" })] {
            let failure = Some("neither a text nor {text, usage}");
            check(&[json!("a"), wrong, json!("b")], &[text("a")], failure).await;
        }
        let long = [json!("12345"), json!("12345"), json!("1"), json!("2")];
        check(&long, &[text("12345"), text("12345")], Some("more than 10 bytes")).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_without_end_is_given_up() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            Some((Ok(json!("x")), ()))
        });
        let heard = heard(drip.boxed()).await;
        let late = "worker 'w': `complete` was not done within 60 s".to_string();
        let piece = || Ok(Delta::Text("x".into()));
        assert_eq!(heard, [piece(), piece(), Err(late)]);
    }
}
