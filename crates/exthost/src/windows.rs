//! The windows of extensions: whose they are, and which were.

use crate::code;
use althing_jsonrpc::Error;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Open windows of one extension; one more is refused.
pub const WINDOWS_MAX: usize = 16;
/// Windows that are remembered after they closed, of all extensions.
const CLOSED_MAX: usize = 256;
/// Characters of an address.
const URL_CHARS_MAX: usize = 2048;

/// A window that an extension wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its name for programs.
    pub id: String,
    /// Whose it is.
    pub extension: String,
    /// What it shows: http or https.
    pub url: String,
    /// Its name for people.
    pub title: String,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Whether the editor waits for it.
    pub modal: bool,
    /// Whether the person may change its size.
    pub resizable: bool,
}

/// Why a window closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Closed {
    /// The person closed it.
    User,
    /// Its extension did.
    Extension,
    /// Its extension ends.
    Shutdown,
}

#[derive(Debug, Default)]
pub(crate) struct Windows {
    open: BTreeMap<String, Window>,
    /// Id and owner.
    closed: VecDeque<(String, String)>,
}

impl Windows {
    pub(crate) fn add(&mut self, window: Window) -> Result<(), Error> {
        if self.of(&window.extension).count() >= WINDOWS_MAX {
            let what = format!("{WINDOWS_MAX} windows are open already");
            return Err(Error::new(code::WINDOW, what));
        }
        self.open.insert(window.id.clone(), window);
        Ok(())
    }

    /// Takes a window that closed off the list.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Window> {
        let window = self.open.remove(id)?;
        self.closed.push_back((window.id.clone(), window.extension.clone()));
        self.closed.drain(..self.closed.len().saturating_sub(CLOSED_MAX));
        Some(window)
    }

    /// Whether `extension` may close a window. One that is closed already it may: the person may
    /// have been faster.
    pub(crate) fn is_of(&self, id: &str, extension: &str) -> bool {
        let open = self.open.get(id).is_some_and(|window| window.extension == extension);
        open || self.closed.iter().any(|(closed, owner)| closed == id && owner == extension)
    }

    /// The open windows of an extension.
    pub(crate) fn of(&self, extension: &str) -> impl Iterator<Item = &Window> {
        self.open.values().filter(move |window| window.extension == extension)
    }

    /// Whether none is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// All that are open.
    pub(crate) fn all(&self) -> Vec<Window> {
        self.open.values().cloned().collect()
    }
}

/// A name that no other window has.
pub(crate) fn new_id() -> String {
    // A version 4 UUID; nothing secret hangs on it, since ownership is checked.
    let bits = (fastrand::u128(..) & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("ext-window-{}", parts.join("-"))
}

/// Whether a window may show this.
pub(crate) fn check_url(url: &str) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::new(code::INVALID_URL, format_args!("url: {what}")));
    if url.chars().count() > URL_CHARS_MAX {
        return wrong(&format!("over {URL_CHARS_MAX} characters"));
    }
    if url.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return wrong("it has blanks or characters that no address has");
    }
    let Some((scheme, rest)) = url.split_once("://") else { return wrong("it is no address") };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return wrong("only http and https are opened");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        return wrong("it has no host");
    }
    if host.contains('@') {
        return wrong("a name before its host reads like another host; leave it out");
    }
    // Letters of other alphabets look like those of this one, and some turn the order around.
    if !url.is_ascii() {
        return wrong("it must be ASCII: hosts as xn--…, all else as %XX");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_opened() {
        for good in ["http://127.0.0.1:8080/a?b#c", "HTTPS://example.org", "http://[::1]:80"] {
            assert_eq!(check_url(good), Ok(()));
        }
        let long = format!("http://x/{}", "y".repeat(URL_CHARS_MAX));
        let bad = [
            "",
            "example.org",
            "file:///etc/passwd",
            "javascript://x",
            "http://",
            "http://:80",
            "http://a b",
            "http://a\n",
            "http:\\\\x",
            "http://u@/",
            "http://accounts.example.com@evil.example/",
            "http://u:p@x/",
            "http://ex\u{430}mple.org/",
            "http://x/\u{202e}gro.elpmaxe",
            &long,
        ];
        for bad in bad {
            assert_eq!(check_url(bad).unwrap_err().code, code::INVALID_URL, "{bad}");
        }
    }

    fn window(id: &str, extension: &str) -> Window {
        let url = "http://x".to_string();
        let (id, extension, title) = (id.to_string(), extension.to_string(), String::new());
        Window { id, extension, url, title, width: 1, height: 1, modal: false, resizable: true }
    }

    #[test]
    fn a_window_is_its_owners() {
        let mut windows = Windows::default();
        windows.add(window("w", "a")).unwrap();
        assert!(windows.is_of("w", "a") && !windows.is_of("w", "b") && !windows.is_of("main", "a"));
        assert_eq!(windows.remove("w"), Some(window("w", "a")));
        assert!(windows.is_of("w", "a") && !windows.is_of("w", "b"));
        assert_eq!(windows.remove("w"), None);
        for at in 0..WINDOWS_MAX {
            windows.add(window(&at.to_string(), "a")).unwrap();
        }
        assert_eq!(windows.add(window("x", "a")).unwrap_err().code, code::WINDOW);
        assert!(windows.add(window("x", "b")).is_ok());
        let id = new_id();
        assert!(id.len() == 47 && id.as_bytes()[25] == b'4' && id != new_id(), "{id}");
    }
}
