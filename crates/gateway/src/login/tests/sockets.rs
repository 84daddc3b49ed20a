//! Logins by real sockets: what is sent, what comes back, and how tokens are renewed.

use super::*;
use crate::{Endpoint, Grant, Limits, Need, provider};
use althing_testkit::upstream::{Ending, Logins, Options, Upstream};
use expect_test::{Expect, expect};
use futures_util::future::{BoxFuture, join_all};

/// Tokens kept in memory, and why the login ended as often as it did.
#[derive(Default)]
pub(super) struct Shelf(pub(super) Mutex<Option<Tokens>>, pub(super) Mutex<Vec<String>>);

impl Keep for Shelf {
    fn load(&self) -> BoxFuture<'_, Result<Option<Tokens>>> {
        Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
    }

    fn save<'a>(&'a self, tokens: &'a Tokens) -> BoxFuture<'a, Result<()>> {
        *self.0.lock().unwrap() = Some(tokens.clone());
        Box::pin(async { Ok(()) })
    }

    fn note_end<'a>(&'a self, why: &'a Fault) -> BoxFuture<'a, ()> {
        self.1.lock().unwrap().push(why.message.clone());
        Box::pin(async {})
    }
}

pub(super) fn login(provider: &str, upstream: &Upstream) -> Login {
    let url = upstream.url();
    let mut flow = Flow::new(login_row(provider).unwrap());
    let paths = match provider {
        "copilot" => ["/login/device/code", "/login/oauth/access_token"],
        _ => ["/api/v1/oauth2/device/code", "/api/v1/oauth2/token"],
    };
    flow.set("device_url", &format!("{url}{}", paths[0])).unwrap();
    flow.set("token_url", &format!("{url}{}", paths[1])).unwrap();
    if provider == "copilot" {
        flow.set("exchange_url", &format!("{url}/copilot_internal/v2/token")).unwrap();
    }
    Gateway::new(Limits::default()).login(flow)
}

fn logins(logins: Logins) -> Options {
    Options::default().logins(logins)
}

/// Fields and headers without those that say nothing, and without what differs each time.
fn shown<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let dull = ["host", "content-length", "accept", "content-type", "user-agent"];
    let all = all.filter(|(name, _)| !dull.contains(name) && !name.starts_with("code_"));
    let line = |(name, value)| match name {
        "x-request-id" | "x-althing-hops" => format!("  {name}: …\n"),
        _ => format!("  {name}: {value}\n"),
    };
    let mut lines: Vec<String> = all.map(line).collect();
    lines.sort();
    lines.concat()
}

/// The whole way by real sockets: what was asked, what came of it, and what every call carries.
async fn by_sockets(provider_name: &str, want: Expect) {
    let upstream = Upstream::start(logins(Logins { polls: 1, ..Logins::default() }));
    let login = login(provider_name, &upstream);
    let started = login.start().await.unwrap();
    let tokens = login.finish(&started.device).await.unwrap();
    let shelf = Arc::new(Shelf(Mutex::new(Some(tokens.clone())), Mutex::default()));
    let row = provider(provider_name).unwrap();
    let endpoint = Endpoint {
        id: "mine".into(),
        provider: row,
        base_url: row.base_url.into(),
        key: None,
        parallel: 1,
        access: Some(login.session(shelf)),
        headers: vec![],
    };
    let gateway = Gateway::new(Limits::default());
    let models = gateway.list(&endpoint, Duration::from_secs(20)).await.unwrap();
    let mut told = format!("{}\n", started.user_code);
    for seen in upstream.requests() {
        told += &format!("{}\n", seen.path);
        let fields = seen.body.as_object().into_iter().flatten();
        told += &shown(fields.map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
        let headers = seen.headers.iter();
        told += &shown(headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap())));
    }
    let token = tokens.access.expose();
    let refresh = tokens.refresh.as_ref().map(|it| it.expose());
    told += &format!("{token} {refresh:?} {}\n", tokens.base_url.is_some());
    told += &models.iter().map(|it| it.id.as_str()).collect::<Vec<_>>().join(" ");
    let version = env!("CARGO_PKG_VERSION");
    want.assert_eq(&told.replace(version, "VERSION"));
    // What prints itself has no secret in it.
    let printed = format!("{started:?} {tokens:?} {endpoint:?} {login:?}");
    for secret in [token, started.device.code.expose(), refresh.unwrap()] {
        assert!(!printed.contains(secret), "{printed}");
    }
    if let Some(verifier) = &started.device.verifier {
        let first = &upstream.requests()[0].body;
        assert_eq!(first["code_challenge"], challenge(verifier));
        assert_eq!(first["code_challenge_method"], "S256");
        assert_eq!(upstream.requests()[1].body["code_verifier"], verifier.expose());
    }
}

