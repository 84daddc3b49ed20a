//! `providers`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const ADD_HELP: &str = "\
Examples:
  althing providers add openai                                 # asks for the key
  althing providers add anthropic --name Work < key.txt
  althing providers add ollama --base-url http://192.168.1.5:11434 --no-key
  althing providers add custom --name gateway --base-url http://localhost:9000/v1 --no-key";

const LOGIN_HELP: &str = "\
The free login of Qwen's chat (dashscope) ended on 15 April 2026: a login may still succeed, but its
requests are refused. Keys work:
  althing providers add dashscope                              # a key of Model Studio
  althing providers add dashscope --base-url https://coding-intl.dashscope.aliyuncs.com/v1
                                                               # a key of its Coding Plan
[logins.dashscope] in the configuration leads the login to another server.";

#[derive(Debug, Subcommand)]
pub enum Providers {
    /// Add a provider by its kind, key and address; the key is checked and kept encrypted
    #[command(after_help = ADD_HELP)]
    Add(AddProvider),
    /// Log in to copilot or dashscope with a code in the browser
    #[command(after_help = LOGIN_HELP)]
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
    /// Its kind: openai, anthropic, google, xai, ollama, openrouter, lmstudio, llamaswap,
    /// llamacpp, vllm, dashscope, or custom for any other server that speaks like OpenAI's
    #[arg(value_name = "TYPE")]
    pub provider_type: String,
    /// What to call it [default: the kind]
    #[arg(long)]
    pub name: Option<String>,
    /// Its address, where it is not the usual one
    #[arg(long, value_hint = ValueHint::Url)]
    pub base_url: Option<String>,
    /// Take the key from this environment variable; otherwise it is asked for or read from standard
    /// input (nothing there: none, where none is needed), never from the command line, which others
    /// can see
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
