//! A person whose answers were written down before: for tests of extensions.

use super::{Answer, Ask, Desk, Pick, Question};
use crate::code;
use crate::windows::Window;
use althing_jsonrpc::Error;
use althing_stdx::text;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// Answers, each for one question, in the order of the questions.
#[derive(Debug)]
pub struct Answers {
    left: Mutex<Vec<Prepared>>,
}

/// `{"method": "ui/showConfirm", "contains": "sure", "answer": true}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prepared {
    method: String,
    /// What the question has to have in it.
    #[serde(default)]
    contains: Option<String>,
    #[serde(default)]
    answer: Value,
}

impl Answers {
    /// Reads a list of answers: JSON, each with the `method` it answers, perhaps what the question
    /// `contains`, and the `answer`: a boolean, a path, a list of paths or `null`.
    pub fn read(json: &str) -> Result<Answers, Error> {
        let left = serde_json::from_str(json);
        let left = left.map_err(|error| code::validation(format_args!("answers: {error}")))?;
        Ok(Answers { left: Mutex::new(left) })
    }

    /// What was not asked for: the methods, and what the questions should have had in them.
    pub fn left(&self) -> Vec<String> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = |it: &Prepared| match &it.contains {
            Some(part) => format!("{} with {part:?}", it.method),
            None => it.method.clone(),
        };
        left.iter().map(shown).collect()
    }

    fn answer(&self, ask: &Ask) -> Result<Answer, Error> {
        let (method, said) = described(ask);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |it: &Prepared| {
            it.method == method && it.contains.as_ref().is_none_or(|part| said.contains(part))
        };
        // A message needs no answer.
        let at = match (left.iter().position(fits), ask) {
            (Some(at), _) => at,
            (None, Ask::Message { .. }) => return Ok(Answer::Read),
            (None, _) => {
                let said = text::one_line(&said, 100);
                let what = format!("no answer is prepared for {method}: {said}");
                return Err(Error::new(code::DIALOGUE, what));
            }
        };
        let answer = left.remove(at).answer;
        fitting(ask, answer).ok_or_else(|| {
            Error::new(code::DIALOGUE, format_args!("the answer prepared for {method} is none"))
        })
    }
}

fn described(ask: &Ask) -> (&'static str, String) {
    match ask {
        Ask::Message { message, .. } => ("ui/showMessage", message.clone()),
        Ask::Confirm { message, .. } => ("ui/showConfirm", message.clone()),
        Ask::Files { pick, title, .. } => {
            let method = match pick {
                Pick::OpenFile => "ui/openFile",
                Pick::OpenFiles => "ui/openFiles",
                Pick::SaveFile => "ui/saveFile",
                Pick::Directory => "ui/selectDirectory",
            };
            (method, title.clone().unwrap_or_default())
        }
    }
}

fn fitting(ask: &Ask, answer: Value) -> Option<Answer> {
    match (ask, answer) {
        (Ask::Message { .. }, _) => Some(Answer::Read),
        (Ask::Confirm { .. }, Value::Bool(said)) => Some(Answer::Confirmed(said)),
        (Ask::Files { .. }, Value::Null) => Some(Answer::Picked(None)),
        (Ask::Files { .. }, Value::String(path)) => Some(Answer::Picked(Some(vec![path]))),
        (Ask::Files { .. }, paths @ Value::Array(_)) => {
            serde_json::from_value(paths).ok().map(|paths| Answer::Picked(Some(paths)))
        }
        _ => None,
    }
}

impl Desk for Answers {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        async move { self.answer(&question.ask) }.boxed()
    }

    /// It is nowhere shown, and stays open.
    fn open(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    fn close(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::{Buttons, MessageKind};

    fn confirm(message: &str) -> Ask {
        Ask::Confirm { message: message.into(), title: None, buttons: Buttons::YesNo }
    }

    fn pick(pick: Pick) -> Ask {
        let (title, default_path, default_name) = (None, None, None);
        Ask::Files { pick, title, default_path, default_name, filters: vec![] }
    }

    #[test]
    fn answers_are_given_in_their_order() {
        let answers = Answers::read(
            r#"[{ "method": "ui/showConfirm", "contains": "second", "answer": false },
                { "method": "ui/showConfirm", "answer": true },
                { "method": "ui/openFiles", "answer": ["a", "b"] },
                { "method": "ui/openFile" },
                { "method": "ui/selectDirectory", "answer": 7 }]"#,
        )
        .unwrap();
        let picked = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        assert_eq!(answers.answer(&confirm("the first?")), Ok(Answer::Confirmed(true)));
        assert_eq!(answers.answer(&confirm("the second?")), Ok(Answer::Confirmed(false)));
        let both = Ok(Answer::Picked(Some(picked(&["a", "b"]))));
        assert_eq!(answers.answer(&pick(Pick::OpenFiles)), both);
        assert_eq!(answers.answer(&pick(Pick::OpenFile)), Ok(Answer::Picked(None)));
        let read = Ask::Message { message: "m".into(), title: None, kind: MessageKind::Info };
        assert_eq!(answers.answer(&read), Ok(Answer::Read));
        for ask in [confirm("a third?"), pick(Pick::Directory), pick(Pick::SaveFile)] {
            assert_eq!(answers.answer(&ask).unwrap_err().code, code::DIALOGUE);
        }
        assert!(answers.left().is_empty());
        let unused = r#"[{ "method": "ui/openFile", "contains": "One" }, { "method": "ui/x" }]"#;
        let unused = Answers::read(unused).unwrap().left();
        assert_eq!(unused, ["ui/openFile with \"One\"", "ui/x"]);
        assert!(Answers::read("{}").is_err());
    }
}