#[tokio::test]
async fn copilot_by_sockets() {
    by_sockets(
        "copilot",
        expect![[r#"
        WDJB-MJHT
        /login/device/code
          client_id: Iv1.b507a08c87ecfe98
          scope: read:user
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          x-request-id: …
        /login/oauth/access_token
          client_id: Iv1.b507a08c87ecfe98
          device_code: device-1-0123456789abcdef
          grant_type: urn:ietf:params:oauth:grant-type:device_code
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          x-request-id: …
        /login/oauth/access_token
          client_id: Iv1.b507a08c87ecfe98
          device_code: device-1-0123456789abcdef
          grant_type: urn:ietf:params:oauth:grant-type:device_code
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          x-request-id: …
        /copilot_internal/v2/token
          authorization: token gho_device-1-0123456789abcdef
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          x-request-id: …
        /models
          authorization: Bearer tid=1;exp=1
          copilot-integration-id: vscode-chat
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          openai-intent: conversation-panel
          x-althing-hops: …
          x-github-api-version: 2025-04-01
          x-initiator: user
          x-request-id: …
        tid=1;exp=1 Some("gho_device-1-0123456789abcdef") true
        fake-large fake-small no-policy"#]],
    )
    .await;
}

#[tokio::test]
async fn dashscope_by_sockets() {
    by_sockets(
        "dashscope",
        expect![[r#"
        WDJB-MJHT
        /api/v1/oauth2/device/code
          client_id: f0304373b74a44d2b584a3fb70ca9e56
          scope: openid profile email model.completion
          x-request-id: …
        /api/v1/oauth2/token
          client_id: f0304373b74a44d2b584a3fb70ca9e56
          device_code: device-1-0123456789abcdef
          grant_type: urn:ietf:params:oauth:grant-type:device_code
          x-request-id: …
        /api/v1/oauth2/token
          client_id: f0304373b74a44d2b584a3fb70ca9e56
          device_code: device-1-0123456789abcdef
          grant_type: urn:ietf:params:oauth:grant-type:device_code
          x-request-id: …
        /v1/models
          authorization: Bearer qwen-first-2
          x-althing-hops: …
          x-dashscope-authtype: qwen-oauth
          x-dashscope-cachecontrol: enable
          x-dashscope-useragent: althing/VERSION
        qwen-first-2 Some("qwen-refresh-0123456789") true
        fake-large fake-small"#]],
    )
    .await;
}

#[tokio::test]
async fn logins_that_fail() {
    for (provider, title) in [("copilot", "GitHub Copilot"), ("dashscope", "DashScope (Qwen)")] {
        for (ending, want) in [
            (Ending::Denied, "was declined"),
            (Ending::Expired, "was not confirmed in time"),
            (Ending::Broken, "failed: device_flow_disabled"),
        ] {
            let script = Logins { polls: 1, ending, ..Logins::default() };
            let upstream = Upstream::start(logins(script));
            let login = login(provider, &upstream);
            let started = login.start().await.unwrap();
            let fault = login.finish(&started.device).await.unwrap_err();
            let want = format!("the login at {title} {want}");
            assert!(fault.message.starts_with(&want), "{fault}");
        }
    }
}

/// Lets the clock run ahead of the sockets, little by little: these still need their real time.
async fn hurry() {
    loop {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::time::resume();
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn who_is_to_slow_down_does() {
    // The pauses: what the server named, then twice what its `slow_down` made of it.
    for (provider, seconds) in [("copilot", 0.1 + 2.0 * 5.1), ("dashscope", 0.1 + 2.0 * 0.15)] {
        let script = Logins { polls: 2, slow_down: true, ..Logins::default() };
        let upstream = Upstream::start(logins(script));
        let login = login(provider, &upstream);
        let started = login.start().await.unwrap();
        let begun = tokio::time::Instant::now();
        let ended = tokio::select! {
            ended = login.finish(&started.device) => ended,
            () = hurry() => unreachable!("it has no end"),
        };
        assert!(ended.is_ok(), "{provider}: {ended:?}");
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs_f64(seconds), "{provider}: {took:?}");
    }
}

/// Old tokens for new: twenty ask at once with what is kept. Says what they all got and how often
/// the server was asked.
async fn renewals(provider: &str, script: Logins, kept: Tokens, refused: bool) -> String {
    let upstream = Upstream::start(logins(script));
    let shelf = Arc::new(Shelf(Mutex::new(Some(kept.clone())), Mutex::default()));
    let session = login(provider, &upstream).session(shelf.clone());
    let old = Grant { key: Some(kept.access.clone()), ..Grant::default() };
    let asking = (0..20).map(|_| {
        let need = Need { refused: refused.then_some(&old), ..Need::default() };
        session.grant(need)
    });
    let got = join_all(asking).await.into_iter().map(|grant| match grant {
        Ok(grant) => grant.key.unwrap().expose().to_string(),
        Err(fault) => format!("{:?}", fault.kind),
    });
    let mut got: Vec<String> = got.collect();
    got.dedup();
    let saved = shelf.0.lock().unwrap().clone().unwrap();
    assert_eq!(saved.refresh, kept.refresh, "what it does not give again is kept");
    let ends = shelf.1.lock().unwrap().len();
    let is_over = got.contains(&"BadKey".to_string());
    assert_eq!(ends > 0, is_over, "an end is noted, and nothing else");
    format!("{} after {}", got.join(" and "), upstream.requests().len())
}

#[tokio::test]
async fn tokens_are_renewed_once_in_time_and_when_refused() {
    let tokens = |refresh: &str, left_ms: i64| Tokens {
        access: Secret::new("old"),
        refresh: Some(Secret::new(refresh)),
        expires_at_ms: now_ms() + left_ms,
        base_url: None,
    };
    let github = "gho_device-1";
    let (long, short, dead) = (600_000, 20_000, -1);
    let over = || Logins { over: true, ..Logins::default() };
    let new = Logins::default;
    for (provider, script, kept, refused, want) in [
        ("copilot", new(), tokens(github, long), false, "old after 0"),
        ("copilot", new(), tokens(github, short), false, "tid=1;exp=1 after 1"),
        ("copilot", new(), tokens(github, long), true, "tid=1;exp=1 after 1"),
        ("copilot", over(), tokens(github, dead), false, "BadKey after 20"),
        ("dashscope", new(), tokens("r", long), false, "old after 0"),
        ("dashscope", new(), tokens("r", short), false, "qwen-renewed-1 after 1"),
        ("dashscope", new(), tokens("r", long), true, "qwen-renewed-1 after 1"),
        ("dashscope", over(), tokens("r", dead), true, "BadKey after 20"),
    ] {
        let told = renewals(provider, script, kept, refused).await;
        assert_eq!(told, want, "{provider} {refused}");
    }
    // A server in trouble does not take away what still works.
    let shelf = Arc::new(Shelf(Mutex::new(Some(tokens("r", short))), Mutex::default()));
    let mut flow = Flow::new(login_row("dashscope").unwrap());
    flow.set("token_url", "http://127.0.0.1:9/").unwrap();
    let session = Gateway::new(Limits::default()).login(flow).session(shelf.clone());
    assert_eq!(session.grant(Need::default()).await.unwrap().key, Some(Secret::new("old")));
    *shelf.0.lock().unwrap() = None;
    let gone = login("copilot", &Upstream::start(Options::default())).session(shelf);
    assert_eq!(gone.grant(Need::default()).await.unwrap_err().kind, Kind::BadKey);
}

/// Two processes renew at the same time: whoever comes second is refused, and finds what the first
/// one got.
#[tokio::test]
async fn tokens_that_another_process_renewed_are_no_end() {
    struct Shared(Mutex<VecDeque<Tokens>>);
    impl Keep for Shared {
        fn load(&self) -> BoxFuture<'_, Result<Option<Tokens>>> {
            let mut looks = self.0.lock().unwrap();
            let found = if looks.len() > 1 { looks.pop_front() } else { looks.front().cloned() };
            Box::pin(async { Ok(found) })
        }

        fn save<'a>(&'a self, _: &'a Tokens) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Ok(()) })
        }

        fn note_end<'a>(&'a self, why: &'a Fault) -> BoxFuture<'a, ()> {
            panic!("it is not over: {why}");
        }
    }
    let upstream = Upstream::start(logins(Logins { over: true, ..Logins::default() }));
    let tokens = |access: &str, left_ms: i64| Tokens {
        access: Secret::new(access),
        refresh: Some(Secret::new("r")),
        expires_at_ms: now_ms() + left_ms,
        base_url: None,
    };
    let looks = [tokens("old", -1), tokens("theirs", 600_000)].into();
    let session = login("dashscope", &upstream).session(Arc::new(Shared(Mutex::new(looks))));
    let grant = session.grant(Need::default()).await.unwrap();
    assert_eq!(grant.key, Some(Secret::new("theirs")));
}

/// Qwen's free login ended: whoever meets a refusal of it learns that, and what works instead.
#[tokio::test]
async fn a_login_that_is_of_no_use_says_so() {
    let row = login_row("dashscope").unwrap();
    let own = Flow::new(row);
    let notice = own.notice().unwrap();
    assert!(notice.contains("15 April 2026"), "{notice}");
    let over = answers::login_over(row, own.notice());
    assert!(over.message.contains("althing providers add dashscope"), "{over}");
    let explained = Gateway::new(Limits::default()).login(own);
    let explained = explained.explain(Fault::new(Kind::Upstream, "starts no login: closed"));
    assert_eq!(explained.message, format!("starts no login: closed; {notice}"));
    // Of a server of the person's own nothing is known.
    let upstream = Upstream::start(Options::default());
    assert_eq!(login("dashscope", &upstream).notice(), None);
    assert_eq!(Flow::new(login_row("copilot").unwrap()).notice(), None);
}

#[tokio::test]
async fn a_refused_token_is_renewed_within_the_call() {
    let refuses = |seen: &althing_testkit::upstream::Seen| {
        (seen.header("authorization") == "Bearer stale").then_some("err-401")
    };
    let upstream = Upstream::start(Options::default().mishap(refuses));
    let kept = Tokens {
        access: Secret::new("stale"),
        refresh: Some(Secret::new("gho_device-1")),
        expires_at_ms: now_ms() + 600_000,
        base_url: Some(upstream.url()),
    };
    let shelf = Arc::new(Shelf(Mutex::new(Some(kept)), Mutex::default()));
    let endpoint = Endpoint {
        id: "copilot".into(),
        provider: provider("copilot").unwrap(),
        base_url: "https://nowhere.invalid".into(),
        key: None,
        parallel: 1,
        access: Some(login("copilot", &upstream).session(shelf.clone())),
        headers: vec![],
    };
    let gateway = Gateway::new(Limits::default());
    assert!(!gateway.list(&endpoint, Duration::from_secs(20)).await.unwrap().is_empty());
    let paths: Vec<String> = upstream.requests().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/models", "/copilot_internal/v2/token", "/models"]);
    assert_eq!(shelf.0.lock().unwrap().as_ref().unwrap().access.expose(), "tid=1;exp=1");
}
