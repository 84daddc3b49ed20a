//! The command line as data.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  althing ask \"Should a team of three start with a monolith?\"
  althing ask --method oxford --models gpt-5.1,claude-sonnet-4-5 \"Tabs or spaces?\"
  althing ask --models ollama:llama3.2 \"Explain WAL in one paragraph\" | less
  git diff | althing ask - --models claude-sonnet-4-5
  althing ask --file notes.md --file plan.md \"What did we forget?\"
  althing history
  althing resume last

Exit codes:
  0 done          2 wrong usage       3 not found        4 busy           5 timed out
  10 bad key      11 no credit        12 unknown model   13 rate limited  14 context too long
  15 overloaded   16 network          17 refused         18 other error of a provider
  20 too few living models            21 cost limit      130 stopped      1 a fault of ours";

const ADD_HELP: &str = "\
Examples:
  althing providers add openai                                 # asks for the key
  althing providers add anthropic --name Work < key.txt
  althing providers add ollama --base-url http://192.168.1.5:11434
  althing providers add custom --name gateway --base-url http://localhost:9000/v1 --no-key";

const PLAN_HELP: &str = "\
Examples:
  althing plan --task \"Move the shop to PostgreSQL\" --constraint \"no downtime\"
  althing plan task.json --planners gpt-5.1,claude-sonnet-4-5 --judge gemini-2.5-pro > plan.md
  althing plan --check task.json

Exit codes:
  0 done   2 bad task or usage   3 too few valid plans   4 the judge failed (--no-fallback)
  5 out of time or money   130 stopped; others as in `althing --help`";

const ROUTE_HELP: &str = "\
Examples:
  althing routes set fast openai:gpt-5.1 ollama:llama3.2       # Ollama where OpenAI fails
  althing routes set default alias:fast anthropic:claude-sonnet-4-5
  althing routes set fast                                      # deletes it";

const WORKERS_HELP: &str = "\
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

const EXTENSIONS_HELP: &str = "\
Extensions are programs that read and change the message in the editor and talk to the person; those
written for Hermes run unchanged. They are sections of the configuration file, [extensions.NAME].

Examples:
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

Exit codes of run and inspect:
  0 done   2 wrong usage, or a question without an answer   3 no such extension, command or file
  5 not quiet in time   18 an extension failed, or a replay differs   130 stopped";

const SERVE_HELP: &str = "\
Programs find it on the session bus as org.althing.Capability1, and over HTTP with the token that
`althing token` prints:
  export OPENAI_BASE_URL=http://127.0.0.1:11535/v1 OPENAI_API_KEY=$(althing token)
  export ANTHROPIC_BASE_URL=http://127.0.0.1:11535 ANTHROPIC_AUTH_TOKEN=$(althing token)";

/// Several models around one table, and one place for all of them.
#[derive(Debug, Parser)]
#[command(name = "althing", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Serve a Quorum frontend on standard input and output instead of running a command
    // Handled before anything is parsed, see `ipc.rs`; here it is only for the help.
    #[arg(long)]
    ipc: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Put a question to several models: they answer, criticise each other and settle
    #[command(after_help = EXAMPLES)]
    Ask(Box<Ask>),
    /// Let several models plan a task alone; a judge who knows none of them merges their plans
    #[command(after_help = PLAN_HELP)]
    Plan(Box<Plan>),
    /// Go on with a run that was stopped; nothing that was said is asked again
    Resume(Resume),
    /// List the runs of this machine
    History(History),
    /// Show a run again
    Show(Show),
    /// Write a run to a file or to standard output
    Export(Export),
    /// List the models that can be used, from where, and if not, why; enable or disable one
    Models(Models),
    /// Add, list, test and remove providers; every program on this machine uses them
    #[command(subcommand, visible_alias = "provider")]
    Providers(Providers),
    /// Give models names of your own, with fallbacks
    #[command(subcommand, visible_alias = "route")]
    Routes(Routes),
    /// Functions in other languages that models can call
    #[command(subcommand, visible_alias = "worker", after_help = WORKERS_HELP)]
    Workers(Workers),
    /// Programs that read and change the message in the editor (Hermes extensions)
    #[command(subcommand, visible_alias = "extension", after_help = EXTENSIONS_HELP)]
    Extensions(Box<Extensions>),
    /// Serve every program on this machine: D-Bus and HTTP, until Ctrl-C
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Serve one program as an MCP server on standard input and output
    Mcp,
    /// Requests, tokens and cost of the service over time
    Metrics(Metrics),
    /// Who is connected to the service, and the way to put somebody out
    #[command(subcommand, visible_alias = "connection")]
    Connections(Connections),
    /// Print the token that HTTP clients need
    Token,
    /// Let the session bus start the service when a program calls it
    #[command(subcommand)]
    Service(Install),
    /// Say what was looked for and found on this machine, and what to do next
    Doctor,
    /// Print where the configuration is and what is in force, with its source
    Config(Config),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
