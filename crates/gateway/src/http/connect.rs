//! How a connection is opened: straight or through a proxy, plain or with TLS, or to a socket in
//! the file system. Every failure is already a `Fault` in words a person can act on.

mod unix;

pub(super) use unix::path as unix_path;
pub(crate) use unix::unix_url;

use super::origin;
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::{BoxFuture, Ready, ready};
use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OnceCell;
use tower_service::Service;

/// How often an open connection is probed, so that one that died while the machine slept is seen.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);
/// HTTP/2 where the server has it, else HTTP/1.1.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Causes of an error that are looked through; a longer chain is cut there.
const CAUSES_MAX: usize = 16;

/// Opens connections for the pool.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    tls: Arc<Tls>,
    wait: Duration,
}

impl Connector {
    /// `wait` covers everything up to the finished TLS handshake.
    pub(super) fn new(proxies: Arc<Matcher>, tls: Tls, wait: Duration) -> Connector {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        Connector { tcp, proxies, tls: Arc::new(tls), wait }
    }

    async fn open(&self, to: &Uri) -> Result<Link> {
        if let Some(path) = unix::path(to) {
            return unix::open(&path).await.map(Link::new);
        }
        let link = match proxy_for(&self.proxies, to) {
            None => self.tcp(to).await?,
            Some(proxy) => self.through(&proxy, to).await?,
        };
        if !is_https(to) {
            return Ok(link);
        }
        secure(link, to, self.tls.config().await?).await
    }

    async fn tcp(&self, to: &Uri) -> Result<Link> {
        let opened = self.tcp.clone().call(to.clone()).await;
        opened.map(Link::new).map_err(|error| unreachable(to, &error))
    }

    /// A way to `to` through the proxy; for plain HTTP the proxy itself answers.
    async fn through(&self, proxy: &Intercept, to: &Uri) -> Result<Link> {
        let at = proxy.uri();
        let mut link = self.tcp(at).await.map_err(|fault| proxy_failed(at, fault))?;
        if is_https(at) {
            // No ALPN: CONNECT below is written as HTTP/1.1.
            let mut config = ClientConfig::clone(&*self.tls.config().await?);
            config.alpn_protocols.clear();
            link = secure(link, at, Arc::new(config)).await?;
        }
        match at.scheme_str() {
            Some("socks5" | "socks5h") => socks(link, proxy, to).await,
            Some("http" | "https") if is_https(to) => tunnel(link, proxy, to).await,
            Some("http" | "https") => Ok(Link { proxied: true, ..link }),
            _ => Err(proxy_failed(at, "only http, https and socks5 proxies are known")),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<Link>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let opened = tokio::time::timeout(this.wait, this.open(&to)).await;
            opened.unwrap_or_else(|_| Err(too_slow(&to, this.wait)))
        })
    }
}

/// The proxy for `to`, if any. What runs on this machine is never asked for through a proxy.
pub(super) fn proxy_for(proxies: &Matcher, to: &Uri) -> Option<Intercept> {
    let is_here = is_loopback(to.host().unwrap_or_default()) || unix::path(to).is_some();
    if is_here { None } else { proxies.intercept(to) }
}

/// Whether a host can only be this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let named = host.eq_ignore_ascii_case("localhost") || host.ends_with(".localhost");
    named || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

async fn secure(link: Link, to: &Uri, config: Arc<ClientConfig>) -> Result<Link> {
    let mut layer = HttpsConnector::from((Opened(Some(link)), config));
    layer.call(to.clone()).await.map(Link::new).map_err(|error| not_secure(to, &*error))
}

async fn tunnel(link: Link, proxy: &Intercept, to: &Uri) -> Result<Link> {
    let mut layer = Tunnel::new(proxy.uri().clone(), Opened(Some(link)));
    if let Some(auth) = proxy.basic_auth() {
        layer = layer.with_auth(auth.clone());
    }
    layer.call(to.clone()).await.map_err(|error| proxy_failed(proxy.uri(), error))
}

