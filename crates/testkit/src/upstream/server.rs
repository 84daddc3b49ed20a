//! The listener: one task per connection, one request at a time on each.

use super::{answer::answer, log::Log, options::Options};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{net, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::sleep,
};

/// Connections at once; more wait in the listener's backlog.
const CONNECTIONS_MAX: usize = 1024;
/// The pause after a failed accept, so that a lack of file descriptors is no busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);

/// Serves until it is dropped.
pub(super) async fn serve(listener: net::TcpListener, options: Options, log: Arc<Log>) {
    let listener = TcpListener::from_std(listener).expect("this runs inside a runtime with I/O");
    let options = Arc::new(options);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connection = 0;
    loop {
        let seat = Arc::clone(&room).acquire_owned().await.expect("nobody closes the room");
        let Ok((socket, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        connection += 1;
        let (options, log) = (Arc::clone(&options), Arc::clone(&log));
        tokio::spawn(async move {
            converse(socket, options, log, connection).await;
            drop(seat);
        });
    }
}

async fn converse(socket: TcpStream, options: Arc<Options>, log: Arc<Log>, connection: usize) {
    // Without it every paced stream starts 30 ms late. It fails only on a socket already closed.
    let _ = socket.set_nodelay(true);
    let service =
        service_fn(|request| answer(Arc::clone(&options), Arc::clone(&log), connection, request));
    // An error is a client gone or a cut of ours; the log has both.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}
