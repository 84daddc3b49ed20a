//! What leads back to this very Althing: its token, and where it listens. Other programs are pointed
//! here by the same variables that point Althing at its providers, so in their shell it would be a
//! provider of its own.

use althing_stdx::redact::Secret;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the HTTP face listens unless somebody says otherwise.
pub const HTTP_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 11535);
/// The file with the token, in the data folder.
pub(crate) const TOKEN_FILE: &str = "token";
/// The folder with a file for every listening service, which is called by its address and locked by
/// it. One that is not locked was left by a service that was killed.
const LISTENERS: &str = "listening";
/// Listeners that are looked at; who has more has them in tests.
const LISTENERS_MAX: usize = 64;
/// How often a file is tried to be locked.
const LOCK_TRIES_MAX: usize = 100;
/// A token is shorter; more is not read.
const TOKEN_BYTES_MAX: u64 = 1024;

/// What leads here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Own {
    token: Option<Secret>,
    addresses: Vec<SocketAddr>,
}

impl Own {
    /// Reads what is so right now. Where nobody listens, the usual address is taken to be ours.
    pub(crate) fn read(data_dir: &Path) -> Own {
        let mut addresses = listeners(&data_dir.join(LISTENERS));
        if addresses.is_empty() {
            addresses.push(HTTP_ADDRESS);
        }
        Own { token: token(&data_dir.join(TOKEN_FILE)), addresses }
    }

    /// Whether a key is the token of this Althing.
    pub(crate) fn is_token(&self, key: &str) -> bool {
        self.token.as_ref().is_some_and(|token| token.expose() == key)
    }

    /// Whether a base URL is where this Althing listens, by any name of this machine.
    pub(crate) fn is_address(&self, base_url: &str) -> bool {
        let Some((host, port)) = place(base_url) else { return false };
        is_this_machine(host) && self.addresses.iter().any(|own| own.port() == port)
    }

    /// Why a server is no provider; none: it is somebody else's.
    pub(crate) fn leads_here(&self, base_url: &str, key: Option<&Secret>) -> Option<String> {
        if self.is_address(base_url) {
            return Some(format!("base_url: {base_url} is where Althing itself listens"));
        }
        let is_token = key.is_some_and(|key| self.is_token(key.expose()));
        is_token.then(|| "api_key: this is the token of Althing itself (`althing token`)".into())
    }
}

/// Tells this person's other processes where a service listens, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct Announced {
    path: PathBuf,
    _locked: File,
}

impl Announced {
    /// None where the folder cannot be written: then only the token and the hops tell.
    pub(crate) fn announce(data_dir: &Path, address: SocketAddr) -> Option<Announced> {
        let folder = data_dir.join(LISTENERS);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let path = folder.join(address.to_string());
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path).ok()?;
        lock(&file).then_some(Announced { path, _locked: file })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // What stays is not locked any more, and so means nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whoever looks holds the file for a moment; whoever holds it longer is another machine's service
/// on the same folder, and tells the same address.
fn lock(file: &File) -> bool {
    (0..LOCK_TRIES_MAX).any(|_| {
        let is_locked = file.try_lock().is_ok();
        if !is_locked {
            std::thread::yield_now();
        }
        is_locked
    })
}

fn token(path: &Path) -> Option<Secret> {
    let mut text = String::new();
    File::open(path).ok()?.take(TOKEN_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.trim()).filter(|token| !token.is_empty()).map(Secret::new)
}

fn listeners(folder: &Path) -> Vec<SocketAddr> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let entries = entries.flatten().take(LISTENERS_MAX);
    entries.filter(|entry| is_locked(&entry.path())).filter_map(|it| address(&it.path())).collect()
}

fn address(path: &Path) -> Option<SocketAddr> {
    path.file_name()?.to_str()?.parse().ok()
}

fn is_locked(path: &Path) -> bool {
    let tried = File::open(path).map(|file| file.try_lock_shared());
    matches!(tried, Ok(Err(TryLockError::WouldBlock)))
}

/// Host and port of an address.
fn place(base_url: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = base_url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let usual = if scheme == "https" { 443 } else { 80 };
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, port.parse().ok()?)),
        _ => Some((authority, usual)),
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    match bare.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
        Err(_) => {
            let lower = bare.to_ascii_lowercase();
            lower == "localhost" || lower.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(own: &Own, base_url: &str, want: bool) {
        assert_eq!(own.is_address(base_url), want, "{base_url}");
    }

    #[test]
    fn the_usual_address_is_ours_unless_we_listen_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::read(folder.path());
        for here in [
            "http://127.0.0.1:11535/v1",
            "http://localhost:11535",
            "http://LocalHost.:11535/v1",
            "http://[::1]:11535/v1",
            "http://[::ffff:127.0.0.1]:11535",
            "http://127.0.0.2:11535",
            "http://0.0.0.0:11535/v1",
            "https://localhost:11535/v1",
        ] {
            check(&own, here, true);
        }
        for elsewhere in [
            "http://127.0.0.1:11434",
            "http://10.0.0.1:11535/v1",
            "http://althing.example:11535/v1",
            "https://api.openai.com/v1",
            "http://localhost",
        ] {
            check(&own, elsewhere, false);
        }
        let address = "127.0.0.1:4711".parse().unwrap();
        let announced = Announced::announce(folder.path(), address).unwrap();
        let own = Own::read(folder.path());
        check(&own, "http://localhost:4711/v1", true);
        check(&own, "http://localhost:11535/v1", false);
        drop(announced);
        check(&Own::read(folder.path()), "http://localhost:4711/v1", false);
    }

    #[test]
    fn what_a_killed_service_left_means_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(LISTENERS)).unwrap();
        for name in ["127.0.0.1:4711", "no address"] {
            fs::write(folder.path().join(LISTENERS).join(name), "").unwrap();
        }
        check(&Own::read(folder.path()), "http://127.0.0.1:4711", false);
        let again = Announced::announce(folder.path(), "127.0.0.1:4711".parse().unwrap());
        check(&Own::read(folder.path()), "http://127.0.0.1:4711", true);
        drop(again);
    }

    #[test]
    fn the_token_is_known_without_its_address() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!Own::read(folder.path()).is_token(""));
        fs::write(folder.path().join(TOKEN_FILE), "the-token\n").unwrap();
        let own = Own::read(folder.path());
        assert!(own.is_token("the-token") && !own.is_token("another"));
        let elsewhere = "https://api.openai.com/v1";
        let why = |url: &str, key: &str| own.leads_here(url, Some(&Secret::new(key)));
        assert!(why(elsewhere, "the-token").unwrap().starts_with("api_key: "));
        assert!(why("http://localhost:11535/v1", "x").unwrap().starts_with("base_url: "));
        assert_eq!(why(elsewhere, "sk-another"), None);
    }
}
