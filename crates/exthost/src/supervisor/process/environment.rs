//! How a process starts and how it ended.

use super::super::{API_VERSION, HERMES_VERSION};
use crate::extension::Extension;
use crate::shared::Shared;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use tokio::process::Command;

/// What an extension gets of the host's environment: what programs need to run and languages to find
/// their own. Any other variable may hold a key; an entry says which of those it needs. A `*` stands
/// for the rest of a name.
const USUAL: &[&str] = &[
    // Who and where the person is, and their language.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    "HOSTNAME",
    // The screen.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "BROWSER",
    // Where languages find their libraries, and programs their certificates.
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "NODE_PATH",
    "NVM_DIR",
    "DENO_DIR",
    "PERL5LIB",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "DOTNET_ROOT",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
];

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
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| {
        name.to_str().is_some_and(|name| is_inherited(name, &extension.entry.inherit))
    }));
    command.env("HERMES_VERSION", HERMES_VERSION).env("HERMES_API_VERSION", API_VERSION);
    command.env("HERMES_DATA_DIR", &data_dir).envs(&extension.entry.env);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    Ok((command, data_dir))
}

/// Whether an extension gets a variable: a usual one, or one that its entry asks for.
fn is_inherited(name: &str, asked: &[String]) -> bool {
    let fits = |known: &str| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == known,
    };
    USUAL.iter().any(|known| fits(known)) || asked.iter().any(|known| fits(known))
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
    fn only_what_is_named_is_inherited() {
        let kept = [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "ALTHING_X",
            "PGPASS",
            "DATABASE_URL",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "PATHS",
            "path",
            "",
        ];
        assert!(!kept.iter().any(|name| is_inherited(name, &[])));
        let given = ["PATH", "HOME", "LANG", "LC_ALL", "DISPLAY", "VIRTUAL_ENV", "XDG_RUNTIME_DIR"];
        assert!(given.iter().all(|name| is_inherited(name, &[])));
        let asked = ["DATABASE_URL".to_string(), "AWS_*".into()];
        assert!(["DATABASE_URL", "AWS_REGION"].iter().all(|name| is_inherited(name, &asked)));
        assert!(!is_inherited("GITHUB_TOKEN", &asked));
    }
}
