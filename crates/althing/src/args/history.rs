//! Runs of the past.

use super::ask::{Output, dollars};
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Resume {
    /// A run's id, its beginning, or `last`
    pub run: String,
    /// A new cost limit in dollars for the whole run
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Ask again the turns that failed
    #[arg(long)]
    pub retry_failed: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct History {
    /// How many, newest first
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Show {
    /// A run's id, its beginning, or `last`
    pub run: String,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Export {
    /// A run's id, its beginning, or `last`
    pub run: String,
    /// md, json, html or txt [default: md, or the configuration's]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}
