//! Logins end to end: the service, a loopback authorisation server, real sockets.

use super::*;
use crate::book::tests::world;
use crate::config::Config;
use crate::store::Store;
use althing_stdx::redact::Secret;
use althing_testkit::upstream::{Ending, Logins as Script};
use althing_testkit::{Options, Upstream};
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;

/// Everything secret that the upstream gives out begins with one of these.
const SECRETS: [&str; 5] = ["device-", "gho_", "tid=", "qwen-first", "qwen-refresh"];

fn upstream(script: Script) -> Upstream {
    Upstream::start(Options::default().logins(script))
}

/// The service in `home`, whose logins lead to `upstream`.
async fn service(home: &Path, upstream: &Upstream) -> Arc<Service> {
    let url = upstream.url();
    let vars = [
        ("ALTHING_COPILOT_DEVICE_URL", format!("{url}/login/device/code")),
        ("ALTHING_COPILOT_TOKEN_URL", format!("{url}/login/oauth/access_token")),
        ("ALTHING_COPILOT_EXCHANGE_URL", format!("{url}/copilot_internal/v2/token")),
        ("ALTHING_DASHSCOPE_DEVICE_URL", format!("{url}/api/v1/oauth2/device/code")),
        ("ALTHING_DASHSCOPE_TOKEN_URL", format!("{url}/api/v1/oauth2/token")),
        ("ALTHING_SECRETS", "file".into()),
    ];
    let vars: Vec<(&str, &str)> =
        vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let world = world(home, &vars);
    let mut config = Config::load(&world);
    config.endpoints.clear();
    let store = Store::open(&config.database()).unwrap();
    let secrets = Secrets::open(&config.data_dir, &world);
    let library = Library::new(world, Arc::new(config), store, secrets);
    library.reload().await.unwrap();
    Service::over(library).await.unwrap()
}

fn caller(connection: &str) -> Caller {
    Caller { connection: connection.into(), name: "test".into() }
}

fn wanted(provider_type: &str) -> AddOAuth {
    AddOAuth { name: "My login".into(), provider_type: provider_type.into() }
}

async fn start(service: &Service, provider_type: &str) -> (String, Challenge) {
    let added = service.add_oauth(&caller("conn_1"), wanted(provider_type)).await.unwrap();
    (added.0.provider_id, added.1)
}

/// Whether the provider called `id` is there, and enabled.
async fn enabled(service: &Service, id: &str) -> Option<bool> {
    let all = service.list_providers().await.unwrap();
    all.iter().find(|it| it.provider_id == id).map(|it| it.enabled)
}

/// What is kept of the login of `id`.
async fn kept(service: &Service, id: &str) -> Option<Kept> {
    let kept = service.library.secrets().get(&login_id(id)).await.unwrap();
    kept.map(|kept| Kept::from_secret(&kept).unwrap())
}

