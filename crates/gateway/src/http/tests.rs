use super::*;
use http_body_util::Full;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Response, body};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

const WAIT: Duration = Duration::from_secs(60);
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn http(proxies: Matcher, roots: RootCertStore) -> Http {
    Http::with(proxies, Some(roots), WAIT)
}

fn plain() -> Http {
    http(Matcher::builder().build(), RootCertStore::empty())
}

fn get(url: &str) -> Outgoing {
    let url = url.parse().unwrap();
    Outgoing { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new() }
}

/// The body of a success, or the fault.
async fn fetch(http: &Http, url: &str) -> Result<String> {
    let incoming = http.send(get(url)).await?;
    let chunks: Vec<Bytes> = incoming.body.try_collect().await?;
    Ok(String::from_utf8(chunks.concat()).unwrap())
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A request up to its empty line.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// A server that takes one request, answers, and tells what it was asked.
async fn answer_once(answer: &'static str) -> (SocketAddr, oneshot::Receiver<String>) {
    let (listener, address) = listen().await;
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        tell.send(head).unwrap();
    });
    (address, told)
}

/// A TLS server called `api.example` that has what ALPN asks for and answers with the version it
/// was asked in; and the one root that trusts it.
async fn secure_server(alpn: &[&str]) -> (SocketAddr, RootCertStore) {
    let made =
        rcgen::generate_simple_self_signed(["api.example".into(), "localhost".into()]).unwrap();
    let certificate: CertificateDer = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key);
    let mut config = config.unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve_secure(acceptor.clone(), stream));
        }
    });
    (address, roots)
}

async fn serve_secure(acceptor: TlsAcceptor, stream: TcpStream) {
    // A client that does not trust us goes away here; its own test says so.
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(|request: Request<body::Incoming>| async move {
        let version = Bytes::from(format!("{:?}", request.version()));
        Ok::<_, Infallible>(Response::new(Full::new(version)))
    });
    let io = TokioIo::new(stream);
    // The connection's end is the client's affair.
    if is_h2 {
        let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
    } else {
        let _ = http1::Builder::new().serve_connection(io, service).await;
    }
}

#[tokio::test]
async fn failures_in_words() {
    let (listener, address) = listen().await;
    drop(listener);
    let nobody = fetch(&plain(), &format!("http://{address}/v1")).await.unwrap_err();
    assert_eq!(nobody.to_string(), format!("nothing listens at http://{address}"));

    // No name has a part of more than 63 letters, so this fails without asking anybody.
    let name = format!("{}.example", "a".repeat(64));
    let nowhere = fetch(&plain(), &format!("http://{name}/")).await.unwrap_err();
    assert!(nowhere.message.starts_with(&format!("no host is called {name}")), "{nowhere}");

    let (address, _) = secure_server(&[]).await;
    let url = format!("https://localhost:{}/", address.port());
    let stranger = fetch(&plain(), &url).await.unwrap_err();
    let want = "the certificate of localhost is not trusted";
    assert!(stranger.message.starts_with(want), "{stranger:?}");

    let (address, _) = answer_once("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    let cut = fetch(&plain(), &format!("http://{address}/")).await.unwrap_err();
    let want = format!("the connection to http://{address} broke: ");
    assert!(cut.message.starts_with(&want), "{cut}");

    for fault in [nobody, nowhere, stranger, cut] {
        assert_eq!(fault.kind, Kind::Network);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_never_ends_meets_the_connect_limit() {
    let (listener, address) = listen().await;
    let fault = fetch(&plain(), &format!("https://{address}/")).await.unwrap_err();
    let want = format!("no connection to https://{address} within 60s");
    assert_eq!((fault.kind, fault.message), (Kind::TimedOut, want));
    drop(listener);
}

#[tokio::test]
async fn the_best_version_that_both_have() {
    for (alpn, want) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let (address, roots) = secure_server(alpn).await;
        let http = http(Matcher::builder().build(), roots);
        let url = format!("https://localhost:{}/", address.port());
        assert_eq!(fetch(&http, &url).await.unwrap(), want, "{alpn:?}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let (listener, address) = listen().await;
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                loop {
                    let head = read_head(&mut stream).await;
                    assert!(
                        head.contains(concat!("user-agent: althing/", env!("CARGO_PKG_VERSION")))
                    );
                    stream.write_all(OK.as_bytes()).await.unwrap();
                }
            });
        }
    });
    let http = plain();
    for _ in 0..3 {
        assert_eq!(fetch(&http, &format!("http://{address}/")).await.unwrap(), "ok");
        // The pool takes the connection back in a task of its own.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_not_used() {
    let (listener, address) = listen().await;
    let (closed, mut was_closed) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(OK.as_bytes()).await.unwrap();
            drop(stream);
            closed.send(()).await.unwrap();
        }
    });
    let http = plain();
    for _ in 0..3 {
        assert_eq!(fetch(&http, &format!("http://{address}/")).await.unwrap(), "ok");
        was_closed.recv().await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_in_many_chunks_is_read_to_its_end() {
    let chunks: String = (0..1000).map(|at| format!("5\r\n{at:05}\r\n")).collect();
    let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let (address, _) = answer_once(answer.leak()).await;
    let body = fetch(&plain(), &format!("http://{address}/")).await.unwrap();
    assert_eq!(body, (0..1000).map(|at| format!("{at:05}")).collect::<String>());
}

#[tokio::test]
async fn the_server_is_named_as_it_was_addressed() {
    for path in ["/a?b=c", "/"] {
        let (address, asked) = answer_once(OK).await;
        let http = plain();
        assert_eq!(fetch(&http, &format!("http://{address}{path}")).await.unwrap(), "ok");
        let head = asked.await.unwrap();
        assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
        let (listener, address) = listen().await;
        let (asked, was_asked) = oneshot::channel();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
            asked.send(()).unwrap();
            // 0 is the end: the client is gone.
            stream.read(&mut [0; 64]).await.unwrap_or(0)
        });
        let http = plain();
        let mut call = Box::pin(http.send(get(&format!("http://{address}/"))));
        if answer.is_empty() {
            let gone = tokio::select! { _ = &mut call => false, _ = was_asked => true };
            assert!(gone, "nothing was answered");
        } else {
            let mut body = (&mut call).await.unwrap().body;
            assert_eq!(body.next().await.unwrap().unwrap(), "half");
        }
        drop(call);
        assert_eq!(server.await.unwrap(), 0);
    }
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let (server, roots) = secure_server(&["h2"]).await;
    let (listener, proxy) = listen().await;
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut onward = TcpStream::connect(server).await.unwrap();
        tokio::spawn(async move { copy_bidirectional(&mut stream, &mut onward).await });
        head
    });
    let proxies = Matcher::builder().https(format!("http://ada:pass%20word@{proxy}")).build();
    let body = fetch(&http(proxies, roots), "https://api.example/v1").await.unwrap();
    assert_eq!(body, "HTTP/2.0");
    let head = seen.await.unwrap();
    assert!(head.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic YWRhOnBhc3Mgd29yZA==\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let (proxy, _) = answer_once("HTTP/1.1 407 No\r\n\r\n").await;
    let proxies = Matcher::builder().all(format!("http://ada:secret@{proxy}")).build();
    let fault =
        fetch(&http(proxies, RootCertStore::empty()), "https://api.example/").await.unwrap_err();
    let want = format!(
        "the proxy at http://{proxy} does not help: tunnel error: proxy authorization required"
    );
    assert_eq!((fault.kind, fault.message.as_str()), (Kind::Network, want.as_str()));
    assert!(!format!("{fault:?}").contains("secret"));
}

