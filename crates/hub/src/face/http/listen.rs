//! The listener: every connection is one task, from its first byte to its last.

use super::patience::{Begun, Patience};
use super::router::App;
use super::wire::Wire;
use super::{Limits, Options};
use crate::config::Announced;
use crate::service::Service;
use althing_stdx::{Fault, Kind, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Bytes of a request's line and headers; more are a 431, and so are more than 100 headers, which
/// is hyper's own limit.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// After a failed accept, which mostly means that there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A face that listens. It goes on until the token given to [`serve`] is cancelled.
pub struct Bound {
    address: SocketAddr,
    app: Arc<App>,
    task: JoinHandle<()>,
}

impl Bound {
    /// Where it really listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a page, with what opens it in this run: for the person's eyes only.
    pub fn page(&self, path: &str) -> String {
        format!("http://{}{path}?token={}", self.address, self.app.page_key().secret().expose())
    }

    /// Lets the pages show this run and no other.
    pub fn show_only(&self, run: &str) {
        self.app.show_only(run);
    }

    /// How many pages follow a run now.
    pub fn watchers(&self) -> usize {
        self.app.watchers().count()
    }

    /// Waits until it has stopped and every connection is over.
    pub async fn ended(self) {
        // An error means that the task panicked, and that was already printed.
        let _ = self.task.await;
    }
}

/// An address that is taken. Who comes waits until somebody serves there.
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    announced: Option<Announced>,
}

impl Door {
    /// Takes an address, and tells this person's other processes that it is one of Althing's. Whoever
    /// reads the configuration after that knows it.
    pub async fn open(asked: SocketAddr, data_dir: &Path) -> Result<Door> {
        if !asked.ip().is_loopback() {
            return Err(Fault::invalid(format!(
                "http: {asked} is not on this machine alone; 127.0.0.1 and [::1] can be listened on"
            )));
        }
        let cannot = |e: std::io::Error| {
            Fault::new(Kind::Busy, format!("http: cannot listen on {asked}: {e}"))
        };
        let listener = TcpListener::bind(asked).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let announced = Announced::announce(data_dir, address);
        Ok(Door { listener, address, announced })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// As [`serve`], here; the options' address is not looked at.
    pub fn serve(
        self,
        service: Arc<Service>,
        options: Options,
        stop: CancellationToken,
    ) -> Result<Bound> {
        let Door { listener, address, announced } = self;
        let limits = options.limits;
        let app = Arc::new(App::new(service, options.token, address, limits)?);
        let accepting = accept(listener, app.clone(), limits, stop);
        let task = tokio::spawn(async move {
            accepting.await;
            drop(announced);
        });
        Ok(Bound { address, app, task })
    }
}

/// Listens until `stop`; then takes no one more, finishes what is under way and cuts what takes
/// longer than the grace.
pub async fn serve(
    service: Arc<Service>,
    options: Options,
    stop: CancellationToken,
) -> Result<Bound> {
    let door = Door::open(options.address, &service.library.means().data_dir).await?;
    door.serve(service, options, stop)
}

async fn accept(listener: TcpListener, app: Arc<App>, limits: Limits, stop: CancellationToken) {
    let room = Arc::new(Semaphore::new(limits.connections_max));
    loop {
        let next = async {
            // Never closed, so never an error.
            let place = room.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            next = next => next,
        };
        let Ok((socket, _)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (app, stop) = (app.clone(), stop.clone());
        tokio::spawn(async move {
            converse(app, socket, limits, stop).await;
            drop(place);
        });
    }
    drop(listener);
    // A page would follow its run for ever.
    app.watchers().close();
    // All places free again means that every connection is over; each keeps to its own grace.
    let all = room.acquire_many(limits.connections_max as u32);
    // One more stall, for a last write that the client does not take.
    let _ = timeout(limits.grace + limits.stall, all).await;
}

async fn converse(app: Arc<App>, socket: TcpStream, limits: Limits, stop: CancellationToken) {
    // Without it every stream starts 30 ms late. Where it cannot be set the client is gone.
    if socket.set_nodelay(true).is_err() {
        return;
    }
    // All faces share one bound; who comes on top of it is turned away.
    let Ok(line) = app.service.connections.enter("http", "") else { return };
    let line = Arc::new(line);
    let closed = line.closed();
    let answer = service_fn(move |request| app.clone().answer(line.clone(), request));
    let mut http = http1::Builder::new();
    let begun = Begun::default();
    http.timer(Patience::new(limits.head, begun.clone()));
    http.header_read_timeout(limits.idle).max_header_size(HEAD_BYTES_MAX);
    let mut talk = pin!(http.serve_connection(Wire::new(socket, begun, limits.stall), answer));
    tokio::select! {
        // An error is the client's: it left, dawdled or does not speak HTTP.
        _ = talk.as_mut() => return,
        () = closed.cancelled() => return,
        () = stop.cancelled() => {}
    }
    talk.as_mut().graceful_shutdown();
    tokio::select! {
        _ = timeout(limits.grace, talk) => {}
        () = closed.cancelled() => {}
    }
}
