//! How each dialect asks for vectors and gives them. Pure.

use super::Embedded;
use crate::Endpoint;
use crate::dialect::gemini::resource;
use crate::dialect::{Request, parse};
use althing_chat::Usage;
use althing_stdx::{Fault, Kind, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// The wire of one dialect.
pub(super) struct Wire {
    dialect: &'static str,
    pub(super) write: fn(model: &str, inputs: &[String], dimensions: Option<u32>) -> Request,
    pub(super) read: fn(body: &[u8]) -> Result<Embedded>,
}

/// Every dialect that has vectors.
const WIRES: &[Wire] = &[
    Wire { dialect: "openai", write: write_openai, read: read_openai },
    Wire { dialect: "ollama", write: write_ollama, read: read_ollama },
    Wire { dialect: "gemini", write: write_gemini, read: read_gemini },
];

/// The wire to `endpoint`; a fault where its API has none.
pub(super) fn of(endpoint: &Endpoint) -> Result<&'static Wire> {
    let wire = WIRES.iter().find(|wire| wire.dialect == endpoint.provider.dialect.name);
    wire.ok_or_else(|| {
        let text = format!("model: {} has no embeddings; take another provider", endpoint.who());
        Fault::invalid(text)
    })
}

fn text(body: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(body)
}

fn request(path: String, body: Value) -> Request {
    Request { path, headers: vec![], body, ignored: vec![] }
}

fn usage(input: Option<u64>) -> Option<Usage> {
    // A vector has no tokens, so the answer's are known.
    input.map(|input| Usage { input: Some(input), output: Some(0), ..Usage::default() })
}

fn write_openai(model: &str, inputs: &[String], dimensions: Option<u32>) -> Request {
    let mut body = json!({ "model": model, "input": inputs, "encoding_format": "float" });
    if let Some(dimensions) = dimensions {
        body["dimensions"] = dimensions.into();
    }
    request("/embeddings".into(), body)
}

#[derive(Deserialize)]
struct OpenAi {
    data: Vec<Row>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
}

/// Servers that batch may give the rows in another order.
fn read_openai(body: &[u8]) -> Result<Embedded> {
    let mut answer: OpenAi = parse(&text(body))?;
    answer.data.sort_by_key(|row| row.index);
    let usage = usage(answer.usage.and_then(|tokens| tokens.prompt_tokens));
    Ok(Embedded { vectors: answer.data.into_iter().map(|row| row.embedding).collect(), usage })
}

fn write_ollama(model: &str, inputs: &[String], dimensions: Option<u32>) -> Request {
    let mut body = json!({ "model": model, "input": inputs });
    if let Some(dimensions) = dimensions {
        body["dimensions"] = dimensions.into();
    }
    request("/api/embed".into(), body)
}

#[derive(Deserialize)]
struct Ollama {
    embeddings: Vec<Vec<f32>>,
    prompt_eval_count: Option<u64>,
}

fn read_ollama(body: &[u8]) -> Result<Embedded> {
    let answer: Ollama = parse(&text(body))?;
    Ok(Embedded { vectors: answer.embeddings, usage: usage(answer.prompt_eval_count) })
}

fn write_gemini(model: &str, inputs: &[String], dimensions: Option<u32>) -> Request {
    let name = if model.contains('/') { model.to_string() } else { format!("models/{model}") };
    let requests = inputs.iter().map(|input| {
        let content = json!({ "parts": [{ "text": input }] });
        let mut request = json!({ "model": name, "content": content });
        if let Some(dimensions) = dimensions {
            request["outputDimensionality"] = dimensions.into();
        }
        request
    });
    let body = json!({ "requests": requests.collect::<Vec<_>>() });
    request(format!("/v1beta/{}:batchEmbedContents", resource(model)), body)
}

#[derive(Deserialize)]
struct Gemini {
    embeddings: Option<Vec<Values>>,
}

#[derive(Deserialize)]
struct Values {
    values: Vec<f32>,
}

/// Gemini counts no tokens here.
fn read_gemini(body: &[u8]) -> Result<Embedded> {
    let answer: Gemini = parse(&text(body))?;
    let no_vectors = || Fault::new(Kind::Upstream, "no embeddings in the provider's answer");
    let vectors = answer.embeddings.ok_or_else(no_vectors)?;
    Ok(Embedded { vectors: vectors.into_iter().map(|row| row.values).collect(), usage: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: &str, path: &str, body: Value, answer: &str, tokens: Option<u64>) {
        let wire = WIRES.iter().find(|wire| wire.dialect == dialect).unwrap();
        let inputs = ["a".to_string(), "b".to_string()];
        assert_eq!(
            (wire.write)("m/x y", &inputs, Some(2)),
            request(path.into(), body),
            "{dialect}"
        );
        let vectors = vec![vec![1.0, -2.5], vec![3.0, 4e-3]];
        assert_eq!((wire.read)(answer.as_bytes()), Ok(Embedded { vectors, usage: usage(tokens) }));
        for cut in 0..answer.len() {
            (wire.read)(&answer.as_bytes()[..cut]).unwrap_err();
        }
    }

    #[test]
    fn every_wire_there_and_back() {
        let openai = json!({
            "model": "m/x y", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2,
        });
        let answer = r#"{"object":"list","data":[{"index":1,"embedding":[3.0,0.004]},
            {"index":0,"embedding":[1,-2.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        check("openai", "/embeddings", openai, answer, Some(7));
        let ollama = json!({ "model": "m/x y", "input": ["a", "b"], "dimensions": 2 });
        let answer = r#"{"model":"m","embeddings":[[1,-2.5],[3,0.004]],"prompt_eval_count":7}"#;
        check("ollama", "/api/embed", ollama, answer, Some(7));
        let part = |text: &str| {
            let content = json!({ "parts": [{ "text": text }] });
            json!({ "model": "m/x y", "content": content, "outputDimensionality": 2 })
        };
        let gemini = json!({ "requests": [part("a"), part("b")] });
        let answer = r#"{"embeddings":[{"values":[1,-2.5]},{"values":[3,0.004]}]}"#;
        check("gemini", "/v1beta/m/x%20y:batchEmbedContents", gemini, answer, None);
    }
}
