//! Who may come in: a program on this machine that has the token. A web page may not, whatever
//! name it reaches us by.

use super::Token;
use super::cors::Origins;
use althing_stdx::{Fault, Kind};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use std::net::{IpAddr, SocketAddr};

/// The port of an address that names none.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

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

    /// The word that OpenAI's clients branch on: a wrong key is mended by another one, the rest not.
    pub(super) fn code(self) -> &'static str {
        match self {
            Denied::Host => "host_not_allowed",
            Denied::Origin => "origin_not_allowed",
            Denied::Token => "invalid_api_key",
        }
    }

    /// For the face at `address`.
    pub(super) fn fault(self, address: SocketAddr) -> Fault {
        let message = match self {
            Denied::Host => format!(
                "Host: must be {address}; localhost, 127.0.0.1 and [::1] with its port will do"
            ),
            Denied::Origin => "Origin: pages of other sites may not ask unless http_origins, or \
                               ALTHING_HTTP_ORIGINS, names their site"
                .into(),
            Denied::Token => "the token is missing or wrong; `althing token` shows it, as \
                              `Authorization: Bearer …` or `x-api-key: …`"
                .into(),
        };
        let kind = if self == Denied::Token { Kind::BadKey } else { Kind::InvalidParams };
        Fault::new(kind, message).status(self.status())
    }
}

/// Checks where a request to the face at `address` comes from. A name that is not an address could
/// be bent to this machine by whoever owns it; only `localhost` cannot. Pages of this machine may
/// ask, and those of `origins`.
pub(super) fn admit(
    headers: &HeaderMap,
    address: SocketAddr,
    origins: &Origins,
) -> Result<(), Denied> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|it| it.to_str().ok());
    if hosts.next().is_some() || !host.is_some_and(|host| is_ours(host, address)) {
        return Err(Denied::Host);
    }
    let is_near = |origin: &str| {
        let place = place(origin);
        place.is_some_and(|(name, _)| is_this_machine(name, address.ip()))
    };
    let may_ask = |origin: &str| is_near(origin) || origins.allow(origin);
    match headers.get_all(ORIGIN).iter().all(|it| it.to_str().is_ok_and(may_ask)) {
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

/// The port of an origin, written or not.
pub(super) fn port_of(origin: &str) -> Option<u16> {
    place(origin).map(|(_, port)| port)
}

/// A name of this machine with our port.
fn is_ours(host: &str, address: SocketAddr) -> bool {
    let place = name_and_port(host, HTTP_PORT);
    place.is_some_and(|(name, port)| is_this_machine(name, address.ip()) && port == address.port())
}

/// What always means this machine, and the address of it that we listen on.
fn is_this_machine(name: &str, bound: IpAddr) -> bool {
    let is_bound = || match bound {
        IpAddr::V4(ip) => name == ip.to_string(),
        IpAddr::V6(ip) => name == format!("[{ip}]"),
    };
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]" || is_bound()
}

/// Where an origin is.
fn place(origin: &str) -> Option<(&str, u16)> {
    match origin.split_once("://")? {
        ("http", rest) => name_and_port(rest, HTTP_PORT),
        ("https", rest) => name_and_port(rest, HTTPS_PORT),
        _ => None,
    }
}

/// A host and its port, which is `usual` where none is written.
fn name_and_port(host: &str, usual: u16) -> Option<(&str, u16)> {
    match host.rsplit_once(':') {
        // The colons of an address in brackets are no port.
        Some((name, port)) if !port.ends_with(']') => Some((name, port.parse().ok()?)),
        _ => Some((host, usual)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_stdx::redact::Secret;

    #[track_caller]
    fn check(headers: &[(&'static str, &str)], want: Result<(), Denied>) {
        check_at("127.0.0.1:11535", headers, want);
    }

    #[track_caller]
    fn check_at(address: &str, headers: &[(&'static str, &str)], want: Result<(), Denied>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let token = Token::new(Secret::new("t0ken"));
        let address = address.parse().unwrap();
        let origins = Origins::new(&["https://app.example".into()]);
        let got = admit(&map, address, &origins).and_then(|()| admit_token(&map, &token));
        assert_eq!(got, want, "{address} {headers:?}");
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
    fn wherever_on_this_machine_we_listen() {
        for (address, host, ours) in [
            ("127.0.0.2:11535", "127.0.0.2:11535", true),
            ("127.0.0.2:11535", "localhost:11535", true),
            ("127.0.0.2:11535", "127.0.0.3:11535", false),
            ("127.0.0.2:11535", "127.0.0.2", false),
            ("127.0.0.2:11535", "127.0.0.2.evil.example:11535", false),
            ("127.0.0.2:11535", "evil.example:11535", false),
            ("[::1]:11535", "[::1]:11535", true),
            ("[::1]:11535", "[::1]", false),
            ("[::1]:11535", "[::2]:11535", false),
            ("127.0.0.1:80", "localhost", true),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:80", "localhost:80", true),
            ("127.0.0.1:80", "localhost:", false),
            ("127.0.0.1:80", "localhost:81", false),
            ("127.0.0.1:80", "evil.example", false),
            ("127.0.0.1:80", "evil.example:80", false),
            ("127.0.0.1:80", "", false),
            ("[::1]:80", "[::1]", true),
            ("[::1]:80", "::1", false),
            ("127.0.0.1:443", "localhost", false),
        ] {
            let want = if ours { Ok(()) } else { Err(Denied::Host) };
            check_at(address, &[("host", host), KEY], want);
        }
        let here = [("host", "127.0.0.2:11535"), KEY];
        for (origin, want) in [
            ("http://127.0.0.2:11535", Ok(())),
            ("http://127.0.0.3:11535", Err(Denied::Origin)),
            ("http://127.0.0.2.evil.example", Err(Denied::Origin)),
        ] {
            check_at("127.0.0.2:11535", &[here[0], here[1], ("origin", origin)], want);
        }
    }

    #[test]
    fn ports_of_origins() {
        for (origin, port) in [
            ("http://localhost:11535", Some(11535)),
            ("http://localhost", Some(80)),
            ("https://localhost", Some(443)),
            ("http://[::1]", Some(80)),
            ("http://[::1]:8080", Some(8080)),
            ("http://localhost:", None),
            ("null", None),
        ] {
            assert_eq!(port_of(origin), port, "{origin}");
        }
    }

    #[test]
    fn pages_of_this_machine_and_no_others() {
        for origin in [
            "http://localhost",
            "http://127.0.0.1:3000",
            "https://[::1]",
            "http://[::1]:8080",
            "https://app.example",
            "https://APP.example",
        ] {
            check(&[HERE, KEY, ("origin", origin)], Ok(()));
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "https://sub.app.example",
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
