//! The command line as data: one file per group of commands.

mod ask;
mod extensions;
mod history;
mod models;
mod providers;
mod pull;
mod quorum;
mod routes;
mod serve;
mod span;
mod workers;

use ask::PLAN_HELP;
pub use ask::{Ask, Output, Plan, Synthesizer};
use clap::{Args, Parser, Subcommand};
use extensions::EXTENSIONS_HELP;
pub use extensions::{
    AddExtension, ExtensionLanguage, Extensions, Grant, InspectExtensions, LogLevel, RunExtensions,
    Session,
};
pub use history::{Export, History, Resume, Show};
pub use models::{ModelAction, ModelList, Models};
pub use providers::{AddLocal, AddOauth, AddProvider, Providers};
use pull::PULL_HELP;
pub use pull::Pull;
pub use quorum::Quorum;
pub use routes::Routes;
use serve::SERVE_HELP;
pub use serve::{Connections, Http, Install, Metrics, Serve};
use workers::WORKERS_HELP;
pub use workers::{Language, Workers};

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
    /// Get a model that runs on this machine: from Hugging Face, Ollama's registry or an address
    #[command(after_help = PULL_HELP)]
    Pull(Pull),
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
    /// Start Quorum's terminal frontend (quorum-cli) with Althing as its backend
    Quorum(Quorum),
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
pub struct Config {
    /// Write a commented configuration file with all defaults; an existing one is left alone
    #[arg(long)]
    pub init: bool,
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
