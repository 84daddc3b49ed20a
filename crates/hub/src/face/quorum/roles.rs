//! Roles by model id, as frontends name them, and by seat, as methods do.

use super::Backend;
use super::params::{MODELS_MAX, Params, kind_of, one_of, wrong};
use althing_assembly::event::Roles;
use althing_assembly::{ALL, Method, methods};
use althing_jsonrpc::{Cx, Value};
use althing_stdx::Result;
use serde_json::{Map, json};

/// A method by its name; `standard` where none is given.
pub(super) fn method(params: &Params, name: &str) -> Result<&'static Method> {
    let value = params.text_or("method", "standard")?;
    let names: Vec<&str> = ALL.iter().map(|method| method.name).collect();
    methods::method(one_of(name, &value, &names)?)
}

/// Who has which role when nobody chooses; null for methods without roles.
pub(super) async fn get(_: &Backend, _: Cx, params: Params) -> Result<Value> {
    let method = method(&params, "method")?;
    if params
        .0
        .get("model_ids")
        .is_none_or(|ids| ids.is_null() || ids.as_array().is_some_and(Vec::is_empty))
    {
        return Ok(json!({"assignments": null}));
    }
    let ids = params.model_ids(1)?;
    let casting = (method.roles)(ids.len());
    let has_lone_role = casting.iter().any(|(_, seats)| seats.is_empty()) && !method.even;
    if casting.is_empty() || has_lone_role {
        return Ok(json!({"assignments": null}));
    }
    let named =
        |seats: Vec<usize>| seats.into_iter().filter_map(|seat| ids.get(seat)).collect::<Vec<_>>();
    let roles: Map<String, Value> =
        casting.into_iter().map(|(role, seats)| (role.to_string(), json!(named(seats)))).collect();
    Ok(json!({"assignments": roles}))
}

/// The other way round: sides change places, the advocate changes with the last defender.
pub(super) async fn swap(_: &Backend, _: Cx, params: Params) -> Result<Value> {
    let assignments = params.object("assignments")?.0;
    for (role, ids) in &assignments {
        names(&format!("assignments.{role}"), ids)?;
    }
    let list = |role: &str| assignments.get(role).cloned();
    let swapped = if let (Some(pro), Some(con)) = (list("FOR"), list("AGAINST")) {
        json!({"FOR": con, "AGAINST": pro})
    } else if let (Some(Value::Array(advocate)), Some(Value::Array(mut defenders))) =
        (list("Advocate"), list("Defenders"))
    {
        match defenders.pop() {
            Some(next) => {
                json!({"Advocate": [next], "Defenders": advocate.into_iter().chain(defenders).collect::<Vec<_>>()})
            }
            None => Value::Object(assignments),
        }
    } else {
        Value::Object(assignments)
    };
    Ok(json!({"assignments": swapped}))
}

/// The roles a frontend chose, by seat; none where it leaves them to the method.
pub(super) fn chosen(options: &Params, method: &Method, ids: &[String]) -> Result<Option<Roles>> {
    let name = "options.role_assignments";
    let given = match options.0.get("role_assignments") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(map)) if map.is_empty() => return Ok(None),
        Some(Value::Object(map)) => map,
        Some(other) => {
            return Err(wrong(name, &format!("must be an object, got {}", kind_of(other))));
        }
    };
    let casting = (method.roles)(ids.len());
    // With one role or none there is nothing to choose.
    if casting.len() < 2 {
        return Ok(None);
    }
    let mut free: Vec<usize> = (0..ids.len()).collect();
    let mut roles = Roles::new();
    for (role, seats) in &casting {
        let Some(value) = given.get(*role) else { continue };
        let field = format!("{name}.{role}");
        let wanted = names(&field, value)?;
        if wanted.len() != seats.len() {
            return Err(wrong(
                &field,
                &format!("must have {} models, not {}", seats.len(), wanted.len()),
            ));
        }
        let taken: Result<Vec<usize>> =
            wanted.iter().map(|id| take(&field, id, ids, &mut free)).collect();
        roles.insert(role.to_string(), taken?);
    }
    if let Some(unknown) = given.keys().find(|role| !casting.iter().any(|(known, _)| known == role))
    {
        return Err(wrong(name, &format!("has no role {unknown:?} in {}", method.name)));
    }
    fill(name, &casting, roles, free).map(Some)
}

/// Gives the seats that are left to the one role that was not named.
fn fill(
    name: &str,
    casting: &methods::Casting,
    mut roles: Roles,
    free: Vec<usize>,
) -> Result<Roles> {
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
fn take(field: &str, id: &str, ids: &[String], free: &mut Vec<usize>) -> Result<usize> {
    let at = free.iter().position(|seat| ids[*seat] == id);
    let at = at.ok_or_else(|| {
        wrong(field, &format!("names {id:?}, which is not in model_ids or has a role already"))
    })?;
    Ok(free.remove(at))
}

fn names(field: &str, value: &Value) -> Result<Vec<String>> {
    let list = value
        .as_array()
        .ok_or_else(|| wrong(field, &format!("must be a list, got {}", kind_of(value))))?;
    if list.len() > MODELS_MAX {
        return Err(wrong(field, &format!("cannot exceed {MODELS_MAX} models")));
    }
    list.iter()
        .enumerate()
        .map(|(at, id)| super::params::model_id(&format!("{field}[{at}]"), id))
        .collect()
}
