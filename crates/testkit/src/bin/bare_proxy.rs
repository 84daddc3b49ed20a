//! A reverse proxy that does nothing but pass bytes: what any gateway costs at least. The bench
//! compares with it. Prints its URL and serves until its standard input closes.

use futures_util::TryStreamExt;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io::{self, Write};
use tokio::net::{TcpListener, TcpStream};

type Pool = Client<HttpConnector, Full<Bytes>>;
type Passed =
    StreamBody<futures_util::stream::BoxStream<'static, Result<Frame<Bytes>, hyper::Error>>>;

fn main() -> io::Result<()> {
    let upstream = std::env::args().nth(1).unwrap_or_default();
    let upstream: Uri = upstream.parse().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    runtime.spawn(serve(listener, upstream));
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

async fn serve(listener: TcpListener, upstream: Uri) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let pool: Pool = Client::builder(TokioExecutor::new()).build(connector);
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(converse(socket, pool.clone(), upstream.clone()));
    }
}

async fn converse(socket: TcpStream, pool: Pool, upstream: Uri) {
    // It fails only on a socket already closed.
    let _ = socket.set_nodelay(true);
    let service = service_fn(|request| pass(pool.clone(), upstream.clone(), request));
    // An error is a client gone.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

async fn pass(
    pool: Pool,
    upstream: Uri,
    request: Request<Incoming>,
) -> io::Result<Response<Passed>> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let mut parts = upstream.into_parts();
    parts.path_and_query = head.uri.path_and_query().cloned();
    head.uri = Uri::from_parts(parts).map_err(io::Error::other)?;
    head.headers.remove(hyper::header::HOST);
    let answer = pool.request(Request::from_parts(head, Full::new(body))).await;
    let (head, body) = answer.map_err(io::Error::other)?.into_parts();
    let frames: futures_util::stream::BoxStream<_> =
        Box::pin(body.into_data_stream().map_ok(Frame::data));
    Ok(Response::from_parts(head, StreamBody::new(frames)))
}
