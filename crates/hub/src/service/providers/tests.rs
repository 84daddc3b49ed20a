//! Against servers of the test's own.

use crate::book::key_id;
use crate::book::tests::KEY;
use crate::service::Service;
use crate::service::tests::{add, service, upstream, wanted};
use crate::service::words::{AddApiKey, Change, ProviderInfo};
use althing_chat::Ask;
use althing_stdx::Kind;
use althing_stdx::redact::Secret;
use althing_testkit::upstream::Route;
use althing_testkit::{Options, Upstream};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::time::timeout;

/// What takes longer has gone wrong.
const TOLD_MAX: Duration = Duration::from_secs(20);

async fn the_one(service: &Service) -> ProviderInfo {
    let mut all = service.list_providers().await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[tokio::test]
async fn a_good_key_is_kept_with_the_models() {
    let (service, upstream) = (service(&[]).await, upstream(&["gpt-5.1", "whisper-1"]));
    let mut changes = service.changes.listen();
    let added = add(&service, " My OpenAI ", "openai", &upstream).await.unwrap();
    assert_eq!((added.provider_id.as_str(), added.note), ("my-openai", None));
    let info = the_one(&service).await;
    let url = format!("{}/v1", upstream.url());
    assert_eq!(info.name, "My OpenAI");
    assert_eq!(info.base_url, Some(url));
    assert_eq!((info.source.as_str(), info.key_hint.as_deref()), ("added", Some("…1234")));
    assert_eq!((info.enabled, info.note), (true, None));
    assert_eq!(changes.try_recv(), Ok(Change::ProviderAdded("my-openai".into())));
    assert_eq!(changes.try_recv(), Ok(Change::ModelsChanged("my-openai".into())));
    let asked = upstream.requests().len();
    let models = service.models(Some("my-openai")).await.unwrap();
    assert_eq!(models.iter().map(|it| it.model_id.as_str()).collect::<Vec<_>>(), ["gpt-5.1"]);
    assert_eq!(upstream.requests().len(), asked, "what is known is not asked for again");

    let again = add(&service, "My OpenAI", "openai", &upstream).await.unwrap();
    assert_eq!(again.provider_id, "my-openai-2");
    let names: Vec<String> =
        service.list_providers().await.unwrap().into_iter().map(|it| it.name).collect();
    assert!(names.contains(&"My OpenAI (2)".to_string()), "{names:?}");
}

#[tokio::test]
async fn a_refused_key_keeps_nothing() {
    for status in ["err-401", "err-403"] {
        let service = service(&[]).await;
        let upstream = Upstream::start(Options::default().mishap(move |_| Some(status)));
        let fault = add(&service, "Mine", "openai", &upstream).await.unwrap_err();
        assert_eq!(fault.kind, Kind::BadKey, "{status}: {fault}");
        assert!(!fault.message.contains(KEY), "{fault}");
        assert_eq!(service.list_providers().await.unwrap(), []);
        assert_eq!(service.library.secrets().get(&key_id("mine")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn one_that_does_not_answer_is_checked_when_it_does() {
    let service = service(&[]).await;
    let upstream = Upstream::start(Options::default().mishap(|seen| {
        // The first request only: adding.
        (seen.nth == 1).then_some("err-503")
    }));
    let added = add(&service, "Mine", "vllm", &upstream).await.unwrap();
    let note = added.note.unwrap();
    assert!(note.starts_with("not checked: "), "{note}");
    assert_eq!(the_one(&service).await.note.as_deref(), Some("not checked yet"));
    let said = service.test_provider("mine").await.unwrap();
    assert!(said.contains("2 chat models"), "{said}");
    assert_eq!(the_one(&service).await.note, None);

    let nobody = service.add_api_key(wanted("Off", "openai", "http://127.0.0.1:1")).await.unwrap();
    assert!(nobody.note.unwrap().starts_with("not checked: "));
    assert_eq!(service.test_provider("off").await.unwrap_err().kind, Kind::Network);
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answers_is_not_waited_for() {
    let service = service(&[]).await;
    let upstream = Upstream::start(Options::default().mishap(|_| Some("hang")));
    let note = add(&service, "Mine", "vllm", &upstream).await.unwrap().note.unwrap();
    assert_eq!(note, "not checked: vLLM did not list its models within 5s");
}

#[tokio::test]
async fn the_first_answer_is_the_check() {
    let service = service(&[]).await;
    let upstream = Upstream::start(Options::default().mishap(|seen| {
        let is_list = matches!(seen.route, Route::List(_));
        is_list.then_some("err-503")
    }));
    add(&service, "Mine", "vllm", &upstream).await.unwrap();
    assert_eq!(the_one(&service).await.note.as_deref(), Some("not checked yet"));
    let mut changes = service.changes.listen();
    let voice = service.voice("mine:fake-large", None).unwrap();
    voice.speak(Ask::new("", "Hi")).collect::<Vec<_>>().await;
    let told = timeout(TOLD_MAX, changes.recv()).await.expect("nobody is told");
    assert_eq!(told, Ok(Change::ProviderChanged("mine".into())));
    assert_eq!(the_one(&service).await.note, None);
}

#[tokio::test]
async fn what_cannot_be_added() {
    let service = service(&[]).await;
    let good = || wanted("Mine", "openai", "https://api.openai.com");
    let check = async |wanted: AddApiKey, part: &str| {
        let fault = service.add_api_key(wanted).await.unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidParams, "{fault}");
        assert!(fault.message.contains(part), "{fault}");
        assert!(!fault.message.contains(&KEY[..12]), "{fault}");
    };
    let name = |name: &str| AddApiKey { name: name.into(), ..good() };
    let key = |key: &str| AddApiKey { api_key: Some(Secret::new(key)), ..good() };
    check(name("  "), "name: 1 to 100 characters, not 0").await;
    check(name(&"x".repeat(101)), "name: 1 to 100 characters, not 101").await;
    check(name("a\u{7}b"), "name: must not hold control characters").await;
    let odd = AddApiKey { provider_type: "nobody".into(), ..good() };
    check(odd, "provider_type: one of openai, anthropic").await;
    let login = AddApiKey { provider_type: "copilot".into(), ..good() };
    check(login, "GitHub Copilot has no keys; `althing providers add-oauth copilot` logs in").await;
    check(AddApiKey { api_key: None, ..good() }, "api_key: required for 'openai'").await;
    check(key(" "), "api_key: required").await;
    check(key(&"k".repeat(4_097)), "api_key: 1 to 4096 characters, not 4097").await;
    check(key("schlüssel"), "api_key: ").await;
    check(key("two words"), "api_key: ").await;
    let url = |text: &str| AddApiKey { base_url: Some(text.into()), ..good() };
    check(url("ftp://x"), "base_url: is not an address").await;
    check(url("http://api.openai.com"), "base_url: plain http").await;
    let custom = AddApiKey { provider_type: "custom".into(), base_url: None, ..good() };
    check(custom, "base_url: required for 'custom'").await;
    assert_eq!(service.list_providers().await.unwrap(), []);
}

#[tokio::test]
async fn only_what_was_added_is_removed() {
    let upstream = upstream(&["gpt-5.1"]);
    let url = upstream.url();
    let vars = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", url.as_str())];
    let service = service(&vars).await;
    add(&service, "OpenAI", "openai", &upstream).await.unwrap();
    let all = service.list_providers().await.unwrap();
    let [set, added] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(set.source, "environment variable OPENAI_API_KEY");
    assert_eq!(set.note.as_deref(), Some("wins over 'OpenAI', which was added"));
    assert!(!added.enabled);
    assert!(added.note.as_ref().unwrap().contains("OPENAI_API_KEY"), "{added:?}");

    service.delete_provider("openai").await.unwrap();
    let fault = service.delete_provider("openai").await.unwrap_err();
    assert!(fault.message.contains("environment variable OPENAI_API_KEY"), "{fault}");
    assert_eq!(service.delete_provider("nobody").await.unwrap_err().kind, Kind::NotFound);

    let id = add(&service, "Work", "openai", &upstream).await.unwrap().provider_id;
    service.delete_provider(&id).await.unwrap();
    assert_eq!(service.library.secrets().get(&key_id(&id)).await.unwrap(), None);
    assert_eq!(service.library.book().listed(&id).count(), 0);
}
