//! A terminal that a test types into: tmux, on a socket of its own.

use crate::harness::really_wait;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What is waited for is there in a second or two; ninety catch a hang.
const POLL: Duration = Duration::from_millis(100);
const POLLS_MAX: u32 = 900;
/// How long the first picture may stand before it proves not to be the real one.
const SETTLED: Duration = Duration::from_millis(500);
/// Shows every list of the frontend whole.
const SIZE: [&str; 4] = ["-x", "120", "-y", "60"];

/// The terminal, closed with all that runs in it when the test is over.
pub struct Terminal {
    socket: PathBuf,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Already gone is fine too.
        let _ = tmux(&self.socket).arg("kill-server").output();
    }
}

fn tmux(socket: &Path) -> Command {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket);
    command
}

impl Terminal {
    /// Runs a command line for a shell in the environment and the folder of `tmux`. When it is
    /// over, `ended` and its exit code stay on the screen.
    pub fn start(mut tmux: Command, socket: PathBuf, line: &str) -> Terminal {
        let line = format!("{line}; printf '\\nended %s\\n' $?; read wait");
        tmux.arg("-S").arg(&socket).args(["-f", "/dev/null", "new-session", "-d"]).args(SIZE);
        let started = tmux.arg(line).output().unwrap();
        assert!(started.status.success(), "{started:?}");
        Terminal { socket }
    }

    /// One key, by tmux's name. The next must wait for what it does.
    pub fn press(&self, key: &str) {
        self.keys(&[key]);
    }

    /// Types a text and, when it stands there, Enter.
    #[track_caller]
    pub fn enter(&self, text: &str) {
        self.keys(&["-l", text]);
        self.sees(&format!("› {text}"));
        self.press("Enter");
    }

    fn keys(&self, keys: &[&str]) {
        let sent = tmux(&self.socket).arg("send-keys").args(keys).output().unwrap();
        assert!(sent.status.success(), "{sent:?}");
    }

    #[track_caller]
    pub fn sees(&self, words: &str) {
        self.waits_for(words, || self.screen().contains(words).then_some(()));
    }

    #[track_caller]
    pub fn loses(&self, words: &str) {
        self.waits_for(&format!("no {words}"), || (!self.screen().contains(words)).then_some(()));
    }

    /// Presses `key` wherever `asked` stands, until it sees `end`: one close behind another is lost.
    #[track_caller]
    pub fn press_until(&self, key: &str, asked: &str, end: &str) {
        self.waits_for(end, || {
            let screen = self.screen();
            if screen.contains(end) {
                return Some(());
            }
            if screen.contains(asked) {
                self.press(key);
            }
            None
        });
    }

    /// Sees it and still sees it a moment later.
    #[track_caller]
    pub fn settles_on(&self, words: &str) {
        self.sees(words);
        really_wait(SETTLED);
        self.sees(words);
    }

    #[track_caller]
    pub fn waits_for<T>(&self, what: &str, there: impl Fn() -> Option<T>) -> T {
        for _ in 0..POLLS_MAX {
            if let Some(found) = there() {
                return found;
            }
            really_wait(POLL);
        }
        panic!("never: {what}\n{}", self.screen());
    }

    /// What is on the screen, without colours; an `@` stands before what is under the cursor.
    fn screen(&self) -> String {
        let seen = tmux(&self.socket).args(["capture-pane", "-p", "-e"]).output().unwrap();
        let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
        let mut pieces = seen.split("\x1b[");
        let mut plain = pieces.next().unwrap_or_default().to_string();
        for piece in pieces {
            let (colour, text) = piece.split_once('m').unwrap_or(("", piece));
            // The backgrounds of rows under the cursor.
            if ["44", "45", "46"].contains(&colour) {
                plain.push('@');
            }
            plain.push_str(text);
        }
        plain
    }
}
