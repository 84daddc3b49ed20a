//! A client of a running service: the service's own functions, over the bus.

use super::fields::{Dict, Field, Fields, Malformed, Sent, Word};
use super::outgoing::Outgoing;
use super::refusal::PREFIX;
use super::words::{all, put};
use super::{BUS_NAME, BusAddress, MESSAGES_INTERFACE, OBJECT_PATH, well_known};
use crate::service::words::{
    AddApiKey, AddLocal, AddOAuth, Added, Challenge, CompleteRequest, Completion, ConnectionInfo,
    Credentials, ModelInfo, ProviderInfo, Received, RouteTarget, Snapshot, TargetState,
};
use althing_chat::{Message, Tool};
use althing_stdx::fault::CODES;
use althing_stdx::{Fault, Kind, Result};
use std::time::Duration;
use zbus::fdo::DBusProxy;
use zbus::names::OwnedUniqueName;
use zbus::{Connection, DynamicType, Type};

/// A service that is running. Clones are the same client to it.
#[derive(Debug, Clone)]
pub struct Client {
    bus: Connection,
    /// The process that had the name when we came: a call never starts another.
    service: OwnedUniqueName,
}

impl Client {
    /// None where there is no bus or no service on it; starts none.
    pub async fn connect(address: &BusAddress) -> Result<Option<Client>> {
        let Ok(bus) = address.connect().await else { return Ok(None) };
        Client::on(bus).await
    }

    /// Starts the service where the bus knows how to; none where it does not.
    pub async fn activate(address: &BusAddress) -> Result<Option<Client>> {
        let Ok(bus) = address.connect().await else { return Ok(None) };
        let daemon = DBusProxy::new(&bus).await.map_err(lost)?;
        let name = well_known();
        match daemon.start_service_by_name(name, 0).await {
            Err(zbus::fdo::Error::ServiceUnknown(_)) => Ok(None),
            Err(error) => Err(Fault::new(Kind::Network, format!("{BUS_NAME}: {error}"))),
            Ok(_) => Client::on(bus).await,
        }
    }

    async fn on(bus: Connection) -> Result<Option<Client>> {
        let daemon = DBusProxy::new(&bus).await.map_err(lost)?;
        match daemon.get_name_owner(well_known().into()).await {
            Ok(service) => Ok(Some(Client { bus, service })),
            Err(zbus::fdo::Error::NameHasNoOwner(_)) => Ok(None),
            Err(error) => Err(Fault::new(Kind::Network, format!("the session bus: {error}"))),
        }
    }

    pub async fn add_api_key(&self, wanted: AddApiKey) -> Result<Added> {
        let mut sent = Sent::from([
            ("name", wanted.name.into()),
            ("provider_type", wanted.provider_type.into()),
        ]);
        put(&mut sent, "api_key", wanted.api_key.map(|key| key.expose().to_owned()));
        put(&mut sent, "base_url", wanted.base_url);
        self.ask("AddApiKeyProvider", sent).await?.added()
    }

    pub async fn add_oauth(&self, wanted: AddOAuth) -> Result<(Added, Challenge)> {
        let sent = Sent::from([
            ("name", wanted.name.into()),
            ("provider_type", wanted.provider_type.into()),
        ]);
        let answer = self.ask("AddOAuthProvider", sent).await?;
        Ok((answer.added()?, answer.required("challenge")?))
    }

    pub async fn complete_oauth(&self, provider_id: &str) -> Result<Option<Credentials>> {
        self.ask("CompleteOAuth", one("provider_id", provider_id)).await?.optional("credentials")
    }

    pub async fn add_local(&self, wanted: AddLocal) -> Result<Added> {
        let sent =
            Sent::from([("name", wanted.name.into()), ("model_path", wanted.model_path.into())]);
        self.ask("AddLocalProvider", sent).await?.added()
    }

    pub async fn list_providers(&self) -> Result<Vec<ProviderInfo>> {
        self.ask("ListProviders", Sent::new()).await?.repeated("providers")
    }

    pub async fn delete_provider(&self, provider_id: &str) -> Result<()> {
        self.ask("DeleteProvider", one("provider_id", provider_id)).await.map(drop)
    }

