//! A ping-pong of the `zmq` crate, which is libzmq, with nothing around it.

use std::process::{Child, Command};
use std::time::Instant;

use crate::{BIG, Done, IN_FLIGHT, SMALL};

/// Sends every message back as it came, without a copy of its own.
pub fn child(port: &str) -> Done<()> {
    let context = zmq::Context::new();
    let socket = context.socket(zmq::ROUTER)?;
    socket.set_sndhwm(0)?;
    socket.connect(&format!("tcp://127.0.0.1:{port}"))?;
    let mut message = zmq::Message::new();
    loop {
        socket.recv(&mut message, 0)?;
        let flags = if message.get_more() { zmq::SNDMORE } else { 0 };
        socket.send(std::mem::replace(&mut message, zmq::Message::new()), flags)?;
    }
}

pub struct Zmq {
    socket: zmq::Socket,
    child: Child,
    big: Vec<u8>,
}

impl Zmq {
    pub fn start() -> Done<Zmq> {
        let socket = zmq::Context::new().socket(zmq::DEALER)?;
        socket.bind("tcp://127.0.0.1:*")?;
        let address = socket.get_last_endpoint()?.map_err(|_| "no address")?;
        let port = address.rsplit(':').next().unwrap_or_default().to_string();
        let child = Command::new(std::env::current_exe()?).args(["zmq", &port]).spawn()?;
        Ok(Zmq { socket, child, big: vec![b'x'; BIG] })
    }

    fn send(&self, payload: &[u8]) -> Done<()> {
        self.socket.send("", zmq::SNDMORE)?;
        Ok(self.socket.send(payload, 0)?)
    }

    fn hear(&self) -> Done<usize> {
        let mut message = zmq::Message::new();
        self.socket.recv(&mut message, 0)?;
        self.socket.recv(&mut message, 0)?;
        Ok(message.len())
    }

    fn echo(&self, payload: &[u8]) -> Done<()> {
        self.send(payload)?;
        if self.hear()? == payload.len() { Ok(()) } else { Err("not an echo".into()) }
    }
}

impl crate::Subject for Zmq {
    fn small(&mut self) -> Done<()> {
        self.echo(&[b'x'; SMALL])
    }

    fn big(&mut self) -> Done<()> {
        self.echo(&self.big)
    }

    fn flight(&mut self, until: Instant) -> Done<usize> {
        for _ in 0..IN_FLIGHT {
            self.send(&[b'x'; SMALL])?;
        }
        let (mut sent, mut heard) = (IN_FLIGHT, 0);
        while heard < sent {
            self.hear()?;
            heard += 1;
            if Instant::now() < until {
                self.send(&[b'x'; SMALL])?;
                sent += 1;
            }
        }
        Ok(heard)
    }
}

impl Drop for Zmq {
    fn drop(&mut self) {
        // It would wait for a parent for ever.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
