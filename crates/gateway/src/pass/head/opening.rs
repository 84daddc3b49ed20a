//! Which conversation a request belongs to, as far as its body tells.

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What tells conversations apart, still unread.
#[derive(Default)]
pub(super) struct Signs<'a> {
    /// Names that clients give, the first one counts: `prompt_cache_key`, `user` and the user's
    /// id in `metadata`.
    pub(super) names: [Option<&'a RawValue>; 2],
    pub(super) metadata: Option<&'a RawValue>,
    /// Instructions beside the messages.
    pub(super) system: [Option<&'a RawValue>; 2],
    pub(super) messages: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    user_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl Signs<'_> {
    /// A number that stays the same while a conversation grows: by the name the client gives it,
    /// else by how it begins. None where there is neither.
    pub(super) fn conversation(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        // Other clients have other things there.
        let metadata = self.metadata.and_then(|it| serde_json::from_str::<Metadata>(it.get()).ok());
        let user = metadata.and_then(|it| it.user_id);
        match self.names.into_iter().chain([user]).flatten().next() {
            Some(name) => name.get().hash(&mut hasher),
            None => {
                let system = self.system.into_iter().flatten();
                system.for_each(|it| it.get().hash(&mut hasher));
                begin(self.messages?, &mut hasher)?;
            }
        }
        Some(hasher.finish())
    }
}

/// Takes in what the messages begin with. Of those behind the user's first word nothing is read
/// again, so the error that they are left is none.
fn begin(messages: &RawValue, hasher: &mut DefaultHasher) -> Option<()> {
    let is_conversation = messages.get().starts_with(['"', '[']);
    let mut reader = serde_json::Deserializer::from_str(messages.get());
    let _ = is_conversation.then(|| reader.deserialize_any(Opening(hasher)));
    is_conversation.then_some(())
}

/// Reads up to the user's first word.
struct Opening<'a>(&'a mut DefaultHasher);

impl<'de> Visitor<'de> for Opening<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text or a list of messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        text.hash(self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut turns: A) -> Result<(), A::Error> {
        while let Some(turn) = turns.next_element::<Turn>()? {
            turn.content.map(RawValue::get).hash(self.0);
            if turn.role.as_deref() == Some("user") {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Head;

    /// By the body, which also names a model.
    fn of(body: &str) -> Option<u64> {
        Head::scan(format!(r#"{{"model":"m",{body}}}"#).as_bytes()).unwrap().conversation
    }

    #[test]
    fn a_conversation_stays_itself_as_it_grows() {
        let first = r#""messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]"#;
        let later = r#""messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}],"stream":true"#;
        let other = r#""messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]"#;
        assert!(of(first).is_some());
        assert_eq!(of(first), of(later));
        assert_ne!(of(first), of(other));
        let system = r#""system":"t","messages":[{"role":"user","content":"a"}]"#;
        let without = r#""messages":[{"role":"user","content":"a"}]"#;
        assert_ne!(of(system), of(without));
        assert_ne!(of(r#""input":"a""#), of(r#""input":"b""#));
    }

    #[test]
    fn the_name_a_client_gives_wins() {
        let plain = r#""messages":[{"role":"user","content":"a"}]"#;
        let bodies = [
            r#""user":"u","messages":[]"#,
            r#""prompt_cache_key":"u","input":"x""#,
            r#""metadata":{"user_id":"u"},"messages":[{"role":"user","content":"b"}]"#,
        ];
        for body in bodies {
            assert_eq!(of(body), of(bodies[0]), "{body}");
            assert_ne!(of(body), of(plain), "{body}");
        }
    }

    #[test]
    fn what_tells_nothing_has_none() {
        for body in [r#""x":1"#, r#""messages":7"#, r#""messages":null"#, r#""metadata":"x""#] {
            assert_eq!(of(body), None, "{body}");
        }
    }
}
