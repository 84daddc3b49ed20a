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
pub mod hops;
mod http;
mod lane;
pub mod login;
pub mod pass;
mod plain;
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
pub use hops::Hops;
pub use price::{Price, Prices};
pub use providers::{LOCAL_FILE, PROVIDERS, Provider, WORKER, family, is_chat_model, provider};
pub use route::{Routed, Target};
pub use window::ask::Inspected;
pub use window::{ModelFacts, WindowSetting, agent_window, decide_window, needs_inspection};
pub use window::{parse_tokens, split_context};

use access::Wanted;
use althing_chat::{Ask, Attachment, Delta, Model, Speaking};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use bytes::Bytes;
use cache_hint::add_cache_hint;
use call::{Attempt, Call, Opened};
use futures_util::stream::{self, StreamExt};
use http::Http;
use hyper::header::HeaderMap;
use lane::{Entry, Lanes, Place};
use plain::{KnownStreams, Streaming};
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
    /// From sending the request to the first token, where tokens come one by one or `has_next`.
    pub first_token: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// The whole call, all attempts and the pauses between them included.
    pub total: Duration,
    /// Attempts per call; more are only made before the first token.
    pub attempts_max: u32,
    /// Text, reasoning and tool calls of one answer together.
    pub answer_bytes_max: usize,
    /// The longest wait that a server may ask for before another attempt. One that asks for more is
    /// not waited for: the call fails at once, and its fault says how long.
    pub retry_after_max: Duration,
    /// Whether somebody else can be asked instead. Then an answer that comes as a whole has to
    /// begin within `first_token` as well; without that it has all of `total`.
    pub has_next: bool,
}

impl Default for Limits {
    /// 10 s to connect; 3 minutes to the first token, since a laptop may first load the model and
    /// some models think in silence; 60 s between pieces; 10 minutes in all; 3 attempts; 4 MiB; a
    /// wait of 60 s.
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(10),
            first_token: Duration::from_secs(180),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            attempts_max: 3,
            answer_bytes_max: 4 * 1024 * 1024,
            retry_after_max: Duration::from_secs(60),
            has_next: false,
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
    streams: KnownStreams,
    quirks: Arc<pass::Quirks>,
    is_sequential: bool,
    is_patient: bool,
}

impl Gateway {
    /// Opens nothing yet: TLS and connections wait for the first call.
    pub fn new(limits: Limits) -> Gateway {
        let http = Http::new(limits.connect);
        let (lanes, wide) = (Arc::default(), Arc::default());
        let (board, known, quirks) = (Arc::default(), Arc::default(), Arc::default());
        let streams = KnownStreams::default();
        let (is_sequential, is_patient) = (false, false);
        Gateway {
            http,
            limits,
            lanes,
            wide,
            board,
            known,
            streams,
            quirks,
            is_sequential,
            is_patient,
        }
    }

    /// The way of a request that came in, which is refused where it leads back here; none: no
    /// Althing sent it.
    pub fn admit_hops(&self, headers: &HeaderMap) -> Result<Option<Hops>> {
        self.http.instance.admit(headers)
    }

    /// The same door, through which all servers that take one call at a time get one between them.
    pub fn sequential(self) -> Gateway {
        Gateway { is_sequential: true, ..self }
    }

    /// The same door for who has nobody to come back later for them: routes too wait as long as
    /// the limits say for a server that asks for it.
    pub fn patient(self) -> Gateway {
        Gateway { is_patient: true, ..self }
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

/// No key in what a call reports, and how long to wait where its server said so.
fn clean(endpoint: &Endpoint, item: Result<Delta>) -> Result<Delta> {
    match item {
        Err(fault) => Err(retry::tell_wait(exchange::scrub(endpoint, fault))),
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
    streams: KnownStreams,
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
                let streamed = ask.stream && self.streaming() != Streaming::None;
                let call = Call::new(endpoint.who(), self.limits, streamed, entry, attempt);
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
            streams: gateway.streams.clone(),
            limits,
        }
    }

    /// What of a stream the server is known to take.
    fn streaming(&self) -> Streaming {
        self.streams.of(&self.endpoint, &self.name)
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
        let request = Wanted {
            path: request.path,
            headers: request.headers,
            body: Some(body),
            context_tokens: ask.context_tokens,
        };
        let sending = Arc::new(Sending {
            http: self.http.clone(),
            endpoint: self.endpoint.clone(),
            model: self.name.clone(),
            streams: self.streams.clone(),
            request,
            // Only this wire has copies that lack its streams.
            may_adapt: ask.stream && dialect.name == dialect::openai::OPENAI.name,
            streamed: ask.stream,
        });
        let attempt: Attempt = Box::new(move || Box::pin(sending.clone().send()));
        Ok((attempt, ignored))
    }
}

/// A request and what it takes to send it, as often as needed.
struct Sending {
    http: Http,
    endpoint: Arc<Endpoint>,
    model: String,
    streams: KnownStreams,
    request: Wanted,
    /// Whether it is sent again without what the server refuses of a stream.
    may_adapt: bool,
    streamed: bool,
}

impl Sending {
    async fn send(self: Arc<Sending>) -> Result<Opened> {
        let known = match self.may_adapt {
            true => self.streams.of(&self.endpoint, &self.model),
            false => Streaming::Whole,
        };
        let mut form = known;
        loop {
            let declined = match access::ask(&self.http, &self.endpoint, &self.in_form(form)).await
            {
                Ok(incoming) => {
                    if form != known {
                        self.streams.note(&self.endpoint, &self.model, form);
                    }
                    let streamed = self.streamed && form != Streaming::None;
                    let reader = (self.endpoint.provider.dialect.reader)(streamed);
                    return Ok(Opened { body: incoming.body, reader });
                }
                Err(declined) => declined,
            };
            // Each form takes less than the one before, so there are at most two more.
            form = form.next(&declined).filter(|_| self.may_adapt).ok_or(declined.fault)?;
        }
    }

    fn in_form(&self, form: Streaming) -> Wanted {
        let Wanted { path, headers, body, context_tokens } = &self.request;
        let body = body.as_ref().map(|body| form.body(body));
        Wanted {
            path: path.clone(),
            headers: headers.clone(),
            body,
            context_tokens: *context_tokens,
        }
    }
}
