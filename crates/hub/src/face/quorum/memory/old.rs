//! Quorum's own files, taken over once.

use crate::face::quorum::params::lenient;
use crate::store::Store;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Bytes of a file; a larger one is not taken over.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a frontend waits until a value is saved: another process may be in the way.
const SAVE_MAX: Duration = Duration::from_millis(100);

/// The value under `key`; where there is none yet, that of Quorum's `file`, or its `member`, which
/// becomes ours. What cannot be read is null.
pub(super) async fn take_over(
    store: &Store,
    key: &str,
    home: &Path,
    file: &str,
    member: Option<&str>,
) -> Value {
    match store.get(key).await {
        Ok(Some(value)) => return value,
        Err(_) => return Value::Null,
        Ok(None) => {}
    }
    let whole = read(&home.join(".quorum").join(file));
    let value = match member {
        Some(member) => whole.get(member).cloned().unwrap_or_default(),
        None => whole,
    };
    if !value.is_null() {
        // What cannot be saved now is saved later, or read again next time. Another process may
        // have been first.
        let kept = value.clone();
        let saving = store.update(key, move |before| before.unwrap_or(kept));
        let _ = tokio::time::timeout(SAVE_MAX, saving).await;
    }
    value
}

fn read(path: &Path) -> Value {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    // Pipes and devices have no size, and reading one may never end.
    if size == 0 || size > FILE_BYTES_MAX {
        return Value::Null;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    lenient(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
}
