//! What a server is told so that it finds again what it has read: a key for the conversation, the
//! slot that keeps its beginning, or breakpoints. Pure.

use crate::Endpoint;
use crate::dialect::anthropic::caching;
use althing_chat::{Ask, Role};
use hyper::Uri;
use serde_json::Value;

/// Characters of a cache key; a longer one loses its beginning, which says the least.
const KEY_CHARS_MAX: usize = 64;

/// What a provider takes besides its dialect. Unknown servers may refuse what they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheHint {
    Nothing,
    /// OpenAI's `prompt_cache_key`, where the address is OpenAI's or Azure's.
    Key,
    /// Anthropic's breakpoints in parts of the content, for Anthropic's models at OpenRouter.
    Breakpoints,
    /// llama.cpp's `cache_prompt` and `id_slot`.
    Slot,
}

/// Who names their models so takes Anthropic's breakpoints.
const ANTHROPIC_MODELS: &str = "anthropic/";
/// Hosts that take `prompt_cache_key`; other servers with OpenAI's wire refuse what they do not know.
const KEY_HOSTS: &[&str] = &["api.openai.com"];
/// Ends of such hosts: regions of OpenAI, and Azure.
const KEY_DOMAINS: &[&str] = &[".openai.com", ".openai.azure.com"];

/// Adds to the request what helps the cache of `endpoint`. `slots` is how many it has, where it says
/// so.
pub(crate) fn add_cache_hint(
    endpoint: &Endpoint,
    model: &str,
    ask: &Ask,
    slots: Option<u32>,
    body: &mut Value,
) {
    match endpoint.provider.cache_hint {
        CacheHint::Key if takes_key(&endpoint.base_url) => add_key(ask, body),
        CacheHint::Breakpoints if model.starts_with(ANTHROPIC_MODELS) => add_breakpoints(ask, body),
        CacheHint::Slot => add_slot(ask, slots, body),
        CacheHint::Key | CacheHint::Breakpoints | CacheHint::Nothing => {}
    }
}

/// Tells whether the server at `base_url` knows `prompt_cache_key`.
fn takes_key(base_url: &str) -> bool {
    let host = base_url.parse::<Uri>().ok().and_then(|url| url.host().map(str::to_lowercase));
    host.is_some_and(|host| {
        KEY_HOSTS.contains(&&*host) || KEY_DOMAINS.iter().any(|domain| host.ends_with(domain))
    })
}

fn add_key(ask: &Ask, body: &mut Value) {
    if let Some(conversation) = &ask.conversation {
        let key = format!("{}-{}", conversation.run, conversation.seat);
        let excess = key.chars().count().saturating_sub(KEY_CHARS_MAX);
        body["prompt_cache_key"] = key.chars().skip(excess).collect::<String>().into();
    }
}

fn add_slot(ask: &Ask, slots: Option<u32>, body: &mut Value) {
    body["cache_prompt"] = true.into();
    let slots = slots.filter(|slots| *slots > 1);
    if let Some((conversation, slots)) = ask.conversation.as_ref().zip(slots) {
        body["id_slot"] = (conversation.seat % slots).into();
    }
}

