//! From a description to a running child, and to its end.

use std::env;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::desk::Desk;
use super::{Child, Ended, Running, Service, Stopper, Tokio, crew};
use crate::error::Error;
use crate::limits::{CONNECT_PAUSE, LINGER_MAX, PARENT_MAX};
use crate::registry::{Registration, Registry};
use crate::socket::{self, Inbox, Link, Server, Terms};
use crate::token::{self, Token};
use crate::wait::{block_on, now, pause};
use crate::zmtp::Role;

/// Where a parent that spawns says its port.
pub(crate) const PORT_VARIABLE: &str = "COMLINK_ZMQ_PORT";

/// What keeps a child reachable.
enum Door {
    Parent,
    Service { _server: Server, _registration: Registration },
}

impl Child {
    /// Serves until the end: to the parent that spawned this process, or as a service. This thread
    /// waits; handlers that are still running then are left to the process's end. A service ends
    /// with INT and TERM too, so that its entry goes; a child that was spawned needs no such care.
    pub fn run(self) -> Result<Ended, Error> {
        let port = spawn_port(env::var(PORT_VARIABLE).ok().as_deref())?;
        if port.is_none() {
            let stopper = self.stopper();
            start(move || stop_on_signal(&stopper))?;
        }
        self.serve(port, None)
    }

    /// As [`Child::run`], for a caller on tokio, where functions that wait run too. Dropping it
    /// stops the child.
    pub async fn run_async(self) -> Result<Ended, Error> {
        let port = spawn_port(env::var(PORT_VARIABLE).ok().as_deref())?;
        let (stopper, tokio) = (self.stopper(), Handle::current());
        let _stop = StopOnDrop(stopper);
        let (sender, receiver) = oneshot::channel();
        // If nobody waits any more, nobody wants to know.
        let run = move || drop(sender.send(self.serve(port, Some(tokio))));
        let thread = thread::Builder::new().name("multifrost-child".into()).spawn(run);
        thread.map_err(|error| Error::system("cannot start a thread", error))?;
        receiver.await.unwrap_or(Err(Error::Stopped))
    }

    pub(super) fn serve(self, port: Option<u16>, callers: Option<Handle>) -> Result<Ended, Error> {
        let terms = Terms { role: Role::Router, message_bytes_max: self.message_bytes_max };
        let child = Arc::new(Running {
            functions: self.functions,
            namespace: self.namespace,
            message_bytes_max: self.message_bytes_max,
            is_spawned: port.is_some(),
            token: match port {
                Some(port) => {
                    env::var(token::VARIABLE).ok().and_then(|it| Token::of_port(&it, port))
                }
                None => self.service.as_ref().and_then(|service| service.token.clone()),
            },
            desk: Desk::new(self.concurrency),
            links: self.links,
            tokio: Tokio { callers, own: OnceLock::new() },
        });
        let door = match (port, &self.service) {
            // The port wins, as in every library.
            (Some(port), _) => child.clone().join(port, terms)?,
            (None, Some(service)) => child.clone().offer(service, terms)?,
            (None, None) => {
                let why = format!("{PORT_VARIABLE} is not set and there is no service to offer");
                return Err(Error::System(why));
            }
        };
        let ended = child.wait();
        child.desk.close();
        drop(door);
        let deadline = now() + LINGER_MAX;
        child.links.all().iter().for_each(|link| link.close_by(deadline));
        Ok(ended)
    }
}

impl Running {
    fn wait(&self) -> Ended {
        let mut ended = self.links.ended.subscribe();
        loop {
            // Looked at again now and then: a wait without an end is no wait.
            let over = block_on(ended.wait_for(Option::is_some), PARENT_MAX);
            if let Some(Ok(why)) = over
                && let Some(why) = *why
            {
                return why;
            }
        }
    }

    /// Connects to the parent that spawned us.
    fn join(self: Arc<Running>, port: u16, terms: Terms) -> Result<Door, Error> {
        let (link, inbox) = reach(port, terms)?;
        start(move || crew::serve(self, link, inbox, true))?;
        Ok(Door::Parent)
    }

