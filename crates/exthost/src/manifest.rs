//! What an extension says of itself in its answer to `initialize`. What is wrong in it but can be
//! done without is left out and told of; only without a name or a version there is no extension.

use crate::document::Format;
use crate::schema::Schema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Buttons, commands and events of one extension; the rest is left out.
const LIST_MAX: usize = 256;

/// What an extension is and wants.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// Its version, whatever that looks like.
    pub version: String,
    /// What it does.
    pub description: Option<String>,
    /// Where to read about it.
    pub homepage: Option<String>,
    /// Who made it.
    pub authors: Vec<String>,
    /// What it can be told to do.
    pub commands: Vec<String>,
    /// Its buttons.
    pub toolbar_buttons: Vec<Button>,
    /// What it wants to hear of.
    #[serde(skip)]
    pub(crate) events: Events,
    /// What it says about the fields of messages.
    #[serde(skip)]
    pub(crate) schema: Schema,
}

/// A button in the toolbar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Button {
    /// Its name for programs.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// SVG, as the extension wrote it: not to be trusted, and never to be put into a page as it is.
    pub icon: String,
    /// What it does.
    pub command: String,
    /// What it belongs to.
    pub group: Option<String>,
}

/// What an extension wants to hear of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Events {
    pub(crate) changed: Option<Changed>,
    pub(crate) opened: bool,
    pub(crate) saved: bool,
}

/// How it wants to hear of changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) content: Option<Format>,
}

/// Reads an answer to `initialize`; the second part is what was wrong with it.
pub(crate) fn read(answer: &Value) -> Result<(Manifest, Vec<String>), String> {
    let Value::Object(answer) = answer else {
        return Err("its answer to initialize is no object".into());
    };
    let mut reader = Reader { warnings: vec![] };
    let required = |name: &str| match answer.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(format!("its answer to initialize: {name}: expected text")),
    };
    let none = Map::new();
    let capabilities = match answer.get("capabilities") {
        Some(Value::Object(capabilities)) => capabilities,
        None => &none,
        Some(_) => {
            reader.warn("capabilities: expected an object");
            &none
        }
    };
    let manifest = Manifest {
        name: required("name")?,
        version: required("version")?,
        description: reader.text(answer, "description"),
        homepage: reader.text(answer, "homepage"),
        authors: reader.texts(answer, "authors"),
        commands: reader.texts(capabilities, "commands"),
        toolbar_buttons: reader.buttons(answer),
        events: reader.events(capabilities),
        schema: reader.schema(answer),
    };
    Ok((manifest, reader.warnings))
}

struct Reader {
    warnings: Vec<String>,
}

impl Reader {
    fn warn(&mut self, what: impl Into<String>) {
        if self.warnings.len() < LIST_MAX {
            self.warnings.push(format!("initialize: {}", what.into()));
        }
    }

