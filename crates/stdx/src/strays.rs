//! Processes that left the group they were started in, or whose owner is gone. A variable of their
//! environment marks them and all that they start; they are found by it where the system shows it (in
//! `/proc`). Elsewhere the group is all that is known.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::str::FromStr;
use std::time::Duration;

/// How often strays are looked for: one may start another while it is being ended.
const ROUNDS_MAX: usize = 5;
/// Most environments are smaller; a larger one is read in several pieces, and more than the limit
/// is no more than the system lets a program have.
const ENVIRONMENT_BYTES: usize = 16 << 10;
const ENVIRONMENT_BYTES_MAX: u64 = 8 << 20;
/// A process that is just becoming another program shows no environment, mostly for microseconds,
/// for longer where the program has to be read from a disk. It is looked at again for so long.
const LOOKS_MAX: usize = 1_000;
/// For a moment of that its environment is empty, as that of a process that has none for good.
const EMPTY_LOOKS_MAX: usize = 20;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Ends every process that was started with this variable, wherever it went. It does not wait for
/// their ends, and needs no runtime.
pub fn end(name: &str, value: &str) {
    for _ in 0..ROUNDS_MAX {
        if !end_those(name, |found| found == value.as_bytes()) {
            return;
        }
    }
}

/// A value that says who gave it, with something that no other has.
pub fn owned(unique: u128) -> String {
    let own = std::process::id();
    format!("{}-{own}-{}-{unique:032x}", namespace(), began(own).unwrap_or_default())
}

/// Whether a value of `owned` is that of an owner who is certainly dead.
pub fn is_orphaned(value: &str) -> bool {
    is_orphan_in(&namespace(), value)
}

fn is_orphan_in(namespace: &str, value: &str) -> bool {
    let mut parts = value.split('-');
    // Numbers of another namespace say nothing here.
    let is_ours = parts.next() == Some(namespace);
    let owner = parts.next().and_then(|pid| pid.parse().ok());
    let since = parts.next().and_then(|began| began.parse().ok());
    let (Some(owner), Some(since)) = (owner, since) else { return false };
    is_ours && !may_live(owner, since)
}

/// Ends every process whose variable has a value of `owned` and whose owner is dead: what a killed
/// program left.
pub fn sweep(name: &str) {
    let namespace = namespace();
    let is_orphan = |value: &[u8]| {
        std::str::from_utf8(value).is_ok_and(|value| is_orphan_in(&namespace, value))
    };
    for _ in 0..ROUNDS_MAX {
        if !end_those(name, is_orphan) {
            return;
        }
    }
}

/// When a process began, in ticks since the machine did; none where it is dead, or waits to be
/// reaped.
pub fn began(pid: u32) -> Option<u64> {
    beginning(&stat(pid).ok()?)
}

/// Whether a process that began then is there. Only what is certainly gone is not.
fn may_live(pid: u32, since: u64) -> bool {
    match stat(pid) {
        Ok(stat) => beginning(&stat) == Some(since),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn stat(pid: u32) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/stat"))
}

fn beginning(stat: &str) -> Option<u64> {
    let is_dead = matches!(field::<char>(stat, 3), Some('Z' | 'X'));
    if is_dead { None } else { field(stat, 22) }
}

/// How often a process that shows no environment is looked at for one. What has no memory is dead or
/// a part of the system.
fn count_looks(stat: &str) -> usize {
    let [memory, start, end] = [23, 50, 51].map(|number| field::<u64>(stat, number).unwrap_or(0));
    match (memory, end) {
        (0, _) => 0,
        (_, end) if end > 0 && start == end => EMPTY_LOOKS_MAX,
        _ => LOOKS_MAX,
    }
}

/// One of the fields, by the number that the system's manual gives it; the second is not to be had.
fn field<T: FromStr>(stat: &str, number: usize) -> Option<T> {
    // The name of the program is the second and may hold anything.
    stat.rsplit_once(") ")?.1.split_ascii_whitespace().nth(number - 3)?.parse().ok()
}

/// Where our numbers of processes count.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Ends the processes whose variable is so; whether there were any.
fn end_those(name: &str, is_so: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(all) = fs::read_dir("/proc") else { return false };
    let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut has_any = false;
    // One buffer, and a large one: the system builds an environment anew for every read.
    let mut variables = Vec::with_capacity(ENVIRONMENT_BYTES);
    for id in ids {
        // One of somebody else cannot be read.
        let _ = read_environment(id, &mut variables);
        let values = variables
            .split(|byte| *byte == 0)
            .filter_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        let mut values = values.filter(|value| is_so(value));
        if let (Some(_), Some(pid)) = (values.next(), Pid::from_raw(id as i32)) {
            has_any = true;
            // It may end by itself in this moment.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    has_any
}

fn read_environment(id: u32, into: &mut Vec<u8>) -> io::Result<()> {
    for looks in 1.. {
        into.clear();
        let file = File::open(format!("/proc/{id}/environ"))?;
        file.take(ENVIRONMENT_BYTES_MAX).read_to_end(into)?;
        if !into.is_empty() || looks >= count_looks(&stat(id)?) {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "this works without a runtime")]
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn sleeper(name: &str, value: &str) -> Child {
        Command::new("setsid").args(["sleep", "60"]).env(name, value).spawn().unwrap()
    }

    #[track_caller]
    fn check_ended(mut child: Child) {
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[track_caller]
    fn check_lives(mut child: Child) {
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn only_the_marked_are_ended() {
        let value = owned(1);
        let (stray, other) =
            (sleeper("STRAYS_TEST", &value), sleeper("STRAYS_TEST", &format!("{value}b")));
        end("STRAYS_TEST", &value);
        check_ended(stray);
        check_lives(other);
        end("STRAYS_TEST", &value);
    }

    #[test]
    fn a_stray_that_is_just_becoming_another_program_is_ended() {
        let (name, value) = ("STRAYS_BECOMING_TEST", owned(3));
        // One that is not ended in time ends by another signal.
        let for_ever = "ulimit -S -t 20; exec sh -c \"$AGAIN\"";
        for _ in 0..100 {
            let mut command = Command::new("sh");
            command.args(["-c", for_ever]).env("AGAIN", "exec sh -c \"$AGAIN\"").env(name, &value);
            let stray = command.spawn().unwrap();
            end(name, &value);
            check_ended(stray);
        }
    }

    #[test]
    fn only_what_a_dead_owner_left_is_swept() {
        let name = "STRAYS_SWEEP_TEST";
        let own = owned(2);
        let parts: Vec<&str> = own.split('-').collect();
        let [namespace, pid, began, unique] = parts[..] else { panic!("{own}") };
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let orphans = [
            format!("{namespace}-{pid}-1{began}-{unique}"),
            format!("{namespace}-{}-{began}-{unique}", gone.id()),
        ];
        let orphans = orphans.map(|value| sleeper(name, &value));
        let others = [
            own.clone(),
            format!("1{namespace}-{pid}-1{began}-{unique}"),
            format!("{namespace}-x-{began}-{unique}"),
            String::new(),
        ];
        let others = others.map(|value| sleeper(name, &value));
        sweep(name);
        orphans.into_iter().for_each(check_ended);
        others.into_iter().for_each(check_lives);
    }
}
