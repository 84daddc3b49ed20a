//! A loopback server of model files: Hugging Face's hub with its CDN, Ollama's registry, and plain
//! addresses (`/plain/NAME`). Files come whole or in ranges, and fail as the test says.

mod gguf;
mod routes;
mod serve;

pub use gguf::tiny_gguf;
pub use routes::ollama_manifest;

use crate::loopback::Loopback;
use bytes::Bytes;
use ring::digest::{SHA256, digest};
use std::sync::{Arc, Mutex};

/// The commit that the hub names for every revision.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What happens to one request for a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// Nothing: it is served.
    None,
    /// The connection breaks after so many bytes of the body.
    Cut(usize),
    /// Nothing comes after so many bytes of the body, and the connection stays open.
    Stall(usize),
    /// An error instead of the file.
    Status(u16),
    /// A wanted range is ignored, and the whole file comes.
    Whole,
    /// A wanted range is ignored, the whole file begins, and it breaks after so many bytes.
    WholeCut(usize),
    /// The range that comes begins one byte late.
    WrongRange,
    /// The file was replaced by one of the same size, and the condition on the range is ignored.
    Replaced,
    /// No mark tells which version comes, and the connection breaks after so many bytes.
    Unmarked(usize),
    /// A login page of unknown length with status 200.
    Portal,
    /// The server sends us round in circles.
    Loop,
    /// A login page with status 200.
    Html,
}

/// A file that can be downloaded.
#[derive(Debug, Clone)]
pub struct StockFile {
    /// `owner/repo`, or `library/name:tag` for Ollama's registry.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    pub bytes: Bytes,
    /// The checksum that is announced: 64 hexadecimal digits.
    pub sha256: String,
    /// The size that is announced.
    pub size: u64,
    /// What happens to the first, second, … request for its bytes; then all goes well.
    pub mishaps: Vec<Mishap>,
    /// Whether it needs the token.
    pub gated: bool,
}

impl StockFile {
    /// Describes a file that is served as it is.
    pub fn new(repo: &str, path: &str, bytes: impl Into<Bytes>) -> StockFile {
        let bytes = bytes.into();
        StockFile {
            repo: repo.into(),
            path: path.into(),
            sha256: sha256(&bytes),
            size: bytes.len() as u64,
            bytes,
            mishaps: vec![],
            gated: false,
        }
    }

    /// The same file, whose requests fail like this, one after another.
    pub fn failing(self, mishaps: &[Mishap]) -> StockFile {
        StockFile { mishaps: mishaps.to_vec(), ..self }
    }
}

/// A request as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub host: String,
    pub range: String,
    pub if_range: String,
    pub authorization: String,
}

/// The token that opens gated files.
pub const TOKEN: &str = "hf_0123456789abcdefghijklmnop";

/// A token that the hub does not know: it is refused whatever is asked.
pub const REFUSED_TOKEN: &str = "hf_expired";

/// The server. It ends when this is dropped.
pub struct Downloads {
    server: Loopback,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Downloads {
    /// Starts to listen on a free loopback port.
    pub fn start(files: Vec<StockFile>) -> Downloads {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let server = Loopback::start(|listener| serve::serve(listener, files, log));
        Downloads { server, asked }
    }

    /// Where the hub and the registry are.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Where files really come from: the same server under another name.
    pub fn cdn(&self) -> String {
        format!("localhost:{}", self.server.port())
    }

    /// Every request so far, in order of arrival.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panics with the log open").clone()
    }

    /// The requests for bytes of files.
    pub fn downloads(&self) -> Vec<Asked> {
        let is_file = |it: &Asked| it.path.starts_with("/cdn/") || it.path.starts_with("/plain/");
        self.asked().into_iter().filter(is_file).collect()
    }
}

/// The checksum of `bytes`, as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
