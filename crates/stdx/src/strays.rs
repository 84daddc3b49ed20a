//! Processes that left the group they were started in. A variable of their environment marks them
//! and all that they start; they are found by it where the system shows it (in `/proc`). Elsewhere
//! the group is all that is known.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// How often strays are looked for: one may start another while it is being ended.
const ROUNDS_MAX: usize = 5;

/// Ends every process that was started with this variable, wherever it went. It does not wait for
/// their ends, and needs no runtime.
pub fn end(name: &str, value: &str) {
    let mark = format!("{name}={value}");
    for _ in 0..ROUNDS_MAX {
        let strays = marked(mark.as_bytes());
        if strays.is_empty() {
            return;
        }
        for stray in strays {
            // It may end by itself in this moment.
            let _ = kill_process(stray, Signal::KILL);
        }
    }
}

fn marked(mark: &[u8]) -> Vec<Pid> {
    let Ok(all) = fs::read_dir("/proc") else { return vec![] };
    let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |id: &i32| {
        // One of somebody else cannot be read, and a dead one has none.
        let variables = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    ids.filter(is_marked).filter_map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn sleeper(value: &str) -> Child {
        Command::new("setsid").args(["sleep", "600"]).env("STRAYS_TEST", value).spawn().unwrap()
    }

    #[test]
    fn only_the_marked_are_ended() {
        let value = format!("{}-a", std::process::id());
        let (mut stray, mut other) = (sleeper(&value), sleeper(&format!("{value}b")));
        end("STRAYS_TEST", &value);
        assert_eq!(stray.wait().unwrap().signal(), Some(9));
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        end("STRAYS_TEST", &value);
    }
}