    fn text(&mut self, of: &Map<String, Value>, name: &str) -> Option<String> {
        match of.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.warn(format!("{name}: expected text"));
                None
            }
        }
    }

    fn list<'a>(&mut self, of: &'a Map<String, Value>, name: &str) -> &'a [Value] {
        let list = match of.get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => &list[..],
            Some(_) => {
                self.warn(format!("{name}: expected a list"));
                &[]
            }
        };
        if list.len() > LIST_MAX {
            self.warn(format!("{name}: {} of them, max {LIST_MAX}", list.len()));
        }
        &list[..list.len().min(LIST_MAX)]
    }

    fn texts(&mut self, of: &Map<String, Value>, name: &str) -> Vec<String> {
        let list = self.list(of, name);
        let texts: Vec<_> = list.iter().filter_map(Value::as_str).map(str::to_string).collect();
        if texts.len() < list.len() {
            self.warn(format!("{name}: expected texts"));
        }
        texts
    }

    fn buttons(&mut self, answer: &Map<String, Value>) -> Vec<Button> {
        let mut buttons = vec![];
        for (at, value) in self.list(answer, "toolbarButtons").iter().enumerate() {
            let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_string);
            let parts = (text("id"), text("label"), text("icon"), text("command"));
            match parts {
                (Some(id), Some(label), Some(icon), Some(command)) => {
                    buttons.push(Button { id, label, icon, command, group: text("group") });
                }
                _ => {
                    self.warn(format!("toolbarButtons[{at}]: expected id, label, icon and command"))
                }
            }
        }
        buttons
    }

    fn events(&mut self, capabilities: &Map<String, Value>) -> Events {
        let mut events = Events::default();
        for value in self.list(capabilities, "events") {
            let name = value.get("name").or(Some(value)).and_then(Value::as_str);
            match name {
                Some("message/changed") => events.changed = Some(self.changed(value)),
                Some("message/opened") => events.opened = true,
                Some("message/saved") => events.saved = true,
                Some(name) => self.warn(format!("events: there is no event {name:?}")),
                None => self.warn("events: expected objects with a name"),
            }
        }
        events
    }

    fn changed(&mut self, event: &Value) -> Changed {
        let Some(options) = event.get("options") else { return Changed::default() };
        let wants = options.get("includeContent").and_then(Value::as_bool) == Some(true);
        let format = match options.get("format") {
            None | Some(Value::Null) => Format::Hl7,
            Some(format) => serde_json::from_value(format.clone()).unwrap_or_else(|_| {
                self.warn(format!("events: {format} is no format; hl7 is taken"));
                Format::Hl7
            }),
        };
        Changed { content: wants.then_some(format) }
    }

    fn schema(&mut self, answer: &Map<String, Value>) -> Schema {
        let (schema, warnings) = Schema::read(answer.get("schema").unwrap_or(&Value::Null));
        warnings.into_iter().for_each(|what| self.warn(what));
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(answer: Value, warnings: &[&str]) -> Manifest {
        let (manifest, found) = read(&answer).unwrap();
        assert_eq!(found, warnings);
        manifest
    }

    #[test]
    fn a_full_answer_is_read() {
        let button =
            json!({ "id": "b", "label": "B", "icon": "<svg/>", "command": "x/b", "more": 1 });
        let manifest = check(
            json!({
                "name": "N", "version": "1", "description": null, "homepage": "h", "authors": ["a"],
                "capabilities": { "commands": ["x/a"], "schemaProvider": true, "events": [
                    { "name": "message/changed",
                      "options": { "includeContent": true, "format": "json" } },
                    { "name": "message/saved" },
                ] },
                "toolbarButtons": [button], "schema": null,
            }),
            &[],
        );
        assert_eq!(manifest.commands, ["x/a"]);
        assert_eq!(manifest.toolbar_buttons[0].command, "x/b");
        let changed = Some(Changed { content: Some(Format::Json) });
        assert_eq!(manifest.events, Events { changed, opened: false, saved: true });
        assert_eq!(check(json!({ "name": "", "version": "" }), &[]), Manifest::default());
    }

    #[test]
    fn what_is_wrong_is_told_and_left_out() {
        check(
            json!({
                "name": "N", "version": "1", "homepage": 1, "authors": [1],
                "toolbarButtons": [{ "id": "x" }],
                "capabilities": { "commands": "no", "events": [
                    { "name": "cursor/moved" }, "message/opened", 7,
                    { "name": "message/changed", "options": { "format": "xml" } },
                ] },
            }),
            &[
                "initialize: homepage: expected text",
                "initialize: authors: expected texts",
                "initialize: commands: expected a list",
                "initialize: toolbarButtons[0]: expected id, label, icon and command",
                "initialize: events: there is no event \"cursor/moved\"",
                "initialize: events: expected objects with a name",
                "initialize: events: \"xml\" is no format; hl7 is taken",
            ],
        );
        check(
            json!({ "name": "N", "version": "1", "capabilities": null }),
            &["initialize: capabilities: expected an object"],
        );
        for (answer, what) in [
            (json!(null), "its answer to initialize is no object"),
            (json!({ "version": "1" }), "its answer to initialize: name: expected text"),
            (
                json!({ "name": "N", "version": 1 }),
                "its answer to initialize: version: expected text",
            ),
        ] {
            assert_eq!(read(&answer).unwrap_err(), what);
        }
    }
}
