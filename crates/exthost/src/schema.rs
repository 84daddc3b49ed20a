//! What extensions say about the fields of messages, laid over each other in the order of the
//! configuration. A property that is missing is inherited, `null` unsets it, a value replaces it.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Entries of one extension; the rest is left out.
const ENTRIES_MAX: usize = 10_000;

/// The properties of an entry, beside its place.
const PROPERTIES: &[&str] = &[
    "name",
    "group",
    "note",
    "required",
    "minlength",
    "maxlength",
    "pattern",
    "datatype",
    "placeholder",
    "values",
    "template",
];

/// A segment, a field and perhaps a component of it.
type Place = (String, u32, Option<u32>);

/// What is said about each place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Schema(BTreeMap<Place, Map<String, Value>>);

impl Schema {
    /// Reads what an extension gave; the second part is what was wrong with it.
    pub(crate) fn read(given: &Value) -> (Schema, Vec<String>) {
        let mut schema = Schema::default();
        let mut warnings = vec![];
        let none = Map::new();
        let segments = match given.get("segments") {
            Some(Value::Object(segments)) => segments,
            _ if given.is_null() || given.get("segments").is_none() => &none,
            _ => {
                warnings.push("schema: segments: expected an object".to_string());
                &none
            }
        };
        for (segment, said) in segments {
            let fields = said.get("fields").unwrap_or(said);
            for (at, entry) in fields.as_array().into_iter().flatten().enumerate() {
                if let Err(what) = schema.add(segment, entry) {
                    warnings.push(format!("schema: {segment}[{at}]: {what}"));
                }
            }
        }
        (schema, warnings)
    }

    fn add(&mut self, segment: &str, entry: &Value) -> Result<(), String> {
        if self.0.len() >= ENTRIES_MAX {
            return Err(format!("over {ENTRIES_MAX} entries"));
        }
        let number = |name: &str| match entry.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(number) => match number.as_u64().and_then(|number| u32::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("{name}: expected a number")),
            },
        };
        let field = number("field")?.ok_or("field: expected a number")?;
        let place = (segment.to_string(), field, number("component")?);
        let said = entry.as_object().into_iter().flatten();
        let said = said.filter(|(name, _)| PROPERTIES.contains(&name.as_str()));
        let known: Map<_, _> = said
            .filter(|(name, value)| *name != "datatype" || is_datatype(value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.0.entry(place).or_default().extend(known);
        Ok(())
    }

    /// Lays what another says over this.
    pub(crate) fn lay(&mut self, over: &Schema) {
        for (place, said) in &over.0 {
            let said = said.iter().map(|(name, value)| (name.clone(), value.clone()));
            self.0.entry(place.clone()).or_default().extend(said);
        }
    }

    /// All of it, in the shape in which extensions give it. An explicit `null` stays one: whoever
    /// lays this over a schema of its own has to unset there, too.
    pub(crate) fn write(&self) -> Value {
        let mut segments = Map::new();
        for ((segment, field, component), said) in &self.0 {
            let mut entry = Map::from_iter([("field".to_string(), json!(field))]);
            entry.extend(component.map(|component| ("component".to_string(), json!(component))));
            entry.extend(said.clone());
            let fields = segments.entry(segment).or_insert_with(|| json!({ "fields": [] }));
            if let Some(fields) = fields["fields"].as_array_mut() {
                fields.push(entry.into());
            }
        }
        json!({ "segments": segments })
    }
}

fn is_datatype(value: &Value) -> bool {
    value.is_null() || matches!(value.as_str(), Some("date" | "datetime"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: Value) -> Schema {
        let (schema, warnings) =
            Schema::read(&json!({ "segments": { "PID": { "fields": fields } } }));
        assert_eq!(warnings, [""; 0]);
        schema
    }

    #[test]
    fn later_ones_override_property_by_property() {
        let mut merged = schema(json!([
            { "field": 8, "name": "Sex", "note": "n", "values": { "M": "male" } },
            { "field": 5, "component": 1, "name": "Family" },
            { "field": 5, "name": "Name" },
        ]));
        merged.lay(&schema(json!([
            { "field": 8, "note": null, "values": { "F": "female" }, "datatype": "no", "x": 1 },
            { "field": 264, "name": "far", "datatype": "date" },
            { "field": 5, "component": 2, "required": true },
        ])));
        let want = json!({ "segments": { "PID": { "fields": [
            { "field": 5, "name": "Name" },
            { "field": 5, "component": 1, "name": "Family" },
            { "field": 5, "component": 2, "required": true },
            { "field": 8, "name": "Sex", "note": null, "values": { "F": "female" } },
            { "field": 264, "name": "far", "datatype": "date" },
        ] } } });
        assert_eq!(merged.write(), want);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong =
            json!({ "segments": { "PID": { "fields": [{ "name": "x" }, { "field": -1 }] } } });
        let (schema, warnings) = Schema::read(&wrong);
        assert_eq!(schema, Schema::default());
        assert_eq!(
            warnings,
            [
                "schema: PID[0]: field: expected a number",
                "schema: PID[1]: field: expected a number",
            ]
        );
        assert_eq!(
            Schema::read(&json!({ "segments": [] })).1,
            ["schema: segments: expected an object"]
        );
        assert_eq!(Schema::read(&Value::Null).1, [""; 0]);
    }
}
