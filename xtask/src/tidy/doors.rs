//! Who touches the outside: found by the names that do so, wherever they are imported from.

use super::Reach::{Environment, Files, Processes, Sockets};
use super::{DOORS, File, Finding, Reach};

/// What in the code gives a reach away. Addresses are values and free; sockets are not.
const SIGNS: &[(&str, Reach)] = &[
    ("TcpStream", Sockets),
    ("TcpListener", Sockets),
    ("TcpSocket", Sockets),
    ("UdpSocket", Sockets),
    ("UnixStream", Sockets),
    ("UnixListener", Sockets),
    ("UnixDatagram", Sockets),
    ("ToSocketAddrs", Sockets),
    ("lookup_host", Sockets),
    ("client::conn", Sockets),
    ("client::legacy", Sockets),
    ("std::fs", Files),
    ("tokio::fs", Files),
    ("fs::", Files),
    (".canonicalize()", Files),
    (".exists()", Files),
    (".is_dir()", Files),
    (".is_file()", Files),
    (".read_dir()", Files),
    ("std::process", Processes),
    ("tokio::process", Processes),
    ("Command::new", Processes),
    ("std::env", Environment),
    ("env::", Environment),
];

/// No code touches the outside except through its door; tests may.
pub(super) fn uses(file: &File) -> Vec<Finding> {
    if !file.path.ends_with(".rs") || file.is_test() {
        return Vec::new();
    }
    let may = reaches(&file.path);
    let mut findings = Vec::new();
    for (line, code) in code(file) {
        // One finding per line: the first sign says enough.
        let sign = SIGNS.iter().find(|(sign, reach)| !may.contains(reach) && has(code, sign));
        if let Some((sign, reach)) = sign {
            let what = format!("`{sign}` here, but this file is no door to {reach:?}");
            findings.push(file.finding(line, what + ": go through one (DOORS in tidy.rs)"));
        }
    }
    findings
}

fn reaches(path: &str) -> &'static [Reach] {
    let is_door = |door: &str| path == door || (door.ends_with('/') && path.starts_with(door));
    DOORS.iter().find(|(door, _)| is_door(door)).map_or(&[], |(_, may)| may)
}

/// Whether the sign stands in the code as a name of its own, not as the end of a longer one.
fn has(code: &str, sign: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_method = sign.starts_with('.');
    code.match_indices(sign).any(|(at, _)| is_method || !code[..at].ends_with(is_name))
}

/// The lines that are code: neither comments nor items under `#[cfg(test)]`.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut skipped: Option<&str> = None;
    file.lines().filter_map(move |(number, line)| {
        let code = line.trim_start();
        if let Some(indent) = skipped {
            skipped = skipped.filter(|_| !ends_item(line, indent));
            return None;
        }
        if code.starts_with("#[cfg(test)]") {
            skipped = Some(&line[..line.len() - code.len()]);
            return None;
        }
        Some((number, code.split("//").next().unwrap_or(code)))
    })
}

/// Whether an item whose attribute stands at `indent` ends here. Rustfmt puts its last line at the
/// same indent and all between deeper, so there is no need to understand what is between.
fn ends_item(line: &str, indent: &str) -> bool {
    let rest = line.strip_prefix(indent).filter(|rest| !rest.starts_with(' '));
    rest.is_some_and(|rest| rest.ends_with([';', ',', '}']))
}
