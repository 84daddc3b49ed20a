//! A request as the upstream saw it.

use super::{
    dialect::Dialect,
    login::{self, Step},
    windows::Question,
};
use hyper::{HeaderMap, Method, http::request::Parts};
use serde_json::Value;

/// One request, and how it went on.
#[derive(Debug, Clone)]
pub struct Seen {
    pub route: Route,
    /// Path and query.
    pub path: String,
    /// Empty where none was named; a step of a login has a name of its own.
    pub model: String,
    /// Whether the client asked for a stream.
    pub stream: bool,
    /// `Null` where there was none or it was no JSON.
    pub body: Value,
    /// Names are lower-case.
    pub headers: HeaderMap,
    /// Which connection it came on, from 1.
    pub connection: usize,
    /// Which request for this model it is, from 1.
    pub nth: usize,
    pub state: State,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Chat(Dialect),
    List(Dialect),
    /// Vectors.
    Embed(Dialect),
    /// Anthropic's count of a prompt's tokens.
    Count,
    /// Ollama's version.
    Version,
    /// How many tokens models take.
    Window(Question),
    /// A step of a login.
    Login(Step),
    Unknown,
}

/// How far the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Still being answered.
    Open,
    /// The upstream did all it meant to do; a mishap counts as that.
    Answered,
    /// The client went away before that.
    Aborted,
}

impl Seen {
    pub(super) fn new(head: Parts, body: &[u8], connection: usize) -> Seen {
        let route = route(&head.method, head.uri.path(), &head.headers);
        let path = head.uri.to_string();
        let body: Value = match route {
            Route::Login(_) => login::form(body),
            _ => serde_json::from_slice(body).unwrap_or_default(),
        };
        let (model, stream) = match route {
            Route::Chat(Dialect::Gemini) => gemini_target(head.uri.path()),
            // Ollama streams unless told not to, the others only if told to.
            Route::Chat(_) | Route::Embed(_) | Route::Count => {
                let unsaid = route == Route::Chat(Dialect::Ollama);
                let stream = body["stream"].as_bool().unwrap_or(unsaid);
                (body["model"].as_str().unwrap_or_default().to_owned(), stream)
            }
            Route::Login(step) => (step.name(&body), false),
            _ => (String::new(), false),
        };
        let headers = head.headers;
        Seen { route, path, model, stream, body, headers, connection, nth: 0, state: State::Open }
    }

    /// Whether it is a request to a model.
    pub(super) fn asks(&self) -> bool {
        matches!(self.route, Route::Chat(_) | Route::Embed(_) | Route::Count)
    }

    /// Whether the client went away before the end.
    pub fn aborted(&self) -> bool {
        self.state == State::Aborted
    }

    /// A header's value by its lower-case name; empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Messages that bring results of calls, in whichever dialect.
    pub fn results(&self) -> usize {
        self.messages().filter(|message| brings_result(message)).count()
    }

    pub(super) fn is_result_last(&self) -> bool {
        self.messages().last().is_some_and(brings_result)
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        let keys = ["messages", "contents", "input"];
        let lists = keys.into_iter().filter_map(|key| self.body[key].as_array());
        lists.flatten()
    }

    /// All text of the prompt, in whichever dialect: messages in order, one per line.
    pub fn prompt(&self) -> String {
        let mut texts = Vec::new();
        for key in PROMPT_KEYS {
            collect(&self.body[key], &mut texts);
        }
        texts.join("\n")
    }
}

fn brings_result(message: &Value) -> bool {
    let part = |key: &str| message[key].as_array().into_iter().flatten();
    message["role"] == "tool"
        || message["type"] == "function_call_output"
        || part("content").any(|part| part["type"] == "tool_result")
        || part("parts").any(|part| part.get("functionResponse").is_some())
}

/// Where messages lie inside a request of any dialect.
const PROMPT_KEYS: [&str; 8] = [
    "prompt",
    "system",
    "systemInstruction",
    "system_instruction",
    "instructions",
    "messages",
    "contents",
    "input",
];
/// Where texts lie inside a message of any dialect, outermost first.
const TEXT_KEYS: [&str; 3] = ["content", "parts", "text"];

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => {
            TEXT_KEYS.iter().filter_map(|key| fields.get(*key)).for_each(|it| collect(it, texts));
        }
        _ => {}
    }
}

fn route(method: &Method, path: &str, headers: &HeaderMap) -> Route {
    let post = method == Method::POST;
    let get = method == Method::GET;
    let gemini = path.starts_with("/v1beta/") && !path.starts_with("/v1beta/openai/");
    if let Some(step) = Step::of(method, path) {
        return Route::Login(step);
    }
    if let Some(question) = Question::of(post, path).filter(|_| post || get) {
        return Route::Window(question);
    }
    match path {
        _ if post && path.ends_with("/chat/completions") => Route::Chat(Dialect::OpenAi),
        _ if post && path.ends_with("/responses") => Route::Chat(Dialect::Responses),
        _ if post && path.ends_with("/completions") => Route::Chat(Dialect::Completions),
        _ if post && path.ends_with("/messages") => Route::Chat(Dialect::Anthropic),
        _ if post && path.ends_with("/embeddings") => Route::Embed(Dialect::OpenAi),
        _ if post && path.ends_with("/messages/count_tokens") => Route::Count,
        _ if post && gemini && path.ends_with("enerateContent") => Route::Chat(Dialect::Gemini),
        "/api/chat" if post => Route::Chat(Dialect::Ollama),
        "/api/embed" if post => Route::Embed(Dialect::Ollama),
        "/api/tags" if get => Route::List(Dialect::Ollama),
        "/api/version" if get => Route::Version,
        _ if get && gemini && path.ends_with("/models") => Route::List(Dialect::Gemini),
        _ if get && path.ends_with("/models") => match headers.contains_key("anthropic-version") {
            true => Route::List(Dialect::Anthropic),
            false => Route::List(Dialect::OpenAi),
        },
        _ => Route::Unknown,
    }
}

/// `/v1beta/models/M:streamGenerateContent` names the model and whether to stream.
fn gemini_target(path: &str) -> (String, bool) {
    let target = path.trim_start_matches("/v1beta/").trim_start_matches("models/");
    let (model, verb) = target.rsplit_once(':').unwrap_or((target, ""));
    (model.to_owned(), verb == "streamGenerateContent")
}
