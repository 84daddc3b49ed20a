//! An extension as its owner configured it.

use crate::grant::Grant;
use crate::lifecycle::Restart;
use althing_jsonrpc::framing::CONTENT_LENGTH_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One entry of the configuration.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What the person calls it; its path where that is empty.
    #[serde(default)]
    pub name: String,
    /// The program; without `args` a whole command line, split as a shell would.
    pub path: String,
    /// Its arguments. With any, `path` is taken as it is.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its environment, on top of all others.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the host's environment that it gets, beside the usual ones: names, or the start of
    /// names with a `*` after it.
    #[serde(default)]
    pub inherit: Vec<String>,
    /// Whether it is started.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// What it may do.
    #[serde(default = "Grant::usual")]
    pub grants: Vec<Grant>,
    /// Whether and how it is started again after a crash; not, unless told.
    #[serde(default)]
    pub restart: Option<Restart>,
    /// Whether it has a data folder of its own instead of the one that all share.
    #[serde(default)]
    pub private_data: bool,
    /// Bytes of its longest message; a longer one is skipped.
    #[serde(default = "frame_bytes_max")]
    pub frame_bytes_max: usize,
}

fn yes() -> bool {
    true
}

fn frame_bytes_max() -> usize {
    CONTENT_LENGTH_BYTES_MAX
}

impl Entry {
    /// An extension by its command line, with all that Hermes would let it do.
    pub fn new(path: impl Into<String>) -> Entry {
        Entry {
            name: String::new(),
            path: path.into(),
            args: vec![],
            env: BTreeMap::new(),
            inherit: vec![],
            enabled: true,
            grants: Grant::usual(),
            restart: None,
            private_data: false,
            frame_bytes_max: frame_bytes_max(),
        }
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> Result<(String, Vec<String>), String> {
        if !self.args.is_empty() {
            return Ok((self.path.clone(), self.args.clone()));
        }
        let mut words = shell_words::split(&self.path).map_err(|error| format!("path: {error}"))?;
        if words.first().is_none_or(String::is_empty) {
            return Err("path: it is empty".into());
        }
        let program = words.remove(0);
        Ok((program, words))
    }
}

/// Variables may hold keys: their values are not shown.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entry = f.debug_struct("Entry");
        entry.field("path", &self.path).field("args", &self.args);
        entry.field("env", &self.env.keys()).field("enabled", &self.enabled);
        entry.field("grants", &self.grants).finish_non_exhaustive()
    }
}

/// A name for each entry: of its path and arguments, and of how many equal ones come before it.
pub(crate) fn ids(entries: &[Entry]) -> Vec<String> {
    let mut seen = BTreeMap::<u64, u64>::new();
    let id = |entry: &Entry| {
        let words = std::iter::once(&entry.path).chain(&entry.args);
        let hash = words.fold(FNV_START, |hash, word| {
            word.bytes()
                .chain([0])
                .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
        });
        let count = seen.entry(hash).or_default();
        *count += 1;
        format!("ext-{:016x}", hash.wrapping_add(*count - 1))
    };
    entries.iter().map(id).collect()
}

// FNV-1a: stable over time and machines, and nothing here is secret.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, args: &[&str], want: Result<&[&str], &str>) {
        let args = args.iter().map(|word| word.to_string()).collect();
        let words = Entry { args, ..Entry::new(path) }.words();
        let words = words.map(|(program, args)| [vec![program], args].concat());
        let want = want.map(|words| words.iter().map(|word| word.to_string()).collect());
        assert_eq!(words, want.map_err(str::to_string));
    }

    #[test]
    fn a_path_alone_is_a_command_line() {
        check("uv run x.py", &[], Ok(&["uv", "run", "x.py"]));
        check("'my prog' \"a b\" c\\ d", &[], Ok(&["my prog", "a b", "c d"]));
        check("my prog", &["a b"], Ok(&["my prog", "a b"]));
        check("'open", &[], Err("path: missing closing quote"));
        check("  ", &[], Err("path: it is empty"));
        check("''", &[], Err("path: it is empty"));
    }

    #[test]
    fn ids_are_stable_and_differ() {
        let a = Entry::new("a b");
        let b = Entry { args: vec!["b".into()], ..Entry::new("a") };
        let found = ids(&[a.clone(), b.clone(), a.clone()]);
        assert_eq!(found, ids(&[a.clone(), b, a]));
        assert!(found.iter().all(|id| id.len() == 20 && id.starts_with("ext-")));
        assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let mut entry: Entry = serde_json::from_str(r#"{"path":"x"}"#).unwrap();
        assert_eq!(entry, Entry::new("x"));
        entry.env.insert("TOKEN".into(), "secret".into());
        assert!(!format!("{entry:?}").contains("secret"));
    }
}
