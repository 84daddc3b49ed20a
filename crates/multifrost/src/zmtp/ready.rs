//! Commands, above all READY with its properties.

use super::{Refused, Role, refused};

/// The commands that mean something to us.
pub(super) enum Name {
    Ready,
    Error,
    Ping,
    Other,
}

impl Role {
    /// Its name in READY.
    fn name(self) -> &'static str {
        match self {
            Role::Dealer => "DEALER",
            Role::Router => "ROUTER",
        }
    }

    /// What may be at the other end. A REQ frames its messages as a DEALER of ours does.
    fn partners(self) -> &'static [&'static str] {
        match self {
            Role::Dealer => &["ROUTER"],
            Role::Router => &["DEALER", "REQ"],
        }
    }
}

/// The name of a command, and what follows it.
pub(super) fn name(body: &[u8]) -> Result<(Name, &[u8]), Refused> {
    let Some((name, rest)) =
        body.split_first().and_then(|(n, rest)| rest.split_at_checked((*n).into()))
    else {
        return refused("a command without a name");
    };
    let name = match name {
        b"READY" => Name::Ready,
        b"ERROR" => Name::Error,
        b"PING" => Name::Ping,
        _ => Name::Other,
    };
    Ok((name, rest))
}

/// What READY says about the other side. Its identity is of no use: a connection is a peer.
pub(super) struct Properties<'a> {
    socket_type: &'a [u8],
}

impl<'a> Properties<'a> {
    pub(super) fn read(mut rest: &'a [u8]) -> Result<Properties<'a>, Refused> {
        let mut socket_type: &[u8] = b"";
        // Bounded by the length of a command.
        while !rest.is_empty() {
            let Some((name, value, after)) = property(rest) else {
                return refused("a READY that breaks off");
            };
            if name.eq_ignore_ascii_case(b"Socket-Type") {
                socket_type = value;
            }
            rest = after;
        }
        Ok(Properties { socket_type })
    }

    pub(super) fn fits(&self, ours: Role) -> Result<(), Refused> {
        if ours.partners().iter().any(|name| name.as_bytes() == self.socket_type) {
            return Ok(());
        }
        let its = String::from_utf8_lossy(self.socket_type);
        refused(format!("a {its} socket cannot talk to a {}", ours.name()))
    }
}

/// Name, value and what follows: the name has one byte of length, the value four.
fn property(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked((*length).into())?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some((name, value, rest))
}

/// The body of our READY: with an empty identity, as libzmq has it.
pub(super) fn body(role: Role) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    for (name, value) in [("Socket-Type", role.name()), ("Identity", "")] {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body
}
