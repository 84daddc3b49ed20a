//! `ask` and `plan`, and how their runs are printed.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const PLAN_HELP: &str = "\
Examples:
  althing plan --task \"Move the shop to PostgreSQL\" --constraint \"no downtime\"
  althing plan task.json --planners gpt-5.1,claude-sonnet-4-5 --judge gemini-2.5-pro > plan.md
  althing plan --check task.json

Exit codes:
  0 done   2 bad task or usage   3 too few valid plans   4 the judge failed (--no-fallback)
  5 out of time or money   130 stopped; others as in `althing --help`";

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
    /// Tokens that each model may read and write in one call, 512 to 10000000, such as 8192 or 8k;
    /// a size behind a name (gpt-5.1@32k) wins [default: what the model has]
    #[arg(long, value_name = "N", value_parser = althing_gateway::parse_tokens)]
    pub context_tokens: Option<u64>,
    /// Wait for Enter between the phases
    #[arg(long)]
    pub pause: bool,
    /// A file to read along with the question, or the question itself where there is no other;
    /// `-` is standard input; may be given several times. A picture (PNG, JPEG, GIF, WebP) or a PDF
    /// is shown to the models
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
    /// Tokens that each model may read and write in one call, 512 to 10000000, such as 8192 or 8k;
    /// a size behind a name (gpt-5.1@32k) wins [default: what the model has]
    #[arg(long, value_name = "N", value_parser = althing_gateway::parse_tokens)]
    pub context_tokens: Option<u64>,
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

/// The methods' names come from the one table that knows them.
fn method_names() -> clap::builder::PossibleValuesParser {
    let value = |method: &&althing_assembly::Method| {
        clap::builder::PossibleValue::new(method.name).help(method.about)
    };
    clap::builder::PossibleValuesParser::new(
        althing_assembly::ALL.iter().map(value).collect::<Vec<_>>(),
    )
}

pub(super) fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "not an amount in dollars".to_string())?;
    if amount.is_finite() && amount >= 0.0 { Ok(amount) } else { Err("must be 0 or more".into()) }
}
