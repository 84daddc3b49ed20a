//! Requests that go through as they came, and what is counted of them.

use super::dialect::{Dialect, anthropic, openai};
use super::reply::{Reply, foreign, refusal};
use super::shape::Shape;
use crate::lineup::price_of;
use crate::service::Service;
use crate::service::metrics::Sample;
use althing_chat::Usage;
use althing_gateway::Target;
use althing_gateway::pass::{Declined, Head, How, PassRequest, Passing, Streaming};
use althing_stdx::{Fault, Kind};
use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::http::request::Parts;
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

/// Sends a request on to the first of `targets` that answers, and its answer back. None where one of
/// them lacks the path: nothing was asked then, and the request can be translated.
pub(super) async fn pass(
    service: &Arc<Service>,
    dialect: &'static Dialect,
    parts: &Parts,
    targets: Vec<Target>,
    body: Bytes,
    head: Head,
    affinity: Option<u64>,
) -> Option<Reply> {
    let path = with_query(dialect.path, parts);
    send(service, dialect, path, parts, targets, body, head, affinity).await
}

/// As `pass`, for the number of a prompt's tokens. No model is asked and nothing is charged, so
/// the metrics do not have it.
pub(super) async fn count(
    service: &Arc<Service>,
    parts: &Parts,
    targets: Vec<Target>,
    body: Bytes,
    head: Head,
) -> Reply {
    let (dialect, path) = (&anthropic::DIALECT, with_query("/messages/count_tokens", parts));
    let request = request(dialect, path, parts, body, head);
    let passed = match service.gateway.pass(&targets, request, None).await {
        Ok(passed) => passed,
        Err(declined) => return told(dialect.shape, declined),
    };
    service.library.answered(&passed.target.endpoint.id);
    let body = match passed.body {
        Passing::Whole(bytes, _) => Body::from(bytes),
        Passing::Stream(stream) => spoken(stream, dialect.shape),
    };
    foreign(passed.status, &passed.headers, body)
}

/// As `pass`, for vectors.
pub(super) async fn embed(
    service: &Arc<Service>,
    parts: &Parts,
    targets: Vec<Target>,
    body: Bytes,
    head: Head,
) -> Reply {
    let path = with_query("/embeddings", parts);
    let sent = send(service, &openai::DIALECT, path, parts, targets, body, head, None).await;
    sent.unwrap_or_else(|| {
        let fault = Fault::new(Kind::UnknownMethod, "the model's server makes no vectors");
        refusal(openai::DIALECT.shape, &fault)
    })
}

/// A query means something to the provider.
fn with_query(path: &'static str, parts: &Parts) -> Cow<'static, str> {
    match parts.uri.query() {
        Some(query) => format!("{path}?{query}").into(),
        None => path.into(),
    }
}

#[expect(clippy::too_many_arguments, reason = "all of a request, which nobody else puts together")]
async fn send(
    service: &Arc<Service>,
    dialect: &'static Dialect,
    path: Cow<'static, str>,
    parts: &Parts,
    targets: Vec<Target>,
    body: Bytes,
    head: Head,
    affinity: Option<u64>,
) -> Option<Reply> {
    let request = request(dialect, path, parts, body, head);
    let unanswered = Unanswered::new(service, targets.first());
    let passed = service.gateway.pass(&targets, request, affinity).await;
    unanswered.over();
    let passed = match passed {
        Ok(passed) => passed,
        Err(declined) if declined.fault.kind == Kind::UnknownMethod => return None,
        Err(declined) => return Some(decline(service, dialect.shape, &targets, declined)),
    };
    let (status, headers, target) = (passed.status, passed.headers, passed.target);
    service.library.answered(&target.endpoint.id);
    Some(match passed.body {
        Passing::Whole(bytes, usage) => {
            service.metrics.record(sample(service, &target, false, usage));
            foreign(status, &headers, Body::from(bytes))
        }
        Passing::Stream(mut stream) => {
            let service = service.clone();
            stream.on_end(move |ended| {
                let failed = matches!(ended.how, How::Failed(_));
                service.metrics.record(sample(&service, &target, failed, ended.usage));
            });
            foreign(status, &headers, spoken(stream, dialect.shape))
        }
    })
}

/// The client's request, with those of its headers that mean something to the provider.
fn request(
    dialect: &Dialect,
    path: Cow<'static, str>,
    parts: &Parts,
    body: Bytes,
    head: Head,
) -> PassRequest {
    let header =
        |name: &&'static str| Some((*name, parts.headers.get(*name)?.to_str().ok()?.into()));
    let headers = dialect.headers.iter().filter_map(header).collect();
    PassRequest { dialect: dialect.upstream, path, body, head, headers }
}

fn spoken(stream: Box<Streaming>, shape: Shape) -> Body {
    Body::from_stream(stream.map(move |item| {
        Ok::<_, Infallible>(item.unwrap_or_else(|fault| break_off(shape, &fault)))
    }))
}

/// A request that waits for its answer. Dropped in between, because its client left, it counts.
pub(super) struct Unanswered<'a> {
    service: &'a Service,
    /// None once it is over.
    target: Option<&'a Target>,
}

impl<'a> Unanswered<'a> {
    pub(super) fn new(service: &'a Service, target: Option<&'a Target>) -> Unanswered<'a> {
        Unanswered { service, target }
    }

    /// Something came back, which is counted by what it is.
    pub(super) fn over(mut self) {
        self.target = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(target) = self.target {
            self.service.metrics.record(sample(self.service, target, false, None));
        }
    }
}

/// Counts a request that was not answered, and tells why.
fn decline(service: &Service, shape: Shape, targets: &[Target], declined: Declined) -> Reply {
    if let Some(target) = declined.target.as_ref().or(targets.first()) {
        service.metrics.record(sample(service, target, true, None));
    }
    told(shape, declined)
}

/// The provider's own words where it said any; they are in the client's language.
fn told(shape: Shape, declined: Declined) -> Reply {
    match declined.answer {
        Some(answer) => foreign(answer.status, &answer.headers, Body::from(answer.body)),
        None => refusal(shape, &declined.fault),
    }
}

/// An error in the middle of a stream. The blank line ends whatever was cut.
fn break_off(shape: Shape, fault: &althing_stdx::Fault) -> Bytes {
    let name = match shape {
        Shape::OpenAi => "",
        Shape::Anthropic => "event: error\n",
    };
    format!("\n\n{name}data: {}\n\n", shape.error(fault)).into()
}

/// What one request at `target` came to.
pub(super) fn sample(
    service: &Service,
    target: &Target,
    failed: bool,
    usage: Option<Usage>,
) -> Sample {
    let usage = usage.unwrap_or_default();
    let price = price_of(&service.library.book().config.prices, target);
    Sample {
        provider: target.endpoint.id.clone(),
        model: target.model.clone(),
        failed,
        usage,
        cost_usd: price.and_then(|price| price.cost(&usage)),
    }
}
