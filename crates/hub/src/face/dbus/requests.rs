//! The requests, once each: fields read, the service's function called, the answer written. Both
//! forms of the face come here.

use super::fields::{Dict, Fields, Malformed, Sent, Word};
use super::refusal::Trouble;
use super::words::{all, put};
use crate::service::Service;
use crate::service::streams::CHUNKS_MAX;
use crate::service::words::{
    AddApiKey, AddLocal, AddOAuth, Added, Caller, CompleteRequest, Received,
};
use althing_chat::Message;
use althing_stdx::redact::Secret;
use std::sync::Arc;
use std::time::Duration;

/// A request as it came.
pub(super) struct Asked {
    pub service: Arc<Service>,
    pub caller: Caller,
    pub fields: Dict,
}

type Outcome = Result<Sent, Trouble>;

impl Asked {
    fn read(&self) -> Fields<'_> {
        Fields::of(&self.fields)
    }
}

pub(super) async fn add_api_key_provider(asked: Asked) -> Outcome {
    let fields = asked.read();
    let wanted = AddApiKey {
        name: fields.required("name")?,
        provider_type: fields.required("provider_type")?,
        api_key: fields.text("api_key")?.map(Secret::new),
        base_url: fields.text("base_url")?,
    };
    Ok(added(asked.service.add_api_key(wanted).await?))
}

pub(super) async fn add_oauth_provider(asked: Asked) -> Outcome {
    let fields = asked.read();
    let (name, provider_type) = (fields.required("name")?, fields.required("provider_type")?);
    let wanted = AddOAuth { name, provider_type };
    let (it, challenge) = asked.service.add_oauth(&asked.caller, wanted).await?;
    let mut sent = added(it);
    sent.insert("challenge", challenge.write().into());
    Ok(sent)
}

/// `timeout_ms` is not in the protocol: a program that draws something meanwhile asks often and
/// waits briefly.
pub(super) async fn complete_oauth(asked: Asked) -> Outcome {
    let fields = asked.read();
    let id: String = fields.required("provider_id")?;
    let wait = at_least(&fields, "timeout_ms", 0)?.map(|ms| ms.unsigned_abs().into());
    let wait = wait.map_or(Duration::MAX, Duration::from_millis);
    let credentials = asked.service.complete_oauth_within(&asked.caller, &id, wait).await?;
    let mut sent = Sent::new();
    put(&mut sent, "credentials", credentials.map(Word::write));
    Ok(sent)
}

pub(super) async fn add_local_provider(asked: Asked) -> Outcome {
    let fields = asked.read();
    let (name, model_path) = (fields.required("name")?, fields.required("model_path")?);
    Ok(added(asked.service.add_local(AddLocal { name, model_path }).await?))
}

pub(super) async fn list_providers(asked: Asked) -> Outcome {
    list("providers", asked.service.list_providers().await)
}

pub(super) async fn delete_provider(asked: Asked) -> Outcome {
    let id: String = asked.read().required("provider_id")?;
    asked.service.delete_provider(&id).await?;
    Ok(Sent::new())
}

pub(super) async fn test_provider(asked: Asked) -> Outcome {
    let id: String = asked.read().required("provider_id")?;
    Ok(Sent::from([("message", asked.service.test_provider(&id).await?.into())]))
}

pub(super) async fn get_models(asked: Asked) -> Outcome {
    let id = asked.read().text("provider_id")?;
    list("models", asked.service.models(id.as_deref()).await)
}

pub(super) async fn set_model_enabled(asked: Asked) -> Outcome {
    let fields = asked.read();
    let provider: String = fields.required("provider_id")?;
    let model: String = fields.required("model_id")?;
    let enabled = fields.required("enabled")?;
    asked.service.set_model_enabled(&provider, &model, enabled).await?;
    Ok(Sent::new())
}

pub(super) async fn set_route_rules(asked: Asked) -> Outcome {
    let fields = asked.read();
    let alias: String = fields.required("alias")?;
    asked.service.set_route(&alias, fields.repeated("targets")?).await?;
    Ok(Sent::new())
}

pub(super) async fn get_route_rules(asked: Asked) -> Outcome {
    let alias: String = asked.read().required("alias")?;
    list("targets", asked.service.route(&alias).await)
}

