//! Servers behind a Unix socket. Their address is an ordinary one whose host spells the socket's
//! path, so that everything else, the pool above all, goes on as with any other server.

use hyper::Uri;
use hyper_util::rt::TokioIo;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// No proxy is asked for such a host, and no name server knows it.
const SUFFIX: &str = ".unix.localhost";

/// The address of the server that listens at `socket`; a path can follow it.
pub fn unix_url(socket: &Path) -> String {
    let hex: String =
        socket.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("http://{hex}{SUFFIX}")
}

/// The socket that an address means, if it means one.
pub(super) fn socket(uri: &Uri) -> Option<PathBuf> {
    let hex = uri.host()?.strip_suffix(SUFFIX)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = hex.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

pub(super) async fn connect(socket: &Path) -> io::Result<TokioIo<UnixStream>> {
    UnixStream::connect(socket).await.map(TokioIo::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_spells_its_socket() {
        for path in ["/run/user/1000/a b/llama.sock", "/tmp/é.sock"] {
            let url = format!("{}/v1/models", unix_url(path.as_ref()));
            let uri: Uri = url.parse().unwrap();
            assert_eq!((socket(&uri), uri.path()), (Some(path.into()), "/v1/models"));
        }
        for other in ["http://localhost:80/", "http://zz.unix.localhost", "http://example.com"] {
            assert_eq!(socket(&other.parse().unwrap()), None, "{other}");
        }
    }
}
