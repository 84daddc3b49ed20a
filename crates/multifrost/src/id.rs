//! Names of calls.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;

/// The text of a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Uuid([u8; 36]);

/// So that any text can be looked up among them.
impl Borrow<[u8]> for Uuid {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for Uuid {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("it is made of text")
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// Calls by their names. What is looked up may be anybody's text, but what is kept is random and our
/// own, so nobody can make it collide.
pub(crate) type ByUuid<T> = HashMap<Uuid, T, BuildHasherDefault<Digits>>;

/// Of a name that is random the last digits are as good as any hash of it.
#[derive(Debug, Default)]
pub(crate) struct Digits(u64);

impl Hasher for Digits {
    fn write(&mut self, bytes: &[u8]) {
        let digits = bytes.last_chunk().map_or(0, |last| u64::from_ne_bytes(*last));
        // The control bytes of a table are made of the upper bits, its places of the lower.
        self.0 = digits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Where the two digits of each byte are.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// A UUID of version 4. It need only be unique, so the generator need not be a secret one.
pub(crate) fn fresh() -> Uuid {
    let mut bytes = fastrand::u128(..).to_be_bytes();
    // The version is the first digit of the third group, the variant that of the fourth.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = [b'-'; 36];
    for (place, byte) in PLACES.into_iter().zip(bytes) {
        text[place] = b"0123456789abcdef"[usize::from(byte >> 4)];
        text[place + 1] = b"0123456789abcdef"[usize::from(byte & 0xf)];
    }
    Uuid(text)
}

#[cfg(test)]
#[test]
fn s5_2_s7_1_2_s21_4_s42_1_ids_are_uuids_of_version_4() {
    for _ in 0..100 {
        let id = fresh();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
        assert_ne!(id, fresh());
    }
}
