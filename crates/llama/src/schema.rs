//! Which schemas llama.cpp can hold an answer to. Its converter passes over keywords that it does
//! not know; here they are refused, by their names and places.

use serde_json::Value;

/// Schemas in schemas are not nested deeper.
const NESTING_MAX: usize = 64;

/// Constraints that no grammar of llama.cpp enforces.
const REFUSED: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "multipleOf",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
];
/// Limits that are enforced for whole numbers alone.
const LIMITS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/// Formats of texts that are enforced.
const FORMATS: &[&str] = &["date", "time", "date-time", "uuid"];
/// Keywords whose value is a schema, a list of schemas, or named schemas.
const NESTED: &[&str] = &["items", "additionalProperties"];
const LISTED: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: &[&str] = &["properties", "$defs", "definitions"];

/// Refuses a schema with a constraint that would not be kept.
pub fn check(schema: &Value) -> Result<(), String> {
    check_at(schema, "schema", 0)
}

fn check_at(schema: &Value, place: &str, depth: usize) -> Result<(), String> {
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Bool(_) => Ok(()),
            _ => Err(format!("{place} must be an object")),
        };
    };
    if depth > NESTING_MAX {
        return Err(format!("{place} is nested deeper than {NESTING_MAX}"));
    }
    let refuse = |keyword: &str| Err(format!("{place}: {keyword} cannot be enforced here"));
    if let Some(keyword) = REFUSED.iter().find(|it| is_constraint(fields.get(**it))) {
        return refuse(keyword);
    }
    let is_integer = fields.get("type").is_some_and(|kind| kind == "integer");
    if let Some(keyword) = LIMITS.iter().find(|it| fields.contains_key(**it) && !is_integer) {
        return Err(format!("{place}: {keyword} can be enforced for type integer alone"));
    }
    if let Some(format) = fields.get("format").and_then(Value::as_str)
        && !FORMATS.contains(&format)
    {
        return refuse(&format!("format {format:?}"));
    }
    if let Some(target) = fields.get("$ref").and_then(Value::as_str)
        && !target.starts_with('#')
    {
        return Err(format!("{place}: $ref {target:?} leads out of the schema"));
    }
    let pattern = fields.get("pattern").and_then(Value::as_str);
    if pattern.is_some_and(|it| !it.starts_with('^') || !it.ends_with('$')) {
        return Err(format!("{place}: pattern must begin with ^ and end with $"));
    }
    for keyword in NESTED.iter().filter(|it| fields.contains_key(**it)) {
        check_at(&fields[*keyword], &format!("{place}/{keyword}"), depth + 1)?;
    }
    for keyword in LISTED {
        for (at, item) in
            fields.get(*keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            check_at(item, &format!("{place}/{keyword}/{at}"), depth + 1)?;
        }
    }
    for keyword in NAMED {
        for (name, item) in fields.get(*keyword).and_then(Value::as_object).into_iter().flatten() {
            check_at(item, &format!("{place}/{keyword}/{name}"), depth + 1)?;
        }
    }
    Ok(())
}

/// `uniqueItems: false` and the like ask for nothing.
fn is_constraint(value: Option<&Value>) -> bool {
    value.is_some_and(|value| *value != Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn constraints_that_would_be_passed_over_are_refused_by_place() {
        let object = |name: &str, schema: Value| json!({ "properties": { name: schema } });
        for (schema, why) in [
            (json!({ "not": {} }), "schema: not cannot be enforced here"),
            (
                object("list", json!({ "type": "array", "uniqueItems": true })),
                "schema/properties/list: uniqueItems cannot be enforced here",
            ),
            (
                json!({ "anyOf": [{}, { "type": "number", "minimum": 0 }] }),
                "schema/anyOf/1: minimum can be enforced for type integer alone",
            ),
            (json!({ "format": "email" }), "schema: format \"email\" cannot be enforced here"),
            (json!({ "$ref": "https://x" }), "schema: $ref \"https://x\" leads out of the schema"),
            (json!({ "pattern": "a" }), "schema: pattern must begin with ^ and end with $"),
            (json!({ "items": 3 }), "schema/items must be an object"),
        ] {
            assert_eq!(check(&schema), Err(why.to_string()));
        }
    }

    #[test]
    fn what_grammars_can_do_passes() {
        let schema = json!({ "$defs": { "day": { "type": "string", "format": "date" } },
            "type": "object", "additionalProperties": false, "required": ["n"], "title": "t",
            "properties": { "n": { "type": "integer", "minimum": 1, "maximum": 9 },
                            "d": { "$ref": "#/$defs/day" }, "not": { "type": "boolean" },
                            "l": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 3,
                                   "uniqueItems": false } } });
        assert_eq!(check(&schema), Ok(()));
    }
}
