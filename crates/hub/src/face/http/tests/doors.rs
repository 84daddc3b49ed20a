//! Who gets in, and what is at which path.

use super::super::{Limits, Options, Token, serve};
use super::kit::{Face, TOKEN};
use althing_stdx::redact::Secret;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn only_on_this_machine() {
    let face = Face::start(Limits::default()).await;
    for address in ["0.0.0.0:0", "192.168.0.1:0", "[::]:0"] {
        let options = Options {
            address: address.parse().unwrap(),
            token: Token::new(Secret::new(TOKEN)),
            limits: Limits::default(),
        };
        let refused = serve(face.service.clone(), options, CancellationToken::new()).await;
        let fault = refused.err().expect(address);
        assert!(fault.message.starts_with("http: "), "{fault}");
    }
}

#[tokio::test]
async fn every_address_of_this_machine_lets_its_clients_in() {
    for address in ["127.0.0.1:0", "127.0.0.2:0"] {
        let face = Face::at(address, Limits::default(), &[]).await;
        let answer = face.ask("GET", "/v1/models", "").await;
        assert_eq!(answer.status, 200, "{address}: {answer:?}");
    }
}

#[tokio::test]
async fn a_place_that_is_taken_is_told() {
    let face = Face::start(Limits::default()).await;
    let token = Token::new(Secret::new(TOKEN));
    let options = Options { address: face.address, token, limits: Limits::default() };
    let refused = serve(face.service.clone(), options, CancellationToken::new()).await;
    let fault = refused.err().expect("two cannot listen there");
    assert!(fault.message.contains(&face.address.to_string()), "{fault}");
}

#[tokio::test]
async fn health_wants_no_token_and_everything_else_does() {
    let face = Face::start(Limits::default()).await;
    let host = face.address;
    for (path, status) in [("/healthz", 200), ("/v1/models", 401), ("/metrics", 401), ("/x", 401)] {
        let mut line = face.connect().await;
        line.send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
        let answer = line.answer().await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.head.contains("access-control"), "{answer:?}");
        assert!(!answer.body.contains(TOKEN), "{answer:?}");
    }
}

#[tokio::test]
async fn pages_and_bent_names_stay_outside() {
    let face = Face::start(Limits::default()).await;
    let port = face.address.port();
    for (host, origin) in [
        ("evil.example".to_string(), None),
        (format!("evil.example:{port}"), None),
        (format!("localhost:{port}"), Some("https://evil.example")),
    ] {
        let origin = origin.map_or(String::new(), |it| format!("origin: {it}\r\n"));
        let mut line = face.connect().await;
        let head = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{origin}\r\n");
        line.send(&head).await;
        assert_eq!(line.answer().await.status, 403, "{head}");
    }
}

#[tokio::test]
async fn errors_in_the_clients_own_words() {
    let face = Face::start(Limits::default()).await;
    let unknown = face.ask("GET", "/v1/nothing", "").await;
    assert_eq!(
        (unknown.status, unknown.json()["error"]["code"].as_str()),
        (404, Some("unknown_method"))
    );
    let method = face.ask("GET", "/v1/chat/completions", "").await;
    assert_eq!(method.status, 405);
    assert!(method.head.contains("\r\nallow: post"), "{method:?}");
    assert_eq!(method.json()["error"]["type"], "invalid_request_error");
    let anthropic = face.ask("DELETE", "/v1/messages", "").await;
    assert_eq!((anthropic.status, anthropic.json()["type"].as_str()), (405, Some("error")));
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"] {
        for body in ["", "{", "[]", "{}"] {
            let answer = face.ask("POST", path, body).await;
            assert_eq!(answer.status, 400, "{path} {body:?}: {answer:?}");
        }
    }
}
