//! Logins by the device flow (RFC 8628), as the providers really do it. What a provider does its
//! own way is a row of [`LOGINS`]; what was heard decides what comes next in `device.rs`, without
//! a socket; this file asks.

mod answers;
pub mod copilot;
mod device;
mod flow;
mod session;
#[cfg(test)]
mod tests;
mod tokens;

pub use flow::{Flow, LOGINS, LoginRow, login_row};
pub use session::{Keep, now_ms};
pub use tokens::{Device, Kept, Tokens};

use crate::Gateway;
use crate::access::Access;
use crate::exchange::read;
use crate::http::{Http, Outgoing, origin};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use answers::{Exchanged, Poll};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use device::Polling;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The longest answer of an authorisation server that is read; a longer one is an error.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long one answer may take.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What a person has to do, and what the service keeps to itself meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Whoever has it gets the tokens once the person agrees: a secret.
    pub device: Device,
    pub user_code: String,
    pub verification_uri: String,
    /// The same with the code in it, where the provider has that.
    pub verification_uri_complete: Option<String>,
    pub expires_in: Duration,
    pub interval: Duration,
}

/// A way to log in, and to stay logged in. Cheap to clone.
#[derive(Clone)]
pub struct Login {
    http: Http,
    flow: Arc<Flow>,
}

impl Gateway {
    /// Logins by this flow.
    pub fn login(&self, flow: Flow) -> Login {
        Login { http: self.http.clone(), flow: Arc::new(flow) }
    }
}

/// An answer: its status and its body.
type Answer = (u16, Vec<u8>);

impl Login {
    /// What a person should know of this login.
    pub fn notice(&self) -> Option<&'static str> {
        self.flow.notice()
    }

    /// Where the models are that these tokens open; none: at the provider's usual address.
    pub fn address(&self, tokens: &Tokens) -> Option<String> {
        tokens.base_url.clone().or_else(|| self.flow.row.base_url.map(str::to_string))
    }

    /// Asks for a code that the person types in at the provider's page.
    pub async fn start(&self) -> Result<Started> {
        self.ask_for_code().await.map_err(|fault| self.explain(fault))
    }

    async fn ask_for_code(&self) -> Result<Started> {
        let flow = &self.flow;
        let mut form = vec![("client_id", flow.client_id.as_str()), ("scope", flow.row.scope)];
        let verifier = flow.row.pkce.then(verifier).transpose()?;
        let challenge = verifier.as_ref().map(challenge);
        if let Some(challenge) = &challenge {
            form.extend([("code_challenge", challenge.as_str())]);
            form.extend([("code_challenge_method", "S256")]);
        }
        let (status, body) = self.post(&flow.device_url, &form).await?;
        answers::challenge(flow.row, status, &body, verifier, now_ms())
    }

    /// Asks again and again until the person has agreed or declined, or the code is too old. It may
    /// be dropped and called again at any time before it is done.
    pub async fn finish(&self, device: &Device) -> Result<Tokens> {
        let mut polling = Polling::new(self.flow.row, device, now_ms());
        let poll = || self.poll(device);
        let granted = polling.run(poll).await.map_err(|fault| self.explain(fault))?;
        if self.flow.exchange_url.is_none() {
            return Tokens::granted(&self.flow, granted, None, now_ms());
        }
        // The code is used up: what it gave is not lost over one broken connection.
        let gave = granted.access;
        polling.insist(|| self.exchange(&gave)).await
    }

    /// New tokens for old ones.
    pub async fn renew(&self, old: &Tokens) -> Result<Tokens> {
        let refresh = old.refresh.as_ref().ok_or_else(|| self.over())?;
        if self.flow.exchange_url.is_some() {
            return self.exchange(refresh).await;
        }
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", self.flow.client_id.as_str()),
            ("refresh_token", refresh.expose()),
        ];
        let (status, body) = self.post(&self.flow.token_url, &form).await?;
        match answers::poll(self.flow.row, status, &body) {
            Poll::Granted(granted) => Tokens::granted(&self.flow, *granted, Some(old), now_ms()),
            _ if matches!(status, 400 | 401) => Err(self.over()),
            other => Err(other.fault(self.flow.row, status)),
        }
    }

    /// Who opens the provider's endpoint with the tokens that `keep` has, and renews them in time.
    pub fn session(&self, keep: Arc<dyn Keep>) -> Arc<dyn Access> {
        Arc::new(session::Session::new(self.clone(), keep))
    }

    /// The login is over.
    fn over(&self) -> Fault {
        answers::login_over(self.flow.row, self.notice())
    }

    /// Adds to a refusal what is known of its reason.
    fn explain(&self, fault: Fault) -> Fault {
        match self.notice() {
            Some(notice) if fault.kind == Kind::Upstream => {
                Fault { message: format!("{}; {notice}", fault.message), ..fault }
            }
            _ => fault,
        }
    }

    async fn poll(&self, device: &Device) -> Result<Answer> {
        let mut form = vec![
            ("grant_type", DEVICE_GRANT),
            ("client_id", self.flow.client_id.as_str()),
            ("device_code", device.code.expose()),
        ];
        form.extend(device.verifier.as_ref().map(|it| ("code_verifier", it.expose())));
        self.post(&self.flow.token_url, &form).await
    }

    /// GitHub's second step: the person's token for one that Copilot takes, for half an hour.
    async fn exchange(&self, token: &Secret) -> Result<Tokens> {
        let url = self.flow.exchange_url.as_deref().unwrap_or_default();
        let mut headers = self.headers()?;
        let mut value =
            HeaderValue::from_str(&format!("token {}", token.expose())).map_err(|_| self.over())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        let (status, body) = self.send(Method::GET, url, headers, Bytes::new()).await?;
        let Exchanged { token: access, expires_at_ms, api } =
            answers::exchanged(self.flow.row, status, &body)?;
        let base_url = api.map(|api| self.flow.base_url(&api)).transpose()?;
        Ok(Tokens { access, refresh: Some(token.clone()), expires_at_ms, base_url })
    }

    async fn post(&self, url: &str, form: &[(&str, &str)]) -> Result<Answer> {
        let mut headers = self.headers()?;
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, kind);
        self.send(Method::POST, url, headers, encode(form).into()).await
    }

    fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let id = HeaderValue::from_str(&random_text()?).map_err(Fault::internal)?;
        headers.insert("x-request-id", id);
        for (name, value) in (self.flow.row.login_headers)() {
            let value = HeaderValue::from_str(&value).map_err(Fault::internal)?;
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer> {
        let url: Uri = url.parse().map_err(Fault::internal)?;
        let at = origin(&url);
        let asking = async {
            let incoming = self.http.send(Outgoing { method, url, headers, body }).await?;
            match read(incoming.body, ANSWER_BYTES_MAX).await {
                (_, Err(fault)) => Err(fault),
                (body, Ok(true)) => Ok((incoming.status, body)),
                (_, Ok(false)) => {
                    let text = format!("{at} answered with more than {ANSWER_BYTES_MAX} bytes");
                    Err(Fault::new(Kind::Upstream, text))
                }
            }
        };
        timeout(ANSWER_WAIT, asking).await.unwrap_or_else(|_| {
            Err(Fault::new(Kind::TimedOut, format!("{at} did not answer within {ANSWER_WAIT:?}")))
        })
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Login({})", self.flow.row.provider)
    }
}

