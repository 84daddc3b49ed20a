//! Texts as vectors.

use super::body;
use super::dialect::openai;
use super::discussion;
use super::pass::{self, Unanswered, sample};
use super::reply::{Reply, json, name_target, refusal};
use super::router::Desk;
use super::shape::Shape;
use super::talk::{parse, passes, targets};
use crate::service::Service;
use althing_gateway::Target;
use althing_gateway::embed::{Embedded, Texts};
use althing_gateway::pass::Head;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Result};
use axum::extract::{Request, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json as value};

/// Texts in one request.
const INPUTS_MAX: usize = 2048;
/// Characters of a name that is repeated.
const SHOWN_CHARS_MAX: usize = 80;

/// What a client wants to have embedded.
#[derive(Debug, PartialEq)]
struct Wanted {
    texts: Texts,
    /// Vectors as base64 of little-endian floats, which the official SDKs ask for.
    packed: bool,
}

pub(super) async fn embed(State(desk): State<Desk>, request: Request) -> Reply {
    match answer(desk, request).await {
        Ok(reply) => reply,
        Err(fault) => refusal(Shape::OpenAi, &fault),
    }
}

async fn answer(desk: Desk, request: Request) -> Result<Reply> {
    let (parts, body) = request.into_parts();
    let body = body::read(body, &desk.limits).await?;
    let head = Head::scan(&body)?;
    if discussion::method(&head.model)?.is_some() {
        return Err(Fault::invalid("model: a discussion has no vectors"));
    }
    let targets = targets(&desk, &head.model).await?;
    if targets.is_empty() {
        let model = one_line(&head.model, SHOWN_CHARS_MAX);
        return Err(Fault::invalid(format!("model: '{model}' has no embeddings; take another")));
    }
    if passes(&openai::DIALECT, &targets) {
        return Ok(pass::embed(&desk.service, &parts, targets, body, head).await);
    }
    let wanted = read(&parse(&body)?)?;
    let (target, embedded) = embedded(&desk.service, &targets, &wanted.texts).await?;
    let mut reply = json(&write(&head.model, &embedded, wanted.packed));
    name_target(&mut reply, &target.id());
    Ok(reply)
}

/// The vectors of the first target that gives them, and which one that is.
async fn embedded(
    service: &Service,
    targets: &[Target],
    texts: &Texts,
) -> Result<(Target, Embedded)> {
    let unanswered = Unanswered::new(service, targets.first());
    let done = service.gateway.embed(targets, texts).await;
    unanswered.over();
    match done {
        Ok((target, embedded)) => {
            service.library.answered(&target.endpoint.id);
            service.metrics.record(sample(service, &target, false, embedded.usage));
            Ok((target, embedded))
        }
        Err(declined) => {
            if let Some(target) = declined.target.as_ref().or(targets.first()) {
                service.metrics.record(sample(service, target, true, None));
            }
            Err(declined.fault)
        }
    }
}

fn read(body: &Value) -> Result<Wanted> {
    let texts = || Fault::invalid("input: must be a text or a list of texts");
    let inputs = match &body["input"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_string).ok_or_else(texts))
            .collect::<Result<_>>()?,
        _ => return Err(texts()),
    };
    if inputs.is_empty() || inputs.len() > INPUTS_MAX {
        let count = inputs.len();
        return Err(Fault::invalid(format!("input: 1 to {INPUTS_MAX} texts, not {count}")));
    }
    let packed = match body["encoding_format"].as_str() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            let why = format!("encoding_format: float or base64, not '{other}'");
            return Err(Fault::invalid(why));
        }
    };
    let dimensions = match &body["dimensions"] {
        Value::Null => None,
        given => Some(
            given
                .as_u64()
                .and_then(|it| u32::try_from(it).ok())
                .ok_or_else(|| Fault::invalid("dimensions: must be a whole number"))?,
        ),
    };
    Ok(Wanted { texts: Texts { inputs, dimensions }, packed })
}

fn write(model: &str, embedded: &Embedded, packed: bool) -> Value {
    let vector = |vector: &[f32]| match packed {
        false => Value::from(vector.to_vec()),
        true => {
            let bytes: Vec<u8> = vector.iter().flat_map(|it| it.to_le_bytes()).collect();
            Value::from(STANDARD.encode(bytes))
        }
    };
    let row = |(index, it): (usize, &Vec<f32>)| value!({ "object": "embedding", "index": index, "embedding": vector(it) });
    let data: Vec<Value> = embedded.vectors.iter().enumerate().map(row).collect();
    let tokens = embedded.usage.and_then(|usage| usage.input).unwrap_or(0);
    value!({
        "object": "list",
        "data": data,
        "model": model,
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_nothing_else() {
        let wanted = read(&value!({ "input": "a", "dimensions": 3 })).unwrap();
        let texts = Texts { inputs: vec!["a".into()], dimensions: Some(3) };
        assert_eq!(wanted, Wanted { texts, packed: false });
        let wanted = read(&value!({ "input": ["a", "b"], "encoding_format": "base64" })).unwrap();
        assert!(wanted.packed && wanted.texts.inputs.len() == 2);
        for (body, field) in [
            (value!({}), "input"),
            (value!({ "input": [] }), "input"),
            (value!({ "input": [[1, 2]] }), "input"),
            (value!({ "input": "a", "encoding_format": "hex" }), "encoding_format"),
            (value!({ "input": "a", "dimensions": -1 }), "dimensions"),
        ] {
            let fault = read(&body).unwrap_err();
            assert!(fault.message.starts_with(&format!("{field}: ")), "{fault}");
        }
    }

    #[test]
    fn vectors_plain_and_packed() {
        let embedded = Embedded { vectors: vec![vec![1.0, -0.5]], usage: None };
        assert_eq!(write("m", &embedded, false)["data"][0]["embedding"], value!([1.0, -0.5]));
        let packed = write("m", &embedded, true)["data"][0]["embedding"].clone();
        assert_eq!(
            STANDARD.decode(packed.as_str().unwrap()).unwrap(),
            [0, 0, 128, 63, 0, 0, 0, 191]
        );
    }
}
