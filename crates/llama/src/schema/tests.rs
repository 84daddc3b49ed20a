use super::*;
use crate::grammar::{Grammar, check_converted, tests::Writer};
use llama_cpp_2::json_schema_to_grammar;

/// Random texts of each grammar.
const TEXTS: u64 = 150;

/// Whatever the grammar of a schema lets pass is JSON, and valid against the schema.
#[track_caller]
fn keep(schema: &Value) {
    let written = rewrite(schema, "schema", Strictness::Refuse).unwrap();
    let grammar = json_schema_to_grammar(&written.to_string()).unwrap();
    assert_eq!(check_converted(&grammar), Ok(()), "{schema}");
    let validator = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    let grammar = Grammar::parse(&grammar).unwrap();
    let texts = (0..TEXTS).filter_map(|seed| Writer::new(&grammar, seed).write());
    let texts: Vec<String> = texts.collect();
    assert!(texts.len() > TEXTS as usize / 4, "{schema}: {} texts", texts.len());
    for text in texts {
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => assert!(validator.is_valid(&value), "{schema}: {text}"),
            Err(why) => assert!(is_beyond_serde(&why.to_string()), "{schema}: {text}: {why}"),
        }
    }
}

/// JSON, and yet more than this library reads.
fn is_beyond_serde(why: &str) -> bool {
    ["number out of range", "surrogate", "hex escape", "recursion limit"]
        .iter()
        .any(|it| why.contains(it))
}

#[track_caller]
fn refuse(schema: &Value, why: &str) {
    assert_eq!(rewrite(schema, "schema", Strictness::Refuse), Err(why.to_string()), "{schema}");
}

#[test]
fn what_is_not_refused_is_kept() {
    for schema in [
        json!({ "type": "string", "pattern": r"^\d{3}-[^\w]+(a|b?){2}$" }),
        json!({ "type": "string", "pattern": r#"^[^x]".\\\s$"# }),
        json!({ "type": "string", "pattern": "^ab*(c|de){2,3}?$" }),
        json!({ "type": "string", "minLength": 2, "maxLength": 4 }),
        json!({ "type": "string", "minLength": 3 }),
        json!({ "type": "string", "format": "date-time" }),
        json!({ "type": "string", "format": "uuid" }),
        json!({ "type": "integer", "minimum": 100 }),
        json!({ "type": "integer", "minimum": 105, "exclusiveMinimum": 204 }),
        json!({ "type": "integer", "maximum": -305 }),
        json!({ "type": "integer", "minimum": -17, "maximum": 2_048 }),
        json!({ "type": "integer", "exclusiveMaximum": 3.5, "minimum": -9_007_199_254_740_991i64 }),
        json!({ "type": ["integer", "null"], "minimum": 3 }),
        json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2, "maxItems": 4 }),
        json!({ "type": "array", "items": { "enum": [1, "a", null] }, "maxItems": 0 }),
        json!({ "type": "array", "minItems": 1, "maxItems": 1, "uniqueItems": false }),
        json!({ "type": "array", "items": false }),
        json!({ "type": "array", "prefixItems": [{ "type": "null" }, { "const": [1, {}] }],
                "items": false, "minItems": 2, "maxItems": 2 }),
        json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } }),
        json!({ "type": "object", "properties": { "a": {}, "b\"\\\n": { "type": "null" } },
                "required": ["b\"\\\n"], "additionalProperties": true }),
        json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        json!({ "anyOf": [{ "type": "null" }, { "type": "integer", "minimum": 5, "maximum": 5 }] }),
        json!({ "oneOf": [{ "type": "null" }, { "const": 3 }, { "type": "string" }] }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "a" }, "x": { "type": "null" } },
              "required": ["kind"] },
            { "type": "object", "properties": { "kind": { "enum": ["b", "c"] } },
              "required": ["kind"] }] }),
        json!({ "type": "string", "enum": ["a", 1, "b"] }),
        json!({ "enum": [1, 2, 3], "const": 2 }),
        // The converter takes two definitions for one if their names resemble each other.
        json!({ "$defs": { "a_b": { "type": "null" },
                           "a": { "type": "object", "required": ["b"],
                                  "properties": { "b": { "type": "integer" } } } },
                "type": "object", "required": ["x", "y"],
                "properties": { "x": { "$ref": "#/$defs/a" }, "y": { "$ref": "#/$defs/a_b" } } }),
        json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "n": { "type": "null" } },
                "required": ["n"] }),
        json!({ "definitions": { "t": { "anyOf": [{ "type": "array", "maxItems": 2,
                  "items": { "$ref": "#/definitions/t" } }, { "type": "null" }] } },
                "$ref": "#/definitions/t", "description": "a tree" }),
        json!({ "allOf": [{ "$ref": "#/$defs/n" }], "$defs": { "n": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "null" } }, "required": ["a"],
                "allOf": [{ "properties": { "b": { "type": "boolean" } } },
                          { "$ref": "#/$defs/c" }],
                "$defs": { "c": { "type": "object", "properties": { "c": {} },
                                  "required": ["c"] } } }),
        json!({ "properties": { "a": { "minLength": 1, "maxLength": 1 } }, "x-order": 3 }),
        json!({ "type": "number", "title": "any" }),
        json!({}),
    ] {
        keep(&schema);
    }
}

