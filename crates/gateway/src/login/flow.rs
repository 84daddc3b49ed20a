//! Who can be logged in to, and how each of them differs from the standard.

use super::copilot;
use crate::access::CallHeaders;
use crate::http::is_loopback;
use althing_stdx::{Fault, Kind, Result};
use hyper::Uri;
use std::fmt;
use std::time::Duration;

/// Longer addresses and ids are refused.
const VALUE_CHARS_MAX: usize = 500;

/// One provider's way of logging in.
pub struct LoginRow {
    /// The row of the provider table.
    pub provider: &'static str,
    pub title: &'static str,
    pub client_id: &'static str,
    pub device_url: &'static str,
    pub token_url: &'static str,
    /// Where the person's token is exchanged for one that the models take; empty where it need not
    /// be.
    pub exchange_url: &'static str,
    pub scope: &'static str,
    /// Whether the client proves that it is the one that asked (RFC 7636).
    pub pkce: bool,
    /// The pause between two questions where the server names none.
    pub interval: Duration,
    /// The pause after `slow_down`.
    pub slower: fn(Duration) -> Duration,
    /// How long before its end a token is renewed.
    pub early: Duration,
    /// Headers of the login itself.
    pub login_headers: fn() -> Vec<(&'static str, String)>,
    /// Headers of every call with the token.
    pub call_headers: CallHeaders,
    /// Whether a server that the provider names may get the tokens.
    pub is_own: fn(host: &str) -> bool,
    /// What the address of such a server ends in.
    pub path: &'static str,
    /// Where the models are if the provider names no server; none: at its usual address.
    pub base_url: Option<&'static str>,
    /// What a person should know before logging in, and when a login is of no use.
    pub notice: Option<&'static str>,
}

impl fmt::Debug for LoginRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.provider)
    }
}

/// Everybody who can be logged in to.
pub static LOGINS: &[LoginRow] = &[
    LoginRow {
        provider: "copilot",
        title: "GitHub Copilot",
        client_id: "Iv1.b507a08c87ecfe98",
        device_url: "https://github.com/login/device/code",
        token_url: "https://github.com/login/oauth/access_token",
        exchange_url: "https://api.github.com/copilot_internal/v2/token",
        scope: "read:user",
        pkce: false,
        interval: Duration::from_secs(5),
        slower: |interval| interval + Duration::from_secs(5),
        early: Duration::from_secs(120),
        login_headers: copilot::editor,
        call_headers: copilot::headers,
        is_own: |host| host == "githubcopilot.com" || host.ends_with(".githubcopilot.com"),
        path: "",
        base_url: None,
        notice: None,
    },
    LoginRow {
        provider: "dashscope",
        title: "DashScope (Qwen)",
        client_id: "f0304373b74a44d2b584a3fb70ca9e56",
        device_url: "https://chat.qwen.ai/api/v1/oauth2/device/code",
        token_url: "https://chat.qwen.ai/api/v1/oauth2/token",
        exchange_url: "",
        scope: "openid profile email model.completion",
        pkce: true,
        interval: Duration::from_secs(2),
        slower: |interval| (interval * 3 / 2).min(Duration::from_secs(10)),
        early: Duration::from_secs(30),
        login_headers: Vec::new,
        call_headers: |_| {
            let agent = concat!("althing/", env!("CARGO_PKG_VERSION"));
            vec![
                ("x-dashscope-cachecontrol", "enable".into()),
                ("x-dashscope-useragent", agent.into()),
                ("x-dashscope-authtype", "qwen-oauth".into()),
            ]
        },
        is_own: |_| true,
        path: "/v1",
        // As the provider's own client has it; the usual address is for keys.
        base_url: Some("https://dashscope.aliyuncs.com/compatible-mode/v1"),
        notice: Some(
            "the free login of Qwen's chat ended on 15 April 2026: a login may still succeed, but \
             its requests are refused. Keys work: `althing providers add dashscope` takes one of \
             Model Studio, and with --base-url https://coding-intl.dashscope.aliyuncs.com/v1 one \
             of its Coding Plan",
        ),
    },
];

/// The row of a provider.
pub fn login_row(provider: &str) -> Option<&'static LoginRow> {
    LOGINS.iter().find(|row| row.provider == provider)
}

/// A row with what the person set otherwise: another client, another company's server.
#[derive(Debug, Clone)]
pub struct Flow {
    pub row: &'static LoginRow,
    pub client_id: String,
    pub device_url: String,
    pub token_url: String,
    pub exchange_url: Option<String>,
    /// Whether the servers are the person's choice: then the models' server is theirs too.
    own_servers: bool,
}

impl Flow {
    /// What a person may set.
    pub const KEYS: [&str; 4] = ["client_id", "device_url", "token_url", "exchange_url"];

    pub fn new(row: &'static LoginRow) -> Flow {
        let exchange_url = (!row.exchange_url.is_empty()).then(|| row.exchange_url.to_string());
        Flow {
            row,
            client_id: row.client_id.into(),
            device_url: row.device_url.into(),
            token_url: row.token_url.into(),
            exchange_url,
            own_servers: false,
        }
    }

    /// Sets one of [`Flow::KEYS`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let place = match key {
            "client_id" => &mut self.client_id,
            "device_url" => &mut self.device_url,
            "token_url" => &mut self.token_url,
            "exchange_url" => match &mut self.exchange_url {
                Some(url) => url,
                None => return Err(Fault::invalid(format!("{key}: this login has no such step"))),
            },
            _ => {
                let keys = Flow::KEYS.join(", ");
                return Err(Fault::invalid(format!("{key}: is not known; there are {keys}")));
            }
        };
        let chars = value.chars().count();
        if !(1..=VALUE_CHARS_MAX).contains(&chars) {
            let text = format!("{key}: 1 to {VALUE_CHARS_MAX} characters, not {chars}");
            return Err(Fault::invalid(text));
        }
        if key != "client_id" {
            if !is_safe(value) {
                return Err(Fault::invalid(format!("{key}: {HTTPS}")));
            }
            self.own_servers = true;
        }
        *place = value.into();
        Ok(())
    }

    /// What a person should know of this login. Of other servers than the provider's own nothing is
    /// known.
    pub fn notice(&self) -> Option<&'static str> {
        self.row.notice.filter(|_| !self.own_servers)
    }

    /// The base URL of the server that the provider says the models are at.
    pub(super) fn base_url(&self, named: &str) -> Result<String> {
        let named = named.trim().trim_end_matches('/');
        let url = if named.contains("://") { named.into() } else { format!("https://{named}") };
        let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_string));
        let is_theirs = host.is_some_and(|host| self.own_servers || (self.row.is_own)(&host));
        if !is_theirs || !is_safe(&url) || url.len() > VALUE_CHARS_MAX {
            let title = self.row.title;
            let text = format!("{title} names a server that must not get its token");
            return Err(Fault::new(Kind::Upstream, text));
        }
        let path = if url.ends_with(self.row.path) { "" } else { self.row.path };
        Ok(format!("{url}{path}"))
    }
}

const HTTPS: &str = "must begin with https://; http:// is for this machine only";

/// Whether tokens may go there: encrypted, or not beyond this machine.
pub(super) fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let bare = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    let safe = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => uri.host().is_some_and(is_loopback),
        _ => false,
    };
    bare && safe
}