pub(super) async fn complete(asked: Asked) -> Outcome {
    let fields = asked.read();
    let request = CompleteRequest {
        model_id: fields.required("model_id")?,
        messages: fields.repeated("messages")?,
        tools: fields.repeated("tools")?,
        max_tokens: at_least(&fields, "max_tokens", 1)?.map(i32::unsigned_abs),
        temperature: fields.optional::<f64>("temperature")?.map(|it| it as f32),
    };
    let completion = asked.service.complete(&asked.caller, request).await?;
    let mut sent = Sent::from([
        ("completion", completion.message.write().into()),
        ("answered_by", completion.answered_by.into()),
    ]);
    put(&mut sent, "usage", completion.usage.map(Word::write));
    put(&mut sent, "reasoning", Some(completion.reasoning).filter(|text| !text.is_empty()));
    Ok(sent)
}

pub(super) async fn create_stream(asked: Asked) -> Outcome {
    let model: String = asked.read().required("model_id")?;
    let id = asked.service.create_stream(&asked.caller, &model).await?;
    Ok(Sent::from([("stream_id", id.into())]))
}

pub(super) async fn send_message(asked: Asked) -> Outcome {
    let fields = asked.read();
    let stream: String = fields.required("stream_id")?;
    let (message, tools) = (fields.required("message")?, fields.repeated("tools")?);
    asked.service.send_message(&asked.caller, &stream, message, tools).await?;
    Ok(Sent::new())
}

pub(super) async fn receive_stream(asked: Asked) -> Outcome {
    let fields = asked.read();
    let stream: String = fields.required("stream_id")?;
    let wait = at_least(&fields, "timeout_ms", 0)?.map(|ms| ms.unsigned_abs().into());
    let wait = wait.map(Duration::from_millis);
    let max = at_least(&fields, "max_chunks", 1)?.unwrap_or(1).unsigned_abs() as usize;
    let max = max.min(CHUNKS_MAX);
    let got = asked.service.receive_stream(&asked.caller, &stream, wait, max).await?;
    Ok(received(got, max > 1))
}

pub(super) async fn close_stream(asked: Asked) -> Outcome {
    let stream: String = asked.read().required("stream_id")?;
    asked.service.close_stream(&asked.caller, &stream).await?;
    Ok(Sent::new())
}

pub(super) async fn get_metrics_snapshot(asked: Asked) -> Outcome {
    Ok(Sent::from([("snapshot", asked.service.metrics.snapshot().await?.write().into())]))
}

pub(super) async fn get_metrics_range(asked: Asked) -> Outcome {
    let fields = asked.read();
    let (start, end) = (fields.required("start_ms")?, fields.required("end_ms")?);
    list("snapshots", asked.service.metrics.range(start, end).await)
}

pub(super) async fn list_connections(asked: Asked) -> Outcome {
    list("connections", Ok(asked.service.connections.list()))
}

pub(super) async fn close_connection(asked: Asked) -> Outcome {
    let id: String = asked.read().required("connection_id")?;
    asked.service.connections.close(&id)?;
    Ok(Sent::new())
}

/// A response with a repeated field, which is there whatever came of the request.
fn list<T: Word>(field: &'static str, found: althing_stdx::Result<Vec<T>>) -> Outcome {
    match found {
        Ok(found) => Ok(Sent::from([(field, all(found))])),
        Err(fault) => Err(Trouble::FailedList(field, fault)),
    }
}

/// An optional number with a lower bound.
fn at_least(fields: &Fields<'_>, name: &str, min: i32) -> Result<Option<i32>, Malformed> {
    match fields.optional(name)? {
        Some(number) if number < min => {
            Err(fields.wrong(name, &format!("{min} or more, not {number}")))
        }
        number => Ok(number),
    }
}

fn added(it: Added) -> Sent {
    let mut sent = Sent::from([("provider_id", it.provider_id.into())]);
    put(&mut sent, "message", it.note);
    sent
}

/// `chunk` has the whole text and `chunks` its pieces: whichever a client reads, nothing is lost.
fn received(got: Received, many: bool) -> Sent {
    let mut sent = Sent::new();
    if !got.chunks.is_empty() {
        sent.insert("chunk", Message::assistant(got.chunks.concat()).write().into());
    }
    if many {
        sent.insert("chunks", all(got.chunks.into_iter().map(Message::assistant).collect()));
    }
    put(&mut sent, "tool_call", got.tool_call.map(Word::write));
    put(&mut sent, "reasoning", Some(got.reasoning).filter(|text| !text.is_empty()));
    put(&mut sent, "done", got.done.then_some(true));
    put(&mut sent, "answered_by", got.answered_by);
    put(&mut sent, "usage", got.usage.map(Word::write));
    sent
}
