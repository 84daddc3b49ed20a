//! `routes`.

use clap::Subcommand;

const ROUTE_HELP: &str = "\
Examples:
  althing routes set fast openai:gpt-5.1 ollama:llama3.2       # Ollama where OpenAI fails
  althing routes set fast gpt-5.1 small                        # names as `ask --models` takes them
  althing routes set default alias:fast anthropic:claude-sonnet-4-5
  althing routes set fast                                      # deletes it";

#[derive(Debug, Subcommand)]
pub enum Routes {
    /// Set what a name means: targets in the order in which they are tried; none deletes it
    #[command(after_help = ROUTE_HELP)]
    Set {
        alias: String,
        /// `provider:model`, `alias:NAME` for another name, or any name that `ask --models` takes
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
    },
    /// Show the names and their targets, which of these are skipped, and which rest: those that the
    /// running service leaves alone for a while
    Show {
        alias: Option<String>,
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Ask a name for one word and say who answered
    Test { alias: String },
}
