//! Rules that are refused, and what stays when providers go.

use crate::service::Service;
use crate::service::tests::{add, caller, service, upstream, wanted};
use crate::service::words::{Change, CompleteRequest, RouteTarget};
use althing_chat::Message;
use althing_stdx::{Kind, Result};
use althing_testkit::{Options, Upstream};

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
async fn any_name_that_can_be_asked_is_a_target() {
    let (service, upstream) = (service(&[]).await, upstream(&["llama3.2:1b", "plain"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    let names = ["/plain", "/llama3.2:1b", "/box:plain@high", "/box:llama3.2:1b@low"];
    set(&service, "fast", &names).await.unwrap();
    set(&service, "deep", &["/fast", "/alias:fast"]).await.unwrap();
    let kept = async |alias: &str| {
        let states = service.route(alias).await.unwrap();
        let names = states.into_iter().map(|it| (it.target.provider_id, it.target.model_id));
        names.map(|(provider, model)| format!("{provider}/{model}")).collect::<Vec<_>>()
    };
    let want = ["box/plain", "box/llama3.2:1b", "box/plain@high", "box/llama3.2:1b@low"];
    assert_eq!(kept("fast").await, want);
    assert_eq!(kept("deep").await, ["alias/fast", "alias/fast"]);
    for (name, kind, part) in [
        ("/nothing", Kind::UnknownModel, "targets[0].model_id: 'nothing': no such model"),
        ("/box:no", Kind::NotFound, "targets[0].model_id: 'no' is not among"),
        ("/plain@16k", Kind::InvalidParams, "names the size of a window"),
        ("/demo:builder", Kind::InvalidParams, "is no model of a provider"),
        ("/", Kind::InvalidParams, "targets[0].model_id: "),
    ] {
        let fault = set(&service, "x", &[name]).await.unwrap_err();
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(part), "{name}: {fault}");
    }
}

#[tokio::test]
async fn a_target_that_cools_down_is_shown_as_resting() {
    let upstream = Upstream::start(Options::default().models(["err-404", "fake-small"]));
    let service = service(&[]).await;
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    set(&service, "fast", &["box/err-404", "box/fake-small"]).await.unwrap();
    set(&service, "outer", &["alias/fast"]).await.unwrap();
    let rests = async |alias: &str| {
        let states = service.route(alias).await.unwrap();
        states.into_iter().map(|it| it.rest.map(|rest| rest.why)).collect::<Vec<_>>()
    };
    assert_eq!(rests("fast").await, [None, None]);
    let answer = service.complete(&caller(), question("fast")).await.unwrap();
    assert_eq!(answer.answered_by, "box:fake-small");
    assert_eq!(rests("fast").await, [Some("unknown_model".to_string()), None]);
    assert_eq!(rests("outer").await, [None], "one of its targets can be asked");
}

fn question(model: &str) -> CompleteRequest {
    CompleteRequest {
        model_id: model.into(),
        messages: vec![Message::user("Well?")],
        tools: vec![],
        max_tokens: None,
        temperature: None,
    }
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
