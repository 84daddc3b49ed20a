//! The one door to the network: providers as rows, dialects as pure functions, and around them a
//! pooled client, deadlines, retries, lanes and prices.

pub mod access;
pub mod cache_hint;
mod call;
pub mod catalog;
pub mod dialect;
pub mod embed;
mod exchange;
pub mod fetch;
mod framing;
mod http;
mod lane;
pub mod login;
pub mod pass;
pub mod price;
pub mod providers;
mod retry;
pub mod route;
#[cfg(test)]
mod tests;
pub mod window;

pub use access::{Access, Grant, Need};
pub use catalog::{display_name, split_effort};
pub use dialect::Listed;
pub use fetch::{FetchRequest, FetchResponse};
pub use price::{Price, Prices};
pub use providers::{LOCAL_FILE, PROVIDERS, Provider, WORKER, family, is_chat_model, provider};
pub use route::{Routed, Target};
pub use window::ask::Inspected;
pub use window::{ModelFacts, WindowSetting, agent_window, decide_window, needs_inspection};
pub use window::{parse_tokens, split_context};

use althing_chat::{Ask, Attachment, Delta, Model, Speaking};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use bytes::Bytes;
use cache_hint::add_cache_hint;
use call::{Attempt, Call, Opened};
use futures_util::stream::{self, StreamExt};
use http::Http;
use lane::{Entry, Lanes, Place};
use route::Board;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use window::known::KnownFacts;

/// A server to call: a provider's own, or one a person runs.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The provider's name, or a person's own name for it.
    pub id: String,
    pub provider: &'static Provider,
    pub base_url: String,
    pub key: Option<Secret>,
    /// Calls at once; 1 where a server runs its models one after another.
    pub parallel: usize,
    /// Who knows the address and the key where these change: a login, a runner on this machine.
    pub access: Option<Arc<dyn Access>>,
    /// Headers of every request besides those of the dialect.
    pub headers: Vec<(&'static str, String)>,
}

impl Endpoint {
    /// What messages call it: the provider's title, with the person's own name where it has one.
    pub fn who(&self) -> String {
        let title = self.provider.title;
        if self.id == self.provider.name { title.into() } else { format!("{title} ({})", self.id) }
    }
}

/// The address of a server behind a Unix socket, as a base URL without a path. Nothing but this
/// machine can be behind it, and no proxy is asked for it.
pub fn unix_url(socket: &std::path::Path) -> String {
    http::unix_url(socket)
}

/// How long and how much a call may take. Time in line counts against none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Name lookup, TCP, proxy and TLS together.
    pub connect: Duration,
    /// From sending the request to the first token; streamed calls only.
    pub first_token: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// The whole call, all attempts and the pauses between them included.
    pub total: Duration,
    /// Attempts per call; more are only made before the first token.
    pub attempts_max: u32,
    /// Text, reasoning and tool calls of one answer together.
    pub answer_bytes_max: usize,
}

impl Default for Limits {
    /// 10 s to connect; 3 minutes to the first token, since a laptop may first load the model and
    /// some models think in silence; 60 s between pieces; 10 minutes in all; 3 attempts; 4 MiB.
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(10),
            first_token: Duration::from_secs(180),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            attempts_max: 3,
            answer_bytes_max: 4 * 1024 * 1024,
        }
    }
}

/// The door. Cheap to clone; clones share connections and lanes.
#[derive(Clone)]
pub struct Gateway {
    http: Http,
    limits: Limits,
    lanes: Arc<Lanes>,
    /// Lanes of calls that come in through routes: wider where the server takes many.
    wide: Arc<Lanes>,
    board: Arc<Board>,
    known: Arc<KnownFacts>,
    quirks: Arc<pass::Quirks>,
    is_sequential: bool,
}

impl Gateway {
    /// Opens nothing yet: TLS and connections wait for the first call.
    pub fn new(limits: Limits) -> Gateway {
        let http = Http::new(limits.connect);
        let (lanes, wide) = (Arc::default(), Arc::default());
        let (board, known, quirks) = (Arc::default(), Arc::default(), Arc::default());
        Gateway { http, limits, lanes, wide, board, known, quirks, is_sequential: false }
    }

    /// The same door, through which all servers that take one call at a time get one between them.
    pub fn sequential(self) -> Gateway {
        Gateway { is_sequential: true, ..self }
    }

    /// A voice: `model` at `endpoint`, where the name may end in `@low`, `@medium` or `@high`.
    pub fn model(&self, endpoint: &Arc<Endpoint>, model: &str) -> Arc<dyn Model> {
        let lane = self.lanes.to(self.lane_name(endpoint), endpoint.parallel);
        Arc::new(InLane { model: HttpModel::new(self, endpoint, model, self.limits), lane })
    }

    /// What one target of a route says, which has its place already.
    fn speak_at(&self, target: &Target, limits: Limits, place: Place, ask: Ask) -> Speaking {
        let Target { endpoint, model } = target;
        HttpModel::new(self, endpoint, model, limits).speak(ask, Entry::Placed(place))
    }

    /// The lane of calls that come in through routes. A server that has few places has them for
    /// all calls together.
    fn lane(&self, endpoint: &Endpoint) -> Arc<Semaphore> {
        let width = lane::width(endpoint);
        let lanes = if width == endpoint.parallel { &self.lanes } else { &self.wide };
        lanes.to(self.lane_name(endpoint), width)
    }

