//! From an alias to the models that are asked, in order. Pure: what the book says.

use super::Book;
use crate::service::words::{ALIAS, RouteTarget, TargetState};
use althing_gateway::Target;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Targets that an alias may come to, those of the aliases it names included; the rest is skipped.
const TARGETS_MAX: usize = 64;
/// Characters of a name that is shown.
const SHOWN_CHARS_MAX: usize = 100;

/// Names whose targets are kept; what is asked for beyond is looked up every time.
const KNOWN_MAX: usize = 1024;

/// Names and what they mean in this book.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<String, Vec<Target>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Target>>> {
        // A panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an alias comes to.
#[derive(Default)]
struct Expansion {
    targets: Vec<Target>,
    dead: Vec<String>,
    /// The aliases that lead to where we are.
    way: Vec<String>,
    /// The aliases that need no second look.
    done: HashSet<String>,
}

impl Book {
    /// What a name means, in the order in which it is tried; empty: a demo voice.
    pub fn targets(&self, name: &str) -> Result<Vec<Target>> {
        if let Some(targets) = self.known.lock().get(name) {
            return Ok(targets.clone());
        }
        let targets = crate::lineup::sitting(name, self)?.targets;
        let mut known = self.known.lock();
        if known.len() < KNOWN_MAX {
            known.insert(name.into(), targets.clone());
        }
        Ok(targets)
    }

    /// The targets of `alias` as they stand; none where there is no such alias.
    pub fn states(&self, alias: &str) -> Option<Vec<TargetState>> {
        let state = |target: &RouteTarget| TargetState {
            target: target.clone(),
            dead: self.dead(alias, target),
            rest: None,
        };
        Some(self.routes.get(alias)?.iter().map(state).collect())
    }

    /// The models that a target of an alias comes to; empty where it is skipped.
    pub(crate) fn meant(&self, target: &RouteTarget) -> Vec<Target> {
        match target.provider_id.as_str() {
            ALIAS => self.behind(&target.model_id).and_then(Result::ok).unwrap_or_default(),
            _ => self.target(target).into_iter().collect(),
        }
    }

    /// The models behind `alias`; none where there is no such alias.
    pub(crate) fn behind(&self, alias: &str) -> Option<Result<Vec<Target>>> {
        self.routes.get(alias)?;
        let mut all = Expansion::default();
        self.expand(alias, &mut all);
        if !all.targets.is_empty() {
            return Some(Ok(all.targets));
        }
        let text = format!("'{alias}': none of its targets can be asked: {}", all.dead.join("; "));
        Some(Err(Fault::new(Kind::UnknownModel, text)))
    }

    /// The way from `alias` back to itself, if it had these targets.
    pub(crate) fn cycle(&self, alias: &str, targets: &[RouteTarget]) -> Option<Vec<String>> {
        let mut open: Vec<Vec<String>> = vec![vec![alias.to_string()]];
        let mut seen: Vec<String> = Vec::new();
        while let Some(way) = open.pop() {
            let here = way.last()?;
            let targets = if here == alias {
                Some(targets)
            } else {
                self.routes.get(here).map(Vec::as_slice)
            };
            let next = targets.unwrap_or_default().iter().filter(|it| it.provider_id == ALIAS);
            for RouteTarget { model_id, .. } in next {
                let longer = way.iter().chain([model_id]).cloned().collect::<Vec<_>>();
                if model_id == alias {
                    return Some(longer);
                }
                if !seen.contains(model_id) {
                    seen.push(model_id.clone());
                    open.push(longer);
                }
            }
        }
        None
    }

    /// Depth first, each model once.
    fn expand(&self, alias: &str, all: &mut Expansion) {
        all.way.push(alias.to_string());
        for target in self.routes.get(alias).map(Vec::as_slice).unwrap_or_default() {
            if all.targets.len() >= TARGETS_MAX {
                break;
            }
            if target.provider_id == ALIAS {
                self.expand_alias(&target.model_id, all);
                continue;
            }
            match self.target(target) {
                Ok(it) if all.targets.iter().any(|known| known.id() == it.id()) => {}
                Ok(it) => all.targets.push(it),
                Err(why) => all.dead.push(format!("{} ({why})", shown(target))),
            }
        }
        all.way.pop();
        all.done.insert(alias.to_string());
    }

    fn expand_alias(&self, alias: &str, all: &mut Expansion) {
        // Two processes may have made a circle out of two halves.
        let why = if all.way.iter().any(|passed| passed == alias) {
            "leads back to itself"
        } else if !self.routes.contains_key(alias) {
            "no such alias"
        } else if all.done.contains(alias) {
            return;
        } else {
            return self.expand(alias, all);
        };
        all.dead.push(format!("alias '{}' ({why})", one_line(alias, SHOWN_CHARS_MAX)));
    }

    /// Why a target of `alias` is skipped.
    fn dead(&self, alias: &str, target: &RouteTarget) -> Option<String> {
        if target.provider_id != ALIAS {
            return self.target(target).err();
        }
        let mut all = Expansion { way: vec![alias.to_string()], ..Expansion::default() };
        self.expand_alias(&target.model_id, &mut all);
        all.targets.is_empty().then(|| match all.dead.as_slice() {
            [] => "it has no targets".into(),
            dead => dead.join("; "),
        })
    }

    /// The model a target means, or why it cannot be asked.
    fn target(&self, target: &RouteTarget) -> Result<Target, String> {
        let RouteTarget { provider_id, model_id } = target;
        let Some(configured) = self.endpoint(provider_id) else {
            let trouble = self.entry(provider_id).and_then(|entry| entry.trouble.clone());
            return Err(trouble.unwrap_or_else(|| "no such provider".into()));
        };
        if !self.is_enabled(provider_id, model_id) {
            return Err("disabled".into());
        }
        Ok(Target { endpoint: configured.endpoint.clone(), model: model_id.clone() })
    }
}

fn shown(target: &RouteTarget) -> String {
    one_line(&format!("{}:{}", target.provider_id, target.model_id), SHOWN_CHARS_MAX)
}