#[tokio::test]
async fn from_the_code_to_the_models() {
    for (provider_type, access) in [("copilot", "tid=1;exp=1"), ("dashscope", "qwen-first-3")] {
        let home = tempfile::tempdir().unwrap();
        let upstream = upstream(Script::default());
        let service = service(home.path(), &upstream).await;
        let mut changes = service.changes.listen();
        let (id, challenge) = start(&service, provider_type).await;
        assert_eq!(challenge.user_code, "WDJB-MJHT");
        assert_eq!((challenge.expires_in, challenge.interval), (900, 1));
        assert_eq!(enabled(&service, &id).await, Some(false));

        // Another one learns that it is done, and nothing else; the one who began gets it once.
        assert_eq!(service.complete_oauth(&caller("conn_2"), &id).await.unwrap(), None);
        let credentials = service.complete_oauth(&caller("conn_1"), &id).await.unwrap().unwrap();
        assert_eq!(credentials.access_token.expose(), access);
        assert!(credentials.refresh_token.is_some() && credentials.resource_url.is_some());
        assert!(credentials.expiry_date_ms > now_ms() as i64);
        assert_eq!(service.complete_oauth(&caller("conn_1"), &id).await.unwrap(), None);
        assert_eq!(enabled(&service, &id).await, Some(true));
        let listed = service.list_providers().await.unwrap();
        assert_eq!(listed[0].base_url, credentials.resource_url, "where it really leads");

        let mut told = Vec::new();
        while told.last() != Some(&Change::ModelsChanged(id.clone())) {
            told.push(changes.recv().await.unwrap());
        }
        let of = |change: fn(String) -> Change| change(id.clone());
        // Changed twice: the login ended, and with its models the provider is checked.
        let changed = Change::ProviderChanged;
        let want = [Change::ProviderAdded, changed, changed, Change::ModelsChanged].map(of);
        assert_eq!(told, want);
        let models = service.models(Some(&id)).await.unwrap();
        let models: Vec<&str> = models.iter().map(|it| it.model_id.as_str()).collect();
        assert!(models.contains(&"fake-large"), "{models:?}");
        assert!(!models.contains(&"hidden") && !models.contains(&"switched-off"), "{models:?}");

        service.delete_provider(&id).await.unwrap();
        let fault = service.complete_oauth(&caller("conn_1"), &id).await.unwrap_err();
        assert_eq!(fault.kind, Kind::NotFound);
        assert!(service.library.secrets().get(&login_id(&id)).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_login_that_fails_leaves_nothing() {
    for (provider_type, ending, want) in [
        ("copilot", Ending::Denied, "the login at GitHub Copilot was declined"),
        ("copilot", Ending::Expired, "the login at GitHub Copilot was not confirmed in time"),
        ("copilot", Ending::Broken, "the login at GitHub Copilot failed: device_flow_disabled"),
        ("dashscope", Ending::Denied, "the login at DashScope (Qwen) was declined"),
        ("dashscope", Ending::Expired, "the login at DashScope (Qwen) was not confirmed in time"),
        ("dashscope", Ending::Broken, "the login at DashScope (Qwen) failed: device_flow_disabled"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let upstream = upstream(Script { ending, ..Script::default() });
        let service = service(home.path(), &upstream).await;
        let (id, _) = start(&service, provider_type).await;
        for connection in ["conn_1", "conn_2", "conn_1"] {
            let ended = service.complete_oauth(&caller(connection), &id).await;
            let fault = ended.unwrap_err();
            assert!(fault.message.starts_with(want), "{fault}");
            assert!(SECRETS.iter().all(|secret| !fault.message.contains(secret)), "{fault}");
        }
        assert_eq!(enabled(&service, &id).await, None);
        assert!(service.library.secrets().get(&login_id(&id)).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_login_that_ended_is_marked_for_everybody() {
    let home = tempfile::tempdir().unwrap();
    // A token that is old at once, and a server that gives no new one.
    let script = Script { token_life: 1, over: true, ..Script::default() };
    let upstream = upstream(script);
    let service_here = service(home.path(), &upstream).await;
    let (id, _) = start(&service_here, "dashscope").await;
    service_here.complete_oauth(&caller("conn_1"), &id).await.unwrap();
    let fault = service_here.test_provider(&id).await.unwrap_err();
    assert_eq!(fault.kind, Kind::BadKey, "{fault}");
    // In another process, too.
    for service in [&service_here, &service(home.path(), &upstream).await] {
        let listed = service.list_providers().await.unwrap();
        let note = listed[0].note.clone().unwrap_or_default();
        assert!(note.starts_with("the login at DashScope (Qwen) is over"), "{listed:?}");
        assert!(!listed[0].enabled, "{listed:?}");
    }
    // What the provider gives after all takes the mark away.
    let tokens = Tokens {
        access: Secret::new("new"),
        refresh: None,
        expires_at_ms: i64::MAX,
        base_url: Some("https://elsewhere.example/v1".into()),
    };
    let login = login(service_here.library.means(), "dashscope").unwrap();
    let (secrets, store) = (service_here.library.secrets().clone(), service_here.store.clone());
    let keep = TokensOf { secrets, store, login, provider: id.clone() };
    keep.save(&tokens).await.unwrap();
    let listed = service_here.list_providers().await.unwrap();
    let note = listed[0].note.as_deref();
    assert_eq!((listed[0].enabled, note), (true, Some("not checked yet")), "{listed:?}");
    assert_eq!(listed[0].base_url, tokens.base_url);
}

#[tokio::test]
async fn an_undecided_login_goes_on_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let for_ever = upstream(Script { polls: usize::MAX, ..Script::default() });
    let before = service(home.path(), &for_ever).await;
    let (id, _) = start(&before, "copilot").await;
    for_ever.wait_for(|seen| seen.len() > 2).await;
    drop(before);
    // As after a restart: the same folder, another process, and by now the person has agreed.
    let agreed = upstream(Script { polls: 0, ..Script::default() });
    let after = service(home.path(), &agreed).await;
    after.resume_logins().await;
    assert_eq!(after.complete_oauth(&caller("conn_1"), &id).await.unwrap(), None);
    assert_eq!(enabled(&after, &id).await, Some(true));
    let asked = &agreed.requests()[0];
    assert_eq!(asked.body["device_code"], "device-1-0123456789abcdef", "the same login");
}

#[tokio::test(start_paused = true)]
async fn nothing_decided_within_the_wait() {
    let service = crate::service::tests::service(&[]).await;
    service.logins.begin("x", Some("conn_1".into()));
    let caller = caller("conn_1");
    let second = Duration::from_secs(1);
    for (wait, want) in [(None, 18), (Some(second * 60), 18), (Some(second * 3), 3)] {
        let begun = tokio::time::Instant::now();
        let waited = match wait {
            None => service.complete_oauth(&caller, "x").await,
            Some(wait) => service.complete_oauth_within(&caller, "x", wait).await,
        };
        assert_eq!(begun.elapsed().as_secs(), want, "{wait:?}");
        let fault = waited.unwrap_err();
        assert!(fault.message.starts_with("authorization_pending"), "{fault}");
        assert_eq!(fault.kind, Kind::Busy);
    }
    assert!(START_WAIT < second * 20);
}

#[test]
fn logins_have_a_limit() {
    let logins = Logins::default();
    for n in 0..16 {
        logins.check_room().unwrap();
        logins.begin(&format!("p{n}"), None);
    }
    assert_eq!(logins.check_room().unwrap_err().kind, Kind::Busy);
    logins.end("p3", Ended::Done(None));
    logins.check_room().unwrap();
}

#[tokio::test]
async fn wrong_wishes_are_told_by_field() {
    let home = tempfile::tempdir().unwrap();
    let upstream = upstream(Script::default());
    let service = service(home.path(), &upstream).await;
    for (name, provider_type, want) in [
        ("", "copilot", "name: 1 to 100 characters, not 0"),
        ("x", "openai", "provider_type: one of copilot, dashscope, not 'openai'"),
    ] {
        let wanted = AddOAuth { name: name.into(), provider_type: provider_type.into() };
        let fault = service.add_oauth(&caller("conn_1"), wanted).await.unwrap_err();
        assert_eq!(fault.message, want);
    }
    let fault = service.complete_oauth(&caller("conn_1"), "nobody").await.unwrap_err();
    assert_eq!(fault.message, "provider_id: no provider 'nobody'");
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_removed_provider_is_asked_for_no_more() {
    let home = tempfile::tempdir().unwrap();
    let upstream = upstream(Script { polls: usize::MAX, ..Script::default() });
    let service = service(home.path(), &upstream).await;
    let (id, _) = start(&service, "copilot").await;
    service.delete_provider(&id).await.unwrap();
    let fault = service.complete_oauth(&caller("conn_1"), &id).await.unwrap_err();
    assert_eq!(fault.kind, Kind::NotFound, "{fault}");
    assert_eq!(enabled(&service, &id).await, None);
}

type Removing<'a> = dyn Future<Output = Result<()>> + 'a;
/// Looks at a file before what writes it is polled again.
const LOOKS_MAX: usize = 1_000;

/// Polls a removal until what is kept of the login of `id` is gone, and no further: its provider
/// is still there. Says whether it could be stopped; a slow disk may let it come to its end.
async fn stopped(service: &Service, id: &str, mut removing: Pin<&mut Removing<'_>>) -> bool {
    loop {
        if let Poll::Ready(removed) = futures_util::poll!(removing.as_mut()) {
            removed.unwrap();
            return false;
        }
        // The file is written by another thread; it has so many looks' time before the next poll.
        for _ in 0..LOOKS_MAX {
            if kept(service, id).await.is_none() {
                return true;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_provider_that_is_removed_as_its_login_ends_leaves_no_tokens() {
    for midway in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let upstream = upstream(Script { polls: usize::MAX, ..Script::default() });
        // Two processes: one has the login, the other removes the provider.
        let (here, there) =
            (service(home.path(), &upstream).await, service(home.path(), &upstream).await);
        let (id, _) = start(&here, "copilot").await;
        let row = here.library.book().entry(&id).unwrap().row.clone();
        let login = login(here.library.means(), "copilot").unwrap();
        let Some(Kept::Pending(device)) = kept(&here, &id).await else { panic!("{id}") };
        let ending = here.polling(row, login, device);
        let mut removing: Pin<Box<Removing<'_>>> = Box::pin(there.delete_provider(&id));
        let is_stopped = midway && stopped(&here, &id, removing.as_mut()).await;
        if !midway {
            removing.as_mut().await.unwrap();
        }
        let tokens = Tokens {
            access: Secret::new("tid=1"),
            refresh: None,
            expires_at_ms: i64::MAX,
            base_url: Some(upstream.url()),
        };
        ending.done(tokens).await;
        if is_stopped {
            removing.await.unwrap();
        }
        assert_eq!(enabled(&here, &id).await, None);
        assert_eq!(kept(&here, &id).await, None, "midway: {midway}");
    }
}

#[tokio::test]
async fn a_removed_provider_keeps_no_renewed_tokens() {
    let secrets = Secrets::in_memory();
    let service = crate::service::tests::service(&[]).await;
    let login = login(service.library.means(), "copilot").unwrap();
    let (store, provider) = (service.store.clone(), "mine".to_string());
    let keep = TokensOf { secrets: secrets.clone(), store, login, provider };
    let tokens = |access: &str| Tokens {
        access: Secret::new(access),
        refresh: None,
        expires_at_ms: 1,
        base_url: None,
    };
    let first = Kept::Done(tokens("first")).to_secret().unwrap();
    secrets.set(&login_id("mine"), &first).await.unwrap();
    keep.save(&tokens("second")).await.unwrap();
    assert_eq!(keep.load().await.unwrap(), Some(tokens("second")));
    secrets.remove(&login_id("mine")).await.unwrap();
    keep.save(&tokens("third")).await.unwrap();
    assert_eq!(secrets.get(&login_id("mine")).await.unwrap(), None);
}

#[tokio::test]
async fn no_secret_lies_open_in_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let upstream = upstream(Script::default());
    let service = service(home.path(), &upstream).await;
    let mut ids = Vec::new();
    for provider_type in ["copilot", "dashscope"] {
        let (id, challenge) = start(&service, provider_type).await;
        assert!(!format!("{challenge:?}").contains("device-"));
        let credentials = service.complete_oauth(&caller("conn_1"), &id).await.unwrap();
        let shown = format!("{credentials:?} {:?}", service.library.book());
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown}");
        ids.push(id);
    }
    assert_eq!(ids.len(), 2);
    let mut folders = vec![home.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).into_owned();
            for secret in SECRETS {
                assert!(!text.contains(secret), "{secret} in {}", entry.display());
            }
        }
    }
}
