//! A real Secret Service: gnome-keyring on a bus of its own, with a home of its own.

use crate::harness::{on_path, unless_missing};
use althing_hub::config::World;
use althing_hub::secrets::{KeyPlace, Secrets};
use althing_stdx::redact::Secret;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const KEY: &str = "sk-live-0123456789abcdef";
const PASSWORD: &str = "a password";

/// A session bus, perhaps with a keyring on it. Both end with this.
struct Session {
    home: tempfile::TempDir,
    address: String,
    bus: Child,
    keyring: Option<Child>,
}

impl Session {
    fn start() -> Option<Session> {
        let daemon = unless_missing(on_path("dbus-daemon"), "dbus-daemon")?;
        unless_missing(on_path("gnome-keyring-daemon"), "gnome-keyring")?;
        let home = tempfile::tempdir().unwrap();
        let mut command = in_home(&daemon, home.path());
        command.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        let mut bus = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Session { home, address: address.trim().into(), bus, keyring: None })
    }

    /// The keyring, open; it says so itself before this returns.
    fn unlock(&mut self) {
        self.lock();
        let program = on_path("gnome-keyring-daemon").unwrap();
        let mut command = in_home(&program, self.home.path());
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command.args(["--foreground", "--unlock", "--components=secrets"]);
        let mut keyring = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        keyring.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
        let mut said = String::new();
        BufReader::new(keyring.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("GNOME_KEYRING_CONTROL"), "{said}");
        self.keyring = Some(keyring);
    }

    /// Ends the keyring; the bus would start another one, which is locked.
    fn lock(&mut self) {
        if let Some(mut keyring) = self.keyring.take() {
            keyring.kill().unwrap();
            keyring.wait().unwrap();
        }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn secrets(&self) -> Secrets {
        let env = [("DBUS_SESSION_BUS_ADDRESS".to_string(), self.address.clone())].into();
        let (cwd, home) = (self.home.path().into(), self.home.path().into());
        Secrets::open(&self.data(), &World { env, cwd, home })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.lock();
        // What the bus started ends with it.
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

fn in_home(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap());
    command.env("XDG_RUNTIME_DIR", home).current_dir(home).stderr(Stdio::null());
    command
}

async fn value(secrets: &Secrets, id: &str) -> Option<String> {
    secrets.get(id).await.unwrap().map(|secret| secret.expose().to_string())
}

#[tokio::test]
async fn the_key_lies_in_the_keyring_and_nowhere_else() {
    let Some(mut session) = Session::start() else { return };
    session.unlock();
    session.secrets().set("login/a", &Secret::new(KEY)).await.unwrap();
    assert_eq!(session.secrets().kept_in(), Some(KeyPlace::SecretService));
    assert!(!session.data().join("secrets.key").exists());
    assert_eq!(value(&session.secrets(), "login/a").await.as_deref(), Some(KEY));

    // Another vault on the same keyring has a key of its own.
    let vault = std::fs::read(session.data().join("secrets.json")).unwrap();
    std::fs::remove_file(session.data().join("secrets.json")).unwrap();
    session.secrets().set("login/b", &Secret::new("another")).await.unwrap();
    assert_eq!(value(&session.secrets(), "login/b").await.as_deref(), Some("another"));
    std::fs::write(session.data().join("secrets.json"), &vault).unwrap();
    assert_eq!(value(&session.secrets(), "login/a").await.as_deref(), Some(KEY));

    // Unlocked again after a restart, the keyring still has it; locked, it is a clear fault.
    session.unlock();
    assert_eq!(value(&session.secrets(), "login/a").await.as_deref(), Some(KEY));
    session.lock();
    let fault = session.secrets().get("login/a").await.unwrap_err();
    assert!(fault.message.contains("the desktop's keyring (Secret Service); it"), "{fault}");
    let fault = session.secrets().set("login/a", &Secret::new("new")).await.unwrap_err();
    assert!(fault.message.contains("the secrets are locked"), "{fault}");
    assert_eq!(std::fs::read(session.data().join("secrets.json")).unwrap(), vault);
}

#[tokio::test]
async fn a_keyring_that_cannot_be_used_is_passed_over() {
    let Some(session) = Session::start() else { return };
    session.secrets().set("login/a", &Secret::new(KEY)).await.unwrap();
    assert_eq!(session.secrets().kept_in(), Some(KeyPlace::KeyFile));
    assert_eq!(value(&session.secrets(), "login/a").await.as_deref(), Some(KEY));
}
