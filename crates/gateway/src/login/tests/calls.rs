//! What calls carry that are made with a login.

use super::sockets::{Shelf, login};
use super::*;
use crate::dialect::openai::OPENAI;
use crate::pass::{Head, PassRequest};
use crate::{Endpoint, Limits, Need, Target, provider};
use althing_testkit::upstream::{Options, Upstream};

/// Tokens that are good for a while.
fn shelf(base_url: Option<String>) -> Arc<Shelf> {
    let expires_at_ms = now_ms() + 600_000;
    let tokens = Tokens { access: Secret::new("t"), refresh: None, expires_at_ms, base_url };
    Arc::new(Shelf(Mutex::new(Some(tokens)), Mutex::default()))
}

#[tokio::test]
async fn where_the_models_are_if_nobody_says() {
    for (provider, want) in [
        ("copilot", None),
        ("dashscope", Some("https://dashscope.aliyuncs.com/compatible-mode/v1")),
    ] {
        let shelf = shelf(None);
        let flow = Flow::new(login_row(provider).unwrap());
        let session = Gateway::new(Limits::default()).login(flow).session(shelf);
        let grant = session.grant(Need::default()).await.unwrap();
        assert_eq!(grant.base_url.as_deref(), want, "{provider}");
    }
}

/// Who began a call to Copilot, and whether it has images, as it is told with this body.
#[track_caller]
fn told(body: &str, want: &str) {
    let headers = copilot::headers(body.as_bytes());
    let value = |name| headers.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
    let vision = if value("copilot-vision-request") == Some("true") { " sees" } else { "" };
    assert_eq!(format!("{}{vision}", value("x-initiator").unwrap()), want, "{body}");
}

#[test]
fn copilot_is_told_who_began_and_what_to_look_at() {
    let (user, image) = (r#"{"role":"user","content":"a"}"#, r#"{"type":"image_url"}"#);
    for (turns, want) in [
        (user.to_string(), "user"),
        (format!(r#"{{"role":"system","content":"s"}},{user}"#), "user"),
        (format!(r#"{user},{{"role":"assistant","content":null}},{user}"#), "agent"),
        (format!(r#"{user},{{"role":"tool","content":"b"}}"#), "agent"),
        (format!(r#"{{"role":"user","content":[{{"type":"text"}},{image}]}}"#), "user sees"),
        (format!(r#"{{"role":"user","content":[{image}]}},{{"role":"tool"}}"#), "agent sees"),
    ] {
        told(&format!(r#"{{"model":"m","messages":[{turns}]}}"#), want);
    }
    for (input, want) in [
        (r#""a""#, "user"),
        (r#"["a","b"]"#, "user"),
        (r#"[{"role":"developer","content":"s"},{"role":"user","content":"a"}]"#, "user"),
        (r#"[{"role":"user","content":[{"type":"input_image"}]}]"#, "user sees"),
        (r#"[{"role":"user"},{"type":"function_call_output","output":"b"}]"#, "agent"),
    ] {
        told(&format!(r#"{{"model":"m","input":{input}}}"#), want);
    }
    told("", "user");
}

#[tokio::test]
async fn a_request_on_its_way_to_copilot_says_what_it_is() {
    let upstream = Upstream::start(Options::default());
    let endpoint = Arc::new(Endpoint {
        id: "copilot".into(),
        provider: provider("copilot").unwrap(),
        base_url: "https://nowhere.invalid".into(),
        key: None,
        parallel: 1,
        access: Some(login("copilot", &upstream).session(shelf(Some(upstream.url())))),
        headers: vec![],
    });
    let gateway = Gateway::new(Limits::default());
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}"#;
    let first = format!(r#"{{"role":"user","content":[{image}]}}"#);
    let later = format!(r#"{first},{{"role":"assistant","content":"b"}},{first}"#);
    for turns in [first, later] {
        let body = Bytes::from(format!(r#"{{"model":"fake-large","messages":[{turns}]}}"#));
        let request = PassRequest {
            dialect: &OPENAI,
            path: "/chat/completions".into(),
            head: Head::scan(&body).unwrap(),
            body,
            headers: vec![],
        };
        let target = Target { endpoint: endpoint.clone(), model: "fake-large".into() };
        assert!(gateway.pass(&[target], request, None).await.is_ok());
    }
    let seen = upstream.requests();
    let of = |name| seen.iter().map(|it| it.header(name)).collect::<Vec<_>>();
    assert_eq!(of("x-initiator"), ["user", "agent"]);
    assert_eq!(of("copilot-vision-request"), ["true", "true"]);
    let ids = of("x-request-id");
    assert!(ids.iter().all(|id| id.len() == 32) && ids[0] != ids[1], "{ids:?}");
}
