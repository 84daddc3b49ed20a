use super::*;
use crate::{Endpoint, Grant, Limits, provider};
use althing_testkit::upstream::{Ending, Logins, Options, Upstream};
use expect_test::{Expect, expect};
use futures_util::future::{BoxFuture, join_all};
use std::collections::VecDeque;
use std::sync::Mutex;

fn json(status: u16, body: &str) -> Result<Answer> {
    Ok((status, body.into()))
}

fn broken() -> Result<Answer> {
    Err(Fault::new(Kind::Network, "nothing listens at http://x"))
}

fn error(code: &str) -> String {
    format!(r#"{{"error":"{code}","error_description":"so gho_0123456789abcdef says"}}"#)
}

/// Plays answers to a login on a paused clock: when was asked, in seconds, and how it ended. Once
/// the answers are used up the last one is given again.
async fn check(provider: &str, answers: Vec<Result<Answer>>, want: Expect) {
    let row = login_row(provider).unwrap();
    let device = Device {
        code: Secret::new("device-secret"),
        verifier: None,
        expires_at_ms: 900_000,
        interval_ms: row.interval.as_millis() as u64,
    };
    let begun = tokio::time::Instant::now();
    let (asked, answers) = (Mutex::new(vec![]), Mutex::new(VecDeque::from(answers)));
    let ask = || async {
        asked.lock().unwrap().push(begun.elapsed().as_millis() as f64 / 1000.0);
        let mut answers = answers.lock().unwrap();
        if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() }
    };
    let ended = match Polling::new(row, &device, 0).run(ask).await {
        Ok(granted) => {
            let refresh = granted.refresh.as_ref().map(|it| it.expose());
            let (access, life) = (granted.access.expose(), granted.expires_in);
            format!("granted {access} {refresh:?} {life:?} {:?}", granted.resource_url)
        }
        Err(fault) => format!("{:?}: {fault}", fault.kind),
    };
    let mut asked = asked.into_inner().unwrap();
    let more = asked.len().saturating_sub(8);
    asked.truncate(8);
    want.assert_eq(&format!("{asked:?} and {more} more\n{ended}\n"));
}

