//! From a JSON schema to one that llama.cpp's converter keeps to the letter. The converter passes
//! over what it does not know, and some of what it knows it gets wrong. So every keyword is read
//! here: it is written anew in a form that is known to hold, or refused by its place. Pure.

mod merge;
mod number;
#[cfg(test)]
mod tests;

use crate::pattern::{self, REPEATS_MAX};
use merge::{are_disjoint, merge_objects};
use number::read_bounds;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A schema may be so long as text, have so many schemas in it, nested so deep.
const BYTES_MAX: usize = 256 << 10;
const NODES_MAX: usize = 2_000;
const NESTING_MAX: usize = 64;
/// A property's name; longer ones overflow llama.cpp's stack.
const NAME_BYTES_MAX: usize = 256;
const PROPERTIES_MAX: usize = 1_000;
/// llama.cpp writes a rule for every order in which optional properties may be left out.
const OPTIONAL_MAX: usize = 200;
/// Where the definitions stand in what is written, under names that resemble no other rule's.
const DEFINITIONS: &str = "althing-definitions";

/// Keywords that constrain nothing.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$defs",
    "definitions",
];
const TYPES: &[&str] = &["object", "array", "string", "integer", "number", "boolean", "null"];
/// Keywords that tell the type where none is named, and those that this type may have.
const OBJECT: &[&str] = &["properties", "required", "additionalProperties"];
const ARRAY: &[&str] = &["items", "prefixItems", "minItems", "maxItems", "uniqueItems"];
const STRING: &[&str] = &["minLength", "maxLength", "pattern", "format"];
const INTEGER: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/// Formats of texts as patterns. llama.cpp's own let the 31st of June pass.
const DATE: &str = r"[1-9]\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))";
const TIME: &str = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+\-]([01]\d|2[0-3]):[0-5]\d)";
const UUID: &str = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

/// What becomes of a constraint that no grammar can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    Refuse,
    /// The client says that it need not be kept.
    PassOver,
}

/// Rewrites a schema; `place` is what it is called in a refusal.
pub fn rewrite(schema: &Value, place: &str, strictness: Strictness) -> Result<Value, String> {
    let mut rewriter = Rewriter::default();
    let root = rewriter.add(schema, place, strictness)?;
    Ok(rewriter.finish(root))
}

/// Rewrites schemas that share their definitions.
#[derive(Debug, Default)]
pub struct Rewriter {
    /// What references lead to, in the order in which they were found.
    definitions: Vec<Value>,
    nodes: usize,
}

impl Rewriter {
    /// Rewrites one schema and keeps what its references lead to.
    pub fn add(
        &mut self,
        schema: &Value,
        place: &str,
        strictness: Strictness,
    ) -> Result<Value, String> {
        if schema.to_string().len() > BYTES_MAX {
            return Err(format!("{place}: is longer than {BYTES_MAX} bytes"));
        }
        let known = HashMap::new();
        let mut one = One { all: self, root: schema, base: place, strictness, known };
        one.write(schema, place, 0)
    }

    /// Returns the whole schema with its definitions.
    pub fn finish(self, mut root: Value) -> Value {
        let named = self.definitions.into_iter().enumerate();
        let named: Map<String, Value> = named.map(|(at, it)| (name_definition(at), it)).collect();
        if !named.is_empty() {
            root[DEFINITIONS] = Value::Object(named);
        }
        root
    }
}

fn name_definition(at: usize) -> String {
    format!("d{at}x")
}

/// One schema while it is rewritten.
struct One<'a> {
    all: &'a mut Rewriter,
    root: &'a Value,
    /// What the whole schema is called in a refusal.
    base: &'a str,
    strictness: Strictness,
    /// Definitions by what they are called in this schema.
    known: HashMap<String, usize>,
}

type Fields = Map<String, Value>;

