//! Whose the other end of a connection on this machine is: the system's table of connections names
//! a socket, and the files of a process are the sockets that it has.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use rustix::process::Pid;

const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// The table is read piece by piece, so that one who comes or goes meanwhile may hide another.
const LOOKS_MAX: usize = 5;

/// Whether a process of a group has the end `theirs` of a connection whose other end is `ours`.
/// Where the system does not tell, nobody knows.
pub(super) fn has_end(group: Pid, theirs: SocketAddr, ours: SocketAddr) -> Option<bool> {
    let (theirs, ours) = (form(theirs)?, form(ours)?);
    let mut found = None;
    for _ in 0..LOOKS_MAX {
        found = find(&theirs, &ours)?;
        if found.is_some() {
            break;
        }
    }
    let Some(socket) = found else { return Some(false) };
    let has = |pid: i32| has_file(pid, &socket);
    let leader = group.as_raw_nonzero().get();
    Some(has(leader) || members(leader).any(has))
}

/// The socket of an end, if it is in the table; nothing where there is no table.
fn find(theirs: &str, ours: &str) -> Option<Option<String>> {
    let tables: Vec<String> = TABLES.iter().filter_map(|it| fs::read_to_string(it).ok()).collect();
    let lines = || tables.iter().flat_map(|it| it.lines());
    (!tables.is_empty()).then(|| lines().find_map(|line| socket(line, theirs, ours)))
}

/// An end as the table has it, behind what it says of version 6: the address as numbers of this
/// machine, of four bytes each. Only what stays on this machine is there with both ends.
fn form(end: SocketAddr) -> Option<String> {
    let ip = end.ip().to_canonical();
    let words = |octets: &[u8]| {
        let words =
            octets.as_chunks().0.iter().map(|it| format!("{:08X}", u32::from_ne_bytes(*it)));
        words.collect::<String>()
    };
    let address = match ip {
        IpAddr::V4(ip) => words(&ip.octets()),
        IpAddr::V6(ip) => words(&ip.octets()),
    };
    ip.is_loopback().then(|| format!("{address}:{:04X}", end.port()))
}

/// The socket of a line of the table, as a link to it is called.
fn socket(line: &str, theirs: &str, ours: &str) -> Option<String> {
    let mut fields = line.split_ascii_whitespace();
    let is_it = fields.nth(1)?.ends_with(theirs) && fields.next()?.ends_with(ours);
    is_it.then(|| Some(format!("socket:[{}]", fields.nth(6)?)))?
}

/// Whether a process has a file. One that we may not look into may have it.
fn has_file(pid: i32, file: &str) -> bool {
    match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files
            .flatten()
            .any(|it| fs::read_link(it.path()).is_ok_and(|found| found.as_os_str() == file)),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

/// The processes of a group.
fn members(group: i32) -> impl Iterator<Item = i32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(move |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program comes before it and may hold anything.
        let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        fields.split(' ').nth(2).and_then(|it| it.parse().ok()) == Some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn an_end_is_that_of_the_process_that_has_it() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, ours) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        let own = rustix::process::getpgrp();
        assert_eq!(has_end(own, theirs, ours), Some(true));
        let mut other = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let group = Pid::from_raw(other.id() as i32).unwrap();
        assert_eq!(has_end(group, theirs, ours), Some(false));
        other.kill().unwrap();
        other.wait().unwrap();
        let far = |port| SocketAddr::from(([192, 0, 2, 1], port));
        assert_eq!(has_end(own, far(1), far(2)), None, "the table does not know the other end");
    }
}
