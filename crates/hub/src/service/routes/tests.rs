//! Rules that are refused, and what stays when providers go.

use crate::service::Service;
use crate::service::tests::{add, service, upstream, wanted};
use crate::service::words::{Change, RouteTarget};
use althing_stdx::{Kind, Result};

/// `provider/model` each.
async fn set(service: &Service, alias: &str, targets: &[&str]) -> Result<()> {
    let target = |text: &&str| {
        let (provider_id, model_id) = text.split_once('/').unwrap();
        RouteTarget { provider_id: provider_id.into(), model_id: model_id.into() }
    };
    service.set_route(alias, targets.iter().map(target).collect()).await
}

#[tokio::test]
async fn rules_are_checked() {
    let (service, upstream) = (service(&[]).await, upstream(&["m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    service.add_api_key(wanted("Off", "vllm", "http://127.0.0.1:1")).await.unwrap();
    let mut changes = service.changes.listen();
    set(&service, "fast", &["box/m@high", "off/whatever"]).await.unwrap();
    assert_eq!(changes.try_recv(), Ok(Change::RouteChanged("fast".into())));
    set(&service, "deep", &["alias/fast"]).await.unwrap();
    assert_eq!(service.aliases().await.unwrap(), ["deep", "fast"]);

    let check = async |alias: &str, targets: &[&str], kind: Kind, part: &str| {
        let fault = set(&service, alias, targets).await.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains(part), "{fault}");
    };
    let invalid = Kind::InvalidParams;
    check("fast", &["alias/deep"], invalid, "targets: 'fast' -> 'deep' -> 'fast' is a circle")
        .await;
    check("x", &["box/m", "box/n"], Kind::NotFound, "targets[1].model_id: 'n' is not").await;
    check("x", &["nobody/m"], Kind::NotFound, "targets[0].provider_id: no provider").await;
    check("x", &["alias/y"], Kind::NotFound, "targets[0].model_id: no alias 'y'").await;
    check("x", &["box/m"; 17], invalid, "targets: at most 16, not 17").await;
    check("", &["box/m"], invalid, "alias: 1 to 100 characters, not 0").await;
    check(&"x".repeat(101), &["box/m"], invalid, "alias: 1 to 100 characters, not 101").await;
    check("a:b", &["box/m"], invalid, "alias: must not hold ':'").await;
    check("a\nb", &["box/m"], invalid, "alias: must not hold control").await;
    check("althing/standard", &["box/m"], invalid, "alias: must not begin with 'althing/'").await;
    check("x", &[], Kind::NotFound, "alias: no alias 'x'").await;
    assert_eq!(service.aliases().await.unwrap(), ["deep", "fast"]);

    set(&service, "deep", &[]).await.unwrap();
    assert_eq!(service.route("deep").await.unwrap_err().kind, Kind::NotFound);
}

#[tokio::test]
async fn rules_outlive_their_providers() {
    let (service, upstream) = (service(&[]).await, upstream(&["m"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    add(&service, "Spare", "vllm", &upstream).await.unwrap();
    set(&service, "fast", &["box/m", "spare/m"]).await.unwrap();
    service.delete_provider("box").await.unwrap();
    let states = service.route("fast").await.unwrap();
    assert_eq!(states[0].dead.as_deref(), Some("no such provider"));
    assert_eq!(states[1].dead, None);
    assert_eq!(service.targets("fast").unwrap()[0].id(), "spare:m");
    service.delete_provider("spare").await.unwrap();
    let fault = service.voice("fast", None).err().unwrap();
    assert!(fault.message.contains("box:m (no such provider); spare:m (no such"), "{fault}");
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    assert_eq!(service.targets("fast").unwrap()[0].id(), "box:m");
}
