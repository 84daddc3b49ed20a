//! Which models an endpoint has, and what people call them.

use crate::access::{self, Wanted};
use crate::dialect::Listed;
use crate::exchange::{read, scrub};
use crate::http::Http;
use crate::{Endpoint, is_chat_model};
use althing_stdx::{Fault, Kind, Result};
use std::time::Duration;
use tokio::time::timeout;

/// The longest list that is read; a longer one is an error. The longest known has 1 MiB.
const LIST_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The endpoint's chat models, with names to show.
pub(crate) async fn list(http: &Http, endpoint: &Endpoint, wait: Duration) -> Result<Vec<Listed>> {
    let fetched = timeout(wait, fetch(http, endpoint)).await.unwrap_or_else(|_| {
        let text = format!("{} did not list its models within {wait:?}", endpoint.who());
        Err(Fault::new(Kind::TimedOut, text))
    });
    let models = fetched.map_err(|fault| scrub(endpoint, fault))?;
    Ok(models.into_iter().filter(|model| is_chat_model(&model.id)).map(named).collect())
}

async fn fetch(http: &Http, endpoint: &Endpoint) -> Result<Vec<Listed>> {
    if let Some(access) = &endpoint.access
        && let Some(listed) = access.listed().await
    {
        return listed;
    }
    let dialect = endpoint.provider.dialect;
    let headers = dialect.list_headers.iter().map(|(name, value)| (*name, value.to_string()));
    let (path, headers) = (dialect.list_path.to_string(), headers.collect());
    let wanted = Wanted { path, headers, ..Wanted::default() };
    let incoming = access::open(http, endpoint, &wanted).await?;
    match read(incoming.body, LIST_BYTES_MAX).await {
        (_, Err(fault)) => Err(fault),
        (body, Ok(true)) => (dialect.read_list)(&body),
        (_, Ok(false)) => {
            let text = format!(
                "the model list of {} is longer than {LIST_BYTES_MAX} bytes",
                endpoint.who()
            );
            Err(Fault::new(Kind::Upstream, text))
        }
    }
}

fn named(mut model: Listed) -> Listed {
    model.display_name = model.display_name.or_else(|| Some(display_name(&model.id)));
    model
}

/// How hard a model may be asked to think, as the end of its name.
const EFFORTS: &[&str] = &["low", "medium", "high"];

/// `gpt-5.1@high` as the model and the effort.
pub fn split_effort(model: &str) -> (&str, Option<&str>) {
    match model.rsplit_once('@') {
        Some((name, effort)) if EFFORTS.contains(&effort) => (name, Some(effort)),
        _ => (model, None),
    }
}

/// Words written in capitals.
const CAPITALS: &[&str] = &["gpt", "xai", "api", "ai", "llm"];
/// Words written as they are, like those that begin with a digit.
const AS_THEY_ARE: &[&str] = &["o1", "o3", "o4"];

/// What people call a model: `claude-sonnet-4-5-20250929` is "Claude Sonnet 4.5".
pub fn display_name(id: &str) -> String {
    let name = id.rsplit('/').next().unwrap_or(id);
    let name = join_versions(without_date(name));
    let words = name.split(['-', ':']).filter(|word| !word.is_empty());
    words.map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    if CAPITALS.contains(&lower.as_str()) {
        return word.to_ascii_uppercase();
    }
    let mut chars = word.chars();
    match chars.next() {
        Some(first) if !first.is_ascii_digit() && !AS_THEY_ARE.contains(&lower.as_str()) => {
            first.to_uppercase().chain(chars).collect()
        }
        _ => word.to_string(),
    }
}

/// Without a last `-YYYY-MM-DD` or `-YYYYMMDD`.
fn without_date(name: &str) -> &str {
    ["-dddd-dd-dd", "-dddddddd"].iter().find_map(|date| strip_end(name, date)).unwrap_or(name)
}

/// `name` without an end that looks like `pattern`, where `d` stands for a digit.
fn strip_end<'a>(name: &'a str, pattern: &str) -> Option<&'a str> {
    let (start, end) = name.split_at_checked(name.len().checked_sub(pattern.len())?)?;
    let fits = |(byte, want): (u8, u8)| byte == want || (want == b'd' && byte.is_ascii_digit());
    end.bytes().zip(pattern.bytes()).all(fits).then_some(start)
}

/// `4-5` becomes `4.5`, but `3-8b` stays: that is a size.
fn join_versions(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let between = c == '-' && out.ends_with(|last: char| last.is_ascii_digit());
        let is_version = between && starts_with_version(&name[at + 1..]);
        out.push(if is_version { '.' } else { c });
    }
    out
}

fn starts_with_version(rest: &str) -> bool {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_size = after.starts_with(['b', 'k', 'm', 'B', 'K', 'M']);
    after.len() < rest.len() && !is_size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_to_show() {
        #[rustfmt::skip]
        let table = [
            ("gpt-5.1", "GPT 5.1"),
            ("claude-sonnet-4-5", "Claude Sonnet 4.5"),
            ("claude-sonnet-4-5-20250929", "Claude Sonnet 4.5"),
            ("gemini-2.5-pro", "Gemini 2.5 Pro"),
            ("grok-4", "Grok 4"),
            ("gpt-4o-2024-11-20", "GPT 4o"),
            ("o3-mini", "o3 Mini"),
            ("anthropic/claude-3-5-haiku", "Claude 3.5 Haiku"),
            ("meta-llama/llama-3-8b-instruct", "Llama 3 8b Instruct"),
            ("llama3.2:1b", "Llama3.2 1b"),
            ("qwen2-5:72b", "Qwen2.5 72b"),
            ("xai-llm", "XAI LLM"),
            ("élan-1", "Élan 1"),
            ("--", ""),
            ("", ""),
        ];
        for (id, want) in table {
            assert_eq!(display_name(id), want, "{id}");
        }
    }

    #[test]
    fn efforts() {
        assert_eq!(split_effort("gpt-5.1@high"), ("gpt-5.1", Some("high")));
        assert_eq!(split_effort("gpt-5.1@huge"), ("gpt-5.1@huge", None));
        assert_eq!(split_effort("a@b/c@low"), ("a@b/c", Some("low")));
        assert_eq!(split_effort("gpt-5.1"), ("gpt-5.1", None));
    }
}
