//! A conversation as the model was taught to read it: the Jinja template of its file, rendered as
//! Hugging Face does. What a template adds of its own, such as a default system prompt, is kept.

mod json;
#[cfg(test)]
mod tests;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value as Item;
use minijinja::{Environment, Error, ErrorKind};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::{Map, Value, json};

/// What a model without a template of its own is given.
pub const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + \
    message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}\
    {{ '<|im_start|>assistant\n' }}{% endif %}";
/// The only template of an environment.
const NAME: &str = "chat";
/// Steps of one rendering. A template that takes more is broken, and fails.
const FUEL: u64 = 50_000_000;

/// The markers of a vocabulary that templates write out.
#[derive(Debug, Clone, Default)]
pub struct Markers {
    pub begin: String,
    pub end: String,
    /// Texts that the model reads as control tokens.
    pub controls: Vec<String>,
}

/// What a template is given.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    pub messages: Vec<Value>,
    /// None: the template is not told about tools at all.
    pub tools: Option<Vec<Value>>,
    /// Settings of the template's own, such as `enable_thinking`.
    pub settings: Map<String, Value>,
}

/// A template that was read without an error.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    markers: Markers,
    has_tools: bool,
}

impl ChatTemplate {
    /// Reads a template and tries it; the error says what is wrong with it.
    pub fn parse(source: &str, markers: Markers) -> Result<ChatTemplate, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", json::write_json);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", format_today);
        let added = environment.add_template_owned(NAME, source.to_string());
        added.map_err(|error| describe(&error))?;
        let source = source.to_string();
        let mut template = ChatTemplate { environment, source, markers, has_tools: false };
        template.render(&probe(None))?;
        template.has_tools = template.shows_tools();
        Ok(template)
    }

    /// Says whether the template tells the model about tools.
    pub fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// Says whether the template's text has these words.
    pub fn mentions(&self, words: &str) -> bool {
        self.source.contains(words)
    }

    /// Renders the conversation up to where the answer begins. A template that refuses a system
    /// message gets it as the beginning of the first question.
    pub fn render(&self, conversation: &Conversation) -> Result<String, String> {
        let rendered = self.render_once(conversation);
        match merge_system(&conversation.messages).filter(|_| rendered.is_err()) {
            None => rendered,
            Some(messages) => {
                let merged = Conversation { messages, ..conversation.clone() };
                self.render_once(&merged).or(rendered)
            }
        }
    }

    fn render_once(&self, conversation: &Conversation) -> Result<String, String> {
        let mut given = Map::new();
        let messages = conversation.messages.iter().map(|it| self.disarm(it)).collect();
        given.insert("messages".into(), Value::Array(messages));
        given.insert("add_generation_prompt".into(), true.into());
        given.insert("bos_token".into(), self.markers.begin.clone().into());
        given.insert("eos_token".into(), self.markers.end.clone().into());
        if let Some(tools) = &conversation.tools {
            given.insert("tools".into(), tools.iter().map(|it| self.disarm(it)).collect());
        }
        for (name, value) in &conversation.settings {
            given.insert(name.clone(), self.disarm(value));
        }
        let template = self.environment.get_template(NAME).map_err(|error| describe(&error))?;
        template.render(json::to_item(&Value::Object(given))).map_err(|error| describe(&error))
    }

    /// Returns a value in which no text has a control token: a text cannot end its own role and
    /// begin another one, wherever it stands.
    fn disarm(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.disarm_text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.disarm(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(name, it)| (self.disarm_text(name), self.disarm(it))).collect()
            }
            other => other.clone(),
        }
    }

    fn disarm_text(&self, given: &str) -> String {
        let mut text = given.to_string();
        for control in self.markers.controls.iter().filter(|it| given.contains(it.as_str())) {
            let (first, rest) = control.split_at(control.ceil_char_boundary(1));
            text = text.replace(control, &format!("{first} {rest}"));
        }
        text
    }

    /// A template has tools if the name of one shows up in what it writes.
    fn shows_tools(&self) -> bool {
        let name = "probe_of_tools";
        let parameters = json!({ "type": "object", "properties": {} });
        let function = json!({ "name": name, "description": "", "parameters": parameters });
        let tool = json!({ "type": "function", "function": function });
        self.render(&probe(Some(vec![tool]))).is_ok_and(|text| text.contains(name))
    }
}

fn probe(tools: Option<Vec<Value>>) -> Conversation {
    let messages = vec![json!({ "role": "user", "content": "?" })];
    Conversation { messages, tools, settings: Map::new() }
}

/// Returns the messages with a leading system message moved into the first user message.
fn merge_system(messages: &[Value]) -> Option<Vec<Value>> {
    let (first, rest) = messages.split_first()?;
    if first["role"] != "system" {
        return None;
    }
    let mut rest = rest.to_vec();
    let user = rest.iter_mut().find(|message| message["role"] == "user")?;
    let (system, said) = (first["content"].as_str()?, user["content"].as_str()?);
    user["content"] = format!("{system}\n\n{said}").into();
    Some(rest)
}

fn raise_exception(message: String) -> Result<Item, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Some templates tell the model the day. Formats the parts of dates that they use.
fn format_today(format: String) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    json::format_day(since.unwrap_or_default().as_secs() / 86_400, &format)
}

fn describe(error: &Error) -> String {
    let line = error.line().map_or(String::new(), |line| format!(" in line {line}"));
    let detail = error.detail().unwrap_or("no details");
    format!("{}{line}: {detail}", error.kind())
}