pub struct Ask {
    /// The question; `-` reads it from standard input, as does none at all when it is piped in
    pub question: Option<String>,
    /// How to discuss
    #[arg(long, short = 'M', value_parser = method_names())]
    pub method: Option<String>,
    /// Who sits, comma-separated: `provider:model`, a model's id or its display name; one alone
    /// gives a plain answer
    #[arg(long, short, value_delimiter = ',', value_name = "MODEL,…")]
    pub models: Vec<String>,
    /// Turns of each voice in the free discussion, 1 to 10
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub rounds: Option<u32>,
    /// Who writes the synthesis
    #[arg(long, value_enum)]
    pub synthesizer: Option<Synthesizer>,
    /// Language of the answers [default: that of the question]
    #[arg(long)]
    pub language: Option<String>,
    /// Stop before the run costs more dollars than this [default: 1.00, or the configuration's]
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Wait for Enter between the phases
    #[arg(long)]
    pub pause: bool,
    /// A file to read along with the question, or the question itself where there is no other;
    /// `-` is standard input; may be given several times
    #[arg(long, short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub file: Vec<PathBuf>,
    /// Go on from the synthesis and the positions of an earlier run
    #[arg(long = "continue", value_name = "RUN")]
    pub continues: Option<String>,
    /// Functions one model may ask for: a JSON list of {name, description, parameters}. Its calls are
    /// printed as JSON lines; nothing is executed
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub tools: Option<PathBuf>,
    /// Offer the models no functions of workers
    #[arg(long)]
    pub no_workers: bool,
    /// Ask the providers for whole answers instead of streams
    #[arg(long)]
    pub no_stream: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// The task, a JSON file; `-` is standard input
    #[arg(value_name = "TASK.json", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "task", conflicts_with = "task")]
    pub file: Option<PathBuf>,
    /// The task in words, instead of a file
    #[arg(long)]
    pub task: Option<String>,
    /// Something the plan must respect; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
    /// The repository the task is about
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub repo: Option<PathBuf>,
    /// Who plans, comma-separated, 1 to 16 [default: as the task says, else chosen]
    #[arg(long, value_delimiter = ',', value_name = "MODEL,…")]
    pub planners: Vec<String>,
    /// Who judges [default: as the task says, else one who plans not]
    #[arg(long, value_name = "MODEL")]
    pub judge: Option<String>,
    /// Draws the same labels again
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub seed: Option<i64>,
    /// Seconds for one attempt of a planner or the judge [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Fail where the judge fails, instead of taking the best-scored plan
    #[arg(long)]
    pub no_fallback: bool,
    /// Stop before the run costs more dollars than this [default: 1.00, or the configuration's]
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Only say what is wrong with the task, each error with its place
    #[arg(long)]
    pub check: bool,
    /// Show the run in the browser, on an address that is printed; it stays until Ctrl-C
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print the events as JSON lines
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
    /// Print only the synthesis or the plan
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Synthesizer {
    /// The first seat
    First,
    /// Anyone
    Random,
    /// The next one with every run
    Rotate,
}

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

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Models {
    #[command(subcommand)]
    pub action: Option<ModelAction>,
    #[command(flatten)]
    pub list: ModelList,
}

#[derive(Debug, Subcommand)]
pub enum ModelAction {
    /// The same as `althing models`
    List(ModelList),
    /// Let a model be used again
    Enable(ModelName),
    /// Keep a model from being used by any program
    Disable(ModelName),
}

#[derive(Debug, Args)]
pub struct ModelName {
    /// `provider:model`
    pub model: String,
}

#[derive(Debug, Args)]
pub struct ModelList {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Every model, not only the first few of each provider
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Subcommand)]
pub enum Providers {
    /// Add a provider by its kind, key and address; the key is checked and kept encrypted
    #[command(after_help = ADD_HELP)]
    Add(AddProvider),
    /// Log in to copilot or dashscope with a code in the browser
    AddOauth(AddOauth),
    /// Add a model in a GGUF file, run by llama.cpp
    AddLocal(AddLocal),
    /// List the providers that programs can use, and where each comes from
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Forget a provider and its key; routes to it stay and are skipped
    Remove { provider: String },
    /// Ask a provider for its models
    Test { provider: String },
}

#[derive(Debug, Args)]
pub struct AddProvider {
    /// Its kind: openai, anthropic, google, xai, ollama, openrouter, lmstudio, llamaswap, vllm,
    /// dashscope, or custom for any other server that speaks like OpenAI's
    #[arg(value_name = "TYPE")]
    pub provider_type: String,
    /// What to call it [default: the kind]
    #[arg(long)]
    pub name: Option<String>,
    /// Its address, where it is not the usual one
    #[arg(long, value_hint = ValueHint::Url)]
    pub base_url: Option<String>,
    /// Take the key from this environment variable; otherwise it is asked for or read from standard
    /// input, never from the command line, which others can see
    #[arg(long, value_name = "VARIABLE")]
    pub key_env: Option<String>,
    /// It has no key
    #[arg(long, conflicts_with = "key_env")]
    pub no_key: bool,
}

