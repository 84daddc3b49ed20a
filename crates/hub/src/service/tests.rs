//! A service of the test's own.

use super::Service;
use super::words::{AddApiKey, Added, Caller};
use crate::book::Library;
use crate::book::tests::{KEY, world};
use crate::config::Config;
use crate::secrets::Secrets;
use crate::store::Store;
use althing_stdx::Result;
use althing_stdx::redact::Secret;
use althing_testkit::{Options, Upstream};
use std::sync::Arc;

/// The service on a machine with these variables, without the servers that are only looked for.
pub(crate) async fn service(vars: &[(&str, &str)]) -> Arc<Service> {
    let world = world("/nonexistent".as_ref(), vars);
    let mut config = Config::load(&world);
    config.endpoints.retain(|it| it.explicit);
    let store = Store::in_memory().unwrap();
    let library = Library::new(world, Arc::new(config), store, Secrets::in_memory());
    Service::over(library).await.unwrap()
}

/// An upstream that lists these models.
pub(crate) fn upstream(models: &[&str]) -> Upstream {
    Upstream::start(Options::default().models(models))
}

pub(crate) fn wanted(name: &str, row: &str, url: &str) -> AddApiKey {
    AddApiKey {
        name: name.into(),
        provider_type: row.into(),
        api_key: Some(Secret::new(KEY)),
        base_url: Some(url.into()),
    }
}

pub(crate) async fn add(
    service: &Service,
    name: &str,
    row: &str,
    upstream: &Upstream,
) -> Result<Added> {
    service.add_api_key(wanted(name, row, &upstream.url())).await
}

pub(crate) fn caller() -> Caller {
    Caller { connection: "conn_1".into(), name: "test".into() }
}
