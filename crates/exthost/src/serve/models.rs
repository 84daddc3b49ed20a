//! The models.

use super::Session;
use crate::code;
use crate::models::Models;
use althing_jsonrpc::{Error, Value};

pub(super) async fn models(session: &Session, _: Value) -> Result<Value, Error> {
    known(session)?.models().await
}

pub(super) async fn complete(session: &Session, params: Value) -> Result<Value, Error> {
    known(session)?.complete(&session.extension.id, params).await
}

fn known(session: &Session) -> Result<&dyn Models, Error> {
    let models = session.shared.models.as_deref();
    models.ok_or_else(|| Error::new(code::GENERAL, "there are no models here"))
}
