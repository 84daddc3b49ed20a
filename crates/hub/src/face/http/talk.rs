//! A request for words: passed on as it is where the model behind speaks the client's language,
//! translated where it does not, discussed where the model is an assembly.

use super::body;
use super::dialect::{Dialect, Head, Writer, anthropic};
use super::discussion;
use super::ignored::Ignored;
use super::pass;
use super::reply::{Reply, events, json, refusal};
use super::router::Desk;
use crate::lineup::in_field;
use crate::log::now_ms;
use crate::workers::split_tools;
use althing_chat::{Answer, Delta, Speaking, Usage};
use althing_gateway::{Target, WORKER, pass as through, split_effort};
use althing_stdx::{Fault, Kind, Result};
use axum::body::Body;
use axum::extract::{Request, State};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use serde_json::Value;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Headers in which clients name a conversation.
const SESSION_HEADERS: [&str; 2] = ["x-session-id", "session_id"];

/// What comes of a model or an assembly.
pub(super) enum Piece {
    Delta(Delta),
    /// For whoever watches; no part of the answer. It also keeps the connection alive.
    Comment(String),
}

/// What is said, as it is said. Dropping it ends the call.
pub(super) type Pieces = BoxStream<'static, Result<Piece>>;

/// Answers a request in `dialect`.
pub(super) async fn talk(
    desk: &Desk,
    dialect: &'static Dialect,
    request: hyper::Request<Incoming>,
) -> Reply {
    match answer(desk, dialect, request).await {
        Ok(reply) => reply,
        Err(fault) => refusal(dialect.shape, &fault),
    }
}

async fn answer(
    desk: &Desk,
    dialect: &'static Dialect,
    request: hyper::Request<Incoming>,
) -> Result<Reply> {
    let (parts, body) = request.into_parts();
    let body = body::read(body, &desk.limits).await?;
    let head = through::Head::scan(&body)?;
    if let Some(method) = discussion::method(&head.model)? {
        let wanted = (dialect.read)(&parse(&body)?)?;
        let ignored = Ignored::new(dialect, wanted.ignored).and(&wanted.ask.tuned());
        let writer = (dialect.writer)(new_head(head.model, wanted.echo));
        let pieces = discussion::hold(&desk.service, method, &wanted.ask, head.stream).await?;
        return reply(pieces, writer, head.stream, ignored).await;
    }
    let affinity = affinity(&parts.headers, &head);
    let targets = targets(desk, &head.model).await?;
    let is_passed = passes(dialect, &targets) && !split_tools(&head.model).1;
    if is_passed && !targets.iter().any(|it| desk.service.gateway.lacks(it, dialect.path)) {
        let (body, head) = (body.clone(), head.clone());
        let passed = pass::pass(&desk.service, dialect, &parts, targets, body, head, affinity);
        if let Some(reply) = passed.await {
            return Ok(reply);
        }
    }
    let wanted = (dialect.read)(&parse(&body)?)?;
    let ignored = Ignored::new(dialect, wanted.ignored);
    let voice = desk.service.tooled(&head.model, affinity).await?;
    let writer = (dialect.writer)(new_head(head.model, wanted.echo));
    reply(spoken(voice.speak(wanted.ask)), writer, head.stream, ignored).await
}

/// What keeps a conversation where its prompt is cached: the name in a header, else what the body
/// tells.
fn affinity(headers: &HeaderMap, head: &through::Head) -> Option<u64> {
    let Some(id) = SESSION_HEADERS.iter().find_map(|name| headers.get(*name)) else {
        return head.conversation;
    };
    let mut hasher = DefaultHasher::new();
    id.as_bytes().hash(&mut hasher);
    Some(hasher.finish())
}

/// What a name means: from memory, and only where nobody knows it from the store and the providers.
pub(super) async fn targets(desk: &Desk, model: &str) -> Result<Vec<Target>> {
    let found = match desk.service.targets(model) {
        Err(fault) if fault.kind == Kind::UnknownModel => desk.service.find_targets(model).await,
        found => found,
    };
    found.map_err(in_field("model"))
}

/// Whether every target takes the body as it is; one that does not would be left out otherwise.
/// An effort behind the name has to be put into the request.
pub(super) fn passes(dialect: &Dialect, targets: &[Target]) -> bool {
    let takes = |target: &Target| {
        let provider = target.endpoint.provider;
        let has_effort = split_effort(&target.model).1.is_some();
        (dialect.passes)(provider) && provider.name != WORKER.name && !has_effort
    };
    !targets.is_empty() && targets.iter().all(takes)
}

pub(super) fn parse(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|e| Fault::invalid(format!("the body is no JSON: {e}")))
}

fn new_head(model: String, echo: super::dialect::Echo) -> Head {
    let id = format!("{:032x}", fastrand::u128(..));
    Head { id, model, created: now_ms() / 1000, echo }
}

fn spoken(speaking: Speaking) -> Pieces {
    let piece = |delta| match delta {
        Delta::Calling(call) => Piece::Comment(format!("calls {}", call.name)),
        delta => Piece::Delta(delta),
    };
    speaking.map(move |delta| delta.map(piece)).boxed()
}

