//! Sockets in the file system, as addresses that every URL parser takes: `http://<hex>.unix`, where
//! the digits are the bytes of the path.

use althing_stdx::{Fault, Kind, Result};
use hyper::Uri;
use hyper_util::rt::TokioIo;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// No name on the network ends so.
const SUFFIX: &str = ".unix";

/// The address of what listens at `socket`.
pub(crate) fn unix_url(socket: &Path) -> String {
    let digits = socket.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}"));
    format!("http://{}{SUFFIX}", digits.collect::<String>())
}

/// The path behind an address of this kind.
pub(in crate::http) fn path(to: &Uri) -> Option<PathBuf> {
    let digits = to.host()?.strip_suffix(SUFFIX)?;
    let is_hex = digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = Some(digits).filter(|_| is_hex)?;
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    let path = PathBuf::from(OsStr::from_bytes(&bytes?));
    // A path without its whole way would depend on the current folder.
    (to.scheme_str() == Some("http") && path.is_absolute()).then_some(path)
}

pub(super) async fn open(path: &Path) -> Result<TokioIo<UnixStream>> {
    let opened = UnixStream::connect(path).await;
    opened.map(TokioIo::new).map_err(|error| {
        let at = path.display();
        let text = match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                format!("nothing listens at {at}")
            }
            _ => format!("cannot reach {at}: {error}"),
        };
        Fault::new(Kind::Network, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_address() {
        for socket in ["/run/user/1000/althing/a b.sock", "/tmp/ü/%41/x", "/"] {
            let url = format!("{}/v1/models", unix_url(Path::new(socket)));
            assert_eq!(path(&url.parse().unwrap()), Some(PathBuf::from(socket)), "{url}");
        }
        for other in [
            "http://localhost/v1",
            "http://unix/",
            "http://.unix/",
            "http://6162.unix/",
            "http://2f6.unix/",
            "http://2f+6.unix/",
            "http://2é.unix.org/",
            "https://2f61.unix/",
        ] {
            assert!(other.parse::<Uri>().ok().and_then(|uri| path(&uri)).is_none(), "{other}");
        }
    }
}
