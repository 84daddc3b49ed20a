//! Names that outlive providers.

#[cfg(test)]
mod tests;

use super::Service;
use super::models::{is_provider, no_model};
use super::words::{ALIAS, RouteTarget, TargetRest, TargetState};
use crate::config::is_model_name;
use althing_gateway::route::Rest;
use althing_gateway::{Target, split_context};
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Kind, Result};

/// Characters of an alias.
const ALIAS_CHARS_MAX: usize = 100;
/// Targets of one alias.
const TARGETS_MAX: usize = 16;
/// How the names of methods begin.
const METHOD_PREFIX: &str = "althing/";

impl Service {
    /// Sets the targets of an alias, in order; none deletes it. A target without a provider is any
    /// name that can be asked, and is kept as what it means now.
    pub async fn set_route(&self, alias: &str, targets: Vec<RouteTarget>) -> Result<()> {
        check_alias(alias)?;
        check_count(&targets)?;
        self.library.refresh().await?;
        let targets = self.find_named(targets).await?;
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
        let book = self.library.book();
        let mut states = book.states(alias).ok_or_else(|| no_alias(alias))?;
        let all = book.behind(alias).and_then(Result::ok).unwrap_or_default();
        for state in states.iter_mut().filter(|state| state.dead.is_none()) {
            state.rest = self.rest_of(&book.meant(&state.target), all.len() == 1);
        }
        Ok(states)
    }

    /// The rest of `targets` that ends first; none where one of them can be asked now.
    fn rest_of(&self, targets: &[Target], lone: bool) -> Option<TargetRest> {
        let rests = targets.iter().map(|target| self.gateway.rest_of(target, lone));
        let rests: Vec<Rest> = rests.collect::<Option<_>>()?;
        let first = rests.into_iter().min_by_key(|rest| rest.wait)?;
        Some(TargetRest { why: first.kind.name().into(), wait: first.wait })
    }

    /// Every alias.
    pub async fn aliases(&self) -> Result<Vec<String>> {
        self.library.refresh().await?;
        Ok(self.library.book().routes.keys().cloned().collect())
    }

    /// The targets with their providers.
    async fn find_named(&self, targets: Vec<RouteTarget>) -> Result<Vec<RouteTarget>> {
        let mut found = Vec::new();
        for (at, target) in targets.into_iter().enumerate() {
            found.push(match target.provider_id.is_empty() {
                false => target,
                true => self.find_target(&target.model_id).await.map_err(in_target(at))?,
            });
        }
        Ok(found)
    }

    /// The target that a name means: an alias, `provider:model`, or a model's own name.
    async fn find_target(&self, name: &str) -> Result<RouteTarget> {
        let book = self.library.book();
        let target = |provider_id: &str, model_id: &str| RouteTarget {
            provider_id: provider_id.into(),
            model_id: model_id.into(),
        };
        if book.routes.contains_key(name) {
            return Ok(target(ALIAS, name));
        }
        let parts = name.split_once(':').filter(|(id, _)| *id == ALIAS || is_provider(&book, id));
        if let Some((provider_id, model_id)) = parts {
            return Ok(target(provider_id, model_id));
        }
        let no_place = |why: &str| {
            let name = one_line(name, ALIAS_CHARS_MAX);
            Err(Fault::invalid(format!("model_id: '{name}' {why}")))
        };
        if split_context(name).is_ok_and(|(_, tokens)| tokens.is_some()) {
            return no_place("names the size of a window, which a route does not keep");
        }
        match self.find_targets(name).await.map_err(in_model_id)?.as_slice() {
            [one] => Ok(target(&one.endpoint.id, &one.model)),
            _ => no_place("is no model of a provider, and a route leads to nothing else"),
        }
    }

    async fn check_targets(&self, alias: &str, targets: &[RouteTarget]) -> Result<()> {
        if let Some(way) = self.library.book().cycle(alias, targets) {
            let text = format!("targets: '{}' is a circle", way.join("' -> '"));
            return Err(Fault::invalid(text));
        }
        for (at, target) in targets.iter().enumerate() {
            self.check_target(target).await.map_err(in_target(at))?;
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

fn check_count(targets: &[RouteTarget]) -> Result<()> {
    match targets.len() {
        count if count > TARGETS_MAX => {
            Err(Fault::invalid(format!("targets: at most {TARGETS_MAX}, not {count}")))
        }
        _ => Ok(()),
    }
}

/// A fault of the target at this place.
fn in_target(at: usize) -> impl Fn(Fault) -> Fault {
    move |fault| Fault { message: format!("targets[{at}].{}", fault.message), ..fault }
}

fn in_model_id(fault: Fault) -> Fault {
    Fault { message: format!("model_id: {}", fault.message), ..fault }
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