    /// What the provider says of itself, or why it does not.
    pub async fn test_provider(&self, provider_id: &str) -> Result<String> {
        let called = self.call(PROVIDERS_INTERFACE, "TestProvider", &(provider_id,)).await?;
        Answer::of(body(&called)?)?.required("message")
    }

    pub async fn models(&self, provider_id: Option<&str>) -> Result<Vec<ModelInfo>> {
        let mut sent = Sent::new();
        put(&mut sent, "provider_id", provider_id.map(str::to_owned));
        self.ask("GetModels", sent).await?.repeated("models")
    }

    pub async fn set_model_enabled(
        &self,
        provider_id: &str,
        model_id: &str,
        enabled: bool,
    ) -> Result<()> {
        let mut sent = one("provider_id", provider_id);
        sent.insert("model_id", model_id.to_owned().into());
        sent.insert("enabled", enabled.into());
        self.ask("SetModelEnabled", sent).await.map(drop)
    }

    pub async fn set_route(&self, alias: &str, targets: Vec<RouteTarget>) -> Result<()> {
        let mut sent = one("alias", alias);
        sent.insert("targets", all(targets));
        self.ask("SetRouteRules", sent).await.map(drop)
    }

    pub async fn route(&self, alias: &str) -> Result<Vec<TargetState>> {
        self.ask("GetRouteRules", one("alias", alias)).await?.repeated("targets")
    }

    pub async fn aliases(&self) -> Result<Vec<String>> {
        body(&self.call(ROUTING_INTERFACE, "ListAliases", &()).await?)
    }

    pub async fn complete(&self, request: CompleteRequest) -> Result<Completion> {
        let mut sent = one("model_id", &request.model_id);
        sent.insert("messages", all(request.messages));
        sent.insert("tools", all(request.tools));
        put(&mut sent, "max_tokens", request.max_tokens);
        put(&mut sent, "temperature", request.temperature.map(f64::from));
        let answer = self.ask("Complete", sent).await?;
        Ok(Completion {
            message: answer.required("completion")?,
            reasoning: answer.optional("reasoning")?.unwrap_or_default(),
            usage: answer.optional("usage")?,
            answered_by: answer.required("answered_by")?,
        })
    }

    pub async fn create_stream(&self, model_id: &str) -> Result<String> {
        self.ask("CreateStream", one("model_id", model_id)).await?.required("stream_id")
    }

    pub async fn send_message(
        &self,
        stream_id: &str,
        message: Message,
        tools: Vec<Tool>,
    ) -> Result<()> {
        let mut sent = one("stream_id", stream_id);
        sent.insert("message", message.write().into());
        sent.insert("tools", all(tools));
        self.ask("SendMessage", sent).await.map(drop)
    }

    pub async fn receive_stream(
        &self,
        stream_id: &str,
        wait: Option<Duration>,
        max_chunks: usize,
    ) -> Result<Received> {
        let mut sent = one("stream_id", stream_id);
        let whole = |number: u128| i32::try_from(number).unwrap_or(i32::MAX);
        put(&mut sent, "timeout_ms", wait.map(|wait| whole(wait.as_millis())));
        // Asked for more than one, the service sends them one by one.
        sent.insert("max_chunks", whole(max_chunks as u128).into());
        let answer = self.ask("ReceiveStream", sent).await?;
        let mut chunks: Vec<Message> = answer.repeated("chunks")?;
        if chunks.is_empty() {
            chunks.extend(answer.optional("chunk")?);
        }
        Ok(Received {
            reasoning: answer.optional("reasoning")?.unwrap_or_default(),
            chunks: chunks.into_iter().map(|chunk| chunk.text).collect(),
            tool_call: answer.optional("tool_call")?,
            done: answer.optional("done")?.unwrap_or_default(),
            usage: answer.optional("usage")?,
            answered_by: answer.optional("answered_by")?,
        })
    }

