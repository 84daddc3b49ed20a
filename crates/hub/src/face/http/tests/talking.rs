//! Pieces as replies: when a stream has begun, what is held back, what a comment looks like.

use super::super::dialect::{Head, openai};
use super::super::ignored::Ignored;
use super::super::patience::Begun;
use super::super::talk::{Piece, Pieces, reply};
use super::super::wire::Wire;
use althing_chat::{Delta, Stop};
use althing_stdx::{Fault, Kind, Result};
use futures_util::stream::{self, StreamExt};
use http_body_util::BodyExt;
use hyper::rt::Write;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

fn pieces(pieces: Vec<Result<Piece>>) -> Pieces {
    stream::iter(pieces).boxed()
}

fn text(text: &str) -> Result<Piece> {
    Ok(Piece::Delta(Delta::Text(text.into())))
}

fn stop() -> Result<Piece> {
    Ok(Piece::Delta(Delta::Stop(Stop::End)))
}

fn overloaded() -> Result<Piece> {
    Err(Fault::new(Kind::Overloaded, "too busy"))
}

async fn spoken(said: Vec<Result<Piece>>, streams: bool) -> Result<String> {
    let writer = (openai::DIALECT.writer)(Head::default());
    let reply =
        reply(pieces(said), writer, streams, Ignored::new(&openai::DIALECT, vec![])).await?;
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn an_error_before_the_first_word_has_a_status_of_its_own() {
    let started = || Ok(Piece::Delta(Delta::Started));
    for streams in [true, false] {
        let fault = spoken(vec![started(), overloaded()], streams).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Overloaded);
        let fault = spoken(vec![started()], streams).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Network);
    }
}

#[tokio::test]
async fn an_error_after_it_is_told_in_the_stream() {
    let body = spoken(vec![text("x"), overloaded(), text("never")], true).await.unwrap();
    assert!(body.contains("too busy") && !body.contains("never"), "{body}");
    assert!(!body.contains("[DONE]"), "{body}");
    let cut = spoken(vec![text("x")], true).await.unwrap();
    assert!(cut.contains("the answer broke off"), "{cut}");
}

#[tokio::test]
async fn a_comment_is_one_line_whatever_is_in_it() {
    let comment = Ok(Piece::Comment("phase 1\n\ndata: {}\r".into()));
    let body = spoken(vec![comment, text("x"), stop()], true).await.unwrap();
    assert!(body.starts_with(": phase 1  data: {} \n\ndata: {\"id\""), "{body}");
    let comment = Ok(Piece::Comment("phase 1".into()));
    let whole = spoken(vec![comment, text("x"), stop()], false).await.unwrap();
    assert!(whole.contains("\"content\":\"x\"") && !whole.contains("phase"), "{whole}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_off() {
    let (ours, _theirs) = tokio::io::duplex(8);
    let mut wire = Wire::new(ours, Begun::default(), Duration::from_secs(30));
    let mut write =
        async |bytes: &'static [u8]| poll_fn(|cx| Pin::new(&mut wire).poll_write(cx, bytes)).await;
    assert_eq!(write(b"12345678").await.unwrap(), 8);
    let started = tokio::time::Instant::now();
    assert_eq!(write(b"9").await.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), 30);
}
