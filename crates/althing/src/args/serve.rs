//! The service, and who uses it.

use super::span::span;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::time::Duration;

pub(super) const SERVE_HELP: &str = "\
Programs find it on the session bus as org.althing.Capability1, and over HTTP with the token that
`althing token` prints:
  export OPENAI_BASE_URL=http://127.0.0.1:11535/v1 OPENAI_API_KEY=$(althing token)
  export ANTHROPIC_BASE_URL=http://127.0.0.1:11535 ANTHROPIC_AUTH_TOKEN=$(althing token)";

/// Whether and where the service listens for HTTP.
#[derive(Debug, Default, Args)]
pub struct Http {
    /// Where to listen for HTTP; loopback only [default: 127.0.0.1:11535]
    #[arg(long, value_name = "ADDR", conflicts_with = "no_http")]
    pub http: Option<SocketAddr>,
    /// No HTTP
    #[arg(long)]
    pub no_http: bool,
}

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    pub http: Http,
    /// No D-Bus
    #[arg(long, conflicts_with = "no_http")]
    pub no_dbus: bool,
}

#[derive(Debug, Args)]
pub struct Metrics {
    /// How far back: 30m, 1h, 7d
    #[arg(long, default_value = "1h", value_parser = span)]
    pub since: Duration,
    /// Go on showing them until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Print JSON lines, one per minute
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Connections {
    /// List who is connected
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Close a connection and end what it asked for
    Close {
        #[arg(value_name = "ID")]
        connection: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Install {
    /// Write the files that let the session bus and systemd start `althing serve`
    Install(Http),
    /// Remove them
    Uninstall,
}
