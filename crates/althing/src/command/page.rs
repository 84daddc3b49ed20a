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
use tokio_util::sync::CancellationToken;

/// A page that is served.
pub struct Page {
    bound: Bound,
    service: Arc<Service>,
    stop: CancellationToken,
}

impl Page {
    /// Serves the page of councils on a free port and says where.
    pub async fn open(desk: &Desk, library: Arc<Library>) -> Result<Page> {
        Page::serve(desk, Service::over(library).await?, "/ui/").await
    }

    /// Serves on a free port and says where the page at `path` is.
    pub async fn serve(desk: &Desk, service: Arc<Service>, path: &str) -> Result<Page> {
        let token = Token::load_or_create(&desk.config.data_dir)?;
        let options = http::Options {
            address: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
            token,
            limits: http::Limits::default(),
        };
        let stop = CancellationToken::new();
        let bound = http::serve(service.clone(), options, stop.clone()).await?;
        tell(desk.screen, &format!("The page: {}", bound.page(path)));
        Ok(Page { bound, service, stop })
    }

    /// Where somebody sits there the page stays until Ctrl-C; a script goes on at once.
    pub async fn close(self, desk: &Desk) -> Result<()> {
        if std::io::stdin().is_terminal() {
            let mut stops = Stops::new()?;
            tell(desk.screen, "The page stays until Ctrl-C.");
            stops.next().await;
        }
        self.end().await
    }

    /// Ends it.
    pub async fn end(self) -> Result<()> {
        self.stop.cancel();
        self.bound.ended().await;
        self.service.close().await
    }
}
