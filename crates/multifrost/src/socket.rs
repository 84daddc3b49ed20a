//! TCP: the only place with sockets. A [`Link`] is a connection whose handshake is done.

mod inbox;
mod link;
mod spin;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::limits::{CONNECTIONS_MAX, HANDSHAKE_MAX};
use crate::zmtp::Role;
pub(crate) use inbox::{Inbox, Patience};
pub(crate) use link::{Link, SendError};
pub(crate) use spin::SPIN_MAX;

/// The only address where nothing else is said: a worker is nobody else's business.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What every connection of a socket has in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub role: Role,
    pub message_bytes_max: usize,
}

/// Connects to a port of this machine and shakes hands.
pub(crate) fn connect(port: u16, terms: Terms) -> io::Result<(Arc<Link>, Inbox)> {
    let address = SocketAddr::new(LOOPBACK, port);
    let stream = TcpStream::connect_timeout(&address, HANDSHAKE_MAX)?;
    inbox::shake_hands(stream, terms, HANDSHAKE_MAX)
}

/// A listening socket that gives each connection a thread.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    is_closed: Arc<AtomicBool>,
}

impl Server {
    /// Binds, so that a connection may come from now on; port 0 means any.
    pub(crate) fn bind(ip: IpAddr, port: u16) -> io::Result<(Server, Listening)> {
        let listener = TcpListener::bind((ip, port))?;
        let server = Server { address: listener.local_addr()?, is_closed: Arc::default() };
        let is_closed = server.is_closed.clone();
        let connections_max = CONNECTIONS_MAX;
        Ok((server, Listening { listener, is_closed, connections_max }))
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// No connection is taken any more. The listener's thread is woken by one last connection.
    pub(crate) fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        let ip = if self.address.ip().is_unspecified() { LOOPBACK } else { self.address.ip() };
        let address = SocketAddr::new(ip, self.address.port());
        // If it cannot be reached, it is not waiting either.
        let _ = TcpStream::connect_timeout(&address, crate::limits::CONNECT_PAUSE);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

/// The other half of a [`Server`].
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    is_closed: Arc<AtomicBool>,
    connections_max: usize,
}

impl Listening {
    /// Takes connections until the server is closed; `serve` runs on a thread per connection. One
    /// that does not shake hands ends by itself.
    pub(crate) fn run(
        self,
        terms: Terms,
        serve: impl Fn(Arc<Link>, Inbox) + Send + Sync + 'static,
    ) {
        let serve = Arc::new(serve);
        let count = Arc::new(AtomicUsize::new(0));
        for stream in self.listener.incoming() {
            if self.is_closed.load(Ordering::SeqCst) {
                return;
            }
            // An accept that fails is the connection's fault; one beyond the limit is closed.
            let Ok(stream) = stream else { continue };
            if count.fetch_add(1, Ordering::SeqCst) >= self.connections_max {
                count.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let place = Place(count.clone());
            let serve = serve.clone();
            let spawned = thread::Builder::new().name("multifrost-peer".into()).spawn(move || {
                if let Ok((link, mut inbox)) = inbox::shake_hands(stream, terms, HANDSHAKE_MAX) {
                    inbox.place = Some(place);
                    serve(link, inbox);
                }
            });
            // Without a thread the connection is dropped, which tells the other side.
            drop(spawned);
        }
    }
}

/// One of the connections there may be.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
