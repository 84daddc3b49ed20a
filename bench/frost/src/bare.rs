//! A ping-pong of our own ZMTP layer with nothing around it: one thread on each side, no locks, no
//! messages beyond bytes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use multifrost::zmtp::{Event, Role, Session};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{RecvFlags, recv};

use crate::{BIG, Done, IN_FLIGHT, SMALL};

/// As long as the handles do.
const SPIN: Duration = Duration::from_micros(300);
const READ_BYTES: usize = 32 << 10;

struct Peer {
    stream: TcpStream,
    session: Session,
    buffer: Vec<u8>,
    unread: std::ops::Range<usize>,
    spins: bool,
}

impl Peer {
    fn new(stream: TcpStream, role: Role, spins: bool) -> Done<Peer> {
        stream.set_nodelay(true)?;
        // As the crate does.
        let _ = set_tcp_congestion(&stream, "reno");
        let session = Session::new(role, 64 << 20);
        let mut peer = Peer { stream, session, buffer: vec![0; READ_BYTES], unread: 0..0, spins };
        let mut greeting = [0; 64];
        greeting[..16].copy_from_slice(b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01NULL");
        peer.stream.write_all(&greeting)?;
        let name = if role == Role::Dealer { b"DEALER" } else { b"ROUTER" };
        let ready = [b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06", &name[..]].concat();
        peer.stream.write_all(&ready)?;
        while peer.event()? != Event::Ready {}
        Ok(peer)
    }

    fn event(&mut self) -> Done<Event> {
        loop {
            if let Some(event) = self.event_now()? {
                return Ok(event);
            }
            let count = self.read()?;
            if count == 0 {
                return Err("the other side is gone".into());
            }
            self.unread = 0..count;
        }
    }

    fn event_now(&mut self) -> Done<Option<Event>> {
        let mut input = &self.buffer[self.unread.clone()];
        let event = self.session.feed(&mut input).map_err(|it| it.0)?;
        self.unread.start = self.unread.end - input.len();
        Ok(event)
    }

    fn message(&mut self) -> Done<Vec<u8>> {
        match self.event()? {
            Event::Message(payload) => Ok(payload),
            _ => Err("no message".into()),
        }
    }

    fn read(&mut self) -> std::io::Result<usize> {
        let start = Instant::now();
        while self.spins && start.elapsed() < SPIN {
            if let Ok((_, count)) = recv(&self.stream, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                return Ok(count);
            }
        }
        self.stream.read(&mut self.buffer)
    }
}

fn put(out: &mut Vec<u8>, payload: &[u8]) {
    out.extend_from_slice(&[1, 0, 2]);
    out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
    out.extend_from_slice(payload);
}

/// Answers what has come with one write, and reads on.
pub fn child(port: &str, spin: &str) -> Done<()> {
    let stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    let mut peer = Peer::new(stream, Role::Router, spin == "spin")?;
    let mut out = Vec::new();
    loop {
        out.clear();
        let Ok(payload) = peer.message() else { return Ok(()) };
        put(&mut out, &payload);
        while let Some(Event::Message(payload)) = peer.event_now()? {
            put(&mut out, &payload);
        }
        peer.stream.write_all(&out)?;
    }
}

pub struct Bare {
    peer: Peer,
    child: Child,
    out: Vec<u8>,
}

impl Bare {
    pub fn start(spins: bool) -> Done<Bare> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port().to_string();
        let mut command = Command::new(std::env::current_exe()?);
        let child = command.args(["bare", &port, if spins { "spin" } else { "wait" }]).spawn()?;
        let peer = Peer::new(listener.accept()?.0, Role::Dealer, spins)?;
        Ok(Bare { peer, child, out: Vec::new() })
    }

    fn send(&mut self, payload: &[u8], times: usize) -> Done<()> {
        self.out.clear();
        (0..times).for_each(|_| put(&mut self.out, payload));
        Ok(self.peer.stream.write_all(&self.out)?)
    }

    fn echo(&mut self, bytes: usize) -> Done<()> {
        self.send(&vec![b'x'; bytes], 1)?;
        if self.peer.message()?.len() == bytes { Ok(()) } else { Err("not an echo".into()) }
    }
}

impl crate::Subject for Bare {
    fn small(&mut self) -> Done<()> {
        self.echo(SMALL)
    }

    fn big(&mut self) -> Done<()> {
        self.echo(BIG)
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        let payload = [b'x'; SMALL];
        self.send(&payload, IN_FLIGHT)?;
        let (mut sent, mut heard) = (IN_FLIGHT, 0);
        while heard < sent {
            self.peer.message()?;
            let mut fresh = 1;
            while let Some(Event::Message(_)) = self.peer.event_now()? {
                fresh += 1;
            }
            heard += fresh;
            if Instant::now() < until {
                self.send(&payload, fresh)?;
                sent += fresh;
            }
        }
        Ok(heard)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It ends by itself too, when its parent is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