    /// Binds first and registers then, so that whoever finds the service can connect.
    fn offer(self: Arc<Running>, service: &Service, terms: Terms) -> Result<Door, Error> {
        let bound = Server::bind(service.ip, service.port);
        let (server, listening) = bound.map_err(|error| {
            let at = SocketAddr::new(service.ip, service.port);
            Error::system(&format!("cannot listen for parents at {at}"), error)
        })?;
        if let Some(warning) = warning(service) {
            // A warning that nobody can read is no reason not to serve.
            let _ = writeln!(std::io::stderr(), "{}: {warning}", service.id);
        }
        let serve = move |link, inbox| crew::serve(self.clone(), link, inbox, false);
        start(move || listening.run(terms, serve))?;
        let registry = match &service.registry {
            Some(registry) => registry.clone(),
            None => Registry::of_home()?,
        };
        let registration = registry.register(&service.id, server.port())?;
        Ok(Door::Service { _server: server, _registration: registration })
    }
}

/// What the person should know about where a service listens.
fn warning(service: &Service) -> Option<&'static str> {
    match service.token {
        _ if service.ip.is_loopback() => None,
        Some(_) => Some("listening beyond this machine: whoever has the token can call"),
        None => Some("listening beyond this machine: whoever reaches it can call"),
    }
}

/// A parent that is about to listen is waited for.
fn reach(port: u16, terms: Terms) -> Result<(Arc<Link>, Inbox), Error> {
    let deadline = now() + PARENT_MAX;
    loop {
        match socket::connect(port, terms) {
            Ok(connected) => return Ok(connected),
            Err(error) if now() >= deadline => {
                let doing = format!("cannot reach the parent at port {port}");
                return Err(Error::system(&doing, error));
            }
            Err(_) => pause(CONNECT_PAUSE),
        };
    }
}

fn start(run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = thread::Builder::new().name("multifrost-child".into());
    thread.spawn(run).map(drop).map_err(|error| Error::system("cannot start a thread", error))
}

/// The port of the parent, if there is one: a number from 1024 on, or the child must not start.
fn spawn_port(variable: Option<&str>) -> Result<Option<u16>, Error> {
    let Some(text) = variable else { return Ok(None) };
    match text.parse() {
        Ok(port) if port >= 1024 => Ok(Some(port)),
        _ => {
            Err(Error::System(format!("{PORT_VARIABLE}: a port from 1024 to 65535, not '{text}'")))
        }
    }
}

/// Waits for a signal that asks the process to end.
fn stop_on_signal(stopper: &Stopper) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
        // Without it signals do what they always do.
        return;
    };
    let asked = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::io::Result::Ok(())
    });
    if asked.is_ok() {
        stopper.stop();
    }
}

struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
#[test]
fn s10_1_5_s37_3_a_child_without_a_valid_port_does_not_start() {
    for wrong in ["", "0", "80", "1023", "65536", "-1", "x", "5555 "] {
        let error = spawn_port(Some(wrong)).unwrap_err().to_string();
        assert_eq!(error, format!("COMLINK_ZMQ_PORT: a port from 1024 to 65535, not '{wrong}'"));
    }
    assert_eq!(spawn_port(Some("1024")), Ok(Some(1024)));
    assert_eq!(spawn_port(Some("65535")), Ok(Some(65535)));
    assert_eq!(spawn_port(None), Ok(None));
}

#[cfg(test)]
#[test]
fn s18_2_a_service_is_on_this_machine_only_unless_told_otherwise() {
    let service = Service::new("math");
    assert!(service.ip.is_loopback());
    assert_eq!(warning(&service), None);
    let wide = Service { ip: std::net::Ipv4Addr::UNSPECIFIED.into(), ..service };
    assert!(warning(&wide).is_some_and(|it| it.ends_with("whoever reaches it can call")));
    let guarded = Service { token: Some(Token::new("secret")), ..wide };
    assert!(warning(&guarded).is_some_and(|it| it.ends_with("whoever has the token can call")));
}
