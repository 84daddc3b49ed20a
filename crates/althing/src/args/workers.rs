//! `workers`.

use super::span::short_span;
use clap::{Subcommand, ValueEnum};
use std::time::Duration;

pub(super) const WORKERS_HELP: &str = "\
A worker is declared in the configuration file, with paths relative to that file's folder:
  [workers.calc]
  run = \"python calc.py\"       # words, no shell; or service = \"math-service\" for one that runs
Its functions are offered to the models of every discussion, each call is in the run's log, and
`althing mcp` offers them to other programs.

Examples:
  althing workers new --language python calc
  althing workers list
  althing workers call calc add 1 2
  althing workers call calc mean '[1, 2, 3]'
  althing workers logs calc";

#[derive(Debug, Subcommand)]
pub enum Workers {
    /// List the workers and their functions as models see them; starts those that are not running
    List {
        /// Print JSON lines, one per function
        #[arg(long)]
        json: bool,
    },
    /// Call a function and print what it gives
    #[command(after_help = WORKERS_HELP)]
    Call {
        /// A worker of the configuration, or a service that runs
        service: String,
        function: String,
        /// Its arguments in order: JSON where they are, else text; behind `--` they may begin with -
        #[arg(value_name = "ARGS", allow_negative_numbers = true)]
        arguments: Vec<String>,
        /// Give up after so long: 5s, 2m [default: the worker's own]
        #[arg(long, value_parser = short_span)]
        timeout: Option<Duration>,
    },
    /// Show what workers printed
    Logs {
        /// Only this one
        worker: Option<String>,
        /// How many lines of each
        #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
        lines: usize,
    },
    /// Write a worker to begin with into the current folder
    #[command(after_help = WORKERS_HELP)]
    New {
        #[arg(long, short, value_enum)]
        language: Language,
        /// What to call it
        #[arg(default_value = "calc")]
        name: String,
    },
}

/// What a worker can be written in, as far as we begin it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Python,
    #[value(alias = "javascript")]
    Js,
}
