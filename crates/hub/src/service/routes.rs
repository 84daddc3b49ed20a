//! Names that outlive providers.

#[cfg(test)]
mod tests;

use super::Service;
use super::models::no_model;
use super::words::{ALIAS, RouteTarget, TargetState};
use crate::config::is_model_name;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};

/// Characters of an alias.
const ALIAS_CHARS_MAX: usize = 100;
/// Targets of one alias.
const TARGETS_MAX: usize = 16;
/// How the names of methods begin.
const METHOD_PREFIX: &str = "althing/";

impl Service {
    /// Sets the targets of an alias, in order; none deletes it.
    pub async fn set_route(&self, alias: &str, targets: Vec<RouteTarget>) -> Result<()> {
        check_alias(alias)?;
        self.library.refresh().await?;
        if targets.is_empty() && !self.library.book().routes.contains_key(alias) {
            return Err(no_alias(alias));
        }
        self.check_targets(alias, &targets).await?;
        self.store.set_route(alias, targets).await?;
        self.library.reload().await
    }

    /// The targets of an alias as they stand.
    pub async fn route(&self, alias: &str) -> Result<Vec<TargetState>> {
        self.library.refresh().await?;
        self.library.book().states(alias).ok_or_else(|| no_alias(alias))
    }

    /// Every alias.
    pub async fn aliases(&self) -> Result<Vec<String>> {
        self.library.refresh().await?;
        Ok(self.library.book().routes.keys().cloned().collect())
    }

    async fn check_targets(&self, alias: &str, targets: &[RouteTarget]) -> Result<()> {
        let count = targets.len();
        if count > TARGETS_MAX {
            return Err(Fault::invalid(format!("targets: at most {TARGETS_MAX}, not {count}")));
        }
        if let Some(way) = self.library.book().cycle(alias, targets) {
            let text = format!("targets: '{}' is a circle", way.join("' -> '"));
            return Err(Fault::invalid(text));
        }
        for (at, target) in targets.iter().enumerate() {
            let checked = self.check_target(target).await;
            checked.map_err(|fault| Fault {
                message: format!("targets[{at}].{}", fault.message),
                ..fault
            })?;
        }
        Ok(())
    }

    async fn check_target(&self, target: &RouteTarget) -> Result<()> {
        let RouteTarget { provider_id, model_id } = target;
        if !is_model_name(model_id) {
            return Err(Fault::invalid("model_id: is no name of a model"));
        }
        if provider_id == ALIAS {
            let is_known = self.library.book().routes.contains_key(model_id);
            let unknown = || {
                let text = format!("model_id: no alias '{}'", one_line(model_id, ALIAS_CHARS_MAX));
                Fault::new(Kind::NotFound, text)
            };
            return if is_known { Ok(()) } else { Err(unknown()) };
        }
        match self.has_model(provider_id, model_id).await? {
            Some(false) => Err(no_model(provider_id, model_id)),
            // Of a provider whose list is not known any name may be right.
            Some(true) | None => Ok(()),
        }
    }
}

fn check_alias(alias: &str) -> Result<()> {
    let chars = alias.chars().count();
    let wrong = |problem: &str| Err(Fault::invalid(format!("alias: {problem}")));
    if !(1..=ALIAS_CHARS_MAX).contains(&chars) {
        return wrong(&format!("1 to {ALIAS_CHARS_MAX} characters, not {chars}"));
    }
    if alias.trim() != alias || !is_model_name(alias) {
        return wrong("must not hold control characters or begin or end with a blank");
    }
    if alias.contains([':', ',']) {
        return wrong("must not hold ':' or ','; they separate names");
    }
    if alias.starts_with(METHOD_PREFIX) {
        return wrong(&format!("must not begin with '{METHOD_PREFIX}'; these are the methods"));
    }
    Ok(())
}

fn no_alias(alias: &str) -> Fault {
    let text = format!("alias: no alias '{}'", one_line(alias, ALIAS_CHARS_MAX));
    Fault::new(Kind::NotFound, text)
}
