//! `althing/<method>` as a model: a discussion among the configured voices, whose synthesis is the
//! answer, word by word where the client streams. What happens on the way is told in comments.

mod draft;

use super::talk::{Piece, Pieces};
use crate::log::RunLog;
use crate::runs::Control;
use crate::service::Service;
use crate::service::discuss::{Conclusion, Discussion, progress};
use althing_assembly::event::{Ending, Event, Quoted, Totals, What};
use althing_assembly::{Method, methods};
use althing_chat::{Ask, Attachment, Delta, Message, Role, Stop, ToolChoice, Usage};
use althing_stdx::{Fault, Kind, Result};
use draft::Draft;
use futures_util::stream::{self, StreamExt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PREFIX: &str = "althing/";
/// After so much silence a comment tells that the discussion goes on.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Behind an answer that no model gave.
const DEMO: &str = "\n\n(No model is configured: scripted demo voices spoke, which know nothing.)";

/// The names of all discussions.
pub(super) fn names() -> impl Iterator<Item = String> {
    methods::ALL.iter().map(|method| format!("{PREFIX}{}", method.name))
}

/// The method that a model's name stands for; none where it names something else.
pub(super) fn method(model: &str) -> Result<Option<&'static Method>> {
    let Some(wanted) = model.strip_prefix(PREFIX) else { return Ok(None) };
    let found = methods::ALL.iter().find(|method| method.name == wanted).copied();
    let unknown = || {
        let all: Vec<String> = names().collect();
        let text = format!("there is no '{model}'; there are {}", all.join(", "));
        Fault::new(Kind::UnknownModel, text)
    };
    found.map(Some).ok_or_else(unknown)
}

/// Begins a discussion of what `ask` ends with. It is saved like every other one; dropping the
/// pieces cancels it. Whether the client `streams` decides when the synthesis comes: as it is
/// written, or when it stands.
pub(super) async fn hold(
    service: &Service,
    method: &'static Method,
    ask: &Ask,
    streams: bool,
) -> Result<Pieces> {
    let (question, context) = subject(ask)?;
    // They stand before the words of every prompt.
    let attachments = ask.attachments().map(|it| Attachment { at: 0, ..it.clone() }).collect();
    let wanted = Discussion {
        question,
        context,
        attachments,
        method,
        models: vec![],
        rounds: None,
        language: None,
        max_cost_usd: None,
    };
    let held = service.discuss(wanted).await?;
    let mut ready: VecDeque<Result<Piece>> = VecDeque::new();
    ready.push_back(comment(format!("run {}", held.run.id)));
    ready.extend(held.notes.into_iter().map(comment));
    let watch = Watch {
        log: held.run.log,
        seq: 0,
        ready,
        draft: Draft::new(method, streams),
        stop: Stop::End,
        demo: held.demo,
        is_over: false,
        _reins: Reins(held.run.control),
    };
    Ok(stream::unfold(watch, Watch::next).boxed())
}

/// The last word of the user is the question; what was said before it is given along.
fn subject(ask: &Ask) -> Result<(String, Vec<Quoted>)> {
    if !ask.tools.is_empty() && ask.tool_choice != Some(ToolChoice::None) {
        return Err(Fault::invalid("tools: a discussion calls none"));
    }
    if ask.format.is_some() || !ask.stop.is_empty() {
        return Err(Fault::invalid("a discussion ends with its synthesis, which is text"));
    }
    let Some(last) = ask.messages.iter().rposition(|it| it.role == Role::User) else {
        return Err(Fault::invalid("messages: a discussion needs a word of the user"));
    };
    let said = |message: &&Message| message.role != Role::System && !message.text.is_empty();
    let line = |message: &Message| {
        let who = if message.role == Role::User { "User" } else { "Assistant" };
        format!("{who}: {}", message.text)
    };
    let before: Vec<String> = ask.messages[..last].iter().filter(said).map(line).collect();
    let quoted = |name: &str, text: String| Quoted { name: name.into(), text };
    let mut context = vec![
        quoted("instructions", ask.system()),
        quoted("the conversation so far", before.join("\n\n")),
    ];
    context.retain(|it| !it.text.is_empty());
    Ok((ask.messages[last].text.clone(), context))
}