#[tokio::test(start_paused = true)]
async fn github_answers() {
    let token = r#"{"access_token":"gho_x","token_type":"bearer"}"#;
    let all = |codes: &[&str], last: Result<Answer>| {
        codes.iter().map(|code| json(200, &error(code))).chain([last]).collect::<Vec<_>>()
    };
    let pending = "authorization_pending";
    check(
        "copilot",
        all(&[pending, pending], json(200, token)),
        expect![[r#"
        [5.0, 10.0, 15.0] and 0 more
        granted gho_x None None None
    "#]],
    )
    .await;
    check(
        "copilot",
        all(&[pending, "slow_down", "slow_down", pending], json(200, token)),
        expect![[r#"
            [5.0, 10.0, 20.0, 35.0, 50.0] and 0 more
            granted gho_x None None None
        "#]],
    )
    .await;
    check(
        "copilot",
        all(&[pending], json(200, &error("access_denied"))),
        expect![[r#"
        [5.0, 10.0] and 0 more
        Refused: the login at GitHub Copilot was declined
    "#]],
    )
    .await;
    check(
        "copilot",
        all(&[pending], json(200, &error("expired_token"))),
        expect![[r#"
        [5.0, 10.0] and 0 more
        TimedOut: the login at GitHub Copilot was not confirmed in time; start it again
    "#]],
    )
    .await;
    check(
        "copilot",
        all(&[pending], json(200, &error("device_flow_disabled"))),
        expect![[r#"
        [5.0, 10.0] and 0 more
        Upstream: the login at GitHub Copilot failed: device_flow_disabled: so [secret] says
    "#]],
    )
    .await;
    check(
        "copilot",
        all(&[], json(200, &error(pending))),
        expect![[r#"
        [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0] and 171 more
        TimedOut: the login at GitHub Copilot was not confirmed in time; start it again
    "#]],
    )
    .await;
    // Troubles pass; the pauses double and go back.
    let troubles = vec![
        broken(),
        json(200, "<html>Sign in</html>"),
        json(503, &error("server_error")),
        json(200, &error(pending)),
        json(200, "{}"),
        json(200, r#"{"access_token":"has a space"}"#),
        json(200, token),
    ];
    check(
        "copilot",
        troubles,
        expect![[r#"
        [5.0, 15.0, 35.0, 75.0, 80.0, 90.0, 110.0] and 0 more
        granted gho_x None None None
    "#]],
    )
    .await;
    check("copilot", vec![broken()], expect![[r#"
        [5.0, 15.0, 35.0, 75.0, 135.0, 195.0, 255.0, 315.0] and 9 more
        TimedOut: the login at GitHub Copilot came to no end in time; at last: nothing listens at http://x
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn qwen_answers() {
    let token = r#"{"access_token":"a","refresh_token":"r","expires_in":21600,
        "resource_url":"portal.qwen.ai"}"#;
    let mut answers = vec![json(400, &error("authorization_pending"))];
    answers.extend((0..5).map(|_| json(429, &error("slow_down"))));
    answers.push(json(200, token));
    check(
        "dashscope",
        answers,
        expect![[r#"
        [2.0, 4.0, 7.0, 11.5, 18.25, 28.25, 38.25] and 0 more
        granted a Some("r") Some(21600) Some("portal.qwen.ai")
    "#]],
    )
    .await;
    // The status alone says it too.
    check(
        "dashscope",
        vec![json(429, "{}"), json(200, token)],
        expect![[r#"
        [2.0, 5.0] and 0 more
        granted a Some("r") Some(21600) Some("portal.qwen.ai")
    "#]],
    )
    .await;
    check(
        "dashscope",
        vec![json(400, &error("expired_token"))],
        expect![[r#"
        [2.0] and 0 more
        TimedOut: the login at DashScope (Qwen) was not confirmed in time; start it again
    "#]],
    )
    .await;
    check(
        "dashscope",
        vec![json(400, &error("access_denied"))],
        expect![[r#"
        [2.0] and 0 more
        Refused: the login at DashScope (Qwen) was declined
    "#]],
    )
    .await;
    check(
        "dashscope",
        vec![json(401, &error("invalid_grant"))],
        expect![[r#"
        [2.0] and 0 more
        Upstream: the login at DashScope (Qwen) failed: invalid_grant: so [secret] says
    "#]],
    )
    .await;
}

#[test]
fn what_starts_a_login() {
    let check = |status: u16, body: &str, want: Expect| {
        let row = login_row("copilot").unwrap();
        let started = answers::challenge(row, status, body.as_bytes(), None, 1_000);
        want.assert_eq(&match started {
            Ok(started) => format!("{started:?}"),
            Err(fault) => format!("{:?}: {fault}", fault.kind),
        });
    };
    let good = r#"{"device_code":"secret","user_code":"AB-CD","verification_uri":"https://x/y""#;
    check(
        200,
        &format!("{good},\"expires_in\":900,\"interval\":7}}"),
        expect![[
            r#"Started { device: Device { code: Secret(…), verifier: None, expires_at_ms: 901000, interval_ms: 7000 }, user_code: "AB-CD", verification_uri: "https://x/y", verification_uri_complete: None, expires_in: 900s, interval: 7s }"#
        ]],
    );
    check(
        200,
        &format!("{good}}}"),
        expect![[
            r#"Started { device: Device { code: Secret(…), verifier: None, expires_at_ms: 901000, interval_ms: 5000 }, user_code: "AB-CD", verification_uri: "https://x/y", verification_uri_complete: None, expires_in: 900s, interval: 5s }"#
        ]],
    );
    check(
        200,
        &format!("{good},\"expires_in\":1e99,\"interval\":-3}}"),
        expect![[
            r#"Started { device: Device { code: Secret(…), verifier: None, expires_at_ms: 901000, interval_ms: 5000 }, user_code: "AB-CD", verification_uri: "https://x/y", verification_uri_complete: None, expires_in: 900s, interval: 5s }"#
        ]],
    );
    check(
        200,
        &format!("{good},\"expires_in\":99999999,\"interval\":9999}}"),
        expect![[
            r#"Started { device: Device { code: Secret(…), verifier: None, expires_at_ms: 3601000, interval_ms: 60000 }, user_code: "AB-CD", verification_uri: "https://x/y", verification_uri_complete: None, expires_in: 3600s, interval: 60s }"#
        ]],
    );
    check(
        200,
        &good.replace("https", "http"),
        expect!["Upstream: GitHub Copilot answered with 200 and no code: is the address right?"],
    );
    check(
        200,
        &error("unauthorized_client"),
        expect!["Upstream: GitHub Copilot starts no login: unauthorized_client: so [secret] says"],
    );
    check(
        404,
        "<html>",
        expect!["Upstream: GitHub Copilot answered with 404 and no code: is the address right?"],
    );
    check(502, "", expect!["Overloaded: GitHub Copilot answers with 502"]);
    check(429, "", expect!["RateLimited: GitHub Copilot wants fewer logins; wait"]);
}

#[test]
fn where_tokens_may_go() {
    let copilot = || Flow::new(login_row("copilot").unwrap());
    let own = || {
        let mut flow = copilot();
        flow.set("exchange_url", "http://127.0.0.1:1/token").unwrap();
        flow
    };
    let qwen = || Flow::new(login_row("dashscope").unwrap());
    for (flow, named, want) in [
        (copilot(), "https://api.githubcopilot.com", Some("https://api.githubcopilot.com")),
        (
            copilot(),
            "https://api.business.githubcopilot.com/",
            Some("https://api.business.githubcopilot.com"),
        ),
        (copilot(), "http://api.githubcopilot.com", None),
        (copilot(), "https://evil.example", None),
        (copilot(), "https://githubcopilot.com.evil.example", None),
        (copilot(), "https://evilgithubcopilot.com", None),
        (copilot(), "https://user:pw@api.githubcopilot.com", None),
        (copilot(), "http://127.0.0.1:1", None),
        (own(), "http://127.0.0.1:1", Some("http://127.0.0.1:1")),
        (own(), "https://copilot.example", Some("https://copilot.example")),
        (own(), "http://copilot.example", None),
        (qwen(), "portal.qwen.ai", Some("https://portal.qwen.ai/v1")),
        (qwen(), "https://portal.qwen.ai/v1", Some("https://portal.qwen.ai/v1")),
        (qwen(), "http://portal.qwen.ai", None),
        (qwen(), "not a host", None),
        (qwen(), "", None),
    ] {
        assert_eq!(flow.base_url(named).ok().as_deref(), want, "{named}");
    }
    let mut flow = qwen();
    for (key, value, want) in [
        ("token_url", "http://chat.example/", "token_url: must begin with https://"),
        ("token_url", "ftp://localhost/", "token_url: must begin with https://"),
        ("device_url", "", "device_url: 1 to 500 characters, not 0"),
        ("exchange_url", "https://x/", "exchange_url: this login has no such step"),
        ("secret", "x", "secret: is not known; there are client_id"),
    ] {
        let fault = flow.set(key, value).unwrap_err();
        assert!(fault.message.starts_with(want), "{fault}");
    }
    flow.set("client_id", "mine").unwrap();
    assert!(flow.base_url("portal.qwen.ai").is_ok());
}

/// Tokens kept in memory.
#[derive(Default)]
struct Shelf(Mutex<Option<Tokens>>);

impl Keep for Shelf {
    fn load(&self) -> BoxFuture<'_, Result<Option<Tokens>>> {
        Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
    }

    fn save<'a>(&'a self, tokens: &'a Tokens) -> BoxFuture<'a, Result<()>> {
        *self.0.lock().unwrap() = Some(tokens.clone());
        Box::pin(async { Ok(()) })
    }
}

fn login(provider: &str, upstream: &Upstream) -> Login {
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

/// The whole way by real sockets: what was asked, what came of it, and what every call carries.
async fn by_sockets(provider_name: &str, want: Expect) {
    let upstream = Upstream::start(logins(Logins::default()));
    let login = login(provider_name, &upstream);
    let started = login.start().await.unwrap();
    let tokens = login.finish(&started.device).await.unwrap();
    let shelf = Arc::new(Shelf(Mutex::new(Some(tokens.clone()))));
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
    let mut told =
        format!("{} {:?}\n", started.user_code, started.verification_uri_complete.is_some());
    for seen in upstream.requests() {
        let mut form: Vec<String> = seen
            .body
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !name.starts_with("code_"))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        form.sort();
        let mut headers: Vec<String> = seen
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .filter(|(name, _)| {
                !["host", "content-length", "accept", "x-request-id"].contains(name)
            })
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        headers.sort();
        told += &format!("{} {}\n  {}\n", seen.path, form.join(" "), headers.join("\n  "));
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
    by_sockets("copilot", expect![[r#"
        WDJB-MJHT false
        /login/device/code client_id="Iv1.b507a08c87ecfe98" scope="read:user"
          content-type: application/x-www-form-urlencoded
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          user-agent: althing/VERSION
        /login/oauth/access_token client_id="Iv1.b507a08c87ecfe98" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          user-agent: althing/VERSION
        /login/oauth/access_token client_id="Iv1.b507a08c87ecfe98" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          user-agent: althing/VERSION
        /login/oauth/access_token client_id="Iv1.b507a08c87ecfe98" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          user-agent: althing/VERSION
        /copilot_internal/v2/token 
          authorization: token gho_device-1-0123456789abcdef
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          user-agent: althing/VERSION
        /models 
          authorization: Bearer tid=1;exp=1
          copilot-integration-id: vscode-chat
          editor-plugin-version: althing/VERSION
          editor-version: Althing/VERSION
          openai-intent: conversation-panel
          user-agent: althing/VERSION
          x-github-api-version: 2025-04-01
          x-initiator: user
        tid=1;exp=1 Some("gho_device-1-0123456789abcdef") true
        fake-large fake-small no-policy"#]]).await;
}

#[tokio::test]
async fn dashscope_by_sockets() {
    by_sockets("dashscope", expect![[r#"
        WDJB-MJHT true
        /api/v1/oauth2/device/code client_id="f0304373b74a44d2b584a3fb70ca9e56" scope="openid profile email model.completion"
          content-type: application/x-www-form-urlencoded
          user-agent: althing/VERSION
        /api/v1/oauth2/token client_id="f0304373b74a44d2b584a3fb70ca9e56" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          user-agent: althing/VERSION
        /api/v1/oauth2/token client_id="f0304373b74a44d2b584a3fb70ca9e56" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          user-agent: althing/VERSION
        /api/v1/oauth2/token client_id="f0304373b74a44d2b584a3fb70ca9e56" device_code="device-1-0123456789abcdef" grant_type="urn:ietf:params:oauth:grant-type:device_code"
          content-type: application/x-www-form-urlencoded
          user-agent: althing/VERSION
        /v1/models 
          authorization: Bearer qwen-first-3
          user-agent: althing/VERSION
          x-dashscope-authtype: qwen-oauth
          x-dashscope-cachecontrol: enable
          x-dashscope-useragent: althing/VERSION
        qwen-first-3 Some("qwen-refresh-0123456789") true
        fake-large fake-small"#]]).await;
}

#[test]
fn the_challenge_of_the_standard() {
    // RFC 7636, appendix B.
    let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

#[tokio::test]
async fn logins_that_fail() {
    for (ending, want) in [
        (Ending::Denied, "the login at GitHub Copilot was declined"),
        (Ending::Expired, "the login at GitHub Copilot was not confirmed in time"),
        (Ending::Broken, "the login at GitHub Copilot failed: device_flow_disabled"),
    ] {
        let upstream = Upstream::start(logins(Logins { polls: 1, ending, ..Logins::default() }));
        let login = login("copilot", &upstream);
        let started = login.start().await.unwrap();
        let fault = login.finish(&started.device).await.unwrap_err();
        assert!(fault.message.starts_with(want), "{fault}");
    }
}

/// Old tokens for new: asks `times` at once with what is kept, and says what they got and how often
/// the server was asked.
async fn renewals(
    provider: &str,
    script: Logins,
    kept: Tokens,
    refused: bool,
    times: usize,
) -> String {
    let upstream = Upstream::start(logins(script));
    let shelf = Arc::new(Shelf(Mutex::new(Some(kept.clone()))));
    let session = login(provider, &upstream).session(shelf.clone());
    let old = Grant { key: Some(kept.access.clone()), ..Grant::default() };
    let asking = (0..times).map(|_| session.grant(refused.then_some(&old)));
    let mut got: Vec<String> = join_all(asking)
        .await
        .into_iter()
        .map(|grant| match grant {
            Ok(grant) => grant.key.unwrap().expose().to_string(),
            Err(fault) => format!("{:?}", fault.kind),
        })
        .collect();
    got.dedup();
    let saved = shelf.0.lock().unwrap().clone().unwrap();
    let kept_refresh = saved.refresh == kept.refresh;
    format!("{got:?} after {} questions, {kept_refresh}", upstream.requests().len())
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
    #[rustfmt::skip]
    let table = [
        ("copilot", Logins::default(), tokens(github, long), false, r#"["old"] after 0 questions, true"#),
        ("copilot", Logins::default(), tokens(github, short), false, r#"["tid=1;exp=1"] after 1 questions, true"#),
        ("copilot", Logins::default(), tokens(github, long), true, r#"["tid=1;exp=1"] after 1 questions, true"#),
        ("copilot", over(), tokens(github, dead), false, r#"["BadKey"] after 20 questions, true"#),
        ("dashscope", Logins::default(), tokens("r", long), false, r#"["old"] after 0 questions, true"#),
        ("dashscope", Logins::default(), tokens("r", short), false, r#"["qwen-renewed-1"] after 1 questions, true"#),
        ("dashscope", Logins::default(), tokens("r", long), true, r#"["qwen-renewed-1"] after 1 questions, true"#),
        ("dashscope", over(), tokens("r", dead), true, r#"["BadKey"] after 20 questions, true"#),
    ];
    for (provider, script, kept, refused, want) in table {
        let told = renewals(provider, script, kept, refused, 20).await;
        assert_eq!(told, want, "{provider} {refused}");
    }
    // A server in trouble does not take away what still works.
    let shelf = Arc::new(Shelf(Mutex::new(Some(tokens("r", short)))));
    let mut flow = Flow::new(login_row("dashscope").unwrap());
    flow.set("token_url", "http://127.0.0.1:9/").unwrap();
    let session = Gateway::new(Limits::default()).login(flow).session(shelf.clone());
    assert_eq!(session.grant(None).await.unwrap().key, Some(Secret::new("old")));
    *shelf.0.lock().unwrap() = None;
    let gone = login("copilot", &Upstream::start(Options::default())).session(shelf);
    assert_eq!(gone.grant(None).await.unwrap_err().kind, Kind::BadKey);
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
    let shelf = Arc::new(Shelf(Mutex::new(Some(kept))));
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

#[test]
fn what_is_kept_comes_back_and_does_not_print() {
    let device = Device {
        code: Secret::new("c0de-secret"),
        verifier: Some(Secret::new("ver-secret")),
        expires_at_ms: 5,
        interval_ms: 5000,
    };
    let tokens = Tokens {
        access: Secret::new("acc-secret"),
        refresh: None,
        expires_at_ms: 7,
        base_url: Some("https://x".into()),
    };
    for kept in [Kept::Pending(device), Kept::Done(tokens)] {
        let secret = kept.to_secret().unwrap();
        assert!(secret.expose().contains("-secret"));
        assert!(!format!("{kept:?}").contains("-secret"));
        assert_eq!(Kept::from_secret(&secret).unwrap(), kept);
        let cut = Secret::new(&secret.expose()[..20]);
        assert!(!Kept::from_secret(&cut).unwrap_err().message.contains("secret"));
    }
}

#[test]
fn forms() {
    assert_eq!(encode(&[("a b", "c&d=é"), ("x", "")]), "a%20b=c%26d%3D%C3%A9&x=");
}
