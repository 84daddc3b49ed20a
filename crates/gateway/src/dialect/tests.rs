//! Every dialect against recordings of its wire, against another implementation, and against
//! tables of requests, errors and hostile bytes.

mod hostile;
mod lists;
mod oracle;
mod recordings;
mod refusals;
mod writes;

use super::{ALL, Dialect};
use althing_chat::Delta;
use althing_stdx::Result;
use std::fs;
use std::path::PathBuf;

/// An answer as a provider sent it: `testdata/<dialect>/<case>.<sse|ndjson|json>`. A `.json` is
/// the body of a request that asked for no stream.
struct Recording {
    dialect: &'static Dialect,
    path: PathBuf,
    stream: bool,
    bytes: Vec<u8>,
}

impl Recording {
    /// `openai/normal.sse`.
    fn name(&self) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{}/{file}", self.dialect.name)
    }
}

/// All recordings of all dialects, in order.
fn recordings() -> Vec<Recording> {
    let mut all = vec![];
    for dialect in ALL {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(dialect.name);
        let entries = fs::read_dir(&folder).expect("a folder of recordings for every dialect");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|kind| kind != "deltas"));
        paths.sort();
        for path in paths {
            let stream = path.extension().is_some_and(|kind| kind != "json");
            let bytes = fs::read(&path).expect("a recording");
            all.push(Recording { dialect, path, stream, bytes });
        }
    }
    all
}

/// What a fresh reader makes of the pieces and of their end.
fn read<'a>(
    dialect: &Dialect,
    stream: bool,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<Delta>> {
    let mut reader = (dialect.reader)(stream);
    let mut said: Vec<_> = pieces.into_iter().flat_map(|piece| reader.feed(piece)).collect();
    said.extend(reader.end());
    said
}