    pub async fn close_stream(&self, stream_id: &str) -> Result<()> {
        self.ask("CloseStream", one("stream_id", stream_id)).await.map(drop)
    }

    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.ask("GetMetricsSnapshot", Sent::new()).await?.required("snapshot")
    }

    pub async fn range(&self, start_ms: i64, end_ms: i64) -> Result<Vec<Snapshot>> {
        let sent = Sent::from([("start_ms", start_ms.into()), ("end_ms", end_ms.into())]);
        self.ask("GetMetricsRange", sent).await?.repeated("snapshots")
    }

    pub async fn connections(&self) -> Result<Vec<ConnectionInfo>> {
        self.ask("ListConnections", Sent::new()).await?.repeated("connections")
    }

    pub async fn close_connection(&self, connection_id: &str) -> Result<()> {
        self.ask("CloseConnection", one("connection_id", connection_id)).await.map(drop)
    }

    async fn ask(&self, request: &str, fields: Sent) -> Result<Answer> {
        Answer::of(body(&self.call(MESSAGES_INTERFACE, request, &(fields.carried(),)).await?)?)
    }

    async fn call<B>(&self, interface: &str, method: &str, body: &B) -> Result<zbus::Message>
    where
        B: serde::Serialize + DynamicType,
    {
        let service = Some(self.service.as_str());
        let called = self.bus.call_method(service, OBJECT_PATH, Some(interface), method, body);
        called.await.map_err(refused)
    }
}

/// The interfaces of what the protocol's text does not have.
const PROVIDERS_INTERFACE: &str = "org.althing.Capability1.Providers";
const ROUTING_INTERFACE: &str = "org.althing.Capability1.Routing";

/// An answer with `success=true`.
struct Answer(Dict);

impl Answer {
    fn of(dict: Dict) -> Result<Answer> {
        let fields = Fields::of(&dict);
        if fields.required("success").map_err(odd)? {
            return Ok(Answer(dict));
        }
        let code: Option<String> = fields.optional("error_code").map_err(odd)?;
        let kind = CODES.iter().find(|row| Some(row.name) == code.as_deref());
        let message: Option<String> = fields.optional("message").map_err(odd)?;
        let wait: Option<i64> = fields.optional("retry_after_ms").map_err(odd)?;
        let wait = wait.and_then(|ms| ms.try_into().ok()).map(Duration::from_millis);
        let kind = kind.map_or(Kind::Internal, |row| row.kind);
        Err(Fault::new(kind, message.unwrap_or_else(|| kind.to_string())).retry_after(wait))
    }

    fn required<T: Field>(&self, name: &str) -> Result<T> {
        Fields::of(&self.0).required(name).map_err(odd)
    }

    fn optional<T: Field>(&self, name: &str) -> Result<Option<T>> {
        Fields::of(&self.0).optional(name).map_err(odd)
    }

    fn repeated<T: Field>(&self, name: &str) -> Result<Vec<T>> {
        Fields::of(&self.0).repeated(name).map_err(odd)
    }

    fn added(&self) -> Result<Added> {
        Ok(Added { provider_id: self.required("provider_id")?, note: self.optional("message")? })
    }
}

fn one(name: &'static str, value: &str) -> Sent {
    Sent::from([(name, value.to_owned().into())])
}

fn body<T: serde::de::DeserializeOwned + Type>(message: &zbus::Message) -> Result<T> {
    message.body().deserialize().map_err(|error| odd(Malformed(error.to_string())))
}

/// An answer that is none of ours.
fn odd(malformed: Malformed) -> Fault {
    Fault::internal(format!("the service answers strangely: {}", malformed.0))
}

fn lost(error: zbus::Error) -> Fault {
    Fault::new(Kind::Network, format!("the session bus: {error}"))
}

/// A D-Bus error as the fault it was.
fn refused(error: zbus::Error) -> Fault {
    let zbus::Error::MethodError(name, message, _) = &error else { return lost(error) };
    let last = name.as_str().strip_prefix(PREFIX).unwrap_or_default();
    let kind = match last {
        "LimitsExceeded" => Kind::Busy,
        "AccessDenied" => Kind::Cancelled,
        _ => CODES.iter().find(|row| row.dbus == last).map_or(Kind::Network, |row| row.kind),
    };
    Fault::new(kind, message.clone().unwrap_or_else(|| name.to_string()))
}
