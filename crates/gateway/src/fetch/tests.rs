use crate::{FetchRequest, Gateway, Limits};
use althing_stdx::Kind;
use althing_stdx::redact::Secret;
use althing_testkit::downloads::TOKEN;
use althing_testkit::{Downloads, Mishap, StockFile};

fn file() -> StockFile {
    StockFile::new("ada/tiny", "a.gguf", vec![7; 50_000])
}

#[tokio::test]
async fn a_token_stays_with_its_server_and_the_file_is_told_of() {
    let server = Downloads::start(vec![StockFile { gated: true, ..file() }]);
    let gateway = Gateway::new(Limits::default());
    let url = format!("{}/ada/tiny/resolve/main/a.gguf", server.url());
    let token = Some(Secret::new(TOKEN));
    let wanted = FetchRequest { token, from: 49_000, ..FetchRequest::new(url.clone()) };
    let fetched = gateway.fetch_file(&wanted).await.unwrap();
    assert_eq!(fetched.status, 206);
    assert_eq!(fetched.header("x-linked-size"), Some("50000"));
    assert_eq!(fetched.header("content-range"), Some("bytes 49000-49999/50000"));
    assert_eq!(fetched.text(1_000).await.unwrap(), [7; 1_000]);
    let asked = server.asked();
    assert_eq!(asked[0].authorization, format!("Bearer {TOKEN}"));
    assert_eq!((asked[1].authorization.as_str(), asked[1].range.as_str()), ("", "bytes=49000-"));
    assert_eq!(asked[1].host, server.cdn());

    let refused = gateway.fetch_file(&FetchRequest::new(url)).await.unwrap();
    assert_eq!((refused.status, refused.header("x-error-code")), (401, Some("GatedRepo")));
    assert!(refused.error_text().await.contains("restricted"));
}

#[tokio::test]
async fn circles_plain_http_and_long_bodies_end() {
    let plain = StockFile { repo: String::new(), ..file() };
    let server = Downloads::start(vec![plain.failing(&[Mishap::Loop; 20])]);
    let gateway = Gateway::new(Limits::default());
    let url = format!("{}/plain/a.gguf", server.url());
    let fault = gateway.fetch_file(&FetchRequest::new(url.clone())).await.unwrap_err();
    assert_eq!(fault.kind, Kind::Upstream);
    assert!(fault.message.contains("more than 8 times"), "{}", fault.message);

    let socket = "http://2f746d702f78.unix/a.gguf";
    for url in ["http://models.example/a.gguf", "ftp://a/b", "https://me:pw@a/b", "a b", socket] {
        let fault = gateway.fetch_file(&FetchRequest::new(url)).await.unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidParams, "{url}");
    }
    let server = Downloads::start(vec![StockFile { repo: String::new(), ..file() }]);
    let url = format!("{}/plain/a.gguf", server.url());
    let fetched = gateway.fetch_file(&FetchRequest::new(url)).await.unwrap();
    assert!(fetched.text(49_999).await.unwrap_err().message.contains("more than 49999 bytes"));
}
