//! The questions of extensions on the terminal, one at a time.

use crate::command::tell;
use crate::terminal::Screen;
use althing_hub::extensions::{Answer, Ask, Buttons, Desk, Error, Pick, Question, Window, code};
use althing_stdx::text::one_line;
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc};

/// Characters of a question's text that are shown.
const SHOWN_CHARS_MAX: usize = 4_000;
/// How often an answer that is none is asked for again; then the question is taken as turned away.
const TRIES_MAX: usize = 5;
/// Bytes of a typed line; the input ends at a longer one.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// A person at a terminal, or a script on standard input.
pub struct Terminal {
    screen: Screen,
    /// Begun with the first question. One question at a time has it.
    lines: Mutex<Option<mpsc::Receiver<String>>>,
}

impl Terminal {
    pub fn new(screen: Screen) -> Terminal {
        Terminal { screen, lines: Mutex::new(None) }
    }

    async fn answer(&self, question: Question) -> Result<Answer, Error> {
        let mut lines = self.lines.lock().await;
        tell(self.screen, &one_line(&described(&question), SHOWN_CHARS_MAX));
        if matches!(question.ask, Ask::Message { .. }) {
            return Ok(Answer::Read);
        }
        let lines = lines.get_or_insert_with(typed);
        for _ in 0..TRIES_MAX {
            crate::printer::tell(format!("{} ", hint(&question.ask)));
            let Some(line) = lines.recv().await else {
                let what = format!("standard input has no answer to {}", described(&question));
                return Err(Error::new(code::DIALOGUE, what));
            };
            if let Some(answer) = read(&question.ask, line.trim()) {
                return Ok(answer);
            }
        }
        Ok(match question.ask {
            Ask::Confirm { .. } => Answer::Confirmed(false),
            Ask::Message { .. } => Answer::Read,
            Ask::Files { .. } => Answer::Picked(None),
        })
    }
}

/// Lines of standard input. The thread ends with the program: a read cannot be cancelled.
fn typed() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        use std::io::{BufRead, Read};
        loop {
            let mut line = String::new();
            let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
            if !read.is_ok_and(|bytes| bytes > 0) || sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn described(question: &Question) -> String {
    let said = match &question.ask {
        Ask::Message { message, title, .. } | Ask::Confirm { message, title, .. } => {
            let title = title.as_ref().map(|title| format!("{title}: ")).unwrap_or_default();
            format!("{title}{message}")
        }
        Ask::Files { pick, title, default_path, default_name, .. } => {
            let what = match pick {
                Pick::OpenFile => "a file to open",
                Pick::OpenFiles => "files to open",
                Pick::SaveFile => "a file to write",
                Pick::Directory => "a folder",
            };
            let begin = default_path.iter().chain(default_name).cloned().collect::<Vec<_>>();
            let begin =
                if begin.is_empty() { String::new() } else { format!(" ({})", begin.join("/")) };
            format!("{}: {what}{begin}", title.as_deref().unwrap_or("Files"))
        }
    };
    format!("{} asks: {said}", question.name)
}

fn hint(ask: &Ask) -> &'static str {
    match ask {
        Ask::Message { .. } => "",
        Ask::Confirm { buttons: Buttons::YesNo, .. } => "[yes/no]",
        Ask::Confirm { buttons: Buttons::OkCancel, .. } => "[ok/cancel]",
        Ask::Files { pick: Pick::OpenFiles, .. } => "[paths with blanks between; empty: none]",
        Ask::Files { .. } => "[a path; empty: none]",
    }
}

/// What was typed, as an answer; none if it is none.
fn read(ask: &Ask, line: &str) -> Option<Answer> {
    match ask {
        Ask::Message { .. } => Some(Answer::Read),
        Ask::Confirm { .. } => match line.to_lowercase().as_str() {
            "y" | "yes" | "ok" => Some(Answer::Confirmed(true)),
            "n" | "no" | "cancel" | "c" => Some(Answer::Confirmed(false)),
            _ => None,
        },
        Ask::Files { .. } if line.is_empty() => Some(Answer::Picked(None)),
        Ask::Files { pick: Pick::OpenFiles, .. } => {
            let paths = line.split_whitespace().map(whole).collect();
            Some(Answer::Picked(Some(paths)))
        }
        Ask::Files { .. } => Some(Answer::Picked(Some(vec![whole(line)]))),
    }
}

/// Extensions may be in another folder.
fn whole(path: &str) -> String {
    std::path::absolute(path).map_or(path.into(), |it| it.to_string_lossy().into_owned())
}

impl Desk for Terminal {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(self.answer(question))
    }

    fn open(&self, window: &Window) -> Result<(), Error> {
        let shown = one_line(&format!("{} at {}", window.title, window.url), SHOWN_CHARS_MAX);
        tell(self.screen, &format!("an extension opens a window: {shown}"));
        Ok(())
    }

    fn close(&self, _: &str) {}
}

#[cfg(test)]
#[test]
fn what_may_be_typed() {
    let (title, buttons) = (None, Buttons::YesNo);
    let confirm = Ask::Confirm { message: "Sure?".into(), title, buttons };
    for (line, want) in [("y", true), ("YES", true), ("no", false), ("cancel", false)] {
        assert_eq!(read(&confirm, line), Some(Answer::Confirmed(want)));
    }
    assert_eq!(read(&confirm, ""), None);
    let files = |pick| {
        let (title, default_path, default_name) = (None, None, None);
        Ask::Files { pick, title, default_path, default_name, filters: vec![] }
    };
    let picked = |paths: &[&str]| {
        Some(Answer::Picked(Some(paths.iter().map(|it| it.to_string()).collect())))
    };
    assert_eq!(read(&files(Pick::OpenFile), ""), Some(Answer::Picked(None)));
    assert_eq!(read(&files(Pick::OpenFile), "/a b"), picked(&["/a b"]));
    assert_eq!(read(&files(Pick::OpenFiles), "/a /b"), picked(&["/a", "/b"]));
}