#[test]
fn what_cannot_be_kept_is_refused_by_its_place() {
    let object = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    for (schema, why) in [
        (json!({ "not": {} }), "schema.not: cannot be enforced without a type"),
        (
            object(json!({ "type": "array", "uniqueItems": true })),
            "schema.properties.a.uniqueItems: cannot be enforced for type array",
        ),
        (
            object(json!({ "type": "string", "pattern": "x" })),
            "schema.properties.a.pattern: must begin with ^ and end with $",
        ),
        (
            json!({ "anyOf": [{}, { "type": "number", "minimum": 0 }] }),
            "schema.anyOf[1].minimum: cannot be enforced for type number",
        ),
        (
            json!({ "type": ["number", "integer"], "minimum": 0 }),
            "schema.minimum: cannot be enforced for type number or integer",
        ),
        (
            json!({ "anyOf": [{}], "properties": {} }),
            "schema.properties: cannot be enforced beside anyOf",
        ),
        (
            json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }),
            "schema.oneOf: two of them may hold at once; use anyOf",
        ),
        (json!({ "format": "email" }), "schema.format: \"email\" cannot be enforced"),
        (
            json!({ "format": "date", "maxLength": 3 }),
            "schema.format: cannot be enforced beside a length",
        ),
        (
            json!({ "pattern": "^a$", "minLength": 3 }),
            "schema.pattern: cannot be enforced beside a length or a format",
        ),
        (
            json!({ "enum": ["a"], "minLength": 3 }),
            "schema.minLength: cannot be enforced beside const or enum",
        ),
        (json!({ "const": 1, "enum": [2] }), "schema: const, enum and type allow nothing"),
        (json!({ "$ref": "https://x" }), "schema.$ref: \"https://x\" leads out of the schema"),
        (json!({ "$ref": "#/$defs/x" }), "schema.$ref: \"#/$defs/x\" leads to nothing"),
        (
            json!({ "$ref": "#/$defs/x", "minimum": 1 }),
            "schema.minimum: cannot be enforced beside $ref",
        ),
        (
            json!({ "$ref": "#/$defs/x", "$defs": { "x": { "not": {} } } }),
            "schema#/$defs/x.not: cannot be enforced without a type",
        ),
        (json!({ "items": 3 }), "schema.items: must be an object"),
        (
            json!({ "type": "array", "prefixItems": [{}], "items": {} }),
            "schema.items: cannot be enforced beside prefixItems",
        ),
        (
            json!({ "type": "array", "prefixItems": [{}], "minItems": 2 }),
            "schema.prefixItems: as many items as it names must be allowed",
        ),
        (
            json!({ "type": "object", "required": ["b"] }),
            "schema.required: \"b\" is none of the properties",
        ),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": { "type": "null" } }),
            "schema.additionalProperties: cannot be enforced beside properties",
        ),
        (
            json!({ "allOf": [object(json!({})), object(json!({}))] }),
            "schema.allOf: two of them have the property \"a\"",
        ),
        (
            json!({ "allOf": [{ "minLength": 1 }, {}] }),
            "schema.allOf: cannot be merged because of minLength",
        ),
        (
            json!({ "type": "string", "maxLength": 5_000 }),
            "schema.maxLength: cannot be enforced beyond 2000",
        ),
        (
            json!({ "type": "bool" }),
            "schema.type: must be of object, array, string, integer, number, boolean, null",
        ),
        (
            json!({ "patternProperties": {} }),
            "schema.patternProperties: cannot be enforced without a type",
        ),
        (
            json!({ "minimun": 3, "type": "integer" }),
            "schema.minimun: cannot be enforced for type integer",
        ),
    ] {
        refuse(&schema, why);
    }
}

