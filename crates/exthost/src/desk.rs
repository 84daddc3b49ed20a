//! The person's side: whoever answers dialogues and shows windows. A terminal, a page or a file of
//! answers.

mod answers;

pub use answers::Answers;

use crate::code;
use crate::windows::Window;
use althing_jsonrpc::Error;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// The person, or who stands for them.
pub trait Desk: Send + Sync + 'static {
    /// Asks, and waits for the answer as long as it takes. A future that is dropped withdraws the
    /// question: its extension has ended.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>>;

    /// Shows a window. Its closing by the person is told with `Host::window_closed`.
    fn open(&self, window: &Window) -> Result<(), Error>;

    /// Takes a window away again.
    fn close(&self, id: &str);
}

/// A question of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Whose it is.
    pub extension: String,
    /// What the person calls that.
    pub name: String,
    /// What it asks.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What an extension may ask. All text is the extension's: show it as plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "ask", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ask {
    /// To be read.
    Message {
        /// What it says.
        message: String,
        /// What stands above it.
        title: Option<String>,
        /// How bad it is.
        kind: MessageKind,
    },
    /// Yes or no.
    Confirm {
        /// What it says.
        message: String,
        /// What stands above it.
        title: Option<String>,
        /// What the buttons say.
        buttons: Buttons,
    },
    /// A file that exists, several of them, one to be written, or a folder.
    Files {
        /// Which of these.
        pick: Pick,
        /// What stands above it.
        title: Option<String>,
        /// Where to begin.
        default_path: Option<String>,
        /// How the file would be called.
        default_name: Option<String>,
        /// Which files are meant.
        filters: Vec<Filter>,
    },
}

/// How bad a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum MessageKind {
    #[default]
    Info,
    Warning,
    Error,
}

/// What the buttons of a confirmation say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Buttons {
    #[default]
    YesNo,
    OkCancel,
}

/// What is to be picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Pick {
    OpenFile,
    OpenFiles,
    SaveFile,
    Directory,
}

/// Files by their endings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// What to call them.
    pub name: String,
    /// Their endings, without a dot.
    pub extensions: Vec<String>,
}

/// What the person said. To turn away from a question is an answer, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A message was read.
    Read,
    /// A confirmation was given or not.
    Confirmed(bool),
    /// What was picked; none if nothing was.
    Picked(Option<Vec<String>>),
}

/// No one: every question fails, and no window opens.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Desk for Nobody {
    fn ask(&self, _: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        async { Err(Error::new(code::DIALOGUE, "nobody is there to ask")) }.boxed()
    }

    fn open(&self, _: &Window) -> Result<(), Error> {
        Err(Error::new(code::WINDOW, "nobody is there to show it to"))
    }

    fn close(&self, _: &str) {}
}
