//! How many tokens a model reads and writes in one call: what the person set, what the server says,
//! what the dated table says, else a stated default. Deciding is pure; only `ask` asks servers.

mod answers;
pub(crate) mod ask;
pub(crate) mod known;
mod size;
mod table;
#[cfg(test)]
mod tests;

pub use size::{CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, parse_tokens, split_context};
pub use table::{WINDOWS_AS_OF, agent_window};

use crate::price::is_home;
use crate::{Endpoint, split_effort};
use althing_chat::{Window, WindowSource};

/// Tokens of a model on the person's own machines where nobody says more: what a laptop has memory
/// for.
pub const OWN_SERVER_TOKENS: u64 = Window::UNKNOWN.tokens;
/// Tokens that LM Studio loads a model with, unless it is told otherwise in LM Studio itself.
const LM_STUDIO_TOKENS: u64 = 4_096;
/// Tokens of any other model where nobody knows: hardly one that is rented out takes fewer.
pub const OTHER_SERVER_TOKENS: u64 = 32_768;

/// How a server tells how many tokens its models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspect {
    /// It does not.
    Nothing,
    /// In its list of models.
    List,
    /// By `/api/show` and `/api/ps`. The window is as large as a request says.
    Ollama,
    /// By `/props`.
    LlamaServer,
    /// By `/props` of the server behind it, where that runs.
    LlamaSwap,
    /// In its own list of models. One that is not loaded gets a window when it is.
    LmStudio,
    /// In the head of the file. The window is as large as the runner is told.
    File,
}

/// What a server or a list says about one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// The most that the model takes anywhere.
    pub trained: Option<u64>,
    /// What it is loaded with now.
    pub loaded: Option<u64>,
    /// What its own file of settings asks for.
    pub preset: Option<u64>,
    /// Requests that the server keeps the beginnings of at the same time.
    pub slots: Option<u32>,
    /// Another machine runs it, with all the window it has.
    pub is_remote: bool,
}

/// What the person set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSetting {
    /// For this seat or model: it counts, whatever the provider says.
    Exact(u64),
    /// For many models at once: those that take less keep their own.
    AtMost(u64),
}

impl ModelFacts {
    /// Returns what of this can be true: a server may say anything.
    fn plausible(self) -> ModelFacts {
        let plausible = |tokens: Option<u64>| tokens.filter(|it| *it >= CONTEXT_TOKENS_MIN);
        let ModelFacts { trained, loaded, preset, .. } = self;
        let (trained, loaded) = (plausible(trained), plausible(loaded));
        ModelFacts { trained, loaded, preset: plausible(preset), ..self }
    }
}

impl WindowSetting {
    /// Returns the number that was set.
    pub fn tokens(self) -> u64 {
        match self {
            WindowSetting::Exact(tokens) | WindowSetting::AtMost(tokens) => tokens,
        }
    }

    /// Decides over what is known of a window without the setting.
    pub fn over(self, known: Option<Window>) -> Window {
        match (self, known) {
            (WindowSetting::AtMost(most), Some(known)) if known.tokens < most => known,
            (set, _) => Window { tokens: set.tokens(), source: WindowSource::Configured },
        }
    }
}

/// Decides the window of `model` at `endpoint`.
pub fn decide_window(
    endpoint: &Endpoint,
    model: &str,
    set: Option<WindowSetting>,
    facts: &ModelFacts,
) -> Window {
    let facts = &facts.plausible();
    let usual = match endpoint.provider.inspect {
        Inspect::Ollama if !facts.is_remote => Some(OWN_SERVER_TOKENS),
        Inspect::File => Some(OWN_SERVER_TOKENS),
        // It is loaded by the first request, and not with more because a request is longer.
        Inspect::LmStudio if facts.loaded.is_none() => Some(LM_STUDIO_TOKENS),
        _ => None,
    };
    let window = match usual {
        Some(usual) => sized_window(usual, set, facts),
        None => fixed_window(endpoint, model, set, facts),
    };
    // A server may say anything.
    Window { tokens: window.tokens.min(CONTEXT_TOKENS_MAX), ..window }
}

/// Decides the window of a model that is loaded with `usual` tokens or with what the person says, up
/// to what the model takes.
fn sized_window(usual: u64, set: Option<WindowSetting>, facts: &ModelFacts) -> Window {
    // A model that is loaded with more need not be loaded again with less.
    let loaded = facts.loaded.filter(|tokens| *tokens > facts.preset.unwrap_or(usual));
    let (tokens, source) = match (set, loaded.or(facts.preset)) {
        (Some(set), _) => (set.tokens(), WindowSource::Configured),
        (None, Some(said)) => (said, WindowSource::Provider),
        (None, None) => (usual, WindowSource::Default),
    };
    match facts.trained {
        Some(most) if most <= tokens => Window { tokens: most, source: WindowSource::Provider },
        _ => Window { tokens, source },
    }
}

fn fixed_window(
    endpoint: &Endpoint,
    model: &str,
    set: Option<WindowSetting>,
    facts: &ModelFacts,
) -> Window {
    let said = facts.loaded.or(facts.trained);
    let said = said.map(|tokens| Window { tokens, source: WindowSource::Provider });
    let of_table = |tokens| Window { tokens, source: WindowSource::Table };
    let known = said.or_else(|| known_window(endpoint, model).map(of_table));
    match set {
        Some(set) => set.over(known),
        None => known
            .unwrap_or(Window { tokens: default_tokens(endpoint), source: WindowSource::Default }),
    }
}

/// Tells whether asking the server can change the window or where its cache is found. `listed` is
/// what the last list of models said.
pub fn needs_inspection(
    endpoint: &Endpoint,
    model: &str,
    set: Option<WindowSetting>,
    listed: Option<u64>,
) -> bool {
    let is_set = matches!(set, Some(WindowSetting::Exact(_)));
    let listed = listed.filter(|tokens| *tokens >= CONTEXT_TOKENS_MIN);
    match endpoint.provider.inspect {
        Inspect::Nothing => false,
        Inspect::List => !is_set && listed.is_none() && known_window(endpoint, model).is_none(),
        Inspect::File => listed.is_none(),
        Inspect::LmStudio => !is_set,
        // These also say how many slots they have, or what the model takes at most.
        Inspect::Ollama | Inspect::LlamaServer | Inspect::LlamaSwap => true,
    }
}

/// Looks the model up in the table. What people run themselves is as large as they made it.
fn known_window(endpoint: &Endpoint, model: &str) -> Option<u64> {
    let row = endpoint.provider;
    let (bare, _) = split_effort(model);
    if row.local { None } else { table::known(row.name, bare) }
}

fn default_tokens(endpoint: &Endpoint) -> u64 {
    match endpoint.provider.local || is_home(&endpoint.base_url) {
        true => OWN_SERVER_TOKENS,
        false => OTHER_SERVER_TOKENS,
    }
}
