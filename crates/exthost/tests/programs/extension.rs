//! An extension on our own library, for foreign hosts to run.

use althing_jsonrpc::{ContentLength, Cx, Error, Handler, Options, RawValue, Value, connect};
use serde_json::json;

struct Extension;

impl Handler for Extension {
    async fn request(&self, cx: Cx, method: &str, _: Box<RawValue>) -> Result<Value, Error> {
        match method {
            "initialize" => Ok(json!({
                "name": "exthost-extension",
                "version": "1",
                "capabilities": { "commands": ["rust/run"] },
            })),
            "shutdown" => Ok(json!({ "success": true })),
            "command/execute" => run(cx).await,
            _ => Err(Error::method_not_found(method)),
        }
    }
}

/// Sends the message back as the value of a patch.
async fn run(cx: Cx) -> Result<Value, Error> {
    let failed = |error: althing_jsonrpc::CallError| Error::of(error.kind(), error);
    let asked = cx.peer().call("editor/getMessage", json!({ "format": "hl7" })).await;
    let patches = json!([{ "path": "PID.1", "value": asked.map_err(failed)?["message"] }]);
    cx.peer().call("editor/patchMessage", json!({ "patches": patches })).await.map_err(failed)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (reader, writer) = (tokio::io::stdin(), tokio::io::stdout());
    let framing = ContentLength::default();
    let (_peer, served) = connect(reader, writer, framing, Extension, Options::peer());
    served.await;
    // A read of standard input cannot be given up, so the process is.
    std::process::exit(0);
}
