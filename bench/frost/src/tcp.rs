//! An echo over a bare socket with the crate's own settings and no protocol at all: what the system
//! takes for so many bytes, below which nobody comes.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{RecvFlags, recv};

use crate::{BIG, Done, SMALL};

/// As the crate does: of much, a little first, so that the other side is reading when the rest comes.
const FIRST_BYTES: usize = 8 << 10;
const SILENCE_MAX: Duration = Duration::from_secs(10);

fn set(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // As the crate does.
    let _ = set_tcp_congestion(stream, "reno");
    Ok(())
}

fn send(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
    stream.write_all(first)?;
    if rest.is_empty() { Ok(()) } else { stream.write_all(rest) }
}

/// Fills `into`, and never sleeps.
fn fill(stream: &TcpStream, into: &mut [u8]) -> Done<()> {
    let (mut count, start) = (0, Instant::now());
    while count < into.len() {
        match recv(stream, &mut into[count..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err("the other side is gone".into()),
            Ok((_, more)) => count += more,
            Err(_) if start.elapsed() > SILENCE_MAX => return Err("nothing comes".into()),
            Err(_) => std::hint::spin_loop(),
        }
    }
    Ok(())
}

/// Four bytes say how long the rest is.
pub fn child(port: &str) -> Done<()> {
    let stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    set(&stream)?;
    let mut bytes = vec![0; BIG];
    loop {
        let mut length = [0; 4];
        // Between two measurements of it others have theirs, so this may sleep.
        if stream.peek(&mut length)? == 0 {
            return Ok(());
        }
        fill(&stream, &mut length)?;
        let bytes = &mut bytes[..u32::from_be_bytes(length) as usize];
        fill(&stream, bytes)?;
        send(&stream, bytes)?;
    }
}

pub struct Tcp {
    stream: TcpStream,
    child: Child,
    out: Vec<u8>,
    back: Vec<u8>,
}

impl Tcp {
    pub fn start() -> Done<Tcp> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port().to_string();
        let child = Command::new(std::env::current_exe()?).args(["tcp", &port]).spawn()?;
        let stream = listener.accept()?.0;
        set(&stream)?;
        Ok(Tcp { stream, child, out: vec![b'x'; 4 + BIG], back: vec![0; BIG] })
    }

    fn echo(&mut self, bytes: usize) -> Done<()> {
        self.out[..4].copy_from_slice(&(bytes as u32).to_be_bytes());
        send(&self.stream, &self.out[..4 + bytes])?;
        fill(&self.stream, &mut self.back[..bytes])
    }
}

impl crate::Subject for Tcp {
    fn small(&mut self) -> Done<()> {
        self.echo(SMALL)
    }

    fn big(&mut self) -> Done<()> {
        self.echo(BIG)
    }

    /// Of many at once the bare ZMTP tells enough.
    fn flight(&mut self, _until: Instant) -> Done<usize> {
        Ok(0)
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        // It ends by itself too, when its parent is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
