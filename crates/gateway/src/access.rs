//! Addresses and keys that change: a token that expires, a runner that has to be started first.
//! Everything else about a call stays as it is.

use crate::Endpoint;
use crate::dialect::Listed;
use crate::exchange::{Declined, accept, outgoing};
use crate::hops;
use crate::http::{Http, Incoming};
use althing_chat::{Ask, Speaking};
use althing_stdx::redact::Secret;
use althing_stdx::{Kind, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, ready};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Who knows where an endpoint is right now, and what opens it.
pub trait Access: Send + Sync + Debug {
    /// What to call with.
    fn grant<'a>(&'a self, need: Need<'a>) -> BoxFuture<'a, Result<Grant>>;

    /// What a person should know where everything that it granted is refused.
    fn notice(&self) -> Option<&'static str> {
        None
    }

    /// What `model` says, where it is asked in another way than over HTTP; none: over HTTP.
    fn speak(&self, _model: &str, _ask: &Ask) -> Option<Speaking> {
        None
    }

    /// The models, where they are known without asking the endpoint; none: it has to be asked.
    fn listed(&self) -> BoxFuture<'_, Option<Result<Vec<Listed>>>> {
        Box::pin(ready(None))
    }
}

/// The headers of a call by its body, which is empty where it has none.
pub type CallHeaders = fn(body: &[u8]) -> Vec<(&'static str, String)>;

/// What a grant is needed for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Need<'a> {
    /// A grant that the provider just turned down: a new one is wanted then, once.
    pub refused: Option<&'a Grant>,
    /// Tokens of the window that the caller counts on, where it does.
    pub context_tokens: Option<u64>,
}

/// What to call with now. What is none stays as the endpoint has it.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// Makes headers in the place of the endpoint's own, for a call with this body.
    pub headers: Option<CallHeaders>,
    /// Held until the answer is over: a runner is not put away under a call.
    pub hold: Option<Hold>,
}

/// Something that lives as long as the call that has it.
#[derive(Clone)]
pub struct Hold(pub Arc<dyn Any + Send + Sync>);

impl Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hold")
    }
}

/// A request before it is known where it goes.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    /// None: a GET.
    pub body: Option<Bytes>,
    /// Tokens of the window that the caller counts on, where it does.
    pub context_tokens: Option<u64>,
}

/// Sends a request and lets a success through. A key that was refused is renewed once where it can
/// be.
pub(crate) async fn open(http: &Http, endpoint: &Endpoint, wanted: &Wanted) -> Result<Incoming> {
    ask(http, endpoint, wanted).await.map_err(|declined| declined.fault)
}

/// As `open`, and keeps what a refusal said.
pub(crate) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    wanted: &Wanted,
) -> Result<Incoming, Declined> {
    let Some(access) = &endpoint.access else { return once(http, endpoint, wanted).await };
    let need = Need { refused: None, context_tokens: wanted.context_tokens };
    let grant = access.grant(need).await?;
    match once(http, &opened(endpoint, &grant, wanted), wanted).await {
        Err(declined) if declined.fault.kind == Kind::BadKey => {
            let grant = access.grant(Need { refused: Some(&grant), ..need }).await?;
            let opened = opened(endpoint, &grant, wanted);
            let done = once(http, &opened, wanted).await;
            done.map(|it| held(it, grant)).map_err(|declined| explain(declined, access.notice()))
        }
        done => done.map(|it| held(it, grant)),
    }
}

/// Adds to a refusal what is known of its reason. The provider's own words, which lack it, are left
/// out then.
fn explain(mut declined: Declined, notice: Option<&str>) -> Declined {
    if let (Some(notice), Kind::BadKey) = (notice, declined.fault.kind) {
        declined.fault.message = format!("{}; {notice}", declined.fault.message);
        declined.answer = None;
    }
    declined
}

async fn once(http: &Http, endpoint: &Endpoint, wanted: &Wanted) -> Result<Incoming, Declined> {
    let mut request = outgoing(endpoint, &wanted.path, &wanted.headers, wanted.body.clone())?;
    request.headers.insert(hops::HEADER, http.instance.stamp());
    accept(endpoint, http.send(request).await?).await
}

/// The endpoint as the grant has it, for this request.
fn opened(endpoint: &Endpoint, grant: &Grant, wanted: &Wanted) -> Endpoint {
    let body = wanted.body.as_deref().unwrap_or_default();
    let Endpoint { base_url, key, headers, .. } = endpoint;
    Endpoint {
        base_url: grant.base_url.as_ref().unwrap_or(base_url).clone(),
        key: grant.key.as_ref().or(key.as_ref()).cloned(),
        headers: grant.headers.map_or_else(|| headers.clone(), |of_call| of_call(body)),
        access: None,
        ..endpoint.clone()
    }
}

fn held(mut incoming: Incoming, grant: Grant) -> Incoming {
    if let Some(hold) = grant.hold {
        let body = incoming.body;
        incoming.body = body.inspect(move |_| _ = &hold).boxed();
    }
    incoming
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Answer;
    use althing_stdx::Fault;

    #[test]
    fn a_refusal_that_somebody_knows_the_reason_of_is_told_with_it() {
        let answer = Answer { status: 401, headers: Default::default(), body: Bytes::new() };
        let declined = |kind| Declined {
            answer: Some(Box::new(answer.clone())),
            ..Declined::from(Fault::new(kind, "refused"))
        };
        let told = |kind, notice| {
            let told = explain(declined(kind), notice);
            (told.fault.message, told.answer.is_some())
        };
        let plain = || ("refused".to_string(), true);
        assert_eq!(told(Kind::BadKey, Some("it ended")), ("refused; it ended".into(), false));
        assert_eq!(told(Kind::BadKey, None), plain());
        assert_eq!(told(Kind::Overloaded, Some("it ended")), plain());
    }
}
