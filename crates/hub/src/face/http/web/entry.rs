//! Who may come into the web application: who has the key of this run. It is made when the face
//! begins to listen, is in no file, and ends with the process; the token of the gateway, which lies in
//! one, opens no page. A browser brings the key once, in the address, and gets a cookie for it; programs
//! show it in a header or in the address. The cookie is not the key: it goes to
//! every server on this machine that the browser talks to under the same name, and opens only this
//! application.

use super::super::Token;
use super::super::guard::{Denied, admit_token, port_of};
use super::super::reply::Reply;
use althing_stdx::{Fault, Kind, Result};
use axum::body::Body;
use hyper::header::{COOKIE, HeaderMap, HeaderValue, LOCATION, ORIGIN, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode, Uri};

/// Where a program that is no browser shows the key.
const HEADER: &str = "x-ui-token";
/// What a browser says about who asks: ourselves, or the person.
const OWN_SITES: [&str; 2] = ["same-origin", "none"];

/// What opens the application in this run, and what browsers show that have been let in.
pub(crate) struct Session {
    key: Token,
    secret: Token,
    cookie: String,
}

/// How somebody is let in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Open,
    /// With a cookie, to the same address without the token in it.
    Welcome(String),
}

impl Session {
    /// For the application on `port`: cookies know no ports, so the name has it.
    pub(crate) fn begin(port: u16) -> Result<Session> {
        let (key, secret) = (Token::draw()?, Token::draw()?);
        Ok(Session { key, secret, cookie: format!("althing_ui_{port}") })
    }

    /// For the person who is to open the application.
    pub(crate) fn key(&self) -> &Token {
        &self.key
    }

    pub(crate) fn admit<B>(
        &self,
        request: &Request<B>,
        port: u16,
    ) -> std::result::Result<Entry, Denied> {
        let token = &self.key;
        let headers = request.headers();
        let header = headers.get(HEADER).map(HeaderValue::as_bytes);
        if header.is_some_and(|shown| token.opens(shown)) || admit_token(headers, token).is_ok() {
            return Ok(Entry::Open);
        }
        let (shown, rest) = split(request.uri());
        if shown.is_some_and(|shown| token.opens(shown.as_bytes())) {
            let is_page = request.method() == Method::GET && wants_page(headers);
            return Ok(if is_page { Entry::Welcome(rest) } else { Entry::Open });
        }
        match self.is_known(headers) && is_own(headers, port) {
            true => Ok(Entry::Open),
            false => Err(Denied::Token),
        }
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
        let mut pairs = cookies.flat_map(|it| it.split(';')).filter_map(|it| it.split_once('='));
        pairs.any(|(name, value)| {
            name.trim() == self.cookie && self.secret.opens(value.trim().as_bytes())
        })
    }

    /// Sends a browser on with its cookie.
    pub(crate) fn welcome(&self, to: &str) -> Reply {
        let mut reply = Response::new(Body::empty());
        *reply.status_mut() = StatusCode::SEE_OTHER;
        let (name, value) = (&self.cookie, self.secret.secret().expose());
        let cookie = format!("{name}={value}; Path=/ui; HttpOnly; SameSite=Strict");
        for (header, text) in [(LOCATION, to), (SET_COOKIE, &cookie)] {
            // Both are made of what a header or an address may have.
            if let Ok(value) = HeaderValue::from_str(text) {
                reply.headers_mut().insert(header, value);
            }
        }
        reply
    }
}

/// What somebody is told who does not have the key.
pub(crate) fn without_key() -> Fault {
    let text = "this page opens with the address that was printed when Althing started, and each start \
                has its own: look where it was started, or start it again";
    Fault::new(Kind::BadKey, text).status(401)
}

/// The token in an address, and the address without it.
fn split(uri: &Uri) -> (Option<&str>, String) {
    let query = uri.query().unwrap_or_default();
    let (token, rest): (Vec<_>, Vec<_>) =
        query.split('&').filter(|it| !it.is_empty()).partition(|it| it.starts_with("token="));
    let shown = token.first().and_then(|it| it.strip_prefix("token="));
    let rest = match rest.is_empty() {
        true => uri.path().to_string(),
        false => format!("{}?{}", uri.path(), rest.join("&")),
    };
    (shown, rest)
}

/// A browser that opens an address, not a script that fetches one.
fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get("accept").and_then(|it| it.to_str().ok()).unwrap_or_default();
    accept.contains("text/html")
}

/// A cookie comes along whoever asks; only our own pages may use it.
fn is_own(headers: &HeaderMap, port: u16) -> bool {
    let text = |name| headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
    let own_site = text("sec-fetch-site").is_none_or(|site| OWN_SITES.contains(&site));
    let own_origin = text(ORIGIN.as_str()).is_none_or(|origin| port_of(origin) == Some(port));
    own_site && own_origin
}
