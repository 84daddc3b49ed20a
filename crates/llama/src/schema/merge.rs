//! Schemas that hold together, and schemas of which only one may hold.

use super::{Fields, is_annotation, is_of_type};
use serde_json::{Value, json};

/// Merges plain objects with properties of different names into one.
pub fn merge_objects<'v>(parts: impl Iterator<Item = &'v Value>) -> Result<Value, String> {
    let (mut properties, mut required) = (Fields::new(), Vec::new());
    for part in parts {
        let fields = part.as_object().ok_or("only objects can be merged")?;
        for (keyword, value) in fields {
            match (keyword.as_str(), value) {
                ("type", kind) if kind == "object" => {}
                ("additionalProperties", Value::Bool(true)) => {}
                ("required", Value::Array(names)) => required.extend(names.iter().cloned()),
                ("properties", Value::Object(named)) => {
                    for (name, schema) in named {
                        if properties.insert(name.clone(), schema.clone()).is_some() {
                            return Err(format!("two of them have the property {name:?}"));
                        }
                    }
                }
                (keyword, _) if is_annotation(keyword) => {}
                (keyword, _) => return Err(format!("cannot be merged because of {keyword}")),
            }
        }
    }
    Ok(json!({ "type": "object", "properties": properties, "required": required }))
}

/// Says whether no value fits both schemas: for certain, as far as that is easily seen.
pub fn are_disjoint(one: &Value, other: &Value) -> bool {
    match (list_values(one), list_values(other)) {
        (Some(ours), Some(theirs)) => !ours.iter().any(|value| theirs.contains(value)),
        (Some(values), None) => are_of_other_type(&values, other),
        (None, Some(values)) => are_of_other_type(&values, one),
        (None, None) => have_other_types(one, other) || have_other_marks(one, other),
    }
}

fn list_values(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    }
}

fn list_types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::Array(kinds) => kinds.iter().map(Value::as_str).collect(),
        kind => Some(vec![kind.as_str()?]),
    }
}

fn are_of_other_type(values: &[&Value], schema: &Value) -> bool {
    list_types(schema).is_some_and(|types| {
        !values.iter().any(|value| types.iter().any(|kind| is_of_type(value, kind)))
    })
}

fn have_other_types(one: &Value, other: &Value) -> bool {
    let (Some(ours), Some(theirs)) = (list_types(one), list_types(other)) else { return false };
    let are_same = |one: &str, other: &str| {
        let are_numbers = matches!((one, other), ("integer" | "number", "integer" | "number"));
        one == other || are_numbers
    };
    !ours.iter().any(|one| theirs.iter().any(|other| are_same(one, other)))
}

/// Objects that both need a property, which has other values in each.
fn have_other_marks(one: &Value, other: &Value) -> bool {
    let needs = |schema: &Value, name: &str| {
        schema["type"] == "object"
            && schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
    };
    let Some(properties) = one["properties"].as_object() else { return false };
    properties.iter().any(|(name, schema)| {
        let both = needs(one, name) && needs(other, name);
        match (list_values(schema), list_values(&other["properties"][name])) {
            (Some(ours), Some(theirs)) if both => !ours.iter().any(|it| theirs.contains(it)),
            _ => false,
        }
    })
}
