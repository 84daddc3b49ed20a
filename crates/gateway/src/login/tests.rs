//! Every answer of RFC 8628 and both servers' own ways, on a paused clock; `sockets.rs` has the
//! rest of the way.

mod calls;
mod sockets;

use super::*;
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

/// GitHub's errors are successes.
fn github(code: &str) -> Result<Answer> {
    json(200, &error(code))
}

/// Plays answers to a login on a paused clock: when was asked, in seconds and eight times at most,
/// and how it ended. Once the answers are used up the last one is given again.
async fn check(provider: &str, answers: Vec<Result<Answer>>, times: &[f64], end: &str) {
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
            format!("{access} {refresh:?} {life:?} {:?}", granted.resource_url)
        }
        Err(fault) => format!("{:?}: {fault}", fault.kind),
    };
    let mut asked = asked.into_inner().unwrap();
    asked.truncate(8);
    assert_eq!((asked.as_slice(), ended.as_str()), (times, end));
}

#[tokio::test(start_paused = true)]
async fn github_answers() {
    let token = || json(200, r#"{"access_token":"gho_x","token_type":"bearer"}"#);
    let (pending, slow) = (|| github("authorization_pending"), || github("slow_down"));
    let granted = "gho_x None None None";
    let every_5 = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0];
    check("copilot", vec![pending(), pending(), token()], &every_5[..3], granted).await;
    let slowly = [5.0, 10.0, 20.0, 35.0, 50.0];
    check("copilot", vec![pending(), slow(), slow(), pending(), token()], &slowly, granted).await;
    let at = "the login at GitHub Copilot";
    for (code, end) in [
        ("access_denied", format!("Refused: {at} was declined")),
        ("expired_token", format!("TimedOut: {at} was not confirmed in time; start it again")),
        ("what_is_this", format!("Upstream: {at} failed: what_is_this: so [secret] says")),
    ] {
        check("copilot", vec![pending(), github(code)], &every_5[..2], &end).await;
    }
    let late = format!("TimedOut: {at} was not confirmed in time; start it again");
    check("copilot", vec![pending()], &every_5, &late).await;
}

#[tokio::test(start_paused = true)]
async fn troubles_pass_and_the_pauses_between_them_double() {
    let troubles = vec![
        broken(),
        json(200, "<html>Sign in</html>"),
        json(503, &error("server_error")),
        github("authorization_pending"),
        json(200, "{}"),
        json(200, r#"{"access_token":"has a blank"}"#),
        json(200, r#"{"access_token":"gho_x"}"#),
    ];
    let times = [5.0, 15.0, 35.0, 75.0, 80.0, 90.0, 110.0];
    check("copilot", troubles, &times, "gho_x None None None").await;
    let times = [5.0, 15.0, 35.0, 75.0, 135.0, 195.0, 255.0, 315.0];
    let end = "TimedOut: the login at GitHub Copilot came to no end in time; at last: nothing \
               listens at http://x";
    check("copilot", vec![broken()], &times, end).await;
}

#[tokio::test(start_paused = true)]
async fn qwen_answers() {
    let token = r#"{"access_token":"a","refresh_token":"r","expires_in":21600,
        "resource_url":"portal.qwen.ai"}"#;
    let granted = r#"a Some("r") Some(21600) Some("portal.qwen.ai")"#;
    let mut answers = vec![json(400, &error("authorization_pending"))];
    answers.extend((0..5).map(|_| json(429, &error("slow_down"))));
    answers.push(json(200, token));
    let times = [2.0, 4.0, 7.0, 11.5, 18.25, 28.25, 38.25];
    check("dashscope", answers, &times, granted).await;
    // The status alone says it too.
    check("dashscope", vec![json(429, "{}"), json(200, token)], &[2.0, 5.0], granted).await;
    let at = "the login at DashScope (Qwen)";
    for (status, code, end) in [
        (400, "expired_token", format!("TimedOut: {at} was not confirmed in time; start it again")),
        (400, "access_denied", format!("Refused: {at} was declined")),
        (401, "invalid_grant", format!("Upstream: {at} failed: invalid_grant: so [secret] says")),
    ] {
        check("dashscope", vec![json(status, &error(code))], &[2.0], &end).await;
    }
}

#[test]
fn what_starts_a_login() {
    let good = r#"{"device_code":"secret","user_code":"AB-CD","verification_uri":"https://x/y""#;
    let with = |more: &str| format!("{good}{more}}}");
    let no_code =
        |status| format!("Upstream: answered with {status} and no code: is the address right?");
    let refused = "Upstream: starts no login: unauthorized_client: so [secret] says".to_string();
    for (status, body, want) in [
        (200, with(r#","expires_in":900,"interval":7"#), "AB-CD 900s 7s".to_string()),
        (200, with(""), "AB-CD 900s 5s".into()),
        (200, with(r#","expires_in":1e99,"interval":-3"#), "AB-CD 900s 5s".into()),
        (200, with(r#","expires_in":99999999,"interval":9999"#), "AB-CD 3600s 60s".into()),
        (200, with("").replace("https", "http"), no_code(200)),
        (200, error("unauthorized_client"), refused),
        (404, "<html>".into(), no_code(404)),
        (502, String::new(), "Overloaded: answers with 502".into()),
        (429, String::new(), "RateLimited: wants fewer logins; wait".into()),
    ] {
        let row = login_row("copilot").unwrap();
        let started = answers::challenge(row, status, body.as_bytes(), None, 1_000);
        let told = match started {
            Ok(it) => {
                assert!(!format!("{it:?}").contains("secret"));
                assert_eq!(it.device.expires_at_ms, 1_000 + it.expires_in.as_millis() as i64);
                format!("{} {:?} {:?}", it.user_code, it.expires_in, it.interval)
            }
            Err(fault) => format!("{:?}: {fault}", fault.kind).replace("GitHub Copilot ", ""),
        };
        assert_eq!(told, want, "{body}");
    }
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

#[test]
fn the_challenge_of_the_standard() {
    // RFC 7636, appendix B.
    let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
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
