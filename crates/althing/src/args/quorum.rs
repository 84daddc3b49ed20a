//! `quorum`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Quorum {
    /// The frontend: the folder `_frontend` of quorum-cli, or one that has it [default: that of the
    /// `quorum` on PATH]
    #[arg(long, value_name = "FOLDER")]
    pub frontend: Option<PathBuf>,
}
