//! Base URLs as people write them, made uniform; and which of them may be used at all.

use althing_gateway::Provider;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longer ones are refused.
const URL_CHARS_MAX: usize = 500;

/// Ends of addresses whose dialect writes them itself.
const OWN_PATHS: &[&str] = &["/v1beta/openai", "/v1beta", "/v1", "/api"];

/// The uniform base URL, or what is wrong with it. The text of a refused address is not repeated:
/// it may hold a password. `local` says that it stands in `./.env`.
pub(super) fn base_url(provider: &Provider, text: &str, local: bool) -> Result<String, String> {
    let url = Url::parse(text)?;
    url.check(provider, local)?;
    let path = path(provider, url.path);
    Ok(format!("{}://{}{path}", url.scheme, url.authority))
}

/// `OLLAMA_HOST` as Ollama understands it: the port may be missing, and `0.0.0.0` is for servers.
pub(super) fn ollama_host(text: &str) -> String {
    if text.contains("://") {
        return text.replacen("//0.0.0.0", "//127.0.0.1", 1);
    }
    let text = text.trim_end_matches('/');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') && !host.ends_with(':') => (host, port),
        _ => (text, "11434"),
    };
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    format!("http://{host}:{port}")
}

/// A pathless address gets the provider's own path; the path of a dialect that brings its own is
/// taken off; every other path stays.
fn path(provider: &Provider, given: &str) -> String {
    let default = Url::parse(provider.base_url).map_or("/v1", |url| url.path);
    match given {
        "" => default.into(),
        given if default.is_empty() => {
            let own = OWN_PATHS.iter().find_map(|own| given.strip_suffix(own));
            own.unwrap_or(given).into()
        }
        given => given.into(),
    }
}

struct Url<'a> {
    scheme: &'static str,
    /// Host and port, as given.
    authority: &'a str,
    host: &'a str,
    /// Without a slash at its end.
    path: &'a str,
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Result<Url<'a>, String> {
        let bad = |problem: &str| Err(format!("is not an address: {problem}"));
        if text.is_empty() || text.chars().count() > URL_CHARS_MAX {
            return bad(&format!("it must have 1 to {URL_CHARS_MAX} characters"));
        }
        if text.chars().any(|c| !c.is_ascii_graphic() || matches!(c, '\\' | '"' | '<' | '>')) {
            return bad("it holds a character that addresses do not have");
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err("holds a user name or password; put the key into its own variable".into());
        }
        if path.contains(['?', '#']) {
            return bad("it must end before any '?' or '#'");
        }
        let Some(host) = host(authority) else { return bad("its host or port is wrong") };
        let scheme = match scheme.as_deref() {
            Some("http") => "http",
            Some("https") => "https",
            None if is_own_network(host) => "http",
            None => "https",
            Some(_) => return bad("it must begin with http:// or https://"),
        };
        Ok(Url { scheme, authority, host, path: path.trim_end_matches('/') })
    }

    /// Keys and questions do not cross the internet in the clear, and a file in the current folder
    /// cannot send what is meant for one's own machine anywhere else.
    fn check(&self, provider: &Provider, local: bool) -> Result<(), String> {
        if local && provider.local && !is_near(self.host) {
            return Err(format!(
                "a file in the current folder may send {} only to this machine or a private \
                 address; set it in the environment if you mean it",
                provider.title
            ));
        }
        if self.scheme == "http" && !is_own_network(self.host) {
            return Err(
                "plain http is only for this machine and private networks; use https".into()
            );
        }
        Ok(())
    }
}

/// The host of `host:port`; none where either is malformed.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let good_port = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|n| n > 0)
    });
    let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let good_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(name),
    };
    (good_port && good_host).then_some(host)
}

/// This machine, or an address that only one's own network has.
fn is_near(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_near_v4(address),
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(address) => is_near_v4(address),
            None => address.is_loopback() || address.is_unique_local(),
        },
        Err(_) => {
            host == "localhost"
                || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
        }
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    // 100.64.0.0/10 is what Tailscale and providers behind NAT use; it is not routed publicly.
    let [a, b, ..] = address.octets();
    address.is_loopback() || address.is_private() || (a == 100 && (64..128).contains(&b))
}

