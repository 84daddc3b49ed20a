//! What is looked at of a request's body before it is known where it goes: the conversation it
//! belongs to. Nothing is built.

use hyper::header::HeaderMap;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Headers in which clients name a conversation.
const SESSION_HEADERS: [&str; 2] = ["x-session-id", "session_id"];

/// A number that stays the same through a conversation, so that it stays where its prompt is
/// cached: by the name the client gives it, else by how it begins.
pub(super) fn affinity(headers: &HeaderMap, body: &[u8]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    if let Some(id) = SESSION_HEADERS.iter().find_map(|name| headers.get(*name)) {
        id.as_bytes().hash(&mut hasher);
        return Some(hasher.finish());
    }
    // A body that is no JSON is refused elsewhere, with reasons.
    let peek: Peek = serde_json::from_slice(body).ok()?;
    let named = [peek.prompt_cache_key, peek.user, peek.metadata.and_then(|it| it.user_id)];
    match named.into_iter().flatten().next() {
        Some(id) => id.get().hash(&mut hasher),
        None => {
            let system = [peek.system, peek.instructions].into_iter().flatten();
            system.for_each(|it| it.get().hash(&mut hasher));
            let Opening(hash) = peek.messages.or(peek.input)?;
            hash.hash(&mut hasher);
        }
    }
    Some(hasher.finish())
}

#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow)]
    user: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    messages: Option<Opening>,
    input: Option<Opening>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    user_id: Option<&'a RawValue>,
}

/// The hash of what a conversation begins with, up to its first word of the user.
struct Opening(u64);

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Opening {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Opening, D::Error> {
        deserializer.deserialize_any(OpeningVisitor)
    }
}

struct OpeningVisitor;

impl<'de> Visitor<'de> for OpeningVisitor {
    type Value = Opening;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text or a list of messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<Opening, E> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok(Opening(hasher.finish()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut turns: A) -> Result<Opening, A::Error> {
        let mut hasher = DefaultHasher::new();
        while let Some(turn) = turns.next_element::<Turn>()? {
            turn.content.map(RawValue::get).hash(&mut hasher);
            if turn.role.as_deref() == Some("user") {
                break;
            }
        }
        while turns.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Opening(hasher.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &'static str)], body: &str) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        affinity(&map, body.as_bytes())
    }

    #[test]
    fn a_conversation_stays_itself_as_it_grows() {
        let first =
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#;
        let later = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}],"stream":true}"#;
        let other =
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}"#;
        assert!(of(&[], first).is_some());
        assert_eq!(of(&[], first), of(&[], later));
        assert_ne!(of(&[], first), of(&[], other));
        let system = r#"{"system":"t","messages":[{"role":"user","content":"a"}]}"#;
        let without = r#"{"messages":[{"role":"user","content":"a"}]}"#;
        assert_ne!(of(&[], system), of(&[], without));
    }

    #[test]
    fn the_name_a_client_gives_wins() {
        let plain = r#"{"messages":[{"role":"user","content":"a"}]}"#;
        let bodies = [
            r#"{"user":"u","messages":[]}"#,
            r#"{"prompt_cache_key":"u","input":"x"}"#,
            r#"{"metadata":{"user_id":"u"},"messages":[{"role":"user","content":"b"}]}"#,
        ];
        for body in bodies {
            assert_eq!(of(&[], body), of(&[], bodies[0]), "{body}");
            assert_ne!(of(&[], body), of(&[], plain), "{body}");
        }
        let header = [("x-session-id", "s")];
        assert_eq!(of(&header, bodies[0]), of(&header, plain));
        assert_eq!(of(&[("session_id", "s")], ""), of(&header, plain));
    }

    #[test]
    fn what_cannot_be_read_has_none() {
        for body in ["", "{", "[]", "{}", r#"{"messages":7}"#] {
            assert_eq!(of(&[], body), None, "{body}");
        }
    }
}