/// Turns the texts that later requests repeat into parts with breakpoints. OpenAI's dialect writes
/// one message for each of the request's.
fn add_breakpoints(ask: &Ask, body: &mut Value) {
    let Some(written) = body["messages"].as_array_mut() else { return };
    for (message, written) in ask.messages.iter().zip(&mut *written) {
        if !message.cache_ends.is_empty() {
            // Pictures of such messages stand before the text.
            let mut parts = written["content"].take();
            let parts = parts.as_array_mut().map(std::mem::take).unwrap_or_default();
            let mut content: Vec<Value> =
                parts.into_iter().filter(|it| it["type"] != "text").collect();
            content.extend(caching::text_blocks(&message.text, &message.cache_ends));
            written["content"] = content.into();
        }
    }
    let breakpoints = caching::keep_breakpoints(written);
    let system = ask.messages.iter().position(|message| message.role == Role::System);
    if let Some(at) = system.filter(|at| *at < written.len()) {
        written[at]["content"] = caching::system(ask.messages[at].text.clone(), breakpoints);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::openai::OPENAI;
    use crate::provider;
    use althing_chat::{Conversation, Message};
    use serde_json::json;

    fn endpoint(name: &str, base_url: &str) -> Endpoint {
        let provider = provider(name).expect("a row");
        let base_url = if base_url.is_empty() { provider.base_url } else { base_url }.to_string();
        Endpoint {
            id: name.into(),
            provider,
            base_url,
            key: None,
            parallel: 1,
            access: None,
            headers: vec![],
        }
    }

    #[track_caller]
    fn check(name: &str, conversation: Option<(&str, u32)>, slots: Option<u32>, want: Value) {
        let conversation = conversation.map(|(run, seat)| Conversation { run: run.into(), seat });
        let ask = Ask { conversation, ..Ask::new("", "hi") };
        let mut body = json!({});
        add_cache_hint(&endpoint(name, ""), "m", &ask, slots, &mut body);
        assert_eq!(body, want, "{name}");
    }

    #[test]
    fn every_server_is_told_what_it_understands() {
        let run = Some(("r7", 5));
        check("xai", run, Some(4), json!({}));
        check("openrouter", run, None, json!({}));
        check("openai", run, None, json!({ "prompt_cache_key": "r7-5" }));
        check("openai", None, None, json!({}));
        check("llamacpp", run, Some(4), json!({ "cache_prompt": true, "id_slot": 1 }));
        for slots in [None, Some(0), Some(1)] {
            check("llamacpp", run, slots, json!({ "cache_prompt": true }));
        }
        check("llamacpp", None, Some(4), json!({ "cache_prompt": true }));
        let long = "x".repeat(100);
        let key = format!("{}-12", "x".repeat(61));
        check("openai", Some((&long, 12)), None, json!({ "prompt_cache_key": key }));
    }

    #[test]
    fn keys_go_to_openai_and_azure_only() {
        #[track_caller]
        fn check(base_url: &str, want: bool) {
            let conversation = Some(Conversation { run: "r".into(), seat: 0 });
            let ask = Ask { conversation, ..Ask::new("", "hi") };
            let mut body = json!({});
            add_cache_hint(&endpoint("openai", base_url), "m", &ask, None, &mut body);
            assert_eq!(body.get("prompt_cache_key").is_some(), want, "{base_url}");
        }
        check("https://api.openai.com/v1", true);
        check("https://API.OpenAI.com/v1/", true);
        check("https://eu.api.openai.com/v1", true);
        check("https://mine.openai.azure.com/openai/v1", true);
        check("https://api.groq.com/openai/v1", false);
        check("https://api.cerebras.ai/v1", false);
        check("https://api.mistral.ai/v1", false);
        check("https://notopenai.com/v1", false);
        check("https://api.openai.com.example.net/v1", false);
        check("https://api.openai.com@example.net/v1", false);
        check("https://openai.azure.com/v1", false);
        check("http://localhost:8000/v1", false);
        check("no address", false);
    }

    /// The contents of the messages that are written for `model` at OpenRouter.
    fn contents(model: &str, cache_ends: &[usize]) -> Value {
        let mut ask = Ask::new("Be kind.", "Question. Speech. Your turn.");
        ask.messages[1].cache_ends = cache_ends.to_vec();
        ask.messages.push(Message::assistant("Well."));
        let mut body = (OPENAI.write)(model, &ask).expect("it has words").body;
        add_cache_hint(&endpoint("openrouter", ""), model, &ask, None, &mut body);
        body["messages"].as_array().unwrap().iter().map(|it| it["content"].clone()).collect()
    }

    #[test]
    fn models_of_anthropic_have_breakpoints_at_openrouter() {
        let part = |text: &str| json!({ "type": "text", "text": text });
        let end = |text: &str| {
            let breakpoint = json!({ "type": "ephemeral" });
            json!({ "type": "text", "text": text, "cache_control": breakpoint })
        };
        let whole = json!(["Be kind.", "Question. Speech. Your turn.", "Well."]);
        assert_eq!(contents("openai/gpt-5.1", &[9, 17]), whole);
        assert_eq!(contents("anthropic/claude-sonnet-4.5", &[]), whole);
        let cut = json!([end("Question."), end(" Speech."), part(" Your turn.")]);
        let want = json!([[end("Be kind.")], cut, "Well."]);
        assert_eq!(contents("anthropic/claude-sonnet-4.5", &[9, 17]), want);
    }
}
