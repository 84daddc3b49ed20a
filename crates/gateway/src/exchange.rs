//! What goes out to an endpoint and what may come back from it: the key into its header, statuses,
//! redirects and content types, and no key in any fault.

use crate::dialect::Refusal;
use crate::http::{Body, Incoming, Outgoing};
use crate::{Endpoint, Target};
use althing_stdx::redact::redact;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Uri};

/// What is read of the body of an error; the rest stays unread.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// A request that was not answered.
#[derive(Debug, Clone)]
pub struct Declined {
    pub fault: Fault,
    /// The provider's own answer where there was one, without any key.
    pub answer: Option<Box<Answer>>,
    /// Who was asked last; none where nobody was.
    pub target: Option<Target>,
}

/// An error as the provider sent it, as far as it is read.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// All headers it came with.
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl From<Fault> for Declined {
    fn from(fault: Fault) -> Declined {
        Declined { fault, answer: None, target: None }
    }
}

/// The request for `path` below the endpoint's address; a body makes it a POST.
pub(crate) fn outgoing(
    endpoint: &Endpoint,
    path: &str,
    headers: &[(&'static str, String)],
    body: Option<Bytes>,
) -> Result<Outgoing> {
    let url = url(endpoint, path)?;
    // With those that every request gets: who asks, by which way, whom, and how long it is.
    let mut all = HeaderMap::with_capacity(endpoint.headers.len() + headers.len() + 7);
    all.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    for (name, value) in endpoint.headers.iter().chain(headers) {
        let value = HeaderValue::from_str(value).map_err(Fault::internal)?;
        all.insert(HeaderName::from_static(name), value);
    }
    if let Some((name, value)) = key_header(endpoint)? {
        all.insert(name, value);
    }
    let method = if body.is_some() { Method::POST } else { Method::GET };
    if body.is_some() {
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(Outgoing { method, url, headers: all, body: body.unwrap_or_default() })
}

fn url(endpoint: &Endpoint, path: &str) -> Result<Uri> {
    let text = format!("{}{path}", endpoint.base_url.trim_end_matches('/'));
    let parsed = text.parse::<Uri>().ok().filter(|uri| {
        let http = matches!(uri.scheme_str(), Some("http" | "https"));
        let bare = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        http && bare
    });
    parsed.ok_or_else(|| {
        Fault::invalid(format!(
            "the address of {} must begin with http:// or https:// and hold no password \
             ({}_BASE_URL)",
            endpoint.who(),
            endpoint.provider.env_prefix
        ))
    })
}

fn key_header(endpoint: &Endpoint) -> Result<Option<(HeaderName, HeaderValue)>> {
    let provider = endpoint.provider;
    let key = endpoint.key.as_ref().map(|key| key.expose()).filter(|key| !key.is_empty());
    let Some(key) = key else {
        let hint = provider.key_env.first().copied().unwrap_or("a key");
        let text = format!("{} wants a key: set {hint}", endpoint.who());
        return if provider.needs_key { Err(Fault::new(Kind::BadKey, text)) } else { Ok(None) };
    };
    let (name, value) = (provider.dialect.key_header)(key);
    // A header may hold bytes beyond ASCII; a key does not.
    let value = HeaderValue::from_str(&value).ok().filter(|_| key.is_ascii());
    let mut value = value.ok_or_else(|| {
        let text = format!(
            "the key of {} holds a line break or another character no key has",
            endpoint.who()
        );
        Fault::new(Kind::BadKey, text)
    })?;
    value.set_sensitive(true);
    Ok(Some((HeaderName::from_static(name), value)))
}

/// Lets a success through; everything else is a fault.
pub(crate) async fn accept(endpoint: &Endpoint, incoming: Incoming) -> Result<Incoming, Declined> {
    match incoming.status {
        200..=299 => match foreign_type(&incoming.headers) {
            None => Ok(incoming),
            Some(kind) => Err(foreign(endpoint, &kind).into()),
        },
        300..=399 => Err(redirected(endpoint, &incoming.headers).into()),
        _ => Err(refused(endpoint, incoming).await),
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The content type, where it is none an API answers with. Servers are loose about the others.
fn foreign_type(headers: &HeaderMap) -> Option<String> {
    let kind = content_type(headers);
    let known = ["json", "event-stream", "text/plain", "octet-stream"];
    let fits = kind.is_empty() || known.iter().any(|part| kind.contains(part));
    (!fits).then_some(kind)
}

fn foreign(endpoint: &Endpoint, kind: &str) -> Fault {
    let text = format!(
        "{} answered with {kind} instead of JSON: the address may be wrong, or the network asks \
         for a login first",
        endpoint.who()
    );
    Fault::new(Kind::Upstream, text)
}

/// Redirects are not followed: the key would travel to a place nobody chose.
fn redirected(endpoint: &Endpoint, headers: &HeaderMap) -> Fault {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let host = location.and_then(|value| value.parse::<Uri>().ok()?.host().map(str::to_string));
    let text = format!(
        "{} sends us on to {}, which is not followed: set {}_BASE_URL to the right address",
        endpoint.who(),
        host.as_deref().unwrap_or("another page of its own"),
        endpoint.provider.env_prefix
    );
    Fault::new(Kind::Upstream, text)
}

async fn refused(endpoint: &Endpoint, incoming: Incoming) -> Declined {
    let Incoming { status, headers, body } = incoming;
    let (body, _) = read(body, ERROR_BYTES_MAX).await;
    let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_string());
    let refusal = Refusal { status, header: &header, body: &body };
    let fault = (endpoint.provider.dialect.refuse)(&refusal).status(status);
    let body = Bytes::from(without_key(endpoint, &String::from_utf8_lossy(&body)));
    let answer = Some(Box::new(Answer { status, headers, body }));
    Declined { fault, answer, target: None }
}

/// The first `max` bytes of a body, and whether that was all of it.
pub(crate) async fn read(mut body: Body, max: usize) -> (Vec<u8>, Result<bool>) {
    let mut all = Vec::new();
    while let Some(bytes) = body.next().await {
        match bytes {
            Ok(bytes) => all.extend_from_slice(&bytes[..bytes.len().min(max - all.len())]),
            Err(fault) => return (all, Err(fault)),
        }
        if all.len() == max {
            return (all, Ok(false));
        }
    }
    (all, Ok(true))
}

/// Takes the endpoint's key, and whatever looks like one, out of a fault: some providers repeat
/// the key they were sent.
pub(crate) fn scrub(endpoint: &Endpoint, mut fault: Fault) -> Fault {
    fault.message = without_key(endpoint, &fault.message);
    fault.source = fault.source.map(|source| without_key(endpoint, &source));
    fault
}

/// The same for a plain text.
pub(crate) fn without_key(endpoint: &Endpoint, text: &str) -> String {
    match endpoint.key.as_ref().map(|key| key.expose()).filter(|key| !key.is_empty()) {
        Some(key) => redact(&text.replace(key, "[secret]")),
        None => redact(text),
    }
}