impl One<'_> {
    fn write(&mut self, schema: &Value, place: &str, depth: usize) -> Result<Value, String> {
        self.all.nodes += 1;
        if depth > NESTING_MAX {
            return Err(format!("{place}: is nested deeper than {NESTING_MAX}"));
        }
        if self.all.nodes > NODES_MAX {
            return Err(format!("{place}: more than {NODES_MAX} schemas are in it"));
        }
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(true) => return Ok(json!({})),
            Value::Bool(false) => return Err(format!("{place}: false allows nothing")),
            _ => return Err(format!("{place}: must be an object")),
        };
        let has = |keyword: &str| fields.contains_key(keyword);
        if has("$ref") {
            return self.write_reference(fields, place, depth);
        }
        if let Some(keyword) = ["oneOf", "anyOf"].into_iter().find(|it| has(it)) {
            return self.write_alternatives(fields, keyword, place, depth);
        }
        if has("allOf") {
            return self.write_all_of(fields, place, depth);
        }
        if has("const") || has("enum") {
            return self.write_values(fields, place);
        }
        self.write_types(fields, place, depth)
    }

    /// Refuses what no grammar can hold, unless the client does not insist on it.
    fn give_up(&self, place: &str, why: &str) -> Result<(), String> {
        match self.strictness {
            Strictness::Refuse => Err(format!("{place}: {why}")),
            Strictness::PassOver => Ok(()),
        }
    }

    /// Refuses every keyword that neither is one of these nor constrains nothing.
    fn refuse_others(
        &self,
        fields: &Fields,
        allowed: &[&[&str]],
        beside: &str,
        place: &str,
    ) -> Result<(), String> {
        for (keyword, value) in fields {
            let is_known =
                is_annotation(keyword) || allowed.iter().any(|it| it.contains(&keyword.as_str()));
            if !is_known && !asks_nothing(keyword, value) {
                let why = format!("cannot be enforced {beside}");
                self.give_up(&format!("{place}.{keyword}"), &why)?;
            }
        }
        Ok(())
    }

    fn write_reference(
        &mut self,
        fields: &Fields,
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        self.refuse_others(fields, &[&["$ref"]], "beside $ref", place)?;
        let place = format!("{place}.$ref");
        let name = fields["$ref"].as_str().ok_or(format!("{place}: must be a text"))?;
        if name.len() > NAME_BYTES_MAX {
            return Err(format!("{place}: is longer than {NAME_BYTES_MAX} bytes"));
        }
        let at = match self.known.get(name) {
            Some(at) => *at,
            None => {
                let target = resolve(self.root, name).map_err(|why| format!("{place}: {why}"))?;
                let at = self.all.definitions.len();
                self.known.insert(name.to_string(), at);
                self.all.definitions.push(Value::Null);
                let place = format!("{}{name}", self.base);
                let written = self.write(target, &place, depth + 1)?;
                self.all.definitions[at] = written;
                at
            }
        };
        Ok(json!({ "$ref": format!("#/{DEFINITIONS}/{}", name_definition(at)) }))
    }

    fn write_alternatives(
        &mut self,
        fields: &Fields,
        keyword: &str,
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        self.refuse_others(fields, &[&[keyword]], &format!("beside {keyword}"), place)?;
        let place = format!("{place}.{keyword}");
        let alternatives = read_schemas(&fields[keyword], &place)?;
        if keyword == "oneOf" && !self.exclude_each_other(alternatives) {
            self.give_up(&place, "two of them may hold at once; use anyOf")?;
        }
        let mut written = Vec::new();
        for (at, schema) in alternatives.iter().enumerate() {
            written.push(self.write(schema, &format!("{place}[{at}]"), depth + 1)?);
        }
        Ok(json!({ "anyOf": written }))
    }

    fn exclude_each_other(&self, alternatives: &[Value]) -> bool {
        let followed: Vec<&Value> = alternatives.iter().map(|it| follow(self.root, it)).collect();
        followed
            .iter()
            .enumerate()
            .all(|(at, one)| followed[..at].iter().all(|other| are_disjoint(one, other)))
    }

    /// One schema is itself; several are merged where they are plain objects.
    fn write_all_of(
        &mut self,
        fields: &Fields,
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        let here = format!("{place}.allOf");
        let parts = read_schemas(&fields["allOf"], &here)?;
        let mut rest = fields.clone();
        rest.shift_remove("allOf");
        rest.retain(|keyword, _| !is_annotation(keyword));
        if let ([only], true) = (parts, rest.is_empty()) {
            return self.write(only, &format!("{here}[0]"), depth + 1);
        }
        let rest = Value::Object(rest);
        let all = parts.iter().map(|it| follow(self.root, it)).chain([&rest]);
        match merge_objects(all) {
            Ok(merged) => self.write(&merged, place, depth + 1),
            Err(why) => {
                self.give_up(&here, &why)?;
                Ok(json!({}))
            }
        }
    }

    /// Writes what values are allowed, as they stand.
    fn write_values(&mut self, fields: &Fields, place: &str) -> Result<Value, String> {
        self.refuse_others(fields, &[&["const", "enum", "type"]], "beside const or enum", place)?;
        let mut values = match fields.get("enum") {
            None => vec![fields["const"].clone()],
            Some(Value::Array(values)) => values.clone(),
            Some(_) => return Err(format!("{place}.enum: must be a list")),
        };
        if let Some(only) = fields.get("const") {
            values.retain(|value| value == only);
        }
        if let Some(kind) = fields.get("type") {
            let types = read_types(kind, place)?;
            values.retain(|value| types.iter().any(|kind| is_of_type(value, kind)));
        }
        match values.len() {
            0 => Err(format!("{place}: const, enum and type allow nothing")),
            _ => Ok(json!({ "enum": values })),
        }
    }

    fn write_types(&mut self, fields: &Fields, place: &str, depth: usize) -> Result<Value, String> {
        let types = match fields.get("type") {
            Some(kind) => read_types(kind, place)?,
            None => guess_types(fields),
        };
        let mut allowed = vec![&["type"][..]];
        // A number with a fraction has no limits here.
        let limited = types.iter().filter(|it| **it != "integer" || !types.contains(&"number"));
        allowed.extend(limited.map(|kind| keywords_of(kind)));
        let beside = match types.as_slice() {
            [] => "without a type".to_string(),
            types => format!("for type {}", types.join(" or ")),
        };
        self.refuse_others(fields, &allowed, &beside, place)?;
        let mut written = Vec::new();
        for kind in &types {
            written.push(self.write_type(fields, kind, place, depth)?);
        }
        match written.len() {
            0 => Ok(json!({})),
            1 => Ok(written.remove(0)),
            _ => Ok(json!({ "anyOf": written })),
        }
    }

    fn write_type(
        &mut self,
        fields: &Fields,
        kind: &str,
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        match kind {
            "object" => self.write_object(fields, place, depth),
            "array" => self.write_array(fields, place, depth),
            "string" => self.write_string(fields, place),
            "integer" => Ok(match read_bounds(fields, place)? {
                None => json!({ "type": "integer" }),
                Some((least, most)) => {
                    json!({ "type": "integer", "minimum": least, "maximum": most })
                }
            }),
            other => Ok(json!({ "type": other })),
        }
    }

    fn write_object(
        &mut self,
        fields: &Fields,
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        let properties = read_object(fields, "properties", place)?;
        let required = self.read_required(fields, properties, place)?;
        if properties.len() > PROPERTIES_MAX {
            return Err(format!("{place}.properties: more than {PROPERTIES_MAX}"));
        }
        if properties.len() - required.len() > OPTIONAL_MAX {
            return Err(format!("{place}.properties: more than {OPTIONAL_MAX} are not required"));
        }
        let mut written = Fields::new();
        for (name, schema) in properties {
            if name.len() > NAME_BYTES_MAX {
                return Err(format!(
                    "{place}.properties: a name is longer than {NAME_BYTES_MAX} bytes"
                ));
            }
            let place = format!("{place}.properties.{name}");
            if name == "*" {
                return Err(format!("{place}: llama.cpp takes this name for something else"));
            }
            written.insert(name.clone(), self.write(schema, &place, depth + 1)?);
        }
        let more = self.write_additional(fields, !properties.is_empty(), place, depth)?;
        let mut object = json!({ "type": "object" });
        match more {
            Some(more) => object["additionalProperties"] = more,
            None => {
                object["properties"] = Value::Object(written);
                object["required"] = json!(required);
                object["additionalProperties"] = false.into();
            }
        }
        Ok(object)
    }

    fn read_required(
        &self,
        fields: &Fields,
        properties: &Fields,
        place: &str,
    ) -> Result<Vec<String>, String> {
        let place = format!("{place}.required");
        let names: Vec<String> = match fields.get("required") {
            None => vec![],
            Some(names) => serde_json::from_value(names.clone())
                .map_err(|_| format!("{place}: must be a list of names"))?,
        };
        let mut required: Vec<String> = Vec::new();
        for name in names {
            if !properties.contains_key(&name) {
                self.give_up(&place, &format!("{name:?} is none of the properties"))?;
            } else if !required.contains(&name) {
                required.push(name);
            }
        }
        Ok(required)
    }

    /// Returns the schema of further properties; none: there are none. Beside named ones there
    /// never are: an object without them is a valid one.
    fn write_additional(
        &mut self,
        fields: &Fields,
        has_properties: bool,
        place: &str,
        depth: usize,
    ) -> Result<Option<Value>, String> {
        let place = format!("{place}.additionalProperties");
        match fields.get("additionalProperties") {
            None if fields.contains_key("properties") => Ok(None),
            None | Some(Value::Bool(true)) if !has_properties => Ok(Some(true.into())),
            None | Some(Value::Bool(_)) => Ok(None),
            Some(schema) if has_properties => {
                if *schema != json!({}) {
                    self.give_up(&place, "cannot be enforced beside properties")?;
                }
                Ok(None)
            }
            Some(schema) => self.write(schema, &place, depth + 1).map(Some),
        }
    }

    fn write_array(&mut self, fields: &Fields, place: &str, depth: usize) -> Result<Value, String> {
        let (least, most) = self.read_range(fields, "minItems", "maxItems", place)?;
        let lists = ["prefixItems", "items"].into_iter();
        let mut tuples = lists.filter(|it| fields.get(*it).is_some_and(Value::is_array));
        if let Some(keyword) = tuples.next() {
            return self.write_tuple(fields, keyword, (least, most), place, depth);
        }
        if fields.contains_key("prefixItems") {
            return Err(format!("{place}.prefixItems: must be a list"));
        }
        let mut array = json!({ "type": "array" });
        match fields.get("items") {
            // No item fits, so there is none.
            Some(Value::Bool(false)) if least == 0 => {
                (array["items"], array["maxItems"]) = (json!({}), 0.into());
                return Ok(array);
            }
            Some(items) => {
                array["items"] = self.write(items, &format!("{place}.items"), depth + 1)?;
            }
            None => {}
        }
        if least > 0 {
            array["minItems"] = least.into();
        }
        if let Some(most) = most {
            array["maxItems"] = most.into();
        }
        Ok(array)
    }

    /// A list with a schema for every place has exactly that many items.
    fn write_tuple(
        &mut self,
        fields: &Fields,
        keyword: &str,
        (least, most): (u32, Option<u32>),
        place: &str,
        depth: usize,
    ) -> Result<Value, String> {
        if keyword == "prefixItems" && fields.get("items").is_some_and(|it| *it != false) {
            self.give_up(&format!("{place}.items"), "cannot be enforced beside prefixItems")?;
        }
        let here = format!("{place}.{keyword}");
        let items = fields[keyword].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = items.len() as u32;
        if count < least || most.is_some_and(|most| most < count) {
            self.give_up(&here, "as many items as it names must be allowed")?;
        }
        let mut written = Vec::new();
        for (at, item) in items.iter().enumerate() {
            written.push(self.write(item, &format!("{here}[{at}]"), depth + 1)?);
        }
        Ok(json!({ "type": "array", "prefixItems": written }))
    }

    /// Reads the least and the most of a length or a number of items.
    fn read_range(
        &self,
        fields: &Fields,
        least: &str,
        most: &str,
        place: &str,
    ) -> Result<(u32, Option<u32>), String> {
        let read = |keyword: &str| -> Result<Option<u32>, String> {
            let Some(value) = fields.get(keyword) else { return Ok(None) };
            let place = format!("{place}.{keyword}");
            let whole = value.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
            let count = whole.ok_or(format!("{place}: must be a whole number"))?;
            if count > f64::from(REPEATS_MAX) {
                self.give_up(&place, &format!("cannot be enforced beyond {REPEATS_MAX}"))?;
                return Ok(None);
            }
            Ok(Some(count as u32))
        };
        let (from, to) = (read(least)?.unwrap_or(0), read(most)?);
        match to.is_some_and(|to| to < from) {
            true => Err(format!("{place}.{most}: is less than {least}, so nothing fits")),
            false => Ok((from, to)),
        }
    }

    fn write_string(&mut self, fields: &Fields, place: &str) -> Result<Value, String> {
        let (least, most) = self.read_range(fields, "minLength", "maxLength", place)?;
        let has_length = least > 0 || most.is_some();
        let string = |keyword: &str, value: Value| json!({ "type": "string", keyword: value });
        if let Some(wanted) = fields.get("pattern") {
            let place = format!("{place}.pattern");
            if has_length || fields.contains_key("format") {
                self.give_up(&place, "cannot be enforced beside a length or a format")?;
            }
            let wanted = wanted.as_str().ok_or(format!("{place}: must be a text"))?;
            match pattern::rewrite(wanted) {
                Ok(pattern) => return Ok(string("pattern", pattern.into())),
                Err(why) => self.give_up(&place, &why)?,
            }
        }
        if let Some(format) = fields.get("format") {
            let place = format!("{place}.format");
            match format.as_str().and_then(write_format) {
                Some(_) if has_length => {
                    self.give_up(&place, "cannot be enforced beside a length")?;
                }
                Some(pattern) => return Ok(string("pattern", pattern::rewrite(&pattern)?.into())),
                None => self.give_up(&place, &format!("{format} cannot be enforced"))?,
            }
        }
        match has_length {
            true => Ok(string("pattern", pattern::match_length(least, most)?.into())),
            false => Ok(json!({ "type": "string" })),
        }
    }
}

