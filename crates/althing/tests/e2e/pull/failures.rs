//! What goes wrong on the way of a download, and what is left of it.

use super::{Machine, tiny};
use crate::harness::{Done, really_wait, signal};
use althing_testkit::downloads::TOKEN;
use althing_testkit::{Mishap, StockFile};
use std::process::{Child, Command};
use std::time::Duration;

/// How often a part that grows is looked at: a minute, to catch a hang.
const POLLS_MAX: u32 = 1_200;

impl Machine {
    fn part(&self) -> std::path::PathBuf {
        self.tiny().with_file_name("tiny-1b.gguf.part")
    }

    fn part_length(&self) -> u64 {
        self.part().metadata().map_or(0, |it| it.len())
    }

    /// Starts a download that comes to a standstill, and waits until it has.
    fn stalled(&self, bytes: u64) -> Child {
        let mut child = self.home.spawn(&["pull", "tiny:1b"]);
        for _ in 0..POLLS_MAX {
            if self.part_length() >= bytes {
                return child;
            }
            assert_eq!(child.try_wait().unwrap(), None, "it ended at {}", self.part_length());
            really_wait(Duration::from_millis(50));
        }
        panic!("only {} bytes came", self.part_length());
    }

    /// The model is whole in its place, with nothing beside it that an attempt left.
    #[track_caller]
    fn is_whole(&self, file: &StockFile) {
        assert_eq!(std::fs::read(self.tiny()).unwrap(), file.bytes);
        assert!(!self.part().exists());
    }
}

#[test]
fn a_connection_that_breaks_is_taken_up() {
    let file = tiny().failing(&[Mishap::Cut(100_000), Mishap::Status(503), Mishap::Cut(10_000)]);
    let machine = Machine::new(vec![file.clone()]);
    machine.pull(&["tiny:1b"]).ends(0).warns("trying again in").says("is added");
    machine.is_whole(&file);
    let ranges = machine.ranges();
    assert_eq!((ranges.len(), ranges[0].as_str(), ranges[1] == ranges[2]), (4, "", true));
    assert!(ranges[1..].iter().all(|range| range.starts_with("bytes=")), "{ranges:?}");

    let file = tiny().failing(&[Mishap::Cut(100_000), Mishap::Whole]);
    let machine = Machine::new(vec![file.clone()]);
    machine.pull(&["tiny:1b"]).ends(0);
    machine.is_whole(&file);
}

#[test]
fn a_stopped_or_killed_pull_goes_on() {
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let file = tiny().failing(&[Mishap::Stall(120_000)]);
        let machine = Machine::new(vec![file.clone()]);
        let child = machine.stalled(120_000);
        let busy = machine.pull(&["tiny:1b"]);
        busy.ends(4).warns("is being downloaded by another althing");
        signal(&child, name);
        let stopped = Done::of(child.wait_with_output().unwrap());
        assert_eq!(stopped.code, code, "{stopped:?}");
        if name == "INT" {
            stopped.warns("what has come is kept. Go on with:\nalthing pull tiny:1b\n");
        }
        assert_eq!(machine.part_length(), 120_000);
        let done = machine.pull(&["tiny:1b"]);
        done.ends(0).warns("120 KB of 240 KB are here already").says("is added");
        machine.is_whole(&file);
        assert_eq!(machine.ranges(), ["", "bytes=120000-"]);
    }
}

#[test]
fn a_wrong_checksum_leaves_nothing() {
    let machine = Machine::new(vec![StockFile { sha256: "0".repeat(64), ..tiny() }]);
    let done = machine.pull(&["tiny:1b"]);
    done.ends(18).warns("is damaged and was deleted: its SHA-256 is");
    assert!(!machine.part().exists() && !machine.tiny().exists());
    machine.home.run(&["providers", "list", "--json"]).ends(0);
    assert!(!machine.home.run(&["providers", "list"]).out.contains("tiny"));
}

#[test]
fn redirects_end_and_tokens_stay_where_they_belong() {
    let machine = Machine::new(vec![tiny().failing(&[Mishap::Loop; 20])]);
    machine.pull(&["tiny:1b"]).ends(18).warns("redirects more than 8 times");

    let gated = StockFile { repo: "ada/gated".into(), path: "a-Q8_0.gguf".into(), ..tiny() };
    let mut machine = Machine::new(vec![StockFile { gated: true, ..gated }]);
    let done = machine.pull(&["ada/gated"]);
    done.ends(10).warns("accept its licence at https://huggingface.co/ada/gated").warns("HF_TOKEN");
    machine.pull(&["ada/nobody"]).ends(10).warns("does not exist on Hugging Face, or is private");
    machine.pull(&["nobody"]).ends(3).warns("Ollama's registry has no nobody");
    machine.home = machine.home.set("HF_TOKEN", TOKEN);
    let done = machine.pull(&["ada/gated"]);
    done.ends(0).says("is added");
    assert!(!format!("{done:?}").contains(TOKEN));
    let downloads = machine.server.downloads();
    assert!(!downloads.is_empty() && downloads.iter().all(|it| it.authorization.is_empty()));
    assert!(downloads.iter().all(|it| it.host == machine.server.cdn()));
}

#[test]
fn what_needs_too_much_memory_or_room_is_refused_with_the_figures() {
    let machine = Machine::new(vec![StockFile { size: 150_000_000_000_000, ..tiny() }]);
    machine.pull(&["tiny:1b"]).ends(2).warns("150 TB, and at most 200 GB are taken");
    let large = ["tiny:1b", "--max-size", "900TB"];
    machine.pull(&large).ends(4).warns("needs about 150 TB of memory").warns("are free");
    let done = machine.pull(&[&large[..], &["--force"]].concat());
    done.ends(4).warns("free, and 150 TB are still to come");
    assert_eq!(machine.server.downloads(), []);
}

/// Nobody may fill a disk for a test. A device that is always full says what a full disk says, and a
/// limit on the size of files stops a real one in the middle.
#[test]
fn a_full_disk_is_told_and_the_part_is_kept() {
    let file = tiny();
    let machine = Machine::new(vec![file.clone()]);
    std::fs::create_dir_all(machine.tiny().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/full", machine.part()).unwrap();
    machine.pull(&["tiny:1b"]).ends(4).warns("is full; what is there is kept: make room");
    std::fs::remove_file(machine.part()).unwrap();

    let althing = machine.home.command(&["pull", "tiny:1b"]);
    let mut limited = Command::new("/bin/sh");
    // Blocks have 512 or 1,024 bytes, depending on the shell.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""]);
    limited.arg(althing.get_program()).args(althing.get_args()).env_clear();
    limited.envs(althing.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = Done::of(limited.current_dir(machine.home.path()).output().unwrap());
    done.ends(4).warns("may not grow further").warns("Go on with:\nalthing pull tiny:1b\n");
    let kept = machine.part_length();
    assert!((1..file.size).contains(&kept), "{kept}");
    machine.pull(&["tiny:1b"]).ends(0).says("is added");
    machine.is_whole(&file);
    assert_eq!(machine.ranges().last(), Some(&format!("bytes={kept}-")));
}
