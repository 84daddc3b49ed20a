//! A server on a free loopback port, on a thread and a clock of its own, so that synchronous benches
//! and tests on a paused clock can use it too.

use std::{
    future::Future,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    thread::{self, JoinHandle},
};
use tokio::{runtime, sync::oneshot};

/// The server's thread. It ends, with all its connections, when this is dropped.
pub(crate) struct Loopback {
    address: SocketAddr,
    runtime: runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Listens on a free port; `serve` runs until this is dropped.
    pub(crate) fn start<F>(serve: impl FnOnce(TcpListener) -> F) -> Loopback
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let address = listener.local_addr().expect("a bound listener has an address");
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system has room for one more runtime");
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let serve = serve(listener);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    // Either word, "stop" or a dropped sender, means stop.
                    _ = stopped => {}
                    () = serve => {}
                }
            });
        });
        Loopback { address, runtime: handle, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The origin, without a slash at the end: `http://127.0.0.1:40123`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn runtime(&self) -> &runtime::Handle {
        &self.runtime
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means a hook of the test panicked there, and that was already printed.
            let _ = thread.join();
        }
    }
}
