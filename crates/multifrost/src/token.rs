//! A secret that a parent and its child share. It is in no log, no error and no `Debug`.

use std::fmt;
use std::hint::black_box;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::Error;

/// Where a parent tells a child that it spawns; the port is in front.
pub(crate) const VARIABLE: &str = "COMLINK_TOKEN";
/// Of a token that we make.
const RANDOM_BYTES: usize = 32;

/// A secret by which a child knows its callers.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token that both sides know from elsewhere. Make it long: nothing slows guessing down.
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// One that nobody can know.
    pub fn random() -> Result<Token, Error> {
        let mut bytes = [0; RANDOM_BYTES];
        let filled = getrandom(&mut bytes, GetRandomFlags::empty());
        match filled.map_err(|error| Error::system("cannot make a token", error))? {
            RANDOM_BYTES => Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect())),
            _ => Err(Error::System("cannot make a token: not enough random bytes".into())),
        }
    }

    /// The same, in a time that tells nothing but the length.
    pub(crate) fn is(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let difference = ours.iter().zip(theirs).fold(0, |sum, (a, b)| sum | (a ^ b));
        black_box(difference) == 0 && ours.len() == theirs.len()
    }

    /// For the wire, and nothing else.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// As a child finds it in its environment. The port tells whose child the token is for: what a
    /// child starts inherits both, and another parent in between changes the port.
    pub(crate) fn for_port(&self, port: u16) -> String {
        format!("{port}:{}", self.0)
    }

    /// The reverse of [`Token::for_port`].
    pub(crate) fn of_port(variable: &str, port: u16) -> Option<Token> {
        let (its, token) = variable.split_once(':')?;
        (its.parse() == Ok(port) && !token.is_empty()).then(|| Token(token.into()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s38_4_a_token_is_compared_whole() {
        let token = Token::new("secret");
        assert!(token.is("secret"));
        for wrong in ["", "s", "secre", "secrets", "Secret", "secretsecret"] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(!Token::new("").is("x"));
    }

    #[test]
    fn s38_4_a_token_does_not_print_itself() {
        let token = Token::random().unwrap();
        assert_eq!(token.reveal().len(), 2 * RANDOM_BYTES);
        assert!(!token.is(Token::random().unwrap().reveal()));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn s38_4_a_token_is_for_one_port() {
        let variable = Token::new("a:b").for_port(5555);
        assert!(Token::of_port(&variable, 5555).is_some_and(|token| token.is("a:b")));
        for (variable, port) in [(variable.as_str(), 5556), ("5555:", 5555), ("x", 5555)] {
            assert!(Token::of_port(variable, port).is_none());
        }
    }
}
