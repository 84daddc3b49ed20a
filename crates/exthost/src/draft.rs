//! The message in the editor as one value: what it is, what its file has, and how it came to be so.

use crate::debounce::Debounce;
use crate::document::Document;
use crate::history::History;
use std::path::PathBuf;
use std::sync::Arc;

/// Whose changes those are that no extension made.
const PERSON: &str = "you";

/// The one state of the message: whoever changes it changes this.
pub(crate) struct Editor {
    pub(crate) document: Document,
    pub(crate) revision: u64,
    pub(crate) debounce: Debounce,
    history: History,
    /// What the file has, as far as is known here; without one, what the message began with.
    saved: Arc<str>,
    /// How many messages were here before it.
    opened: u64,
}

/// All that is known of the message at one moment.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The message.
    pub document: Document,
    /// How often it changed.
    pub revision: u64,
    /// How many messages were here before it.
    pub opened: u64,
    /// What its file had when it was last read or written.
    pub saved: Arc<str>,
    /// Whose change can be taken back.
    pub undo: Option<String>,
    /// Whose change can be done again.
    pub redo: Option<String>,
}

impl Draft {
    /// Whether something would be lost if nobody saved it.
    pub fn is_changed(&self) -> bool {
        self.document.text() != &*self.saved
    }
}

impl Editor {
    pub(crate) fn new(document: Document) -> Editor {
        let (saved, debounce, history) =
            (document.text().into(), Debounce::default(), History::default());
        Editor { document, revision: 0, debounce, history, saved, opened: 0 }
    }

    pub(crate) fn draft(&self) -> Draft {
        Draft {
            document: self.document.clone(),
            revision: self.revision,
            opened: self.opened,
            saved: self.saved.clone(),
            undo: self.history.last_by().map(String::from),
            redo: self.history.next_by().map(String::from),
        }
    }

    /// Whether something would be lost if another message took the place of this one.
    pub(crate) fn is_changed(&self) -> bool {
        self.document.text() != &*self.saved
    }

    /// Takes another message. What was done to the old one is not undone in it, and what was not told
    /// of the old one is not said of the new one.
    pub(crate) fn open(&mut self, document: Document) {
        let (revision, opened) = (self.revision + 1, self.opened + 1);
        *self = Editor { revision, opened, ..Editor::new(document) };
    }

    /// Remembers that somebody makes `text` of the message.
    pub(crate) fn remember(&mut self, text: &str, hand: Hand<'_>) {
        self.history.add(self.document.text(), text, hand.by, hand.joins);
    }

    /// The text before the last change, or after the one that was taken back; none if there is none.
    pub(crate) fn step(&mut self, is_undo: bool) -> Option<String> {
        let text = self.document.text();
        if is_undo { self.history.undo(text) } else { self.history.redo(text) }
    }

    /// What `file` has now.
    pub(crate) fn saved(&mut self, file: PathBuf, text: &str) {
        self.document.set_file(file);
        self.saved = text.into();
    }
}

/// Whose change it is, and whether it goes on with what the same hand did just before.
pub(crate) struct Hand<'a> {
    by: &'a str,
    joins: bool,
}

impl<'a> Hand<'a> {
    /// An extension, by its name.
    pub(crate) fn of(by: &'a str) -> Hand<'a> {
        Hand { by, joins: false }
    }

    /// The person.
    pub(crate) fn person(joins: bool) -> Hand<'static> {
        Hand { by: PERSON, joins }
    }
}
