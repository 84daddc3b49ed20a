//! The first 64 bytes of a connection.

use super::{Refused, refused};

/// What we say: version 3.1, mechanism NULL, as libzmq says it.
pub(crate) const GREETING: [u8; 64] = {
    let mut bytes = [0; 64];
    bytes[0] = 0xff;
    bytes[8] = 1;
    bytes[9] = 0x7f;
    bytes[10] = 3;
    bytes[11] = 1;
    bytes[12] = b'N';
    bytes[13] = b'U';
    bytes[14] = b'L';
    bytes[15] = b'L';
    bytes
};

/// Where the mechanism stands, padded with zeros.
const MECHANISM: std::ops::Range<usize> = 12..32;

/// What is there so far may begin a greeting: a stranger is told from its first wrong byte on. The
/// length inside the signature is 0 or 1, depending on the library, and nobody cares.
pub(super) fn check(bytes: &[u8]) -> Result<(), Refused> {
    let is = |at: usize, fine: fn(u8) -> bool| bytes.get(at).is_none_or(|byte| fine(*byte));
    if !is(0, |byte| byte == 0xff) || !is(9, |byte| byte == 0x7f) {
        return refused("it does not speak ZeroMQ");
    }
    // A later version speaks ours when it hears it.
    if !is(10, |byte| byte >= 3) {
        return refused("it speaks a ZeroMQ protocol older than version 3");
    }
    let mechanism = bytes.get(MECHANISM.start..).unwrap_or_default();
    if mechanism.iter().zip(&GREETING[MECHANISM]).any(|(its, ours)| its != ours) {
        return refused("it wants a security mechanism other than NULL");
    }
    Ok(())
}
