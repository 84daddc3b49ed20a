//! The one door to the network: pooled HTTP/1.1 and HTTP/2. It knows requests and bytes, and
//! nothing of models; redirects are handed back as they came.

mod connect;
mod driven;
#[cfg(test)]
mod tests;

pub(crate) use self::connect::{is_loopback, unix_url};

use crate::hops::Instance;

use self::connect::{Connector, Tls, causes, chain, proxy_for, root_cause, unix_path};
use althing_stdx::{Fault, Kind, Result};
use bytes::Bytes;
use driven::Driver;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Idle connections kept per server; more are closed when their call ends. As many as a service has
/// busy clients: with fewer, each burst would open connections and close them again.
const POOL_IDLE_MAX: usize = 64;
/// How long an idle connection is kept; then it is closed.
const POOL_IDLE_TIME: Duration = Duration::from_secs(90);
/// An HTTP/2 connection with calls under way that does not answer a ping within both together is
/// taken for dead, and its calls fail as `Kind::Network`.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(10);

/// The bytes of an answer as they arrive. Dropping it ends the call.
pub(crate) type Body = BoxStream<'static, Result<Bytes>>;

/// The pooled client; cheap to clone.
#[derive(Clone)]
pub(crate) struct Http {
    /// For TLS and proxies: those may speak HTTP/2, which many calls share.
    client: Client<Connector, Full<Bytes>>,
    /// For the rest.
    driver: Driver,
    proxies: Arc<Matcher>,
    /// Whom requests to providers name as their sender.
    pub(crate) instance: Instance,
}

/// A request as it goes out.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub method: Method,
    pub url: Uri,
    /// The key's header is marked sensitive and does not print.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The head of an answer, and its body still to come.
pub(crate) struct Incoming {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Body,
}

impl Http {
    /// A client with the environment's proxies and the machine's certificates.
    pub(crate) fn new(connect_wait: Duration) -> Http {
        Http::with(Matcher::from_env(), None, connect_wait)
    }

    fn with(proxies: Matcher, roots: Option<RootCertStore>, connect_wait: Duration) -> Http {
        let proxies = Arc::new(proxies);
        let connector = Connector::new(proxies.clone(), Tls::new(roots), connect_wait);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE_TIME)
            .pool_max_idle_per_host(POOL_IDLE_MAX)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_WAIT)
            .build(connector.clone());
        Http { client, driver: Driver::new(connector), proxies, instance: Instance::new() }
    }

    /// Sends a request and waits for the head of the answer. The only deadline here is that of the
    /// connection; the caller bounds the rest.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Incoming> {
        let to = outgoing.url.clone();
        let proxy = proxy_for(&self.proxies, &to);
        let request = request(outgoing, proxy.as_ref());
        if proxy.is_none() && to.scheme_str() == Some("http") {
            let (head, body) = self.driver.send(request).await?.into_parts();
            let (status, headers) = (head.status.as_u16(), head.headers);
            return Ok(Incoming { status, headers, body: body.boxed() });
        }
        let answer = self.client.request(request).await.map_err(|error| broken(&to, &error))?;
        let (head, body) = answer.into_parts();
        let body = body.into_data_stream().map_err(move |error| broken(&to, &error)).boxed();
        Ok(Incoming { status: head.status.as_u16(), headers: head.headers, body })
    }
}

fn request(outgoing: Outgoing, proxy: Option<&Intercept>) -> Request<Full<Bytes>> {
    let Outgoing { method, url, mut headers, body } = outgoing;
    let agent = HeaderValue::from_static(concat!("althing/", env!("CARGO_PKG_VERSION")));
    headers.insert(USER_AGENT, agent);
    // A proxy reads plain HTTP itself, so its password travels with the request; for https it goes
    // into CONNECT and never reaches the server.
    let plain = url.scheme_str() == Some("http");
    if let Some(auth) = proxy.filter(|_| plain).and_then(Intercept::basic_auth) {
        headers.insert(PROXY_AUTHORIZATION, auth.clone());
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = url;
    *request.headers_mut() = headers;
    request
}

/// `scheme://host:port` of an address, or its socket: what may be shown of it.
pub(crate) fn origin(uri: &Uri) -> String {
    if let Some(socket) = unix_path(uri) {
        return format!("unix:{}", socket.display());
    }
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default())
}

/// The connector's own words where it failed, else what the broken connection said.
fn broken(to: &Uri, error: &(dyn Error + 'static)) -> Fault {
    if let Some(fault) = causes(error).find_map(|cause| cause.downcast_ref::<Fault>()) {
        return fault.clone();
    }
    let text = format!("the connection to {} broke: {}", origin(to), root_cause(error));
    Fault::new(Kind::Network, text).source(chain(error))
}