/// Returns the pattern of a format that is enforced.
fn write_format(format: &str) -> Option<String> {
    match format {
        "date" => Some(format!("^{DATE}$")),
        "time" => Some(format!("^{TIME}$")),
        "date-time" => Some(format!("^{DATE}T{TIME}$")),
        "uuid" => Some(format!("^{UUID}$")),
        _ => None,
    }
}

fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

/// `uniqueItems: false` and the like ask for nothing.
fn asks_nothing(keyword: &str, value: &Value) -> bool {
    matches!((keyword, value), ("uniqueItems" | "nullable", Value::Bool(false)))
}

fn keywords_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "object" => OBJECT,
        // `uniqueItems` only tells the type.
        "array" => &ARRAY[..4],
        "string" => STRING,
        "integer" => INTEGER,
        _ => &[],
    }
}

/// Returns the types that the keywords are about; none: any value.
fn guess_types(fields: &Fields) -> Vec<&'static str> {
    let tells = |keywords: &[&str]| keywords.iter().any(|it| fields.contains_key(*it));
    [("object", OBJECT), ("array", ARRAY), ("string", STRING)]
        .into_iter()
        .filter(|(_, keywords)| tells(keywords))
        .map(|(kind, _)| kind)
        .collect()
}

fn read_types<'v>(kind: &'v Value, place: &str) -> Result<Vec<&'v str>, String> {
    let place = format!("{place}.type");
    let named = match kind {
        Value::Array(kinds) => kinds.iter().collect(),
        kind => vec![kind],
    };
    let mut types = Vec::new();
    for kind in named {
        let kind = kind.as_str().filter(|it| TYPES.contains(it));
        let kind = kind.ok_or(format!("{place}: must be of {}", TYPES.join(", ")))?;
        if types.contains(&kind) {
            return Err(format!("{place}: names {kind} twice"));
        }
        types.push(kind);
    }
    match types.is_empty() {
        true => Err(format!("{place}: names none")),
        false => Ok(types),
    }
}