#[tokio::test]
async fn plain_http_is_asked_of_the_proxy_itself() {
    let (proxy, asked) = answer_once(OK).await;
    let proxies = Matcher::builder().http(format!("http://ada:secret@{proxy}")).build();
    let http = http(proxies, RootCertStore::empty());
    assert_eq!(fetch(&http, "http://api.example/v1?a=b").await.unwrap(), "ok");
    let head = asked.await.unwrap();
    assert!(head.starts_with("GET http://api.example/v1?a=b HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic YWRhOnNlY3JldA==\r\n"), "{head}");
}

#[tokio::test]
async fn socks_proxies_resolve_names_themselves() {
    let (listener, proxy) = listen().await;
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut greeting = [0; 3];
        stream.read_exact(&mut greeting).await.unwrap();
        stream.write_all(&[5, 0]).await.unwrap();
        let mut wanted = [0; 5 + 11 + 2];
        stream.read_exact(&mut wanted).await.unwrap();
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(OK.as_bytes()).await.unwrap();
        (wanted, head)
    });
    let proxies = Matcher::builder().all(format!("socks5h://{proxy}")).build();
    let http = http(proxies, RootCertStore::empty());
    assert_eq!(fetch(&http, "http://api.example/v1").await.unwrap(), "ok");
    let (wanted, head) = seen.await.unwrap();
    assert_eq!(&wanted, b"\x05\x01\x00\x03\x0bapi.example\x00\x50");
    assert!(head.starts_with("GET /v1 HTTP/1.1\r\n"), "{head}");
}

#[test]
fn what_goes_past_the_proxy() {
    let proxies = Matcher::builder().all("http://proxy.example:3128").no("own.example,10.0.0.0/8");
    let proxies = proxies.build();
    #[rustfmt::skip]
    let table = [
        ("https://api.openai.com/v1", true), ("http://192.168.1.5:11434", true),
        ("http://mylocalhost", true), ("https://own.example", false),
        ("https://a.own.example", false), ("http://10.1.2.3", false),
        ("http://localhost:11434", false), ("http://LocalHost:1", false),
        ("http://127.0.0.9:1", false), ("http://[::1]:1", false), ("http://0.0.0.0:1", false),
        ("http://ai.localhost", false),
    ];
    for (url, want) in table {
        assert_eq!(proxy_for(&proxies, &url.parse().unwrap()).is_some(), want, "{url}");
    }
}

#[tokio::test]
async fn a_socket_in_the_file_system_is_reached_past_every_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("runner.sock");
    let url = format!("{}/v1/models", unix_url(&socket));
    // Whoever went through this proxy would find nobody.
    let http = http(Matcher::builder().all("http://127.0.0.1:9").build(), RootCertStore::empty());
    let fault = fetch(&http, &url).await.unwrap_err();
    assert_eq!(fault.message, format!("nothing listens at {}", socket.display()));
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(OK.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap()
    });
    assert_eq!(fetch(&http, &url).await.unwrap(), "ok");
    assert!(serving.await.unwrap().starts_with("GET /v1/models HTTP/1.1\r\n"));
}
