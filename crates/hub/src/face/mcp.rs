//! Althing as tools of other programs' models: the Model Context Protocol on standard input and
//! output. `tools.rs` has the tools, one row each; this file is the protocol's side.

mod line;
#[cfg(test)]
mod tests;
mod tools;

use crate::service::Service;
use crate::service::connections::Connection;
use althing_stdx::{Fault, Result};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, Peer, ServerHandler, ServiceExt};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tools::Said;

const INSTRUCTIONS: &str = "Several models around one table: `ask` puts a question to them and \
     gives what they came to, `plan` lets them plan a task, `complete` asks one of them, `models` \
     lists them. The others are functions of this person's own workers.";

/// How long a client that has said all may take to be answered; then what is left is dropped.
const FINISH_MAX: Duration = Duration::from_secs(6);
/// The same where we are asked to end.
const STOP_MAX: Duration = Duration::from_secs(3);

/// Serves one client until it leaves or `stop` comes, whether it reads its answers or not.
pub async fn serve(
    service: Arc<Service>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let line = Arc::new(service.connections.enter("mcp", "mcp client")?);
    let closed = line.closed();
    let desk = Desk { service, line };
    let (reader, writer, left) = line::join(reader, writer);
    tokio::pin!(stop);
    let running = tokio::select! {
        running = desk.serve((reader, writer)) => running,
        () = &mut stop => return Ok(()),
    };
    let running =
        running.map_err(|e| Fault::invalid(format!("the client is no MCP client: {e}")))?;
    let leave = running.cancellation_token();
    let waiting = running.waiting();
    tokio::pin!(waiting);
    let patience = tokio::select! {
        done = &mut waiting => return done.map(drop).map_err(Fault::internal),
        () = left.notified() => FINISH_MAX,
        () = &mut stop => STOP_MAX,
        () = closed.cancelled() => STOP_MAX,
    };
    if patience == STOP_MAX {
        leave.cancel();
    }
    tokio::select! {
        done = timeout(patience, waiting) => match done {
            Ok(done) => done.map(drop).map_err(Fault::internal),
            // Nobody takes the answers.
            Err(_) => Ok(()),
        },
        () = &mut stop, if patience == FINISH_MAX => Ok(()),
    }
}

/// One client's desk.
#[derive(Clone)]
struct Desk {
    service: Arc<Service>,
    line: Arc<Connection>,
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("althing", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.into());
        info
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |row: &tools::Row| Tool::new(row.name, row.about, object((row.schema)()));
        let offer = self.service.library.workers().offer().await;
        let own = offer.tools().iter().map(|it| {
            let (name, about) = (it.name.clone(), it.description.clone());
            Tool::new(name, about, object(it.parameters.clone()))
        });
        let tools = tools::ALL.iter().map(tool).chain(own).collect();
        Ok(ListToolsResult { tools, ..Default::default() })
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        self.line.count(client.as_deref());
        let arguments = call.arguments.unwrap_or_default();
        let work = match tools::ALL.iter().find(|row| row.name == call.name) {
            Some(row) => {
                let token = context.meta.get_progress_token();
                let told = Teller { peer: context.peer.clone(), token, told: 0.0 };
                (row.run)(self.service.clone(), Value::Object(arguments), told)
            }
            None => self.function(&call.name, arguments).await?,
        };
        let done = tokio::select! {
            done = work => done,
            // The client does not wait for an answer to what it cancelled.
            () = context.ct.cancelled() => Err(Fault::new(althing_stdx::Kind::Cancelled, "stopped")),
        };
        // What the model did wrong is for the model to read, so it is a result.
        let result = match done {
            Ok(said) => {
                let result = CallToolResult::success(vec![ContentBlock::text(said.text)]);
                result.with_meta(said.answered_by.map(about_target))
            }
            Err(fault) => {
                let text = format!("{} ({})", fault.message, fault.kind.name());
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        };
        Ok(result.into())
    }
}

impl Desk {
    /// A call of a worker's function.
    async fn function(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<BoxFuture<'static, Result<Said>>, ErrorData> {
        let offer = self.service.library.workers().offer().await;
        if !offer.tools().iter().any(|tool| tool.name == name) {
            return Err(ErrorData::invalid_params(format!("no tool '{name}'"), None));
        }
        let name = name.to_string();
        let called = async move { offer.call(&name, arguments).await.map(tools::cut) };
        Ok(called.map(|text| text.map(Said::from)).boxed())
    }
}

/// The field of a result's `_meta` that names who answered, as `provider:model`.
const ANSWERED_BY: &str = "althing/answered-by";

fn about_target(target: String) -> MetaObject {
    MetaObject(JsonObject::from_iter([(ANSWERED_BY.to_string(), Value::from(target))]))
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// Tells a client that asked for it how far a call is.
struct Teller {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    told: f64,
}

impl Teller {
    /// One step further, in words.
    async fn tell(&mut self, message: String) {
        let Some(token) = &self.token else { return };
        self.told += 1.0;
        let note = ProgressNotificationParam::new(token.clone(), self.told).with_message(message);
        // A client that is gone is noticed by the one who reads from it.
        let _ = self.peer.notify_progress(note).await;
    }
}
