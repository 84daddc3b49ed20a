//! The message in the editor: how it is read and changed, and who hears of it. What takes long is done
//! on another thread and on a copy; all others go on meanwhile.

use crate::code;
use crate::document::{Document, Format};
use crate::draft::{Editor, Hand};
use crate::extension::Extension;
use crate::grant::Grant;
use crate::shared::{Event, Shared};
use althing_jsonrpc::Error;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Bytes that are looked at where that is asked for, which takes a few milliseconds at most.
const AT_ONCE_BYTES_MAX: usize = 64 << 10;
/// How often a change is made because the message was changed while it was made. Then it is refused.
const TRIES_MAX: usize = 4;

/// How many bytes a change looks at: those of the message and those that are given, so many times.
pub(crate) struct Work {
    pub(crate) given_bytes: usize,
    pub(crate) times: usize,
}

impl Shared {
    pub(crate) fn editor(&self) -> MutexGuard<'_, Editor> {
        self.editor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self) -> (Document, u64) {
        let editor = self.editor();
        (editor.document.clone(), editor.revision)
    }

    /// Looks at the message as it is now.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Document) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (document, _) = self.snapshot();
        away(document.text().len(), move || look(&document)).await?
    }

    /// Changes the message; what fails changes nothing. A change that others were faster than is made
    /// anew on what they left.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        by: &str,
        work: Work,
        change: impl Fn(&mut Document) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let change = Arc::new(change);
        for _ in 0..TRIES_MAX {
            let (mut document, revision) = self.snapshot();
            let bytes = document.text().len().saturating_add(work.given_bytes);
            let change = change.clone();
            let made = move || change(&mut document).map(|outcome| (document, outcome));
            let (changed, outcome) = away(bytes.saturating_mul(work.times), made).await??;
            let mut editor = self.editor();
            if editor.revision == revision {
                self.put(&mut editor, changed, Hand::of(by));
                return Ok(outcome);
            }
        }
        let what = format!("the message changed {TRIES_MAX} times while this was done: try again");
        Err(Error::new(code::GENERAL, what))
    }

    /// Takes a changed message, and tells of it if it is another one.
    pub(crate) fn put(&self, editor: &mut Editor, changed: Document, hand: Hand<'_>) {
        if editor.document.text() == changed.text() {
            return;
        }
        editor.remember(changed.text(), hand);
        self.replace(editor, changed);
    }

    /// Takes the last change back, or does again what was taken back; false if there is none.
    pub(crate) fn step(&self, editor: &mut Editor, is_undo: bool) -> bool {
        let Some(text) = editor.step(is_undo) else { return false };
        self.replace(editor, Document::new(editor.document.form(), text));
        true
    }

    fn replace(&self, editor: &mut Editor, mut changed: Document) {
        // It may have been saved meanwhile.
        editor.document.file().cloned().into_iter().for_each(|file| changed.set_file(file));
        editor.document = changed;
        editor.revision += 1;
        editor.debounce.changed(Instant::now());
        self.edited.notify_one();
        self.tell(Event::DocumentChanged { revision: editor.revision });
    }

    /// Tells who wants to know that the message changed. A view is made once for all. If the message
    /// changes meanwhile, that is told when it comes to rest, and of another message it is not said.
    pub(crate) async fn tell_changed(&self) {
        let (document, revision) = self.snapshot();
        let listeners = self.listeners();
        let formats: Vec<Format> = listeners.iter().filter_map(|(_, format)| *format).collect();
        let bytes = document.text().len().saturating_mul(formats.len());
        let viewed = away(bytes, move || (views(&document, &formats), document)).await;
        // Fails when we panicked, which is told elsewhere.
        let Ok((views, document)) = viewed else { return };
        if self.editor().revision != revision {
            return;
        }
        for (extension, format) in listeners {
            if extension.running().is_none() {
                continue;
            }
            let mut params = with_file(json!({ "hasFile": document.file().is_some() }), &document);
            if let Some(view) = format.and_then(|format| views.get(&(format as u8))) {
                params["message"] = view["message"].clone();
                params["format"] = view["format"].clone();
            }
            self.notify(&extension, "message/changed", params);
        }
    }

    /// Who wants to hear of changes, and in which format the message is to go with that.
    fn listeners(&self) -> Vec<(Arc<Extension>, Option<Format>)> {
        let listener = |extension: &Arc<Extension>| {
            let changed = extension.running()?.events.changed?;
            let may_read = extension.entry.grants.contains(&Grant::Read);
            Some((extension.clone(), changed.content.filter(|_| may_read)))
        };
        self.extensions.iter().filter_map(listener).collect()
    }
}

/// Each view that is wanted, by its format.
fn views(document: &Document, formats: &[Format]) -> HashMap<u8, Value> {
    let mut views = HashMap::new();
    for &format in formats {
        views.entry(format as u8).or_insert_with(|| match document.view(format) {
            Ok(text) => json!({ "message": text, "format": format }),
            // The text as it is, and called so.
            Err(_) => json!({ "message": document.text(), "format": "hl7" }),
        });
    }
    views
}

/// Does what is short at once, and what is long on another thread.
async fn away<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    if bytes <= AT_ONCE_BYTES_MAX {
        return Ok(work());
    }
    let failed = |error| Error::new(code::INTERNAL, format_args!("Internal error: {error}"));
    spawn_blocking(work).await.map_err(failed)
}

/// The parameters with the file of the document, if it has one.
pub(crate) fn with_file(mut params: Value, document: &Document) -> Value {
    if let Some(file) = document.file() {
        params["filePath"] = file.to_string_lossy().into();
    }
    params
}
