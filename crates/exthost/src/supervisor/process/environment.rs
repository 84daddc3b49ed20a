//! How a process starts and how it ended.

use super::super::{API_VERSION, HERMES_VERSION};
use crate::extension::Extension;
use crate::shared::Shared;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use tokio::process::Command;

/// Ends of the names of variables that hold keys. An extension gets all of the host's environment
/// but these; its configuration may give it what it needs.
const SECRET_ENDS: &[&str] =
    &["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSPHRASE", "_CREDENTIALS", "_PAT"];
/// And the host's own.
const OWN_START: &str = "ALTHING_";

/// The command of an extension, and its data folder, which is there now.
pub(super) fn command(
    shared: &Shared,
    extension: &Extension,
) -> Result<(Command, PathBuf), String> {
    let (program, arguments) = extension.entry.words()?;
    let mut data_dir = shared.data_dir.clone();
    if extension.entry.private_data {
        data_dir.push(&extension.id);
    }
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&data_dir);
    made.map_err(|error| format!("cannot make {}: {error}", data_dir.display()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if is_secret(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command.env("HERMES_VERSION", HERMES_VERSION).env("HERMES_API_VERSION", API_VERSION);
    command.env("HERMES_DATA_DIR", &data_dir).envs(&extension.entry.env);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    Ok((command, data_dir))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with(OWN_START) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// How a process ended, in words.
pub(super) fn exit(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("it ended with exit code {code}"),
        Some((_, Some(signal))) => format!("it was ended by signal {signal}"),
        _ => "it ended".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_from_extensions() {
        let kept =
            ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "ALTHING_X", "db_password"];
        assert!(kept.iter().all(|name| is_secret(name)));
        let given = ["PATH", "HOME", "LANG", "DISPLAY", "SSH_AUTH_SOCK", "VIRTUAL_ENV", "KEYBOARD"];
        assert!(!given.iter().any(|name| is_secret(name)));
    }
}
