//! `serve`, `mcp` and `token`: the faces for other programs.

use super::extensions::tell_kept;
use super::{Desk, print, tell};
use crate::args;
use crate::printer;
use crate::stdio;
use crate::terminal::{DIM, GOOD, Screen};
use crate::watch::Stops;
use althing_hub::extensions::{Studio, Troupe};
use althing_hub::face::dbus::{self, BUS_NAME, BusAddress, Lives, News};
use althing_hub::face::http::{self, Bound, Door, Token};
use althing_hub::face::mcp as tools;
use althing_hub::service::Service;
use althing_stdx::{Fault, Kind, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Serves on every face that can be, until a signal, or until a bus is gone without which it is
/// nothing.
pub async fn serve(args: args::Serve) -> Result<()> {
    let desk = Desk::open();
    let mut stops = Stops::new()?;
    raise_descriptors();
    let door = match &args.http {
        args::Http { no_http: true, .. } => None,
        wanted => Some(open_door(&desk, wanted).await?),
    };
    // Read again: what leads here is known only now, and no provider.
    let desk = Desk::open();
    desk.warn();
    let service = Service::open(desk.world.clone()).await?;
    offer_extensions(&desk, &service);
    let stop = CancellationToken::new();
    let lives = lives(&desk, door.is_some());
    let bus = if args.no_dbus { None } else { open_bus(&desk, &service, lives, &stop).await? };
    let http = match door {
        Some(door) => Some(serve_http(&desk, door, &service, &stop)?),
        None => None,
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
        tell_kept(&desk, &service);
        printer::finish(false).await
    };
    tokio::select! {
        closed = leave => done.and(closed),
        // Asked twice: at once.
        () = stops.next() => {
            printer::give_up();
            tell_kept(&desk, &service);
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

/// The end of a bus without which the service is nothing; never where there is none such.
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
    lives: Lives,
    stop: &CancellationToken,
) -> Result<Option<Serving>> {
    let address = BusAddress::session(&desk.world);
    match dbus::Face::open(service.clone(), &address).await {
        Ok(face) => {
            let screen = desk.screen;
            let staying = face.stay(lives, stop.clone(), move |news| tell_news(screen, &news));
            Ok(Some(tokio::spawn(staying)))
        }
        Err(fault) if fault.kind == Kind::Network => {
            tell(desk.screen, &format!("no D-Bus: {}", fault.message));
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// Whether it is something without the bus. A bus says so to whom it starts; what runs in a terminal
/// inherited that from elsewhere.
fn lives(desk: &Desk, has_http: bool) -> Lives {
    let is_started = desk.world.env.contains_key("DBUS_STARTER_ADDRESS");
    let has_person = std::io::stdout().is_terminal();
    let is_own = has_http && (has_person || !is_started);
    if is_own { Lives::OnItsOwn } else { Lives::WithTheBus }
}

fn tell_news(screen: Screen, news: &News) {
    let text = match news {
        News::Lost(fault) => format!("{}; it is looked for, and the rest goes on", fault.message),
        News::Barred(fault) => format!("not back on the session bus: {}", fault.message),
        News::Back => format!("{BUS_NAME} is on the session bus again"),
    };
    tell(screen, &text);
}

async fn open_door(desk: &Desk, wanted: &args::Http) -> Result<Door> {
    Door::open(wanted.http.unwrap_or(http::ADDRESS), &desk.config.data_dir).await
}

fn serve_http(
    desk: &Desk,
    door: Door,
    service: &Arc<Service>,
    stop: &CancellationToken,
) -> Result<Bound> {
    let options = http::Options {
        address: door.address(),
        token: Token::load_or_create(&desk.config.data_dir)?,
        limits: http::Limits::default(),
    };
    door.serve(service.clone(), options, stop.clone())
}

/// Whether what is written there is kept where others than its owner can read it: in such a file, or
/// in the system's log, which is a socket. What cannot be told is taken for that.
fn is_public(output: &impl AsFd) -> bool {
    let file = output.as_fd().try_clone_to_owned().map(File::from);
    let about = file.and_then(|file| file.metadata());
    about.map_or(true, |about| {
        let is_open_file = about.is_file() && about.permissions().mode() & 0o077 != 0;
        is_open_file || about.file_type().is_socket()
    })
}

/// Where it listens and what it found.
async fn greeting(desk: &Desk, service: &Service, bus: bool, http: Option<&Bound>) -> String {
    let sign = desk.screen.paint(GOOD, "✓");
    let mut text = String::new();
    if let Some(http) = http {
        let address = http.address();
        text.push_str(&format!("{sign} http://{address}/v1  (key: `althing token`)\n"));
        // A file that others read is no place for what opens the pages.
        let page = match is_public(&std::io::stdout()) {
            false => http.page("/ui/"),
            true => format!(
                "http://{address}/ui/?token=…  (not shown in a file or log that others can read; \
                 `umask 077` before the start, or a terminal)"
            ),
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

#[cfg(test)]
#[test]
fn a_file_that_others_can_read_is_public() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("log")).unwrap();
    for (mode, want) in [(0o600, false), (0o644, true), (0o640, true)] {
        file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(is_public(&file), want, "{mode:o}");
    }
    let (_reader, writer) = std::io::pipe().unwrap();
    assert!(!is_public(&writer), "a pipe is read by who made it");
    let (log, _end) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(is_public(&log), "the system's log is a socket");
}
