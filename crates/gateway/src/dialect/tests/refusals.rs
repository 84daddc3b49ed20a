//! Real errors of real providers, and what they mean: `testdata/refusals/<whose>.tsv` in,
//! `<whose>.faults` out.

use super::super::{Dialect, Refusal, anthropic, gemini, ollama, openai};
use althing_stdx::Fault;
use expect_test::expect_file;
use std::fs;
use std::path::PathBuf;

fn refuse(dialect: &Dialect, status: u16, headers: &str, body: &str) -> Fault {
    let header = |name: &str| {
        let mut pairs = headers.split("; ").filter_map(|header| header.split_once(": "));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    };
    (dialect.refuse)(&Refusal { status, header: &header, body: body.as_bytes() })
}

/// A line of the table: status, headers and body, with tabs between.
fn render(dialect: &Dialect, line: &str) -> String {
    let mut columns = line.splitn(3, '\t');
    let mut column = || columns.next().expect("three columns");
    let (status, headers, body) = (column(), column(), column());
    let status = status.parse().expect("a status");
    let fault = refuse(dialect, status, headers, body);
    assert_eq!(fault.status, Some(status));
    let wait = fault.retry_after.map(|wait| format!(", wait {wait:?}")).unwrap_or_default();
    let limit = fault.context_tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
    let prompt = fault.prompt_tokens.map(|tokens| format!(", not {tokens}")).unwrap_or_default();
    format!("{status} {}{wait}{limit}{prompt}\n    {}\n", fault.kind, fault.message)
}

#[track_caller]
fn check(whose: &str, dialect: &Dialect) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/refusals");
    let table = fs::read_to_string(folder.join(format!("{whose}.tsv"))).expect("a table");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let shown: String = lines.map(|line| render(dialect, line)).collect();
    expect_file![folder.join(format!("{whose}.faults"))].assert_eq(&shown);
}

#[test]
fn errors_of_every_provider_are_known() {
    check("openai", &openai::OPENAI);
    check("anthropic", &anthropic::ANTHROPIC);
    check("gemini", &gemini::GEMINI);
    check("ollama", &ollama::OLLAMA);
}

/// What stands between us and a provider answers in its own way.
#[test]
fn errors_of_proxies_and_broken_bodies_are_survived() {
    check("proxies", &openai::OPENAI);
}

#[test]
fn messages_are_short_and_hold_no_key() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let body = format!(r#"{{"error":{{"message":"{}{key}"}}}}"#, "bad key ".repeat(33));
    let message = refuse(&openai::OPENAI, 401, "", &body).message;
    assert!(message.chars().count() <= 300, "{}", message.chars().count());
    assert!(!message.contains("sk-proj"), "{message}");
}