#[derive(Debug, Args)]
pub struct AddOauth {
    /// copilot or dashscope
    #[arg(value_name = "TYPE")]
    pub provider_type: String,
    /// What to call it [default: the kind]
    #[arg(long)]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct AddLocal {
    /// The GGUF file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// What to call it [default: the file's name]
    #[arg(long)]
    pub name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Routes {
    /// Set what a name means: targets in the order in which they are tried; none deletes it
    #[command(after_help = ROUTE_HELP)]
    Set {
        alias: String,
        /// `provider:model`, or `alias:NAME` for another name
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
    },
    /// Show the names and their targets, and which of these are dead
    Show {
        alias: Option<String>,
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Ask a name for one word and say who answered
    Test { alias: String },
}

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
        /// Its arguments in order: JSON where they are, else text
        #[arg(value_name = "ARGS", allow_hyphen_values = true)]
        arguments: Vec<String>,
        /// Give up after so long: 5s, 2m [default: the worker's own]
        #[arg(long, value_parser = short_span)]
        timeout: Option<std::time::Duration>,
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

#[derive(Debug, Subcommand)]
pub enum Extensions {
    /// Add an extension to the configuration file
    #[command(after_help = EXTENSIONS_HELP)]
    Add(AddExtension),
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
    pub settle: std::time::Duration,
    /// Give up after so long: 30s, 10m
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = short_span)]
    pub timeout: std::time::Duration,
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

/// What a worker can be written in, as far as we begin it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Python,
    #[value(alias = "javascript")]
    Js,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen for HTTP; loopback only [default: 127.0.0.1:11535]
    #[arg(long, value_name = "ADDR", conflicts_with = "no_http")]
    pub http: Option<std::net::SocketAddr>,
    /// No HTTP
    #[arg(long)]
    pub no_http: bool,
    /// No D-Bus
    #[arg(long, conflicts_with = "no_http")]
    pub no_dbus: bool,
}

#[derive(Debug, Args)]
pub struct Metrics {
    /// How far back: 30m, 1h, 7d
    #[arg(long, default_value = "1h", value_parser = span)]
    pub since: std::time::Duration,
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
    Install,
    /// Remove them
    Uninstall,
}

#[derive(Debug, Args)]
pub struct Config {
    /// Write a commented configuration file with all defaults; an existing one is left alone
    #[arg(long)]
    pub init: bool,
}

/// The methods' names come from the one table that knows them.
fn method_names() -> clap::builder::PossibleValuesParser {
    let value = |method: &&althing_assembly::Method| {
        clap::builder::PossibleValue::new(method.name).help(method.about)
    };
    clap::builder::PossibleValuesParser::new(
        althing_assembly::ALL.iter().map(value).collect::<Vec<_>>(),
    )
}

fn variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.into(), value.into())).ok_or("want NAME=VALUE".into())
}

/// `90s`, `30m`, `1h`, `7d`.
fn span(text: &str) -> Result<std::time::Duration, String> {
    let span = seconds(text)?;
    let is_fit = (60..=SPAN_MAX).contains(&span);
    is_fit.then(|| std::time::Duration::from_secs(span)).ok_or("must be 1m to 35d".into())
}

/// The same, for what is soon over.
fn short_span(text: &str) -> Result<std::time::Duration, String> {
    let span = seconds(text)?;
    let is_fit = (1..=3600).contains(&span);
    is_fit.then(|| std::time::Duration::from_secs(span)).ok_or("must be 1s to 1h".into())
}

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "want a number and s, m, h or d, like 30m".to_string();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).ok_or_else(wrong)
}

/// As long as minutes are kept apart, in seconds.
const SPAN_MAX: u64 = 35 * 86_400;

fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "not an amount in dollars".to_string())?;
    if amount.is_finite() && amount >= 0.0 { Ok(amount) } else { Err("must be 0 or more".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_exit_codes_of_the_help_are_those_of_the_table() {
        for row in althing_stdx::fault::CODES {
            let shown = EXAMPLES.split_whitespace().any(|word| word == row.exit.to_string());
            assert!(shown, "{} ({}) is missing in the help", row.exit, row.name);
        }
    }

    #[test]
    fn the_events_page_has_every_kind_and_its_exit_code() {
        let page = include_str!("../../../docs/protocols/events.md");
        for row in althing_stdx::fault::CODES {
            assert!(page.contains(&format!("`{}` | {} |", row.name, row.exit)), "{}", row.name);
        }
    }
}
