//! `extensions`.

use super::span::short_span;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const EXTENSIONS_HELP: &str = "\
Extensions are programs that read and change the message in the editor and talk to the person; those
written for Hermes run unchanged. They are sections of the configuration file, [extensions.NAME].

Examples:
  althing extensions new greeter --language python
  althing extensions add echo -- python3 echo.py
  althing extensions add helper --grant read,change,models -- node helper.mjs
  althing extensions run echo --message adt.hl7 --command echo/show
  althing extensions run 'python3 fill.py' --message adt.hl7 --command fill --answers yes.json --in-place
  althing extensions open adt.hl7
  althing extensions inspect echo --message adt.hl7 --command echo/show > traffic.jsonl
  althing extensions inspect --replay traffic.jsonl --message adt.hl7

An answers file is a JSON list; each answer is for one question, in their order:
  [{ \"method\": \"ui/showConfirm\", \"contains\": \"sure\", \"answer\": true },
   { \"method\": \"ui/openFile\", \"answer\": \"/tmp/x.hl7\" }]

A command is over when nothing has happened for --settle: no request, no output, and no window open.

Exit codes of run and inspect:
  0 done   2 wrong usage, a question without an answer or an answer that nobody asked for
  3 no such extension, command or file   5 not quiet in time, or a window still open
  18 an extension failed or was killed, or a replay differs   130 stopped";

#[derive(Debug, Subcommand)]
pub enum Extensions {
    /// Add an extension to the configuration file
    #[command(after_help = EXTENSIONS_HELP)]
    Add(AddExtension),
    /// Write a small extension to begin with, with a message to try it on
    New {
        /// What to call it; its folder has the same name
        name: String,
        /// What it is written in
        #[arg(long, value_enum, default_value = "python")]
        language: ExtensionLanguage,
    },
    /// List the extensions that are configured
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Take an extension out of the configuration file
    Remove { name: String },
    /// Let an extension be started again
    Enable { name: String },
    /// Keep an extension from being started
    Disable { name: String },
    /// Show what extensions printed and what was said about them
    Logs {
        /// Only this one
        name: Option<String>,
        /// How many lines of each
        #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
        lines: usize,
        /// Only lines that matter at least so much
        #[arg(long, value_enum, default_value = "info")]
        level: LogLevel,
    },
    /// Run commands of extensions on a message, and print what becomes of it
    #[command(after_help = EXTENSIONS_HELP)]
    Run(RunExtensions),
    /// As `run`, but print every message between host and extensions as a JSON line
    #[command(after_help = EXTENSIONS_HELP)]
    Inspect(InspectExtensions),
    /// Open a message in the browser, with the extensions around it, on an address that is printed; it
    /// stays until Ctrl-C
    Open {
        /// The message: HL7, JSON, YAML, TOML or text by its name
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Names out of the configuration, or command lines [default: all that are enabled]
        #[arg(value_name = "EXT")]
        extensions: Vec<String>,
    },
    /// Stand in for the extension of a recording, on standard input and output
    #[command(hide = true)]
    Play {
        #[arg(value_hint = ValueHint::FilePath)]
        recording: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct AddExtension {
    /// What to call it
    pub name: String,
    /// Its program and arguments; files of the current folder get their whole path
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A variable of its environment, NAME=VALUE; `NAME=$OTHER` is taken from that of Althing; may be
    /// given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// A variable of Althing's own environment that it gets beside the usual ones; a * at the end stands
    /// for the rest of a name; may be given several times
    #[arg(long, value_name = "NAME")]
    pub inherit: Vec<String>,
    /// What it may do [default: all but models]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "GRANT,…")]
    pub grant: Vec<Grant>,
    /// Start it again when it crashed, three times in five minutes
    #[arg(long)]
    pub restart: bool,
    /// Give it a data folder of its own
    #[arg(long)]
    pub private_data: bool,
    /// Do not start it yet
    #[arg(long)]
    pub disabled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grant {
    Read,
    Change,
    Windows,
    Dialogues,
    Files,
    Models,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExtensionLanguage {
    Python,
    Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Args)]
pub struct Session {
    /// The message: HL7, JSON, YAML, TOML or text by its name; `-` is standard input
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub message: PathBuf,
    /// Answers to the questions of extensions [default: asked on the terminal]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub answers: Option<PathBuf>,
    /// A command has ended when nothing has happened for so long: 1s, 1m
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = short_span)]
    pub settle: Duration,
    /// Give up after so long: 30s, 10m
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = short_span)]
    pub timeout: Duration,
    /// Print all lines of the logs, not only warnings and errors
    #[arg(long, short)]
    pub verbose: bool,
}

#[derive(Debug, Args)]
pub struct RunExtensions {
    /// Names out of the configuration, or command lines
    #[arg(required = true, value_name = "EXT")]
    pub extensions: Vec<String>,
    /// What to run; several run one after the other
    #[arg(long, short, required = true, value_name = "ID")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub session: Session,
    /// Where to write the message [default: standard output]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write it back to where it came from
    #[arg(long, conflicts_with = "output")]
    pub in_place: bool,
}

#[derive(Debug, Args)]
pub struct InspectExtensions {
    /// Names out of the configuration, or command lines
    #[arg(required_unless_present = "replay", value_name = "EXT")]
    pub extensions: Vec<String>,
    /// What to run; several run one after the other
    #[arg(long, short, value_name = "ID")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub session: Session,
    /// Play the extension of a recording again, and say where the host differs
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["extensions", "command"])]
    pub replay: Option<PathBuf>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.into(), value.into())).ok_or("want NAME=VALUE".into())
}