impl Polling {
    /// Asks in the provider's rhythm until something decides.
    async fn run<F>(&mut self, ask: impl Fn() -> F) -> Result<answers::Granted>
    where
        F: Future<Output = Result<Answer>>,
    {
        let begun = tokio::time::Instant::now();
        let mut wait = self.interval();
        loop {
            sleep(wait).await;
            let heard = ask().await;
            match self.on(&heard, begun.elapsed()) {
                device::Next::Ask { after } => wait = after,
                device::Next::Granted(granted) => return Ok(*granted),
                device::Next::Over(fault) => return Err(fault),
            }
        }
    }

    /// Tries a step that may fail for reasons that pass, for as long as the code would have lived.
    async fn insist<T, F>(&mut self, step: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let begun = tokio::time::Instant::now();
        loop {
            match step().await {
                Err(fault) if fault.kind.codes().retryable => {
                    match self.trouble(&fault, begun.elapsed()) {
                        device::Next::Ask { after } => sleep(after).await,
                        _ => return Err(fault),
                    }
                }
                done => return done,
            }
        }
    }
}

fn verifier() -> Result<Secret> {
    random_text().map(Secret::new)
}

/// 32 random bytes as 43 characters.
fn random_text() -> Result<String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Fault::internal("the system gives no random bytes"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What PKCE shows of the verifier at first (RFC 7636, S256).
fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose().as_bytes()))
}

/// `application/x-www-form-urlencoded`.
fn encode(form: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    let text = |text: &str| text.bytes().map(byte).collect::<String>();
    let pairs = form.iter().map(|(name, value)| format!("{}={}", text(name), text(value)));
    pairs.collect::<Vec<_>>().join("&")
}
