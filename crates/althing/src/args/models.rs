//! `models`.

use clap::{Args, Subcommand};

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
