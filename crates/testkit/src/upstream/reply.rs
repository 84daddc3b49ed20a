//! What the fake model says, before any dialect wraps it.

use super::{mishap::Mishap, options::Options, plan::Plan, seen::Seen};
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// A whole answer.
pub(super) struct Reply {
    pub(super) model: String,
    /// Makes ids of answers and calls differ.
    pub(super) nth: usize,
    pub(super) say: Say,
    /// Roughly: words.
    pub(super) input_tokens: usize,
    pub(super) output_tokens: usize,
    /// Of `input_tokens`: in the cache.
    pub(super) cached_tokens: usize,
}

pub(super) enum Say {
    Text(Text),
    Call {
        name: String,
        arguments: Value,
    },
    /// The model's own refusal, in words where the dialect has room for them.
    Refusal(Text),
    /// The provider's filter stood in between.
    Filtered,
}

/// A text and the number of deltas it comes in.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) chunks: usize,
}

/// Fragments the arguments of a call come in, where the dialect streams them.
const CALL_CHUNKS: usize = 3;
const REFUSAL: &str = "I'm sorry, but I can't help with that.";

impl Reply {
    pub(super) fn new(options: &Options, plan: &Plan, seen: &Seen) -> Reply {
        let say = match plan.mishap {
            Some(Mishap::Empty) => Say::Text(Text::new(String::new(), plan.chunks)),
            Some(Mishap::Refuse) => Say::Refusal(Text::new(REFUSAL.into(), plan.chunks)),
            Some(Mishap::Filter) => Say::Filtered,
            _ if !options.calls_tools => Say::Text(text(options, plan, seen)),
            _ => call(options, seen).unwrap_or_else(|| Say::Text(text(options, plan, seen))),
        };
        let output_tokens = match &say {
            Say::Text(it) | Say::Refusal(it) => it.text.split_whitespace().count(),
            Say::Call { arguments, .. } => 1 + arguments.as_object().map_or(0, Map::len),
            Say::Filtered => 0,
        };
        let input_tokens = seen.prompt().split_whitespace().count();
        let cached_tokens = options.cached_tokens.min(input_tokens);
        let (model, nth) = (seen.model.clone(), seen.nth);
        Reply { model, nth, say, input_tokens, output_tokens, cached_tokens }
    }
}

impl Text {
    pub(super) fn new(text: String, chunks: usize) -> Text {
        let chunks = chunks.min(text.chars().count());
        Text { text, chunks }
    }

    /// The arguments of a call as text in fragments.
    pub(super) fn arguments(arguments: &Value) -> Text {
        Text::new(arguments.to_string(), CALL_CHUNKS)
    }

    /// The pieces in order; together they are the text.
    pub(super) fn pieces(self) -> impl Iterator<Item = String> + Send {
        let Text { text, chunks } = self;
        (0..chunks)
            .map(move |at| text[bound(&text, at, chunks)..bound(&text, at + 1, chunks)].into())
    }

    /// The pieces, each in its place inside a rendered delta whose text is [`TEXT`]. Rendering the
    /// delta once keeps a stream of thousands cheap.
    pub(super) fn inside(self, delta: &str) -> impl Iterator<Item = String> + Send + use<> {
        let place = Value::from(TEXT).to_string();
        let (head, tail) = delta.split_once(&place).expect("the delta holds the mark");
        let (head, tail) = (head.to_owned(), tail.to_owned());
        self.pieces().map(move |piece| format!("{head}{}{tail}", Value::from(piece)))
    }
}

/// Stands for the text in a delta to be rendered.
pub(super) const TEXT: &str = "@text@";

/// Where piece `at` of `chunks` begins, on a character's boundary.
fn bound(text: &str, at: usize, chunks: usize) -> usize {
    let bound = text.len() * at / chunks;
    (0..=bound).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The hook's text, or one with every label a discussion's parser looks for, in at least as many
/// words as there are deltas.
fn text(options: &Options, plan: &Plan, seen: &Seen) -> Text {
    if let Some(text) = &options.text {
        return Text::new(text(seen), plan.chunks);
    }
    let (model, nth) = (&seen.model, seen.nth);
    let filler: String = (0..plan.chunks.saturating_sub(60)).map(filler_word).collect();
    let text = format!(
        "This is answer {nth} of {model}. It weighs both sides and takes a plain view. {filler}\n\n\
         POSITION: {model} is in favour, with care.\n\
         CONFIDENCE: HIGH 80\n\
         CONSENSUS: PARTIAL\n\
         SYNTHESIS: Start small, measure, and split what hurts.\n\
         DIFFERENCES: How soon to split.\n\
         AGREEMENTS: Start small.\n\
         DISAGREEMENTS: How soon to split.\n\
         MISSING: The size of the team.\n"
    );
    Text::new(text, plan.chunks)
}

/// A word of four letters and a blank. No two in a row are the same: nobody shall take it for a loop.
fn filler_word(number: usize) -> String {
    let letter = |place: u32| char::from(b'a' + (number / 26_usize.pow(place) % 26) as u8);
    (0..4).map(letter).chain([' ']).collect()
}

/// The hook's call, or that of the first tool unless the last message already brings a result.
fn call(options: &Options, seen: &Seen) -> Option<Say> {
    if let Some(call) = &options.call {
        return call(seen).map(|(name, arguments)| Say::Call { name, arguments });
    }
    let tool = &seen.body["tools"][0];
    // Anthropic has it bare, OpenAI and Ollama under `function`, Gemini in a list of its own.
    let places = [tool, &tool["function"], &tool["functionDeclarations"][0]];
    let tool = places.into_iter().find(|place| place["name"].is_string())?;
    if seen.results() > 0 && seen.is_result_last() {
        return None;
    }
    let schema = SCHEMAS.into_iter().find_map(|key| tool.get(key));
    let arguments = schema.map_or_else(|| json!({}), sample);
    Some(Say::Call { name: tool["name"].as_str()?.to_owned(), arguments })
}

/// Where the dialects have a tool's schema.
const SCHEMAS: [&str; 3] = ["parameters", "input_schema", "parametersJsonSchema"];

/// Something that fits a schema.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    // Gemini writes types in capitals.
    match schema["type"].as_str().unwrap_or("object").to_ascii_lowercase().as_str() {
        "string" => json!("sample"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([sample(&schema["items"])]),
        _ => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, schema)| (name.clone(), sample(schema))).collect()
        }
    }
}

/// One line of a body, or a whole one.
pub(super) fn bytes(text: impl Into<String>) -> Bytes {
    Bytes::from(text.into())
}
