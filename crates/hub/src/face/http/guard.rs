//! Who may come in: a program on this machine that has the token. A web page may not, whatever
//! name it reaches us by.

use super::Token;
use althing_stdx::{Fault, Kind};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};

/// Why somebody stays outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// Not one of our names: a page whose name was bent to this machine asks.
    Host,
    /// A page of another site asks.
    Origin,
    Token,
}

impl Denied {
    pub(super) fn status(self) -> u16 {
        match self {
            Denied::Host | Denied::Origin => 403,
            Denied::Token => 401,
        }
    }

    pub(super) fn fault(self, port: u16) -> Fault {
        let message = match self {
            Denied::Host => {
                format!("Host: must be localhost:{port}, 127.0.0.1:{port} or [::1]:{port}")
            }
            Denied::Origin => "Origin: pages of other sites may not ask".into(),
            Denied::Token => "the token is missing or wrong; `althing token` shows it, as \
                              `Authorization: Bearer …` or `x-api-key: …`"
                .into(),
        };
        Fault::new(Kind::BadKey, message).status(self.status())
    }
}

/// Checks where a request comes from.
pub(super) fn admit(headers: &HeaderMap, port: u16) -> Result<(), Denied> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|it| it.to_str().ok());
    if hosts.next().is_some() || !host.is_some_and(|host| is_ours(host, port)) {
        return Err(Denied::Host);
    }
    match headers.get_all(ORIGIN).iter().all(|it| it.to_str().is_ok_and(is_loopback_origin)) {
        true => Ok(()),
        false => Err(Denied::Origin),
    }
}

/// Checks what a request shows: OpenAI's clients show the token in one place, Anthropic's in
/// another or in both.
pub(super) fn admit_token(headers: &HeaderMap, token: &Token) -> Result<(), Denied> {
    let bearer = headers.get(AUTHORIZATION).and_then(bearer);
    let key = headers.get("x-api-key").map(HeaderValue::as_bytes);
    match [bearer, key].into_iter().flatten().any(|shown| token.opens(shown)) {
        true => Ok(()),
        false => Err(Denied::Token),
    }
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// A name of this machine with our port.
fn is_ours(host: &str, port: u16) -> bool {
    let Some((name, written)) = host.rsplit_once(':') else { return false };
    is_loopback(name) && written.parse() == Ok(port)
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

fn is_loopback_origin(origin: &str) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let (name, port) = match rest.rsplit_once(':') {
        // The colons of an address in brackets are no port.
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (rest, "80"),
    };
    matches!(scheme, "http" | "https") && is_loopback(name) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_stdx::redact::Secret;

    #[track_caller]
    fn check(headers: &[(&'static str, &str)], want: Result<(), Denied>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let token = Token::new(Secret::new("t0ken"));
        let got = admit(&map, 11535).and_then(|()| admit_token(&map, &token));
        assert_eq!(got, want, "{headers:?}");
    }

    const HERE: (&str, &str) = ("host", "localhost:11535");
    const KEY: (&str, &str) = ("authorization", "Bearer t0ken");

    #[test]
    fn names_of_this_machine_with_our_port() {
        for host in ["localhost:11535", "LocalHost:11535", "127.0.0.1:11535", "[::1]:11535"] {
            check(&[("host", host), KEY], Ok(()));
        }
        for host in [
            "localhost",
            "localhost:80",
            "localhost:11535.evil.example",
            "evil.example:11535",
            "127.0.0.1.evil.example:11535",
            "127.0.0.2:11535",
            "::1:11535",
            "localhost:",
            "",
        ] {
            check(&[("host", host), KEY], Err(Denied::Host));
        }
        check(&[KEY], Err(Denied::Host));
        check(&[HERE, ("host", "evil.example:11535"), KEY], Err(Denied::Host));
    }

    #[test]
    fn pages_of_this_machine_and_no_others() {
        for origin in
            ["http://localhost", "http://127.0.0.1:3000", "https://[::1]", "http://[::1]:8080"]
        {
            check(&[HERE, KEY, ("origin", origin)], Ok(()));
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://localhost:80/x",
            "file://localhost",
            "http://evil.example:localhost",
        ] {
            check(&[HERE, KEY, ("origin", origin)], Err(Denied::Origin));
        }
    }

    #[test]
    fn the_token_in_either_place() {
        check(&[HERE, ("authorization", "bearer t0ken")], Ok(()));
        check(&[HERE, ("x-api-key", "t0ken")], Ok(()));
        check(&[HERE, ("authorization", "Bearer other"), ("x-api-key", "t0ken")], Ok(()));
        for (name, value) in [
            ("authorization", "t0ken"),
            ("authorization", "Basic t0ken"),
            ("authorization", "Bearer"),
            ("authorization", "Bearer t0ken2"),
            ("authorization", "Bearer "),
            ("x-api-key", ""),
            ("x-api-key", "T0ken"),
        ] {
            check(&[HERE, (name, value)], Err(Denied::Token));
        }
        check(&[HERE], Err(Denied::Token));
    }
}
