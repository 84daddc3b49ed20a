//! Files in a folder of the test's own, variables as data, and the effective values as text.

mod agents;
mod extensions;
mod files;
mod own;
mod secrets;
mod servers;
mod values;
mod workers;

use super::*;
use std::fs;
use tempfile::TempDir;

/// A home with nothing in it and a current folder below it.
struct Home {
    folder: TempDir,
    world: World,
}

const TOML: &str = "home/.config/althing/config.toml";
const LOCAL: &str = "home/project/.env";
const QUORUM: &str = "home/.quorum/.env";
const KEY: &str = "sk-proj-abcdefghijklmnop-1234";
const OTHER_KEY: &str = "sk-proj-zyxwvutsrqponmlk-9876";

impl Home {
    fn new(vars: &[(&str, &str)]) -> Home {
        let folder = TempDir::new().unwrap();
        let home = folder.path().join("home");
        let cwd = home.join("project");
        fs::create_dir_all(&cwd).unwrap();
        let env = vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Home { folder, world: World { env, cwd, home } }
    }

    fn with(self, path: &str, text: impl AsRef<[u8]>) -> Home {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        private(&path);
        self
    }

    fn load(&self) -> Config {
        Config::load(&self.world)
    }

    /// The text with the test's folder taken out.
    fn tidy(&self, text: impl ToString) -> String {
        text.to_string().replace(&self.folder.path().display().to_string(), "")
    }

    /// The effective value of `key` and its source.
    #[track_caller]
    fn row(&self, key: &str) -> (String, String) {
        let rows = self.load().rows();
        let row = rows.iter().find(|row| row.key == key);
        let row = row.unwrap_or_else(|| panic!("no {key} in {rows:#?}"));
        (self.tidy(&row.value), self.tidy(&row.source))
    }

    fn warnings(&self) -> Vec<String> {
        self.load().warnings.iter().map(|warning| self.tidy(warning)).collect()
    }

    #[track_caller]
    fn check(&self, key: &str, value: &str, source: &str) {
        assert_eq!(self.row(key), (value.to_string(), source.to_string()), "{key}");
    }

    /// Exactly these warnings, each by a part of its text.
    #[track_caller]
    fn warns(&self, parts: &[&str]) {
        let warnings = self.warnings();
        let fits = warnings.iter().zip(parts).all(|(warning, part)| warning.contains(part));
        assert!(fits && warnings.len() == parts.len(), "{warnings:#?} instead of {parts:#?}");
    }
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn private(_path: &std::path::Path) {}
