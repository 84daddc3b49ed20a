//! Where a redirect leads, and whether it may be followed. Pure.

use crate::http::origin;
use althing_stdx::{Fault, Kind, Result};
use hyper::Uri;
use hyper::header::{HeaderMap, LOCATION};

/// Returns the address that `headers` of an answer of `from` name.
pub(super) fn target(from: &Uri, headers: &HeaderMap) -> Result<Uri> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).map(str::trim);
    let next = location.and_then(|location| join(from, location));
    next.filter(is_fetchable).ok_or_else(|| {
        let text = format!("{} redirects to an address that cannot be understood", origin(from));
        Fault::new(Kind::Upstream, text)
    })
}

/// Tells whether an address is one of HTTP and holds no password. What stands for a socket of this
/// machine is none: only programs of ours are asked so.
pub(super) fn is_fetchable(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let is_http = matches!(uri.scheme_str(), Some("http" | "https")) && !host.ends_with(".unix");
    is_http && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
}

/// Refuses the way from an encrypted connection to a plain one.
pub(super) fn check(from: &Uri, to: &Uri) -> Result<()> {
    if from.scheme_str() != Some("https") || to.scheme_str() == Some("https") {
        return Ok(());
    }
    let text = format!(
        "{} redirects to plain HTTP at {}, which is not followed",
        origin(from),
        to.host().unwrap_or_default()
    );
    Err(Fault::new(Kind::Upstream, text))
}

/// Tells whether both addresses are of one server: scheme, name and port.
pub(super) fn same_server(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
    };
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b)
}

/// Resolves a location as it may stand in a header: whole, or relative to `from`.
fn join(from: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = from.scheme_str()?;
    let server = from.authority()?;
    let text = if location.contains("://") {
        location.to_string()
    } else if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{scheme}://{server}{location}")
    } else if let Some(query) = location.strip_prefix('?') {
        format!("{scheme}://{server}{}?{query}", from.path())
    } else if location.is_empty() {
        return None;
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{server}{folder}/{location}")
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn follow(from: &str, location: &'static str) -> Result<String> {
        let from: Uri = from.parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static(location));
        let to = target(&from, &headers)?;
        check(&from, &to).map(|()| to.to_string())
    }

    #[test]
    fn locations_are_resolved_as_browsers_do() {
        #[track_caller]
        fn check(location: &'static str, want: &str) {
            assert_eq!(follow("https://hub.test:8443/a/b?c", location).unwrap(), want);
        }
        check("https://cdn.test/x?y=1#z", "https://cdn.test/x?y=1");
        check("//cdn.test/x", "https://cdn.test/x");
        check("/x", "https://hub.test:8443/x");
        check("x/y", "https://hub.test:8443/a/x/y");
        check("?d", "https://hub.test:8443/a/b?d");
    }

    #[test]
    fn what_must_not_be_followed_is_not() {
        #[track_caller]
        fn check(from: &str, location: &'static str, want: &str) {
            let fault = follow(from, location).unwrap_err();
            assert!(fault.message.contains(want), "{}", fault.message);
        }
        check("https://hub.test/a", "http://cdn.test/x", "plain HTTP at cdn.test");
        check("https://hub.test/a", "ftp://cdn.test/x", "cannot be understood");
        check("https://hub.test/a", "https://me:secret@cdn.test/x", "cannot be understood");
        check("https://hub.test/a", "", "cannot be understood");
        check("http://127.0.0.1/a", "http://2f746d702f78.unix/v1", "cannot be understood");
        check("http://127.0.0.1/a", "http://2f746d702f78.UNIX./v1", "cannot be understood");
        assert!(follow("http://127.0.0.1:1/a", "http://localhost:1/b").is_ok());
    }

    #[test]
    fn a_server_is_its_scheme_name_and_port() {
        #[track_caller]
        fn check(a: &str, b: &str, want: bool) {
            assert_eq!(same_server(&a.parse().unwrap(), &b.parse().unwrap()), want, "{a} {b}");
        }
        check("https://Hub.test/a", "https://hub.test:443/b", true);
        check("https://hub.test", "http://hub.test", false);
        check("https://hub.test", "https://hub.test:444", false);
        check("https://hub.test", "https://cdn.hub.test", false);
    }
}