/// A client that leaves takes its discussion along.
struct Reins(Control);

impl Drop for Reins {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A reader of the run's log.
struct Watch {
    log: Arc<RunLog>,
    seq: u64,
    ready: VecDeque<Result<Piece>>,
    draft: Draft,
    /// How the synthesis ended.
    stop: Stop,
    demo: bool,
    is_over: bool,
    _reins: Reins,
}

impl Watch {
    async fn next(mut self) -> Option<(Result<Piece>, Watch)> {
        while self.ready.is_empty() {
            if self.is_over {
                return None;
            }
            match timeout(SILENCE_MAX, self.log.since(self.seq)).await {
                Err(_) => self.ready.push_back(comment("the discussion goes on".into())),
                // The log ended without its last event: it could not be written.
                Ok(events) if events.is_empty() => self.end(Err(lost())),
                Ok(events) => events.iter().for_each(|event| self.see(event)),
            }
        }
        let piece = self.ready.pop_front()?;
        Some((piece, self))
    }

    fn see(&mut self, event: &Event) {
        self.seq = event.seq + 1;
        self.ready.extend(progress(event).map(comment));
        let text = self.draft.see(event).map(|text| Ok(Piece::Delta(Delta::Text(text))));
        self.ready.extend(text);
        if Conclusion::of(event).is_some_and(|it| it.is_cut) {
            self.stop = Stop::Length;
        }
        let What::RunEnded { ending, totals } = &event.what else { return };
        self.end(match ending {
            Ending::Completed => Ok(usage(totals)),
            Ending::Cancelled => Err(Fault::new(Kind::Cancelled, "the run was cancelled")),
            Ending::Failed(it) => Err(Fault::new(it.kind, &it.message)
                .retry_after(it.retry_after_ms.map(Duration::from_millis))),
        });
    }

    fn end(&mut self, ended: Result<Usage>) {
        self.is_over = true;
        match ended {
            Err(fault) => self.ready.push_back(Err(fault)),
            Ok(usage) => {
                let demo = self.demo.then(|| Delta::Text(DEMO.into()));
                let stop = Delta::Stop(self.stop.clone());
                let last = demo.into_iter().chain([Delta::Usage(usage), stop]);
                self.ready.extend(last.map(|delta| Ok(Piece::Delta(delta))));
            }
        }
    }
}

fn comment(text: String) -> Result<Piece> {
    Ok(Piece::Comment(text))
}

fn lost() -> Fault {
    Fault::internal("the discussion could not be saved and was stopped")
}

fn usage(totals: &Totals) -> Usage {
    Usage {
        input: Some(totals.input_tokens),
        output: Some(totals.output_tokens),
        cached: Some(totals.cached_tokens),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_mean() {
        assert_eq!(names().count(), 7);
        assert_eq!(method("althing/oxford").unwrap().unwrap().name, "oxford");
        assert!(method("gpt-5").unwrap().is_none());
        let fault = method("althing/answer").err().unwrap();
        assert_eq!(fault.kind, Kind::UnknownModel);
        assert!(fault.message.contains("althing/standard"), "{fault}");
    }

    #[test]
    fn the_last_word_is_the_question() {
        let messages = vec![
            Message::system("Be brief."),
            Message::user("One?"),
            Message::assistant("Yes."),
            Message::user("Two?"),
        ];
        let (question, context) = subject(&Ask { messages, ..Ask::new("", "") }).unwrap();
        assert_eq!(question, "Two?");
        let texts: Vec<&str> = context.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["Be brief.", "User: One?\n\nAssistant: Yes."]);
        assert_eq!(subject(&Ask::new("", "Well?")).unwrap(), ("Well?".into(), vec![]));
    }

    #[test]
    fn what_a_discussion_cannot_do_is_told() {
        let tool = althing_chat::Tool {
            name: "t".into(),
            description: String::new(),
            parameters: serde_json::json!({}),
        };
        let fault = subject(&Ask { tools: vec![tool], ..Ask::new("", "x") }).unwrap_err();
        assert!(fault.message.starts_with("tools: "), "{fault}");
        let none = Ask { messages: vec![Message::system("x")], ..Ask::new("", "") };
        assert!(subject(&none).unwrap_err().message.starts_with("messages: "));
    }
}
