//! All requests in one form: the message of the protocol in, the message of the protocol out.

use super::VERSION;
use super::fields::{Dict, Sent};
use super::gate::Gate;
use super::refusal::Refusal;
use super::requests;
use std::sync::Arc;
use zbus::interface;
use zbus::message::Header;

/// `org.althing.Capability1.Messages`.
pub(super) struct Messages(pub Arc<Gate>);

/// The macro knows a result by its name.
type Result<T> = std::result::Result<T, Refusal>;

#[interface(name = "org.althing.Capability1.Messages")]
impl Messages {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        VERSION
    }

    #[zbus(out_args("response"))]
    async fn add_api_key_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::add_api_key_provider).await
    }

    #[zbus(out_args("response"), name = "AddOAuthProvider")]
    async fn add_oauth_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::add_oauth_provider).await
    }

    #[zbus(out_args("response"), name = "CompleteOAuth")]
    async fn complete_oauth(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::complete_oauth).await
    }

    #[zbus(out_args("response"))]
    async fn add_local_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::add_local_provider).await
    }

    #[zbus(out_args("response"))]
    async fn list_providers(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::list_providers).await
    }

    #[zbus(out_args("response"))]
    async fn delete_provider(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::delete_provider).await
    }

    #[zbus(out_args("response"))]
    async fn get_models(&self, #[zbus(header)] header: Header<'_>, request: Dict) -> Result<Sent> {
        self.0.call(&header, request, requests::get_models).await
    }

    #[zbus(out_args("response"))]
    async fn set_model_enabled(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::set_model_enabled).await
    }

    #[zbus(out_args("response"))]
    async fn set_route_rules(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::set_route_rules).await
    }

    #[zbus(out_args("response"))]
    async fn get_route_rules(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::get_route_rules).await
    }

    #[zbus(out_args("response"))]
    async fn complete(&self, #[zbus(header)] header: Header<'_>, request: Dict) -> Result<Sent> {
        self.0.call(&header, request, requests::complete).await
    }

    #[zbus(out_args("response"))]
    async fn create_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::create_stream).await
    }

    #[zbus(out_args("response"))]
    async fn send_message(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::send_message).await
    }

    #[zbus(out_args("response"))]
    async fn receive_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::receive_stream).await
    }

    #[zbus(out_args("response"))]
    async fn close_stream(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::close_stream).await
    }

    #[zbus(out_args("response"))]
    async fn get_metrics_snapshot(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::get_metrics_snapshot).await
    }

    #[zbus(out_args("response"))]
    async fn get_metrics_range(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::get_metrics_range).await
    }

    #[zbus(out_args("response"))]
    async fn list_connections(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::list_connections).await
    }

    #[zbus(out_args("response"))]
    async fn close_connection(
        &self,
        #[zbus(header)] header: Header<'_>,
        request: Dict,
    ) -> Result<Sent> {
        self.0.call(&header, request, requests::close_connection).await
    }
}