#[test]
fn what_llama_cpp_would_not_survive_is_refused_in_any_case() {
    let long = "x".repeat(20_000);
    let optional: Fields = (0..900).map(|at| (format!("p{at}"), json!({}))).collect();
    let mut doubled = json!({});
    for _ in 0..30 {
        doubled = json!({ "type": ["object", "object"], "properties": { "a": doubled } });
    }
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "items": deep });
    }
    for (schema, why) in [
        (json!({ "type": "string", "minLength": 5, "maxLength": 1 }), "maxLength: is less than"),
        (json!({ "type": "array", "minItems": 5, "maxItems": 1 }), "maxItems: is less than"),
        (json!({ "type": "integer", "minimum": 5, "maximum": 1 }), "minimum: is more than"),
        (json!({ "type": "integer", "minimum": 1e18 }), "minimum: numbers have at most 15"),
        (json!({ "properties": { &long: {} } }), "a name is longer than 256 bytes"),
        (json!({ "$ref": format!("#/$defs/{long}") }), "is longer than 256 bytes"),
        (json!({ "properties": optional }), "more than 200 are not required"),
        (json!({ "enum": [long.repeat(20)] }), "is longer than 262144 bytes"),
        (doubled, "type: names object twice"),
        (deep, "is nested deeper than 64"),
        (json!({ "anyOf": vec![json!({}); 3_000] }), "more than 2000 schemas"),
    ] {
        for strictness in [Strictness::Refuse, Strictness::PassOver] {
            let refused = rewrite(&schema, "schema", strictness).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}

#[test]
fn what_need_not_be_kept_is_passed_over() {
    let schema = json!({ "type": "string", "pattern": "x", "maxLength": 3, "foo": 1 });
    let written = rewrite(&schema, "schema", Strictness::PassOver).unwrap();
    assert_eq!(
        written,
        json!({ "type": "string", "pattern": pattern::match_length(0, Some(3)).unwrap() })
    );
}

#[test]
fn long_names_may_be_nested() {
    let name = "long".repeat(NAME_BYTES_MAX / 4);
    let nest = |inner: Value| json!({ "type": "object", "properties": { &name: inner } });
    keep(&(0..8).fold(json!({ "type": "null" }), |inner, _| nest(inner)));
}

#[test]
fn as_many_optional_properties_as_are_allowed_can_be_held() {
    let optional: Fields = (0..OPTIONAL_MAX).map(|at| (format!("p{at}"), json!({}))).collect();
    let written = rewrite(&json!({ "properties": optional }), "s", Strictness::Refuse).unwrap();
    let grammar = json_schema_to_grammar(&written.to_string()).unwrap();
    assert_eq!(check_converted(&grammar), Ok(()));
}
