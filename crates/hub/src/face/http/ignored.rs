//! The header that names what an answer does not heed.

use super::dialect::Dialect;
use super::reply::Reply;
use super::talk::Piece;
use althing_chat::Delta;
use hyper::header::{HeaderName, HeaderValue};

pub(super) const NAME: &str = "x-althing-ignored";
const HEADER: HeaderName = HeaderName::from_static(NAME);
/// Names in the header; more are left out of it.
const NAMES_MAX: usize = 32;
/// Characters of a name; a longer one is cut.
const NAME_CHARS_MAX: usize = 64;

/// Fields of a request that nobody heeds, in the client's words.
pub(super) struct Ignored {
    names: Vec<String>,
    dialect: &'static Dialect,
}

impl Ignored {
    /// With the fields that nobody has read.
    pub(super) fn new(dialect: &'static Dialect, names: Vec<String>) -> Ignored {
        Ignored { names, dialect }
    }

    /// With settings that are called as in [`althing_chat::Ask`].
    pub(super) fn and(mut self, settings: &[&str]) -> Ignored {
        settings.iter().for_each(|name| self.add(name));
        self
    }

    /// Takes note of what the model that answers has no words for.
    pub(super) fn see(&mut self, piece: &Piece) {
        if let Piece::Delta(Delta::Ignored(names)) = piece {
            names.iter().for_each(|name| self.add(name));
        }
    }

    /// The reply, with the header where there is something to tell.
    pub(super) fn tell(&self, mut reply: Reply) -> Reply {
        let mut names: Vec<String> = self.names.iter().map(|name| printable(name)).collect();
        names.sort();
        names.dedup();
        names.truncate(NAMES_MAX);
        // Only characters that a header takes are left.
        if let Ok(value) = HeaderValue::from_str(&names.join(", "))
            && !names.is_empty()
        {
            reply.headers_mut().insert(HEADER, value);
        }
        reply
    }

    fn add(&mut self, name: &str) {
        let other = self.dialect.names.iter().find(|(ours, _)| *ours == name);
        self.names.push(other.map_or(name, |(_, theirs)| theirs).into());
    }
}

/// Names come from clients: what could not stand in a header becomes `?`.
fn printable(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-[]".contains(c);
    name.chars().take(NAME_CHARS_MAX).map(|c| if fits(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::dialect::{anthropic, openai};
    use super::super::reply::json;
    use super::*;

    fn told(ignored: &Ignored) -> Option<String> {
        let reply = ignored.tell(json(&serde_json::json!({})));
        Some(reply.headers().get(HEADER)?.to_str().unwrap().into())
    }

    #[test]
    fn the_header_has_the_clients_own_names() {
        let both = Delta::Ignored(vec!["seed".into(), "parallel_tool_calls".into()]);
        let mut ignored = Ignored::new(&anthropic::DIALECT, vec!["tools[0]".into()]);
        ignored.see(&Piece::Delta(both.clone()));
        ignored.see(&Piece::Delta(both));
        let want = "seed, tool_choice.disable_parallel_tool_use, tools[0]";
        assert_eq!(told(&ignored).as_deref(), Some(want));
        let effort = Ignored::new(&openai::DIALECT, vec![]).and(&["effort"]);
        assert_eq!(told(&effort).as_deref(), Some("reasoning_effort"));
        assert_eq!(told(&Ignored::new(&openai::DIALECT, vec![])), None);
    }

    #[test]
    fn no_name_breaks_the_header() {
        let long = "x".repeat(1000);
        let names = vec!["a\r\nb: c, d".into(), "\u{e9}".into(), long];
        let told = told(&Ignored::new(&openai::DIALECT, names)).unwrap();
        assert_eq!(told, format!("?, a??b??c??d, {}", "x".repeat(NAME_CHARS_MAX)));
        let many = (0..100).map(|at| format!("f{at}")).collect();
        let many = self::told(&Ignored::new(&openai::DIALECT, many)).unwrap();
        assert_eq!(many.split(", ").count(), NAMES_MAX);
    }
}
