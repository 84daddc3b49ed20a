//! A real Secret Service: gnome-keyring on a bus of its own, with a home of its own.

use crate::harness::{Home, on_path, really_wait, unless_missing};
use althing_hub::config::World;
use althing_hub::secrets::{KeyPlace, Secrets};
use althing_stdx::Result;
use althing_stdx::redact::Secret;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const KEY: &str = "sk-live-0123456789abcdef";
const KEYRING: &str = "gnome-keyring-daemon";
const PASSWORD: &str = "a password";

/// How often a keyring that was ended may be found alive: ten seconds, to catch a hang.
const POLLS_MAX: u32 = 200;

/// A session bus, perhaps with a keyring on it, which ends when the bus does.
struct Session {
    home: Home,
    address: String,
    bus: Child,
}

impl Session {
    fn start() -> Option<Session> {
        let daemon = unless_missing(on_path("dbus-daemon"), "dbus-daemon")?;
        unless_missing(on_path(KEYRING), "gnome-keyring")?;
        let home = Home::new();
        let mut command = in_home(&daemon, &home);
        command.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        let mut bus = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Session { home, address: address.trim().into(), bus })
    }

    /// Starts the keyring, open. It goes on by itself once it is ready.
    fn unlock(&self) {
        let mut command = in_home(&on_path(KEYRING).unwrap(), &self.home);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command.args(["--unlock", "--components=secrets"]).stdout(Stdio::null());
        let mut starting = command.stdin(Stdio::piped()).spawn().unwrap();
        starting.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
        assert!(starting.wait().unwrap().success());
    }

    /// Ends the keyring; whoever asks the bus for one gets another, which is locked.
    fn lock(&self) {
        for _ in 0..POLLS_MAX {
            let mut running = self.home.running().into_iter();
            let keyring = running.find(|(_, command)| command.contains(KEYRING));
            let Some((id, _)) = keyring else { return };
            Command::new("kill").args(["-KILL", &id]).status().unwrap();
            really_wait(Duration::from_millis(50));
        }
        panic!("still running: {:#?}", self.home.running());
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn secrets(&self) -> Secrets {
        let env = [("DBUS_SESSION_BUS_ADDRESS".to_string(), self.address.clone())].into();
        let (cwd, home) = (self.home.path().into(), self.home.path().into());
        Secrets::open(&self.data(), &World { env, cwd, home })
    }

    fn file(&self) -> PathBuf {
        self.data().join("secrets.json")
    }

    fn get(&self, id: &str) -> Result<Option<String>> {
        let found = wait(async { self.secrets().get(id).await })?;
        Ok(found.map(|secret| secret.expose().to_string()))
    }

    fn set(&self, id: &str, value: &str) -> Result<()> {
        wait(async { self.secrets().set(id, &Secret::new(value)).await })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Either fails only where it has ended already.
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

/// Every call is a program of its own.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

fn in_home(program: &Path, home: &Home) -> Command {
    let mut command = home.foreign(program);
    command.env("XDG_RUNTIME_DIR", home.path()).stderr(Stdio::null());
    command
}

#[test]
fn the_key_lies_in_the_keyring_and_nowhere_else() {
    let Some(session) = Session::start() else { return };
    session.unlock();
    session.set("login/a", KEY).unwrap();
    assert_eq!(session.secrets().kept_in(), Some(KeyPlace::SecretService));
    assert!(!session.data().join("secrets.key").exists());
    assert_eq!(session.get("login/a").unwrap().as_deref(), Some(KEY));

    // Another vault on the same keyring has a key of its own.
    let vault = std::fs::read(session.file()).unwrap();
    std::fs::remove_file(session.file()).unwrap();
    session.set("login/b", "another").unwrap();
    assert_eq!(session.get("login/b").unwrap().as_deref(), Some("another"));
    std::fs::write(session.file(), &vault).unwrap();
    assert_eq!(session.get("login/a").unwrap().as_deref(), Some(KEY));

    // Unlocked again after a restart, the keyring still has it; locked, it is a clear fault.
    session.lock();
    session.unlock();
    assert_eq!(session.get("login/a").unwrap().as_deref(), Some(KEY));
    session.lock();
    let fault = session.get("login/a").unwrap_err();
    assert!(fault.message.contains("the desktop's keyring (Secret Service); it"), "{fault}");
    let fault = session.set("login/a", "new").unwrap_err();
    assert!(fault.message.contains("the secrets are locked"), "{fault}");
    assert_eq!(std::fs::read(session.file()).unwrap(), vault);
}

#[test]
fn a_keyring_that_cannot_be_used_is_passed_over() {
    let Some(session) = Session::start() else { return };
    session.set("login/a", KEY).unwrap();
    assert_eq!(session.secrets().kept_in(), Some(KeyPlace::KeyFile));
    assert_eq!(session.get("login/a").unwrap().as_deref(), Some(KEY));
}
