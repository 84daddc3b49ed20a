//! What a worker says of its functions, and how a model's arguments become theirs.

use althing_stdx::text::{clip, one_line};
use serde_json::{Map, Value, json};

/// Characters of a function's name.
const NAME_CHARS_MAX: usize = 64;
/// Characters of a description; a longer one is cut.
const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Bytes of a schema; a longer one is refused.
const SCHEMA_BYTES_MAX: usize = 16 << 10;
/// Functions of one worker; more are refused.
const FUNCTIONS_MAX: usize = 64;
/// What is not for models where a worker only lists its functions.
const NOT_TOOLS: &[&str] =
    &["describe", "complete", "list_functions", "listFunctions", "ListFunctions"];
/// The one parameter of a function that nobody described.
const OPEN: &str = "args";

/// A function that models may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// As the worker calls it.
    pub name: String,
    pub description: String,
    /// A JSON Schema; its properties are the arguments, in this order.
    pub parameters: Value,
    /// Nobody described its parameters.
    is_open: bool,
}

impl Function {
    /// One of which only the name is known: it takes what it takes.
    fn open(name: &str) -> Function {
        let parameters = json!({
            "type": "object",
            "properties": {
                OPEN: { "type": "array", "description": "The arguments, in their order", "items": {} }
            },
        });
        let description = format!("The function {name}; its parameters are not described");
        Function { name: name.into(), description, parameters, is_open: true }
    }

    /// The arguments in the order in which the function takes them. One that is left out before one
    /// that is given is its default, else null; those that are left out at the end are not passed.
    pub(super) fn positional(&self, mut given: Map<String, Value>) -> Result<Vec<Value>, String> {
        if self.is_open {
            return match given.remove(OPEN) {
                None if given.is_empty() => Ok(vec![]),
                Some(Value::Array(list)) if given.is_empty() => Ok(list),
                _ => Err(format!("arguments: only `{OPEN}`, a list, is taken")),
            };
        }
        let none = Map::new();
        let properties = self.parameters["properties"].as_object().unwrap_or(&none);
        self.check(properties, &given)?;
        let last = properties.keys().rposition(|name| given.contains_key(name));
        let taken = properties.iter().take(last.map_or(0, |last| last + 1));
        let value = |(name, schema): (&String, &Value)| {
            given.remove(name).unwrap_or_else(|| schema["default"].clone())
        };
        Ok(taken.map(value).collect())
    }

    fn check(
        &self,
        properties: &Map<String, Value>,
        given: &Map<String, Value>,
    ) -> Result<(), String> {
        let required = self.parameters["required"].as_array().into_iter().flatten();
        let mut required = required.filter_map(Value::as_str);
        if let Some(name) = required.find(|name| !given.contains_key(*name)) {
            return Err(format!("arguments: '{name}' is missing"));
        }
        let unknown = given.keys().find(|name| !properties.contains_key(*name));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                let names = if names.is_empty() { "none".into() } else { names.join(", ") };
                let name = one_line(name, NAME_CHARS_MAX);
                Err(format!("arguments: there is no '{name}'; there are: {names}"))
            }
        }
    }
}

/// Reads what `describe` gave.
pub(super) fn described(answer: &Value) -> Result<Vec<Function>, String> {
    let list = answer.as_array().ok_or("describe gave no list")?;
    if list.len() > FUNCTIONS_MAX {
        return Err(format!("describe gave {} functions; at most {FUNCTIONS_MAX}", list.len()));
    }
    let read = |(at, value): (usize, &Value)| {
        read_function(value).map_err(|why| format!("describe()[{at}]: {why}"))
    };
    list.iter().enumerate().map(read).collect()
}

/// Reads what `list_functions` gave.
pub(super) fn listed(answer: &Value) -> Result<Vec<Function>, String> {
    let list = answer.as_array().ok_or("list_functions gave no list")?;
    let names = list.iter().filter_map(Value::as_str);
    let fit = names.filter(|name| is_name(name) && !NOT_TOOLS.contains(name));
    Ok(fit.take(FUNCTIONS_MAX).map(Function::open).collect())
}

