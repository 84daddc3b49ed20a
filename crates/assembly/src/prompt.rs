//! Prompts as values: rules first, then the question, then what was said, then what is asked now. What
//! changes from call to call stands last, so that prompts of one run begin alike.

use crate::fence;
use crate::fit::Cut;
use crate::tokens::weight;
use crate::transcript::Transcript;
use althing_chat::Ask;

/// Between two pieces.
const GAP: &str = "\n\n";
/// What stands before the labels of an answer.
const FORM: &str = "Answer in this form, labels in capitals:";
/// What stands behind a label that asks for the same as the one before.
pub const LIKEWISE: &str = "likewise";

/// A prompt under construction.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    system: Vec<String>,
    body: Vec<Piece>,
    form: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// In a fence of its own; without a mark it gets one when the request is made.
    Quote {
        name: String,
        text: String,
        mark: Option<String>,
    },
    Transcript(Transcript),
}

impl Prompt {
    pub fn new() -> Prompt {
        Prompt::default()
    }

    /// A rule that holds for every speaker.
    pub fn rule(mut self, text: impl Into<String>) -> Prompt {
        self.system.push(text.into());
        self
    }

    /// Plain words of ours, in the order of the body.
    pub fn text(mut self, text: impl Into<String>) -> Prompt {
        self.body.push(Piece::Text(text.into()));
        self
    }

    /// What the person asks.
    pub fn question(self, text: impl Into<String>) -> Prompt {
        self.quote(fence::QUESTION, text)
    }

    /// Somebody else's words.
    pub fn quote(mut self, name: impl Into<String>, text: impl Into<String>) -> Prompt {
        let (name, text) = (name.into(), text.into());
        self.body.push(Piece::Quote { name, text, mark: None });
        self
    }

