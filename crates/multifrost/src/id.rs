//! Names of calls.

use std::borrow::Borrow;
use std::fmt;
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
