//! Plain downloads through the door: a GET whose redirects are followed with a limit. A token goes
//! to the server it is for and never to where that server sends us.

mod redirect;
#[cfg(test)]
mod tests;

use crate::exchange::read;
use crate::http::{Http, Incoming, Outgoing, is_loopback, origin};
use crate::{Gateway, http};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, IF_RANGE, RANGE,
};
use hyper::{Method, Uri};
use std::time::Duration;
use tokio::time::timeout;

/// Redirects of one request; the next one is an error.
const REDIRECTS_MAX: usize = 8;
/// How long a server may take to send the head of its answer; then the request has timed out.
const HEAD_WAIT: Duration = Duration::from_secs(60);
/// How long a server may be silent within a body; then the connection counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// What is read of the body of an error; the rest stays unread.
const ERROR_BYTES_MAX: usize = 16 * 1024;
/// Headers that a server puts on a redirect to tell of the file behind it.
const LINKED: [&str; 3] = ["x-linked-etag", "x-linked-size", "x-repo-commit"];

/// A file, or a part of one, to get.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    pub url: String,
    /// Sent to the server of `url` only.
    pub token: Option<Secret>,
    /// The first byte that is wanted; 0: all of it.
    pub from: u64,
    /// Asks for the rest only if the file is still this one (an ETag or a date).
    pub if_range: Option<String>,
    pub accept: Option<&'static str>,
    /// Whether plain HTTP may be used beyond this machine.
    pub allow_plain: bool,
}

impl FetchRequest {
    /// Describes a request for all of `url`.
    pub fn new(url: impl Into<String>) -> FetchRequest {
        let url = url.into();
        FetchRequest { url, token: None, from: 0, if_range: None, accept: None, allow_plain: false }
    }
}

/// The head of an answer, and its body still to come. Dropping it ends the call.
pub struct FetchResponse {
    pub status: u16,
    /// The headers of the last answer, and what earlier ones told of the file.
    headers: HeaderMap,
    /// Where the answer came from, as far as it may be shown.
    pub origin: String,
    body: http::Body,
}

impl std::fmt::Debug for FetchResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FetchResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

impl FetchResponse {
    /// Returns a header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// Returns the next bytes; none at the end. Silence is an error.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match timeout(SILENCE_MAX, self.body.next()).await {
            Ok(next) => next.transpose(),
            Err(_) => {
                let seconds = SILENCE_MAX.as_secs();
                let text = format!("{} has been silent for {seconds} s", self.origin);
                Err(Fault::new(Kind::Network, text))
            }
        }
    }

    /// Reads a whole body of at most `bytes_max` bytes; a longer one is an error.
    pub async fn text(mut self, bytes_max: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            if all.len() + bytes.len() > bytes_max {
                let text = format!("{} answered with more than {bytes_max} bytes", self.origin);
                return Err(Fault::new(Kind::Upstream, text));
            }
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }

    /// Reads the beginning of an error's body; what cannot be read is left out.
    pub async fn error_text(self) -> String {
        let read = timeout(SILENCE_MAX, read(self.body, ERROR_BYTES_MAX)).await;
        let bytes = read.map(|(bytes, _)| bytes).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Gateway {
    /// Gets a file or a part of it. Any status but a redirect is handed back as it came.
    pub async fn fetch_file(&self, wanted: &FetchRequest) -> Result<FetchResponse> {
        follow(&self.http, wanted).await
    }
}

async fn follow(http: &Http, wanted: &FetchRequest) -> Result<FetchResponse> {
    let first = parse(&wanted.url)?;
    let mut url = first.clone();
    check_scheme(&url, wanted.allow_plain)?;
    let mut linked = HeaderMap::new();
    for _ in 0..=REDIRECTS_MAX {
        let outgoing = outgoing(wanted, &url, redirect::same_server(&first, &url))?;
        let shown = origin(&url);
        let late = || Fault::new(Kind::TimedOut, format!("{shown} did not answer in time"));
        let answer = timeout(HEAD_WAIT, http.send(outgoing)).await;
        let Incoming { status, mut headers, body } = answer.map_err(|_| late())??;
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            headers.extend(linked);
            return Ok(FetchResponse { status, headers, origin: shown, body });
        }
        // Only the server that was asked for may say what the file is.
        if redirect::same_server(&first, &url) {
            for name in LINKED {
                linked.extend(headers.get(name).map(|value| (name_of(name), value.clone())));
            }
        }
        let next = redirect::target(&url, &headers)?;
        redirect::check(&url, &next)?;
        check_scheme(&next, wanted.allow_plain)?;
        url = next;
    }
    let text = format!("{} redirects more than {REDIRECTS_MAX} times", origin(&first));
    Err(Fault::new(Kind::Upstream, text))
}

fn name_of(name: &'static str) -> hyper::header::HeaderName {
    hyper::header::HeaderName::from_static(name)
}

fn parse(text: &str) -> Result<Uri> {
    text.parse::<Uri>().ok().filter(redirect::is_fetchable).ok_or_else(|| {
        Fault::invalid("the address must begin with https:// and hold no password or space")
    })
}

/// Plain HTTP can be read and changed on the way, so only this machine is asked so.
fn check_scheme(url: &Uri, allow_plain: bool) -> Result<()> {
    let is_safe = url.scheme_str() == Some("https");
    if is_safe || allow_plain || is_loopback(url.host().unwrap_or_default()) {
        return Ok(());
    }
    let text = format!(
        "{} is plain HTTP, where anybody on the way can change the file: use https://, or name the \
         checksum with --sha256",
        origin(url)
    );
    Err(Fault::invalid(text))
}

fn outgoing(wanted: &FetchRequest, url: &Uri, is_first_server: bool) -> Result<Outgoing> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(wanted.accept.unwrap_or("*/*")));
    // A compressed body would have other bytes and another length.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(token) = wanted.token.as_ref().filter(|_| is_first_server) {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let no_token = |_| Fault::new(Kind::BadKey, "the token holds a character no token has");
        let mut value = value.map_err(no_token)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if wanted.from > 0 {
        let range = format!("bytes={}-", wanted.from);
        headers.insert(RANGE, HeaderValue::from_str(&range).map_err(Fault::internal)?);
        let same = wanted.if_range.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
        headers.extend(same.map(|it| (IF_RANGE, it)));
    }
    Ok(Outgoing { method: Method::GET, url: url.clone(), headers, body: Bytes::new() })
}