pub(crate) fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}

fn read_object<'f>(fields: &'f Fields, keyword: &str, place: &str) -> Result<&'f Fields, String> {
    static NONE: std::sync::LazyLock<Fields> = std::sync::LazyLock::new(Fields::new);
    match fields.get(keyword) {
        None => Ok(&NONE),
        Some(Value::Object(found)) => Ok(found),
        Some(_) => Err(format!("{place}.{keyword}: must be an object")),
    }
}

fn read_schemas<'v>(value: &'v Value, place: &str) -> Result<&'v [Value], String> {
    let schemas = value.as_array().map(Vec::as_slice).filter(|it| !it.is_empty());
    schemas.ok_or(format!("{place}: must be a list of schemas"))
}

/// Returns the schema that a reference leads to.
fn resolve<'s>(root: &'s Value, name: &str) -> Result<&'s Value, String> {
    let pointer = name.strip_prefix('#').filter(|it| it.is_empty() || it.starts_with('/'));
    let pointer = pointer.ok_or(format!("{name:?} leads out of the schema"))?;
    root.pointer(pointer).ok_or(format!("{name:?} leads to nothing"))
}

/// Returns the schema itself, or the one that it only refers to.
fn follow<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    name.and_then(|name| resolve(root, name).ok()).unwrap_or(schema)
}
