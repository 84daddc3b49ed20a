//! The requests of extensions: one row per method, with what it takes to be served.

mod editor;
mod models;
mod ui;

use crate::code;
use crate::extension::Extension;
use crate::grant::Grant;
use crate::log::{Level, Source};
use crate::shared::Shared;
use althing_jsonrpc::{Cx, Error, Handler, Peer, RawValue, Trouble, Value};
use althing_stdx::Kind;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::time::Instant;

/// What every method gets.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) extension: Arc<Extension>,
}

type Serve = for<'a> fn(&'a Session, &'a str) -> BoxFuture<'a, Result<Value, Error>>;

struct Method {
    name: &'static str,
    grant: Grant,
    serve: Serve,
}

macro_rules! method {
    ($name:literal, $grant:ident, $serve:path) => {
        Method {
            name: $name,
            grant: Grant::$grant,
            serve: |session, params| async move { $serve(session, read(params)?).await }.boxed(),
        }
    };
}

const METHODS: &[Method] = &[
    method!("editor/getMessage", Read, editor::get),
    method!("editor/setMessage", Change, editor::set),
    method!("editor/patchMessage", Change, editor::patch),
    method!("ui/openWindow", Windows, ui::open_window),
    method!("ui/closeWindow", Windows, ui::close_window),
    method!("ui/showMessage", Dialogues, ui::show_message),
    method!("ui/showConfirm", Dialogues, ui::show_confirm),
    method!("ui/openFile", Files, ui::open_file),
    method!("ui/openFiles", Files, ui::open_files),
    method!("ui/saveFile", Files, ui::save_file),
    method!("ui/selectDirectory", Files, ui::select_directory),
    method!("ai/models", Models, models::models),
    method!("ai/complete", Models, models::complete),
];

/// The parameters of a method; no method has none.
fn read<T: DeserializeOwned>(params: &str) -> Result<T, Error> {
    if params == "null" {
        return Err(Error::of(Kind::InvalidParams, "missing params"));
    }
    serde_json::from_str(params)
        .map_err(|error| Error::of(Kind::InvalidParams, format_args!("invalid params: {error}")))
}

#[cfg(test)]
#[test]
fn every_method_is_documented() {
    let page = include_str!("../../../docs/protocols/hermes-methods.md");
    for Method { name, grant, .. } in METHODS {
        let row = format!("| `{name}`, `{}` |", grant.name());
        assert!(page.contains(&row), "{row}");
    }
}

impl Session {
    fn find(&self, name: &str) -> Result<&'static Method, Error> {
        if name == "initialize" {
            return Err(Error::new(code::ALREADY_INITIALIZED, "the host initialises, not you"));
        }
        let method = METHODS.iter().find(|method| method.name == name);
        let method = method.ok_or_else(|| {
            Error::of(Kind::UnknownMethod, format_args!("method not found: {name}"))
        })?;
        if self.extension.status().is_refused {
            return Err(Error::new(code::NOT_INITIALIZED, "your initialisation failed"));
        }
        if !self.extension.entry.grants.contains(&method.grant) {
            let what =
                format!("{name} is not granted; it takes the grant {:?}", method.grant.name());
            self.log(Level::Warning, &what);
            return Err(Error::new(code::GENERAL, what));
        }
        Ok(method)
    }

    fn log(&self, level: Level, said: &str) {
        self.shared.log(&self.extension, Source::Host, level, said);
    }
}

impl Handler for Session {
    async fn request(&self, _: Cx, name: &str, params: Box<RawValue>) -> Result<Value, Error> {
        self.extension.status().gate.opened();
        self.shared.touch();
        let method = self.find(name)?;
        (method.serve)(self, params.get()).await
    }

    async fn notification(&self, _: Cx, name: &str, _: Box<RawValue>) -> Result<(), Error> {
        self.log(Level::Info, &format!("it notifies of {name}, which means nothing here"));
        Ok(())
    }

    fn answered(&self, _: &Peer) {
        self.extension.status().gate.answered(Instant::now());
        self.shared.touch();
        self.extension.poke.notify_one();
    }

    fn trouble(&self, _: &Peer, trouble: Trouble<'_>) {
        let (source, level) = match &trouble {
            Trouble::Noise(_) => (Source::Stdout, Level::Info),
            // Some answer what is no request; that harms nobody.
            Trouble::Failed { .. } | Trouble::Stray { error: None, .. } => {
                (Source::Host, Level::Info)
            }
            _ => (Source::Host, Level::Warning),
        };
        self.shared.log(&self.extension, source, level, &trouble.to_string());
    }
}
