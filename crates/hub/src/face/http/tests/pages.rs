//! Pages of other sites: those that the person allows, and all others.

use super::super::Limits;
use super::kit::{Answer, Face};

const SITE: &str = "https://app.example";

async fn face() -> Face {
    Face::with(Limits::default(), &[("ALTHING_HTTP_ORIGINS", SITE)]).await
}

/// One request whose head is written as it stands, without the token unless it is in it.
async fn send(face: &Face, method: &str, path: &str, headers: &str) -> Answer {
    let mut line = face.connect().await;
    let host = face.address;
    line.send(&format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n")).await;
    line.answer().await
}

#[tokio::test]
async fn an_allowed_page_is_told_that_it_may_ask() {
    let face = face().await;
    let asks = "origin: https://app.example\r\naccess-control-request-method: POST\r\n\
                access-control-request-headers: authorization, content-type\r\n\
                access-control-request-private-network: true\r\n";
    let told = send(&face, "OPTIONS", "/v1/chat/completions", asks).await;
    assert_eq!(told.status, 204, "{told:?}");
    for line in [
        "access-control-allow-origin: https://app.example",
        "access-control-allow-methods: get, post",
        "access-control-allow-headers: authorization, content-type",
        "access-control-allow-private-network: true",
    ] {
        assert!(told.head.contains(line), "{line}: {told:?}");
    }
    // It needs the token all the same, and may read why it is refused.
    let refused = send(&face, "GET", "/v1/models", "origin: https://app.example\r\n").await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.head.contains("access-control-allow-origin: https://app.example"));
    let mut line = face.connect().await;
    line.send(&face.request("GET", "/v1/models", "origin: https://app.example\r\n", "")).await;
    let answer = line.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer
            .head
            .contains("access-control-expose-headers: x-althing-answered-by, x-althing-ignored")
    );
}

#[tokio::test]
async fn all_other_pages_hear_nothing() {
    let face = face().await;
    for (path, origin) in [
        ("/v1/models", "https://evil.example"),
        ("/v1/models", "http://app.example"),
        ("/v1/models", "null"),
        // Our own pages are for nobody else.
        ("/ui/", SITE),
    ] {
        let asks = format!("origin: {origin}\r\naccess-control-request-method: GET\r\n");
        let told = send(&face, "OPTIONS", path, &asks).await;
        assert_eq!(told.status, 403, "{path} {origin}: {told:?}");
        assert!(!told.head.contains("access-control"), "{path} {origin}: {told:?}");
    }
}

#[tokio::test]
async fn who_is_kept_out_hears_of_no_key() {
    let face = face().await;
    let port = face.address.port();
    let mut line = face.connect().await;
    line.send(&format!("GET /v1/models HTTP/1.1\r\nhost: evil.example:{port}\r\n\r\n")).await;
    let host = line.answer().await;
    let origin = send(&face, "GET", "/v1/models", "origin: https://evil.example\r\n").await;
    let token = send(&face, "GET", "/v1/models", "").await;
    for (answer, status, code) in [
        (&host, 403, "host_not_allowed"),
        (&origin, 403, "origin_not_allowed"),
        (&token, 401, "invalid_api_key"),
    ] {
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, error["code"].as_str()), (status, Some(code)), "{answer:?}");
    }
    assert_eq!(host.json()["error"]["type"], "permission_error");
    let anthropic = "origin: https://evil.example\r\nanthropic-version: 2023-06-01\r\n";
    let origin = send(&face, "GET", "/v1/models", anthropic).await;
    assert_eq!(origin.json()["error"]["type"], "permission_error", "{origin:?}");
}
