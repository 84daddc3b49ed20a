//! The upstream as a process of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

#[test]
fn it_prints_its_url_and_serves_until_its_input_closes() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_upstream"))
        .args(["--latency-ms", "0", "--chunks", "2", "--delay-us", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let request = "GET /api/version HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    drop(process.stdin.take());
    assert!(process.wait().unwrap().success());
}

#[test]
fn it_explains_its_flags() {
    for arguments in [&["--nonsense", "1"][..], &["--chunks"], &["--chunks", "many"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_upstream")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("usage: upstream"));
    }
}
