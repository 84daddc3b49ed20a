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
    /// Go on with a run that was stopped; nothing that was said is asked again
    Resume(Resume),
    /// List the runs of this machine
    History(History),
    /// Show a run again
    Show(Show),
    /// Write a run to a file or to standard output
    Export(Export),
    /// List the models that can be used, from where, and if not, why
    Models(Models),
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
    /// Ask the providers for whole answers instead of streams
    #[arg(long)]
    pub no_stream: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print the events as JSON lines
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
    /// Print only the synthesis
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
pub struct Models {
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
    /// Every model, not only the first few of each provider
    #[arg(long)]
    pub all: bool,
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