/// Near, or a name that only a private network resolves: `gpu-box`, a container's name, `nas.lan`.
/// It must begin with a letter: resolvers take `134744072` and `0x8080808` for public addresses.
fn is_own_network(host: &str) -> bool {
    let lower = host.to_ascii_lowercase();
    let plain =
        !lower.contains('.') && lower.starts_with(|first: char| first.is_ascii_alphabetic());
    is_near(host) || plain || lower.ends_with(".lan") || lower.ends_with(".home.arpa")
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_gateway::provider;

    #[track_caller]
    fn check(name: &str, text: &str, want: &str) {
        assert_eq!(base_url(provider(name).unwrap(), text, false).as_deref(), Ok(want), "{text}");
    }

    #[track_caller]
    fn refused(name: &str, text: &str, local: bool, why: &str) {
        let problem = base_url(provider(name).unwrap(), text, local).unwrap_err();
        assert!(problem.contains(why), "{text}: {problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }

    #[test]
    fn uniform() {
        check("openai", "https://api.openai.com/v1/", "https://api.openai.com/v1");
        check("openai", "https://api.openai.com", "https://api.openai.com/v1");
        check("openai", "HTTPS://proxy.example.com/a/b//", "https://proxy.example.com/a/b");
        check("openrouter", "openrouter.ai", "https://openrouter.ai/api/v1");
        check("lmstudio", "localhost:1234", "http://localhost:1234/v1");
        check("lmstudio", "http://192.168.1.7:1234/v1", "http://192.168.1.7:1234/v1");
        check("custom", "http://gpu-box:8000", "http://gpu-box:8000/v1");
        check("custom", "http://[::1]:8000/x", "http://[::1]:8000/x");
        check("ollama", "http://localhost:11434/v1/", "http://localhost:11434");
        check("ollama", "http://ollama:11434/api", "http://ollama:11434");
        check("ollama", "https://ollama.example.com/mine", "https://ollama.example.com/mine");
        check(
            "anthropic",
            "https://proxy.example.com/anthropic/v1",
            "https://proxy.example.com/anthropic",
        );
        check(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com",
        );
    }

    #[test]
    fn refusals() {
        refused("openai", "https://me:hunter2@api.openai.com", false, "password");
        refused("openai", "hunter2@localhost", false, "password");
        refused("openai", "https://api.openai.com/v1?key=hunter2", false, "'?'");
        refused("openai", "ftp://hunter2", false, "http://");
        refused("openai", "https://", false, "host");
        refused("openai", "https://a b", false, "character");
        refused("openai", "https://é.example", false, "character");
        refused("openai", "http://localhost:99999", false, "port");
        refused("openai", "http://localhost:+80", false, "port");
        refused("openai", "http://[::1", false, "host");
        refused("openai", &"x".repeat(501), false, "500");
        refused("openai", "", false, "characters");
    }

    #[test]
    fn plain_http_stays_at_home() {
        for host in ["api.example.com", "8.8.8.8", "134744072", "0x8080808", "[2001:db8::1]"] {
            refused("ollama", &format!("http://{host}"), false, "plain http");
            refused("custom", &format!("http://{host}"), true, "plain http");
        }
        for host in ["localhost", "10.1.2.3", "100.100.1.1", "[fd00::1]", "nas.local", "nas.lan"] {
            check("ollama", &format!("http://{host}:1"), &format!("http://{host}:1"));
        }
    }

    #[test]
    fn a_file_of_the_folder_reaches_only_near_hosts() {
        for host in
            ["evil.example", "ollama", "8.8.8.8", "127.0.0.1.evil.example", "169.254.169.254"]
        {
            refused("ollama", &format!("https://{host}"), true, "current folder");
            refused("vllm", &format!("https://{host}"), true, "current folder");
        }
        for host in ["localhost", "127.0.0.1", "172.16.0.1", "host.docker.internal", "[::1]"] {
            let ollama = provider("ollama").unwrap();
            assert!(base_url(ollama, &format!("http://{host}"), true).is_ok(), "{host}");
        }
    }

    #[test]
    fn ollama_hosts() {
        let table = [
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8", "http://127.0.0.1:8"),
            (":8", "http://127.0.0.1:8"),
            ("gpu-box", "http://gpu-box:11434"),
            ("gpu-box:80/", "http://gpu-box:80"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:8", "http://[::1]:8"),
            ("[::]:8", "http://127.0.0.1:8"),
            ("https://a.example", "https://a.example"),
            ("http://0.0.0.0:8", "http://127.0.0.1:8"),
            ("", "http://127.0.0.1:11434"),
        ];
        for (text, want) in table {
            assert_eq!(ollama_host(text), want, "{text}");
        }
    }
}