async fn socks(link: Link, proxy: &Intercept, to: &Uri) -> Result<Link> {
    let mut layer = SocksV5::new(proxy.uri().clone(), Opened(Some(link)));
    if let Some((user, password)) = proxy.raw_auth() {
        layer = layer.with_auth(user.into(), password.into());
    }
    layer.call(with_port(to)?).await.map_err(|error| proxy_failed(proxy.uri(), error))
}

/// `to` with its port spelt out: the SOCKS layer would take 443 for plain HTTP too.
fn with_port(to: &Uri) -> Result<Uri> {
    let port = to.port_u16().unwrap_or(if is_https(to) { 443 } else { 80 });
    let text =
        format!("{}://{}:{port}/", to.scheme_str().unwrap_or("http"), to.host().unwrap_or(""));
    text.parse().map_err(Fault::internal)
}

/// TLS, set up at the first https address: reading the certificate store takes milliseconds that a
/// person with local models never has to wait for.
pub(super) struct Tls {
    /// `None`: the machine's.
    roots: Option<RootCertStore>,
    ready: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    pub(super) fn new(roots: Option<RootCertStore>) -> Tls {
        Tls { roots, ready: OnceCell::new() }
    }

    async fn config(&self) -> Result<Arc<ClientConfig>> {
        let set_up = || async {
            let roots = self.roots.clone();
            let work = move || configure(roots.unwrap_or_else(system_roots));
            tokio::task::spawn_blocking(work).await.map_err(Fault::internal)?
        };
        self.ready.get_or_try_init(set_up).await.cloned()
    }
}

fn configure(roots: RootCertStore) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(Fault::internal)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = ALPN.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The machine's own certificate store; Mozilla's where the machine has none.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// A connector whose connection is open already, for layers that would open it themselves.
struct Opened(Option<Link>);

impl Service<Uri> for Opened {
    type Response = Link;
    type Error = Fault;
    type Future = Ready<Result<Link>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(self.0.take().ok_or_else(|| Fault::internal("a connection was opened twice")))
    }
}

/// An open connection, whatever it is made of.
pub(super) struct Link {
    io: Box<dyn Io>,
    /// A proxy answers in the server's place and wants the whole address in the request line.
    proxied: bool,
}

trait Io: Read + Write + Connection + Send + Unpin {}
impl<T: Read + Write + Connection + Send + Unpin> Io for T {}

impl Link {
    fn new(io: impl Io + 'static) -> Link {
        Link { io: Box::new(io), proxied: false }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(cx, buf)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write_vectored(cx, bufs)
    }
}

fn too_slow(to: &Uri, wait: Duration) -> Fault {
    let text = format!("no connection to {} within {wait:?}", origin(to));
    Fault::new(Kind::TimedOut, text)
}

fn unreachable(to: &Uri, error: &(dyn Error + 'static)) -> Fault {
    let refused = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    let at = origin(to);
    let text = match refused.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => format!("nothing listens at {at}"),
        _ if error.to_string().contains("dns error") => {
            format!("no host is called {}: check the address and the network", host(to))
        }
        _ => format!("cannot reach {at}: {}", root_cause(error)),
    };
    Fault::new(Kind::Network, text).source(chain(error))
}

fn not_secure(to: &Uri, error: &(dyn Error + 'static)) -> Fault {
    let tls = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>());
    let text = match tls {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("the certificate of {} is not trusted: {why}", host(to))
        }
        _ => format!("no secure connection to {}: {}", origin(to), root_cause(error)),
    };
    Fault::new(Kind::Network, text).source(chain(error))
}

/// `at` holds no password: the matcher takes it out of the address.
fn proxy_failed(at: &Uri, why: impl std::fmt::Display) -> Fault {
    Fault::new(Kind::Network, format!("the proxy at {} does not help: {why}", origin(at)))
}

fn host(uri: &Uri) -> &str {
    uri.host().unwrap_or("(no host)")
}

/// An error and what caused it, outermost first.
pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error)).take(CAUSES_MAX)
}

/// `io::Error` hides its inner error from `source`.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The whole chain in one line, for the log.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
