//! The models, for extensions that may ask them.

use althing_jsonrpc::Error;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Who knows the models. Beyond Hermes; an extension learns in `initialize` whether it may ask.
pub trait Models: Send + Sync + 'static {
    /// The answer to `ai/models`.
    fn models(&self) -> BoxFuture<'_, Result<Value, Error>>;

    /// The answer to `ai/complete`, for the extension with this id.
    fn complete<'a>(
        &'a self,
        extension: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, Error>>;
}
