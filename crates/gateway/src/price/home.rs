//! Whether a server is the person's own: on this machine, or at an address that only a private
//! network has. The same program may be rented elsewhere, and then nobody here knows its price.

use crate::http::is_loopback;
use hyper::Uri;
use std::net::IpAddr;

/// Whether what answers at `base_url` costs nobody anything. An address that cannot be read is
/// nobody's own.
pub(crate) fn is_home(base_url: &str) -> bool {
    let url = base_url.parse::<Uri>().ok();
    url.as_ref().and_then(Uri::host).is_some_and(is_own)
}

fn is_own(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_unspecified() || address.is_private()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => is_own_name(&host.to_ascii_lowercase()),
    }
}

/// A name without a dot is one that only the private network resolves: `gpu-box`, a container's. It
/// must begin with a letter: resolvers take `134744072` for a public address.
fn is_own_name(name: &str) -> bool {
    let plain = !name.contains('.') && name.starts_with(|first: char| first.is_ascii_alphabetic());
    plain || is_loopback(name) || name.ends_with(".local")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_machines_and_other_peoples() {
        for (host, own) in [
            ("localhost", true),
            ("LOCALHOST", true),
            ("models.localhost", true),
            ("127.0.0.1", true),
            ("127.8.9.10", true),
            ("0.0.0.0", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("10.1.2.3", true),
            ("172.16.0.1", true),
            ("172.31.255.255", true),
            ("192.168.178.20", true),
            ("[fc00::1]", true),
            ("[fdab::1]", true),
            ("[fe80::1]", true),
            ("[febf::1]", true),
            ("nas.local", true),
            ("NAS.Local", true),
            ("gpu-box", true),
            ("ollama", true),
            ("api.example.com", false),
            ("local.example.com", false),
            ("localhost.example.com", false),
            ("evil.notlocal", false),
            ("127.0.0.1.example.com", false),
            ("8.8.8.8", false),
            ("11.0.0.1", false),
            ("172.15.0.1", false),
            ("172.32.0.1", false),
            ("192.169.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("134744072", false),
            ("[2001:db8::1]", false),
            ("[::ffff:8.8.8.8]", false),
            ("[fec0::1]", false),
            ("", false),
        ] {
            for url in [format!("http://{host}:8000/v1"), format!("https://{host}")] {
                assert_eq!(is_home(&url), own, "{url}");
            }
        }
        assert!(!is_home("no address"));
    }
}
