//! The requests in the form that people type: what is required stands in place, the rest in a last
//! `a{sv}`. Each method puts the two together and goes where the other form goes.

use super::fields::{Dict, Malformed, Sent};
use super::gate::Gate;
use super::refusal::Refusal;
use super::{CAPABILITIES, VERSION, requests};
use std::sync::Arc;
use zbus::interface;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{OwnedFd, OwnedVariant, Variant};

/// `org.althing.Capability1`.
pub(super) struct Root;
/// `org.althing.Capability1.Providers`, and so on.
pub(super) struct Providers(pub Arc<Gate>);
pub(super) struct Models(pub Arc<Gate>);
pub(super) struct Routing(pub Arc<Gate>);
pub(super) struct Chat(pub Arc<Gate>);
pub(super) struct Streams(pub Arc<Gate>);
pub(super) struct Metrics(pub Arc<Gate>);
pub(super) struct Connections(pub Arc<Gate>);

/// The macro knows a result by its name.
type Result<T> = std::result::Result<T, Refusal>;

/// The arguments in place, among the options; they win over options of the same name.
fn with<const N: usize>(placed: [(&str, Variant<'static>); N], mut options: Dict) -> Result<Dict> {
    for (name, value) in placed {
        let value = OwnedVariant::try_from(value);
        let value = value.map_err(|error| Malformed(format!("{name}: {error}")))?;
        options.insert(name.into(), value);
    }
    Ok(options)
}

#[interface(name = "org.althing.Capability1")]
impl Root {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    /// What this service can do beyond the protocol's text.
    #[zbus(property(emits_changed_signal = "const"))]
    fn capabilities(&self) -> Vec<&str> {
        CAPABILITIES.to_vec()
    }
}

#[interface(name = "org.althing.Capability1.Providers")]
impl Providers {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    /// Options: api_key (s), base_url (s).
    #[zbus(out_args("response"))]
    async fn add_api_key_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        name: String,
        provider_type: String,
        options: Dict,
    ) -> Result<Sent> {
        let request =
            with([("name", name.into()), ("provider_type", provider_type.into())], options)?;
        self.0.call(&header, request, requests::add_api_key_provider).await
    }

    #[zbus(out_args("response"), name = "AddOAuthProvider")]
    async fn add_oauth_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        name: String,
        provider_type: String,
    ) -> Result<Sent> {
        let request =
            with([("name", name.into()), ("provider_type", provider_type.into())], Dict::new())?;
        self.0.call(&header, request, requests::add_oauth_provider).await
    }

    #[zbus(out_args("response"), name = "CompleteOAuth")]
    async fn complete_oauth(
        &self,
        #[zbus(header)] header: Header<'_>,
        provider_id: String,
    ) -> Result<Sent> {
        let request = with([("provider_id", provider_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::complete_oauth).await
    }

    #[zbus(out_args("response"))]
    async fn add_local_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        name: String,
        model_path: String,
    ) -> Result<Sent> {
        let request =
            with([("name", name.into()), ("model_path", model_path.into())], Dict::new())?;
        self.0.call(&header, request, requests::add_local_provider).await
    }

    #[zbus(out_args("response"))]
    async fn list_providers(&self, #[zbus(header)] header: Header<'_>) -> Result<Sent> {
        self.0.call(&header, Dict::new(), requests::list_providers).await
    }

    #[zbus(out_args("response"))]
    async fn delete_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        provider_id: String,
    ) -> Result<Sent> {
        let request = with([("provider_id", provider_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::delete_provider).await
    }

    /// Asks the provider for its models and says how many it has.
    #[zbus(out_args("response"))]
    async fn test_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        provider_id: String,
    ) -> Result<Sent> {
        let request = with([("provider_id", provider_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::test_provider).await
    }

    #[zbus(signal)]
    pub(super) async fn provider_added(
        emitter: &SignalEmitter<'_>,
        provider_id: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    pub(super) async fn provider_removed(
        emitter: &SignalEmitter<'_>,
        provider_id: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    pub(super) async fn provider_changed(
        emitter: &SignalEmitter<'_>,
        provider_id: &str,
    ) -> zbus::Result<()>;
}

#[interface(name = "org.althing.Capability1.Models")]
impl Models {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    /// Options: provider_id (s).
    #[zbus(out_args("response"))]
    async fn get_models(&self, #[zbus(header)] header: Header<'_>, options: Dict) -> Result<Sent> {
        self.0.call(&header, options, requests::get_models).await
    }

    #[zbus(out_args("response"))]
    async fn set_model_enabled(
        &self,
        #[zbus(header)] header: Header<'_>,
        provider_id: String,
        model_id: String,
        enabled: bool,
    ) -> Result<Sent> {
        let placed = [
            ("provider_id", provider_id.into()),
            ("model_id", model_id.into()),
            ("enabled", enabled.into()),
        ];
        self.0.call(&header, with(placed, Dict::new())?, requests::set_model_enabled).await
    }

    #[zbus(signal)]
    pub(super) async fn models_changed(
        emitter: &SignalEmitter<'_>,
        provider_id: &str,
    ) -> zbus::Result<()>;
}

#[interface(name = "org.althing.Capability1.Routing")]
impl Routing {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    /// No targets: the alias is deleted.
    #[zbus(out_args("response"))]
    async fn set_route_rules(
        &self,
        #[zbus(header)] header: Header<'_>,
        alias: String,
        targets: Vec<Dict>,
    ) -> Result<Sent> {
        let request = with([("alias", alias.into()), ("targets", targets.into())], Dict::new())?;
        self.0.call(&header, request, requests::set_route_rules).await
    }

    #[zbus(out_args("response"))]
    async fn get_route_rules(
        &self,
        #[zbus(header)] header: Header<'_>,
        alias: String,
    ) -> Result<Sent> {
        let request = with([("alias", alias.into())], Dict::new())?;
        self.0.call(&header, request, requests::get_route_rules).await
    }

    #[zbus(out_args("aliases"))]
    async fn list_aliases(&self, #[zbus(header)] header: Header<'_>) -> Result<(Vec<String>,)> {
        let work = |service: Arc<crate::service::Service>, _| async move {
            service.aliases().await.map_err(Refusal::from)
        };
        Ok((self.0.during(&header, work).await?,))
    }

    #[zbus(signal)]
    pub(super) async fn route_changed(emitter: &SignalEmitter<'_>, alias: &str)
    -> zbus::Result<()>;
}

#[interface(name = "org.althing.Capability1.Chat")]
impl Chat {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    /// Options: tools (aa{sv}), temperature (d), max_tokens (i).
    #[zbus(out_args("response"))]
    async fn complete(
        &self,
        #[zbus(header)] header: Header<'_>,
        model_id: String,
        messages: Vec<Dict>,
        options: Dict,
    ) -> Result<Sent> {
        let placed = [("model_id", model_id.into()), ("messages", messages.into())];
        self.0.call(&header, with(placed, options)?, requests::complete).await
    }
}

#[interface(name = "org.althing.Capability1.Streams")]
impl Streams {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    #[zbus(out_args("response"))]
    async fn create_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        model_id: String,
    ) -> Result<Sent> {
        let request = with([("model_id", model_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::create_stream).await
    }

    /// Options: tools (aa{sv}).
    #[zbus(out_args("response"))]
    async fn send_message(
        &self,
        #[zbus(header)] header: Header<'_>,
        stream_id: String,
        message: Dict,
        options: Dict,
    ) -> Result<Sent> {
        let placed = [("stream_id", stream_id.into()), ("message", message.into())];
        self.0.call(&header, with(placed, options)?, requests::send_message).await
    }

    /// Options: timeout_ms (i), max_chunks (i).
    #[zbus(out_args("response"))]
    async fn receive_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        stream_id: String,
        options: Dict,
    ) -> Result<Sent> {
        let request = with([("stream_id", stream_id.into())], options)?;
        self.0.call(&header, request, requests::receive_stream).await
    }

    /// The bulk lane: the stream's replies as JSON lines on a pipe, from now on.
    #[zbus(out_args("lines"))]
    async fn open_stream_fd(
        &self,
        #[zbus(header)] header: Header<'_>,
        stream_id: String,
    ) -> Result<(OwnedFd,)> {
        let work = |service: Arc<crate::service::Service>, caller| async move {
            service.open_stream_fd(&caller, &stream_id).await.map_err(Refusal::from)
        };
        Ok((self.0.during(&header, work).await?.into(),))
    }

    #[zbus(out_args("response"))]
    async fn close_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        stream_id: String,
    ) -> Result<Sent> {
        let request = with([("stream_id", stream_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::close_stream).await
    }
}

#[interface(name = "org.althing.Capability1.Metrics")]
impl Metrics {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    #[zbus(out_args("response"))]
    async fn get_metrics_snapshot(&self, #[zbus(header)] header: Header<'_>) -> Result<Sent> {
        self.0.call(&header, Dict::new(), requests::get_metrics_snapshot).await
    }

    #[zbus(out_args("response"))]
    async fn get_metrics_range(
        &self,
        #[zbus(header)] header: Header<'_>,
        start_ms: i64,
        end_ms: i64,
    ) -> Result<Sent> {
        let request =
            with([("start_ms", start_ms.into()), ("end_ms", end_ms.into())], Dict::new())?;
        self.0.call(&header, request, requests::get_metrics_range).await
    }
}

#[interface(name = "org.althing.Capability1.Connections")]
impl Connections {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    #[zbus(out_args("response"))]
    async fn list_connections(&self, #[zbus(header)] header: Header<'_>) -> Result<Sent> {
        self.0.call(&header, Dict::new(), requests::list_connections).await
    }

    #[zbus(out_args("response"))]
    async fn close_connection(
        &self,
        #[zbus(header)] header: Header<'_>,
        connection_id: String,
    ) -> Result<Sent> {
        let request = with([("connection_id", connection_id.into())], Dict::new())?;
        self.0.call(&header, request, requests::close_connection).await
    }

    #[zbus(signal)]
    pub(super) async fn connection_opened(
        emitter: &SignalEmitter<'_>,
        connection_id: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    pub(super) async fn connection_closed(
        emitter: &SignalEmitter<'_>,
        connection_id: &str,
    ) -> zbus::Result<()>;
}
