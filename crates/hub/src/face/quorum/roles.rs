//! Roles by model id, as frontends name them, and by seat, as methods do.

use super::Backend;
use super::params::{MODELS_MAX, Params, model_ids, must_be, wrong};
use althing_assembly::Method;
use althing_assembly::event::Roles;
use althing_assembly::methods::Casting;
use althing_jsonrpc::{Cx, Value};
use althing_stdx::Result;
use serde_json::{Map, json};

/// Who has which role when nobody chooses; null for methods without roles, and where there are too
/// few models to fill them.
pub(super) async fn get(_: &Backend, _: Cx, params: Params) -> Result<Value> {
    let method = params.method()?;
    let nobody = json!({"assignments": null});
    let is_empty = |ids: &Value| ids.as_array().is_some_and(Vec::is_empty);
    if params.get("model_ids").is_none_or(is_empty) {
        return Ok(nobody);
    }
    let ids = params.model_ids(1)?;
    let casting = (method.roles)(ids.len());
    // Sides of different size are only refused when the debate begins.
    let is_short = !method.even && casting.iter().any(|(_, seats)| seats.is_empty());
    if casting.is_empty() || is_short {
        return Ok(nobody);
    }
    let named = |seats: Vec<usize>| seats.into_iter().map(|seat| ids[seat].as_str()).collect();
    let role = |(role, seats): (&str, Vec<usize>)| (role.to_string(), named(seats));
    let roles: Map<String, Value> = casting.into_iter().map(role).collect();
    Ok(json!({"assignments": roles}))
}

/// The other way round: sides change places, the advocate changes with the last defender.
pub(super) async fn swap(_: &Backend, _: Cx, params: Params) -> Result<Value> {
    let given = match params.get("assignments") {
        None => Map::new(),
        Some(_) => params.object("assignments")?.map,
    };
    for (role, ids) in &given {
        model_ids(&format!("assignments.{role}"), ids, MODELS_MAX)?;
    }
    let list = |role: &str| given.get(role).and_then(Value::as_array).cloned();
    let sides = list("FOR").zip(list("AGAINST"));
    let examination = list("Advocate").zip(list("Defenders"));
    let swapped = match (sides, examination) {
        (Some((pro, con)), _) => json!({"FOR": con, "AGAINST": pro}),
        (None, Some((advocate, mut defenders))) if !defenders.is_empty() => {
            let next = defenders.split_off(defenders.len() - 1);
            let defenders = [advocate, defenders].concat();
            json!({"Advocate": next, "Defenders": defenders})
        }
        _ => Value::Object(given),
    };
    Ok(json!({"assignments": swapped}))
}

/// The roles a frontend chose, by seat; none where it leaves them to the method.
pub(super) fn chosen(options: &Params, method: &Method, ids: &[String]) -> Result<Option<Roles>> {
    let casting = (method.roles)(ids.len());
    let name = options.name("role_assignments");
    let given = match options.get("role_assignments") {
        Some(Value::Object(given)) => given,
        Some(other) => return Err(wrong(&name, &must_be("an object", other))),
        None => return Ok(None),
    };
    // With one role or none there is nothing to choose.
    if given.is_empty() || casting.len() < 2 {
        return Ok(None);
    }
    if let Some(role) = given.keys().find(|role| !casting.iter().any(|(known, _)| known == role)) {
        let known: Vec<&str> = casting.iter().map(|(role, _)| *role).collect();
        let problem = format!("has no role {role:?} in {}, only {}", method.name, known.join(", "));
        return Err(wrong(&name, &problem));
    }
    let mut free: Vec<usize> = (0..ids.len()).collect();
    let mut roles = Roles::new();
    for (role, seats) in &casting {
        let Some(value) = given.get(*role) else { continue };
        let role_name = format!("{name}.{role}");
        roles.insert(role.to_string(), seated(&role_name, value, seats.len(), ids, &mut free)?);
    }
    fill(&name, &casting, roles, free).map(Some)
}

/// The seats of the models that are to have a role: `count` of those that are `free`.
fn seated(
    name: &str,
    value: &Value,
    count: usize,
    ids: &[String],
    free: &mut Vec<usize>,
) -> Result<Vec<usize>> {
    let wanted = model_ids(name, value, MODELS_MAX)?;
    if wanted.len() != count {
        let models = if count == 1 { "model" } else { "models" };
        return Err(wrong(name, &format!("must have {count} {models}, not {}", wanted.len())));
    }
    wanted.iter().map(|id| take(name, id, ids, free)).collect()
}

/// Gives the seats that are left to the one role that was not named.
fn fill(name: &str, casting: &Casting, mut roles: Roles, free: Vec<usize>) -> Result<Roles> {
    let open: Vec<&str> =
        casting.iter().map(|(role, _)| *role).filter(|role| !roles.contains_key(*role)).collect();
    match open[..] {
        [] => {}
        [role] if !matches!(role, "FOR" | "AGAINST") => drop(roles.insert(role.to_string(), free)),
        _ => return Err(wrong(name, &format!("must name {}", open.join(" and ")))),
    }
    Ok(roles)
}

/// The first free seat of a model.
fn take(name: &str, id: &str, ids: &[String], free: &mut Vec<usize>) -> Result<usize> {
    let at = free.iter().position(|seat| ids[*seat] == id);
    let at = at.ok_or_else(|| {
        wrong(name, &format!("names {id:?}, which is not in model_ids or has a role already"))
    })?;
    Ok(free.remove(at))
}
