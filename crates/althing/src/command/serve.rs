//! `serve`, `mcp` and `token`: the faces for other programs.

use super::{Desk, page, print, tell};
use crate::args;
use crate::printer;
use crate::stdio;
use crate::terminal::{DIM, GOOD};
use crate::watch::Stops;
use althing_hub::extensions::{Studio, Troupe};
use althing_hub::face::dbus::{self, BUS_NAME, BusAddress};
use althing_hub::face::http::{self, Bound, Token};
use althing_hub::face::mcp as tools;
use althing_hub::service::Service;
use althing_stdx::{Fault, Kind, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::IsTerminal;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Serves on every face that can be, until a signal or the end of the bus.
pub async fn serve(args: args::Serve) -> Result<()> {
    let desk = Desk::open();
    desk.warn();
    let mut stops = Stops::new()?;
    raise_descriptors();
    let service = Service::open(desk.world.clone()).await?;
    offer_extensions(&desk, &service);
    let stop = CancellationToken::new();
    let bus = if args.no_dbus { None } else { open_bus(&desk, &service, &stop).await? };
    let http = match &args.http {
        args::Http { no_http: true, .. } => None,
        wanted => Some(open_http(&desk, wanted, &service, &stop).await?),
    };
    if bus.is_none() && http.is_none() {
        return Err(Fault::new(Kind::Network, "there is no session bus, and no HTTP is wanted"));
    }
    print(&greeting(&desk, &service, bus.is_some(), http.as_ref()).await)?;
    let done = tokio::select! {
        () = stops.next() => Ok(()),
        lost = ended(bus) => lost,
    };
    stop.cancel();
    // What nobody reads of the greeting holds up nothing.
    let leave = async {
        if let Some(http) = http {
            http.ended().await;
        }
        service.close().await?;
        printer::finish(false).await
    };
    tokio::select! {
        closed = leave => done.and(closed),
        // Asked twice: at once.
        () = stops.next() => {
            printer::give_up();
            done
        }
    }
}

/// The page of extensions, where there are any. They start when it is first looked at.
fn offer_extensions(desk: &Desk, service: &Arc<Service>) {
    let troupe = Troupe::enabled(&desk.config);
    if !troupe.members.is_empty() {
        let home = desk.world.home.clone();
        // Nothing is there before.
        let _ = service.extensions.set(Studio::new(troupe, None, service, home));
    }
}

/// As many descriptors as the system lets us have: every client has one, and every call.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // Where it is refused fewer clients fit, and the rest waits to be accepted.
    let _ = setrlimit(Resource::Nofile, raised);
}

type Serving = JoinHandle<Result<()>>;

/// The end of the bus; never where there is none.
async fn ended(bus: Option<Serving>) -> Result<()> {
    match bus {
        Some(bus) => bus.await.map_err(Fault::internal)?,
        None => std::future::pending().await,
    }
}

/// No bus is no reason not to serve; a name that is taken is.
async fn open_bus(
    desk: &Desk,
    service: &Arc<Service>,
    stop: &CancellationToken,
) -> Result<Option<Serving>> {
    let address = BusAddress::session(&desk.world);
    match dbus::Face::open(service.clone(), &address).await {
        Ok(face) => Ok(Some(tokio::spawn(face.run(stop.clone())))),
        Err(fault) if fault.kind == Kind::Network => {
            tell(desk.screen, &format!("no D-Bus: {}", fault.message));
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

async fn open_http(
    desk: &Desk,
    wanted: &args::Http,
    service: &Arc<Service>,
    stop: &CancellationToken,
) -> Result<Bound> {
    let options = http::Options {
        address: wanted.http.unwrap_or(http::ADDRESS),
        token: Token::load_or_create(&desk.config.data_dir)?,
        limits: http::Limits::default(),
    };
    http::serve(service.clone(), options, stop.clone()).await
}

/// Where it listens and what it found.
async fn greeting(desk: &Desk, service: &Service, bus: bool, http: Option<&Bound>) -> String {
    let sign = desk.screen.paint(GOOD, "✓");
    let mut text = String::new();
    if let Some(http) = http {
        let address = http.address();
        text.push_str(&format!("{sign} http://{address}/v1  (key: `althing token`)\n"));
        // A log file is no place for a token; a person's screen is where the link is clicked.
        let page = match Token::load_or_create(&desk.config.data_dir) {
            Ok(token) if std::io::stdout().is_terminal() => page::address(address, "/ui/", &token),
            _ => format!("http://{address}/ui/?token=…  (the token: `althing token`)"),
        };
        text.push_str(&format!("{sign} {page}\n"));
    }
    if bus {
        text.push_str(&format!("{sign} {BUS_NAME} on the session bus\n"));
    }
    let providers = service.list_providers().await.unwrap_or_default();
    for provider in providers.iter().filter(|it| it.enabled) {
        let place = provider.local_path.as_ref().or(provider.base_url.as_ref());
        let place = place.map_or("", String::as_str);
        let line = format!("{} at {place}, {}", provider.provider_id, provider.source);
        text.push_str(&format!("  {}\n", althing_stdx::text::one_line(&line, 200)));
    }
    if providers.is_empty() {
        text.push_str("  no provider yet: `althing providers add openai` adds one\n");
    }
    format!("{text}{}\n", desk.screen.paint(DIM, "Ctrl-C ends it."))
}

/// One MCP client on standard input and output.
pub async fn mcp() -> Result<()> {
    let desk = Desk::open();
    desk.warn();
    let mut stops = Stops::new()?;
    let service = Service::open(desk.world.clone()).await?;
    let (reader, writer) = (stdio::input(), stdio::output());
    let served = tools::serve(service.clone(), reader, writer, stops.next()).await;
    service.close().await?;
    served
}

/// The key of HTTP clients, for `$(althing token)`.
pub fn token() -> Result<()> {
    let token = Token::load_or_create(&Desk::open().config.data_dir)?;
    print(&format!("{}\n", token.secret().expose()))
}
