//! Lists that are kept, and models that may not be used.

use super::LIST_AGE_MAX;
use crate::log::now_ms;
use crate::service::Service;
use crate::service::tests::{add, service, upstream};
use crate::store::ListedModel;
use althing_stdx::Kind;
use althing_testkit::{Options, Upstream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

async fn ids(service: &Service) -> Vec<String> {
    let on = |enabled| if enabled { "" } else { " off" };
    let models = service.models(None).await.unwrap().into_iter();
    models.map(|it| format!("{}:{}{}", it.provider_id, it.model_id, on(it.enabled))).collect()
}

#[tokio::test]
async fn a_provider_that_is_away_shows_its_last_list() {
    let service = service(&[]).await;
    let is_away = Arc::new(AtomicBool::new(false));
    let away = is_away.clone();
    let mishap = move |_: &_| away.load(Ordering::SeqCst).then_some("err-503");
    let upstream = Upstream::start(Options::default().models(["a", "b"]).mishap(mishap));
    // A server of one's own is asked every time.
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    assert_eq!(ids(&service).await, ["box:a", "box:b"]);
    is_away.store(true, Ordering::SeqCst);
    assert_eq!(ids(&service).await, ["box:a", "box:b"]);
    let fault = service.models(Some("nobody")).await.unwrap_err();
    assert_eq!(fault.kind, Kind::NotFound);
    assert!(fault.message.starts_with("provider_id: "), "{fault}");
}

#[tokio::test]
async fn a_list_that_is_old_is_asked_for_again() {
    let (service, upstream) = (service(&[]).await, upstream(&["a", "b"]));
    add(&service, "Cloud", "openai", &upstream).await.unwrap();
    let asked = || upstream.requests().len();
    let age_max_ms = LIST_AGE_MAX.as_millis() as i64;
    // A minute is more than the test takes.
    for (age_ms, again, want) in [
        (age_max_ms - 60_000, 0, &["cloud:a"] as &[&str]),
        (age_max_ms + 1, 1, &["cloud:a", "cloud:b"]),
        (age_max_ms + 1, 1, &["cloud:a", "cloud:b"]),
    ] {
        let listed_at_ms = now_ms() as i64 - age_ms;
        let old = vec![ListedModel { model: "a".into(), display: None, context_tokens: None }];
        service.store.set_listed("cloud", old, listed_at_ms).await.unwrap();
        let before = asked();
        assert_eq!(ids(&service).await, want);
        assert_eq!(ids(&service).await, want, "what is new now is not asked for");
        assert_eq!(asked() - before, again);
    }
}

#[tokio::test]
async fn what_is_disabled_stays_so_and_is_refused() {
    let (service, upstream) = (service(&[]).await, upstream(&["a", "b"]));
    add(&service, "Box", "vllm", &upstream).await.unwrap();
    service.set_model_enabled("box", "a", false).await.unwrap();
    assert_eq!(ids(&service).await, ["box:a off", "box:b"]);
    for name in ["a", "box:a"] {
        let fault = service.voice(name, None).err().unwrap();
        assert!(fault.message.contains("disabled"), "{fault}");
    }
    assert!(service.voice("b", None).is_ok());
    service.test_provider("box").await.unwrap();
    assert_eq!(ids(&service).await, ["box:a off", "box:b"], "a new list changes nothing");
    service.set_model_enabled("box", "a", true).await.unwrap();
    assert!(service.voice("a", None).is_ok());

    let fault = service.set_model_enabled("box", "c", false).await.unwrap_err();
    assert_eq!(fault.message, "model_id: 'c' is not among the models of 'box'");
    let fault = service.set_model_enabled("nobody", "a", false).await.unwrap_err();
    assert_eq!(fault.message, "provider_id: no provider 'nobody'");
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_looked_for_once() {
    let upstream = upstream(&["late"]);
    let url = format!("{}/v1", upstream.url());
    let service = service(&[("VLLM_BASE_URL", &url)]).await;
    assert_eq!(service.voice("late", None).err().unwrap().kind, Kind::UnknownModel);
    assert_eq!(service.find_voice("late", None).await.unwrap().id(), "vllm:late");
    let asked = upstream.requests().len();
    assert_eq!(service.find_voice("never", None).await.err().unwrap().kind, Kind::UnknownModel);
    assert_eq!(upstream.requests().len(), asked, "not more often than every few seconds");
}
