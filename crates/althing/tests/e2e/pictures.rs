//! Pictures and PDFs that come with a question.

use crate::harness::{Home, upstream};
use althing_testkit::upstream::Route;
use althing_testkit::{Dialect, Options, Seen, Upstream};
use serde_json::Value;
use std::path::PathBuf;

/// A picture of one transparent point.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\
    \x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;";
/// Its beginning in base64.
const GIF_BASE64: &str = "R0lGODlhAQABAIAAAAAAAP";
const PDF: &[u8] = b"%PDF-1.4\n<</Type /Page>>\n%%EOF\n";
const PDF_BASE64: &str = "JVBERi0xLjQK";

/// A file whose name says nothing about what is in it.
fn file(home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
    let path = home.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn chats(upstream: &Upstream) -> Vec<Seen> {
    let is_chat = |it: &Seen| matches!(it.route, Route::Chat(_));
    upstream.requests().into_iter().filter(is_chat).collect()
}

/// What stands beside the words of the user, in the words of the dialect.
fn seen_by(seen: &Seen) -> String {
    let body = &seen.body;
    let said = |list: &Value| list.as_array().and_then(|it| it.last()).cloned().unwrap_or_default();
    match seen.route {
        Route::Chat(Dialect::OpenAi) => {
            said(&body["messages"])["content"][0]["image_url"]["url"].clone()
        }
        Route::Chat(Dialect::Anthropic) => {
            said(&body["messages"])["content"][0]["source"]["data"].clone()
        }
        Route::Chat(Dialect::Gemini) => {
            said(&body["contents"])["parts"][0]["inlineData"]["data"].clone()
        }
        _ => said(&body["messages"])["images"][0].clone(),
    }
    .as_str()
    .unwrap_or_default()
    .to_string()
}

#[test]
fn every_seat_sees_a_picture_in_every_turn() {
    let upstream = upstream();
    let home = Home::with_all(&upstream);
    let picture = file(&home, "holiday.dat", GIF);
    let models = "openai:ada,anthropic:bob,google:cyd,ollama:dan";
    let picture = picture.to_str().unwrap();
    home.run(&["ask", "What is it?", "--file", picture, "--models", models]).ends(0);
    let chats = chats(&upstream);
    assert!(chats.len() > 8, "a whole discussion");
    for seen in &chats {
        assert!(seen_by(seen).contains(GIF_BASE64), "{:?} of {}", seen.route, seen.model);
        assert!(seen.prompt().contains("a picture (holiday.dat)"), "its name");
    }
}

#[test]
fn a_run_that_goes_on_still_has_its_picture() {
    let upstream = upstream();
    let home = Home::with(&upstream);
    let picture = file(&home, "p.gif", GIF);
    let picture = picture.to_str().unwrap();
    // Three attempts of both seats are refused, and then the server has recovered.
    let models = "openai:flaky-6,openai:flaky-6";
    home.run(&["ask", "Well?", "--file", picture, "--models", models]).ends(20);
    std::fs::remove_file(picture).unwrap();
    let before = chats(&upstream).len();
    home.run(&["resume", "last", "--retry-failed"]).ends(0).says("Consensus");
    let later = &chats(&upstream)[before..];
    assert!(!later.is_empty() && later.iter().all(|it| seen_by(it).contains(GIF_BASE64)));
}

#[test]
fn a_pdf_goes_to_one_model_beside_its_question() {
    let upstream = Upstream::start(Options::default().text(|_| "A plan.".into()));
    let home = Home::with_all(&upstream);
    let pdf = file(&home, "plan.pdf", PDF);
    let pdf = pdf.to_str().unwrap();
    let done = home.run(&["ask", "What is it?", "--file", pdf, "--models", "anthropic:bob"]);
    assert_eq!(done.ends(0).out, "A plan.\n");
    let content = chats(&upstream)[0].body["messages"][0]["content"].clone();
    assert_eq!(content[0]["type"], "document");
    assert!(content[0]["source"]["data"].as_str().unwrap().starts_with(PDF_BASE64));
    assert_eq!(content[1]["text"], "What is it?");
}

#[test]
fn who_cannot_see_is_named_before_anything_is_asked() {
    let upstream = upstream();
    let home = Home::with_all(&upstream);
    let (pdf, gif) = (file(&home, "plan.pdf", PDF), file(&home, "p.gif", GIF));
    let (pdf, gif) = (pdf.to_str().unwrap(), gif.to_str().unwrap());
    let ask = |file: &str, models: &str| {
        home.run(&["ask", "What is it?", "--file", file, "--models", models])
    };
    ask(pdf, "openai:ada,ollama:dan").ends(2).warns("plan.pdf: Ollama takes no documents");
    ask(gif, "openai:ada,claude-cli").ends(2).warns("p.gif:").warns("reads only text");
    let large =
        file(&home, "large.png", &[b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 4_000_000]].concat());
    ask(large.to_str().unwrap(), "openai:ada")
        .ends(2)
        .warns("large.png: a picture of 4000008 bytes");
    home.run(&["ask", "--file", gif, "--models", "openai:ada"])
        .ends(2)
        .warns("question: it is empty");
    assert_eq!(chats(&upstream).len(), 0);
}
