//! `--ui`: the page of a run, served while the run is held and as long as the person looks at it.

use super::{Desk, tell};
use crate::watch::Stops;
use althing_hub::book::Library;
use althing_hub::face::http::{self, Bound, Token};
use althing_hub::service::Service;
use althing_stdx::Result;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How long a page stays that nobody looks at and nobody can end by Ctrl-C: one that was closed may be
/// opened again.
const UNWATCHED_MAX: Duration = Duration::from_secs(60);
/// How often it is asked for who looks.
const LOOK: Duration = Duration::from_millis(500);

/// A page that is served.
pub struct Page {
    bound: Bound,
    service: Arc<Service>,
    stop: CancellationToken,
}

impl Page {
    /// Serves the page of councils on a free port.
    pub async fn open(library: Arc<Library>) -> Result<Page> {
        Page::bind(Service::over(library).await?).await
    }

    /// Says where the page is, which shows this run and no other.
    pub fn show_run(&self, desk: &Desk, run: &str) {
        self.bound.show_only(run);
        self.tell(desk, "/ui/");
    }

    /// Serves on a free port and says where the page at `path` is.
    pub async fn serve(desk: &Desk, service: Arc<Service>, path: &str) -> Result<Page> {
        let page = Page::bind(service).await?;
        page.tell(desk, path);
        Ok(page)
    }

    fn tell(&self, desk: &Desk, path: &str) {
        tell(desk.screen, &format!("The page: {}", self.bound.page(path)));
    }

    async fn bind(service: Arc<Service>) -> Result<Page> {
        // One of its own: the address is shown, and the person's token opens much more for longer.
        let token = Token::draw()?;
        let options = http::Options {
            address: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
            token,
            limits: http::Limits::default(),
        };
        let stop = CancellationToken::new();
        let bound = http::serve(service.clone(), options, stop.clone()).await?;
        Ok(Page { bound, service, stop })
    }

    /// Keeps the page until Ctrl-C. Where no terminal is there to say so, it also ends some time after
    /// the last one who looked at it has gone.
    pub async fn close(self, desk: &Desk) -> Result<()> {
        let mut stops = Stops::since_run()?;
        let is_attended = std::io::stdin().is_terminal();
        let until =
            if is_attended { "" } else { ", or until nobody has looked at it for a minute" };
        tell(desk.screen, &format!("The page stays until Ctrl-C{until}."));
        tokio::select! {
            () = stops.next() => {}
            () = self.wait_until_unwatched(), if !is_attended => {}
        }
        self.end().await
    }

    /// Waits until nobody has followed the run for [`UNWATCHED_MAX`].
    async fn wait_until_unwatched(&self) {
        let mut since = Instant::now();
        while since.elapsed() < UNWATCHED_MAX {
            sleep(LOOK).await;
            if self.bound.watchers() > 0 {
                since = Instant::now();
            }
        }
    }

    /// Ends it.
    pub async fn end(self) -> Result<()> {
        self.stop.cancel();
        self.bound.ended().await;
        self.service.close().await
    }
}
