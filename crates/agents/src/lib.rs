//! CLI agents as models: `claude`, `codex`, `gemini`, `opencode` and commands of one's own. An
//! adapter is a row of data and a pure reader of its output; one supervisor runs them all.

mod agent;
mod call;
mod custom;
mod failure;
mod invocation;
mod keep;
mod lines;
mod probe;
mod process;
mod prompt;
mod reader;
mod refusal;
mod row;
mod timer;

pub use agent::{Adapter, Agent, Auth, Limits, Options};
pub use custom::{Custom, PromptMode, anchored};
pub use invocation::{GUARD, guard};
pub use probe::Installed;
pub use process::group::settle;
pub use process::holder::{hold_agents_with, run_holder};
pub use process::ledger::sweep;
pub use reader::Format;
pub use row::{ROWS, Row};