    /// A heading and the texts under it; nothing at all where there are none.
    pub fn quotes(
        mut self,
        heading: &str,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Prompt {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_some() {
            self.body.push(Piece::Text(heading.to_string()));
        }
        texts.fold(self, |prompt, (name, text)| prompt.quote(name, text))
    }

    /// What was said so far. It gives way where the window is too small for everything.
    pub fn transcript(mut self, transcript: &Transcript) -> Prompt {
        self.body.push(Piece::Transcript(transcript.clone()));
        self
    }

    /// Puts everything quoted so far into fences with `mark`, which none of it contains.
    pub fn with_mark(mut self, mark: &str) -> Prompt {
        for piece in &mut self.body {
            if let Piece::Quote { mark: of_quote @ None, .. } = piece {
                *of_quote = Some(mark.to_string());
            }
        }
        self
    }

    /// A labelled line that the answer must have.
    pub fn label(mut self, label: &'static str, what: impl Into<String>) -> Prompt {
        self.form.push((label, what.into()));
        self
    }

    /// Labelled lines that all ask for the same.
    pub fn labels(mut self, labels: &[&'static str], what: &str) -> Prompt {
        for (at, label) in labels.iter().enumerate() {
            self = self.label(label, if at == 0 { what } else { LIKEWISE });
        }
        self
    }

    /// The transcript that the prompt quotes; empty where it quotes none.
    pub(crate) fn quoted(&self) -> Transcript {
        let found = self.body.iter().find_map(|piece| match piece {
            Piece::Transcript(transcript) => Some(transcript.clone()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// Tokens of the request with `cut`, as guessed before a model reports any.
    pub(crate) fn weight(&self, cut: &Cut) -> f64 {
        let ask = self.ask(cut);
        ask.messages.iter().map(|message| weight(&message.text)).sum()
    }

    /// The finished request, with nothing left out.
    pub fn ask_whole(&self) -> Ask {
        self.ask(&Cut::default())
    }

    /// The finished request with what `cut` leaves of the transcript.
    pub fn ask(&self, cut: &Cut) -> Ask {
        self.ask_with_mark(cut, |texts| fence::draw_mark(texts.iter().copied()))
    }

    /// As [`Prompt::ask`], with the mark of quotes that have none from `draw`.
    fn ask_with_mark(&self, cut: &Cut, draw: impl Fn(&[&str]) -> String) -> Ask {
        let texts = self.unmarked();
        let mark = if texts.is_empty() { String::new() } else { draw(&texts) };
        let (user, cache_ends) = self.user_text(&mark, cut);
        let mut ask = Ask::new(self.system_text(), user);
        if let Some(message) = ask.messages.last_mut() {
            message.cache_ends = cache_ends;
        }
        ask
    }

    /// Texts that still need a mark.
    fn unmarked(&self) -> Vec<&str> {
        let quotes = self.body.iter().filter_map(|piece| match piece {
            Piece::Quote { name, text, mark: None } => Some([name.as_str(), text.as_str()]),
            _ => None,
        });
        quotes.flatten().collect()
    }

    fn system_text(&self) -> String {
        let mut system = self.system.join("\n");
        if self.body.iter().any(|piece| !matches!(piece, Piece::Text(_))) {
            system.push_str(if system.is_empty() { "" } else { GAP });
            system.push_str(fence::RULE);
        }
        system
    }

    /// The text, and where its beginnings end that later prompts have too: before the transcript and
    /// behind each of its speeches.
    fn user_text(&self, mark: &str, cut: &Cut) -> (String, Vec<usize>) {
        let mut out = String::new();
        let mut cache_ends = Vec::new();
        for piece in &self.body {
            let before = out.len();
            out.push_str(if before == 0 { "" } else { GAP });
            let start = out.len();
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Quote { name, text, mark: own } => {
                    let mark = own.as_deref().unwrap_or(mark);
                    fence::write_fenced(mark, name, text, &mut out);
                }
                Piece::Transcript(transcript) => {
                    cache_ends.push(before);
                    let mut said = String::new();
                    let ends = transcript.render(cut, &mut said);
                    out.push_str(&said);
                    cache_ends.extend(ends.into_iter().map(|end| start + end));
                }
            }
            if out.len() == start {
                out.truncate(before);
            }
        }
        if !self.form.is_empty() {
            out.push_str(if out.is_empty() { "" } else { GAP });
            out.push_str(FORM);
        }
        for (label, what) in &self.form {
            for part in ["\n", label, ": ", what] {
                out.push_str(part);
            }
        }
        cache_ends.retain(|end| *end > 0 && *end <= out.len());
        cache_ends.dedup();
        (out, cache_ends)
    }
}

/// What a listener can make out of a rendered prompt: used by voices that are not models.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub question: String,
    /// Quoted material in order, as name and text.
    pub quotes: Vec<(String, String)>,
    /// Labels the answer is asked to have, in order.
    pub labels: Vec<String>,
    /// The words of the prompt outside all fences.
    pub plain: String,
}

/// Takes a prompt apart along its fences. A prompt that is not ours is all question.
pub fn hear(ask: &Ask) -> Heard {
    let user = ask.messages.last().map(|m| m.text.as_str()).unwrap_or_default();
    if !ask.system().contains(fence::RULE) {
        return Heard { question: user.to_string(), ..Heard::default() };
    }
    let mut heard = Heard::default();
    let mut open: Option<(&str, &str, Vec<&str>)> = None;
    for line in user.lines() {
        match &mut open {
            Some((mark, name, lines)) if fence::is_closing(line, mark) => {
                heard.take(name, lines.join("\n"));
                open = None;
            }
            Some((_, _, lines)) => lines.push(line),
            None => match fence::read_opening(line) {
                Some((mark, name)) => open = Some((mark, name, vec![])),
                None => heard.plain_line(line),
            },
        }
    }
    heard
}

impl Heard {
    fn take(&mut self, name: &str, text: String) {
        if name == fence::QUESTION {
            self.question = text;
        } else {
            self.quotes.push((name.to_string(), text));
        }
    }

    fn plain_line(&mut self, line: &str) {
        if self.plain.contains(FORM) {
            let label =
                line.split_once(':').map(|(label, _)| label).filter(|label| is_label(label));
            self.labels.extend(label.map(String::from));
        }
        self.plain.push_str(line);
        self.plain.push('\n');
    }
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, ' ' | '_'))
}

#[cfg(test)]
mod tests;