/// `{name, description, parameters}`, as workers and the configuration write it.
pub(crate) fn read_function(value: &Value) -> Result<Function, String> {
    let name = value["name"].as_str().ok_or("name: must be a text")?;
    if !is_name(name) {
        let shown = one_line(name, NAME_CHARS_MAX);
        return Err(format!(
            "name: '{shown}' cannot be called: 1 to {NAME_CHARS_MAX} characters, no _ in front"
        ));
    }
    let description = match &value["description"] {
        Value::Null => "",
        Value::String(text) => text,
        _ => return Err("description: must be a text".into()),
    };
    let parameters = match &value["parameters"] {
        Value::Null => {
            let open = Function::open(name);
            let is_said = !description.trim().is_empty();
            let description = if is_said { description.into() } else { open.description };
            return Ok(Function { description: clip(&description, DESCRIPTION_CHARS_MAX), ..open });
        }
        schema @ Value::Object(_) => schema,
        _ => return Err("parameters: must be a JSON Schema of an object".into()),
    };
    let bytes = parameters.to_string().len();
    if bytes > SCHEMA_BYTES_MAX {
        return Err(format!("parameters: {bytes} bytes; at most {SCHEMA_BYTES_MAX}"));
    }
    if parameters.get("type").is_some_and(|it| it != "object")
        || parameters.get("properties").is_some_and(|it| !it.is_object())
    {
        return Err("parameters: must be a JSON Schema of an object".into());
    }
    let mut parameters = parameters.clone();
    // Providers refuse a schema without them.
    parameters["type"] = "object".into();
    if parameters.get("properties").is_none() {
        parameters["properties"] = json!({});
    }
    let description = clip(description.trim(), DESCRIPTION_CHARS_MAX);
    Ok(Function { name: name.into(), description, parameters, is_open: false })
}

fn is_name(name: &str) -> bool {
    let count = name.chars().count();
    (1..=NAME_CHARS_MAX).contains(&count)
        && !name.starts_with('_')
        && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(properties: Value, required: &[&str], given: Value, want: Result<Value, &str>) {
        let parameters = json!({ "properties": properties, "required": required });
        let tool = json!({ "name": "f", "parameters": parameters });
        let function = read_function(&tool).unwrap();
        let given = given.as_object().unwrap().clone();
        let done = function.positional(given).map(Value::from);
        assert_eq!(done, want.map_err(str::to_string));
    }

    #[test]
    fn arguments_come_in_the_order_of_the_schema() {
        let two = json!({ "b": { "type": "number" }, "a": { "type": "number", "default": 7 } });
        check(two.clone(), &["b"], json!({ "a": 1, "b": 2 }), Ok(json!([2, 1])));
        check(two.clone(), &["b"], json!({ "b": 2 }), Ok(json!([2])));
        check(two.clone(), &[], json!({}), Ok(json!([])));
        check(two.clone(), &[], json!({ "a": 1 }), Ok(json!([null, 1])));
        check(two.clone(), &["b"], json!({ "a": 1 }), Err("arguments: 'b' is missing"));
        let unknown = Err("arguments: there is no 'c'; there are: b, a");
        check(two.clone(), &["b"], json!({ "b": 1, "c": 2 }), unknown);
        let three = json!({ "x": {}, "y": { "default": [1] }, "z": {} });
        check(three, &[], json!({ "z": true, "x": "t" }), Ok(json!(["t", [1], true])));
        check(json!({}), &[], json!({}), Ok(json!([])));
        check(
            json!({}),
            &[],
            json!({ "a": 1 }),
            Err("arguments: there is no 'a'; there are: none"),
        );
    }

    #[test]
    fn what_nobody_described_takes_a_list() {
        let all = json!(["add", "describe", "_hidden", "complete", 5, "listFunctions", "mul"]);
        let functions = listed(&all).unwrap();
        let names: Vec<&str> = functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["add", "mul"]);
        let call = |given: Value| functions[0].positional(given.as_object().unwrap().clone());
        assert_eq!(call(json!({ "args": [1, "a"] })).unwrap(), [json!(1), json!("a")]);
        assert_eq!(call(json!({})).unwrap(), Vec::<Value>::new());
        assert!(call(json!({ "args": 1 })).is_err() && call(json!({ "a": 1 })).is_err());
        assert!(listed(&json!({})).is_err());
    }

    #[test]
    fn a_wrong_description_says_what_is_wrong() {
        #[track_caller]
        fn check(answer: Value, want: &str) {
            let why = described(&answer).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
        check(json!("x"), "no list");
        check(json!([{}]), "describe()[0]: name: must be a text");
        check(json!([{ "name": "f" }, { "name": "_g" }]), "[1]: name: '_g' cannot be called");
        check(json!([{ "name": "f", "parameters": [] }]), "JSON Schema of an object");
        check(json!([{ "name": "f", "parameters": { "type": "array" } }]), "of an object");
        check(json!([{ "name": "f", "description": 1 }]), "description: must be a text");
        let long = json!({ "description": "x".repeat(20_000) });
        check(json!([{ "name": "f", "parameters": long }]), "at most 16384");
        check((0..65).map(|_| json!({ "name": "f" })).collect(), "at most 64");
    }
}