/// The whole answer, or the beginning of a stream. Until something real comes an error still has a
/// status of its own.
pub(super) async fn reply(
    mut pieces: Pieces,
    writer: Box<dyn Writer>,
    streams: bool,
    mut ignored: Ignored,
) -> Result<Reply> {
    if !streams {
        let answer = collect(pieces, &mut ignored).await?;
        return Ok(ignored.tell(json(&writer.whole(&answer))));
    }
    let mut held = Vec::new();
    loop {
        let piece = pieces.next().await.unwrap_or_else(|| Err(broken()))?;
        ignored.see(&piece);
        let is_real = is_real(&piece);
        held.push(Ok(piece));
        if is_real {
            break;
        }
    }
    let pieces = stream::iter(held).chain(pieces);
    Ok(ignored.tell(events(Body::from_stream(written(pieces, writer)))))
}

/// The whole answer.
async fn collect(mut pieces: Pieces, ignored: &mut Ignored) -> Result<Answer> {
    let mut answer = Answer::default();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        ignored.see(&piece);
        if let Piece::Delta(delta) = piece {
            answer.add(delta);
        }
    }
    if answer.stop.is_none() { Err(broken()) } else { Ok(answer) }
}

fn is_real(piece: &Piece) -> bool {
    let Piece::Delta(delta) = piece else { return true };
    !matches!(
        delta,
        Delta::Queued | Delta::Started | Delta::Retrying(_) | Delta::Usage(_) | Delta::Ignored(_)
    )
}

fn broken() -> Fault {
    Fault::new(Kind::Network, "the answer broke off")
}

/// The bytes of a stream, one chunk per piece.
fn written(
    pieces: impl Stream<Item = Result<Piece>> + Send + 'static,
    writer: Box<dyn Writer>,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let state = Some((Box::pin(pieces), writer));
    stream::unfold(state, |state| async {
        let (mut pieces, mut writer) = state?;
        let mut out = String::new();
        while out.is_empty() {
            match pieces.next().await {
                Some(Ok(Piece::Comment(text))) => comment(&mut out, &text),
                Some(Ok(Piece::Delta(delta))) => {
                    let is_last = matches!(delta, Delta::Stop(_));
                    writer.delta(delta, &mut out);
                    if is_last {
                        return Some((Ok(out.into()), None));
                    }
                }
                Some(Err(fault)) => {
                    writer.fault(&fault, &mut out);
                    return Some((Ok(out.into()), None));
                }
                None => {
                    writer.fault(&broken(), &mut out);
                    return Some((Ok(out.into()), None));
                }
            }
        }
        Some((Ok(out.into()), Some((pieces, writer))))
    })
}

/// A line that clients skip. Line ends in it would make it something else.
fn comment(out: &mut String, text: &str) {
    out.push_str(": ");
    out.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
    out.push_str("\n\n");
}

/// How long a prompt is: counted by Anthropic where the model is theirs, guessed where nobody
/// counts. A header tells the two apart.
pub(super) async fn count_tokens(State(desk): State<Desk>, request: Request) -> Reply {
    match count(desk, request).await {
        Ok(reply) => reply,
        Err(fault) => refusal(anthropic::DIALECT.shape, &fault),
    }
}

async fn count(desk: Desk, request: Request) -> Result<Reply> {
    let (parts, body) = request.into_parts();
    let body = body::read(body, &desk.limits).await?;
    let head = through::Head::scan(&body)?;
    if discussion::method(&head.model)?.is_none() {
        let targets = targets(&desk, &head.model).await?;
        if passes(&anthropic::DIALECT, &targets) {
            let service = &desk.service;
            return Ok(pass::count(service, &parts, targets, body, head).await);
        }
    }
    let ask = (anthropic::DIALECT.read)(&parse(&body)?)?.ask;
    let tools: usize = ask.tools.iter().map(|it| it.parameters.to_string().len()).sum();
    let tokens = Usage::guess(ask.chars() + tools, None).input.unwrap_or(0);
    let mut reply = json(&serde_json::json!({ "input_tokens": tokens }));
    let mark = hyper::header::HeaderValue::from_static("estimate");
    reply.headers_mut().insert("x-althing-tokens", mark);
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_a_header_wins() {
        let of = |headers: &[(&'static str, &'static str)], body: &str| {
            let headers = headers.iter().map(|(name, value)| {
                (hyper::header::HeaderName::from_static(name), value.parse().unwrap())
            });
            affinity(&headers.collect(), &through::Head::scan(body.as_bytes()).unwrap())
        };
        let (named, plain) = (r#"{"model":"m","user":"u"}"#, r#"{"model":"m"}"#);
        let header = [("x-session-id", "s")];
        assert_eq!(of(&header, named), of(&header, plain));
        assert_eq!(of(&[("session_id", "s")], plain), of(&header, plain));
        assert!(of(&[], named).is_some() && of(&[], named) != of(&header, named));
        assert_eq!(of(&[], plain), None);
    }
}