    fn lane_name<'a>(&self, endpoint: &'a Endpoint) -> &'a str {
        let is_shared = self.is_sequential && endpoint.parallel == 1;
        if is_shared { lane::EVERY_SERVER } else { &endpoint.base_url }
    }

    /// The chat models the endpoint has, with names to show; at most `wait` long.
    pub async fn list(&self, endpoint: &Endpoint, wait: Duration) -> Result<Vec<Listed>> {
        catalog::list(&self.http, endpoint, wait).await
    }

    /// Asks the endpoint how many tokens these models take; at most `wait` long. The answers are
    /// remembered for later calls.
    pub async fn inspect(&self, endpoint: &Endpoint, models: &[&str], wait: Duration) -> Inspected {
        let inspected = window::ask::inspect(&self.http, endpoint, models, wait).await;
        for (model, facts) in models.iter().zip(&inspected.models) {
            self.known.note(endpoint, model, *facts);
        }
        inspected
    }

    /// As [`Gateway::inspect`] about one model, without asking where the endpoint has just answered.
    pub async fn facts(&self, endpoint: &Endpoint, model: &str, wait: Duration) -> ModelFacts {
        match self.known.fresh(endpoint, model) {
            Some(facts) => facts,
            None => {
                let inspected = self.inspect(endpoint, &[model], wait).await;
                inspected.models.into_iter().next().unwrap_or_default()
            }
        }
    }
}

/// A body with room for the prompt from the start: it may be long, and growing copies it each time.
fn packed(body: &serde_json::Value, ask: &Ask) -> Result<Vec<u8>> {
    let text: usize = ask.messages.iter().map(|message| message.text.len()).sum();
    let beside: usize = ask.attachments().map(Attachment::wire_bytes).sum();
    let mut packed = Vec::with_capacity(beside + text + text / 8 + 512);
    serde_json::to_writer(&mut packed, body).map_err(Fault::internal)?;
    Ok(packed)
}

/// No key in what a call reports.
fn clean(endpoint: &Endpoint, item: Result<Delta>) -> Result<Delta> {
    match item {
        Err(fault) => Err(exchange::scrub(endpoint, fault)),
        Ok(Delta::Retrying(mut retry)) => {
            retry.message = exchange::without_key(endpoint, &retry.message);
            Ok(Delta::Retrying(retry))
        }
        Ok(delta) => Ok(delta),
    }
}

/// A model whose calls stand in line.
struct InLane {
    model: HttpModel,
    lane: Arc<Semaphore>,
}

impl Model for InLane {
    fn id(&self) -> &str {
        &self.model.id
    }

    fn speak(&self, ask: Ask) -> Speaking {
        self.model.speak(ask, Entry::Line(self.lane.clone()))
    }
}

/// A model behind HTTP.
struct HttpModel {
    id: String,
    name: String,
    effort: Option<String>,
    endpoint: Arc<Endpoint>,
    http: Http,
    known: Arc<KnownFacts>,
    limits: Limits,
}

impl HttpModel {
    /// What is asked in another way than over HTTP has no lane either.
    fn speak(&self, mut ask: Ask, entry: Entry) -> Speaking {
        let access = self.endpoint.access.as_ref();
        if let Some(speaking) = access.and_then(|access| access.speak(&self.name, &ask)) {
            return speaking;
        }
        ask.effort = ask.effort.or_else(|| self.effort.clone());
        match self.attempt(&ask) {
            Err(fault) => stream::iter([Err(fault)]).boxed(),
            Ok((attempt, ignored)) => {
                let endpoint = self.endpoint.clone();
                let call = Call::new(endpoint.who(), self.limits, ask.stream, entry, attempt);
                let said = call.speaking().map(move |item| clean(&endpoint, item));
                stream::iter(ignored.map(Ok)).chain(said).boxed()
            }
        }
    }

    fn new(gateway: &Gateway, endpoint: &Arc<Endpoint>, model: &str, limits: Limits) -> HttpModel {
        let (name, effort) = split_effort(model);
        HttpModel {
            id: format!("{}:{model}", endpoint.id),
            name: name.to_string(),
            effort: effort.map(str::to_string),
            endpoint: endpoint.clone(),
            http: gateway.http.clone(),
            known: gateway.known.clone(),
            limits,
        }
    }

    /// The request, written once and sent as often as needed, and what it leaves out.
    fn attempt(&self, ask: &Ask) -> Result<(Attempt, Option<Delta>)> {
        let dialect = self.endpoint.provider.dialect;
        let mut request = (dialect.write)(&self.name, ask)?;
        let slots = self.known.slots(&self.endpoint, &self.name);
        add_cache_hint(&self.endpoint, &self.name, ask, slots, &mut request.body);
        let body = Bytes::from(packed(&request.body, ask)?);
        let ignored = request.ignored.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let ignored = (!ignored.is_empty()).then_some(Delta::Ignored(ignored));
        let request = access::Wanted {
            path: request.path,
            headers: request.headers,
            body: Some(body),
            context_tokens: ask.context_tokens,
        };
        let (request, streamed) = (Arc::new(request), ask.stream);
        let (http, endpoint) = (self.http.clone(), self.endpoint.clone());
        let attempt: Attempt = Box::new(move || {
            let (http, endpoint, request) = (http.clone(), endpoint.clone(), request.clone());
            Box::pin(async move {
                let incoming = access::open(&http, &endpoint, &request).await?;
                Ok(Opened { body: incoming.body, reader: (dialect.reader)(streamed) })
            })
        });
        Ok((attempt, ignored))
    }
}
