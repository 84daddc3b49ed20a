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

/// A UUID of version 4. It need only be unique, so the generator need not be a secret one.
pub(crate) fn fresh() -> Uuid {
    // The version is the first digit of the third group, the variant that of the fourth.
    let high = fastrand::u64(..) & !0xf000 | 0x4000;
    let low = fastrand::u64(..) & !(0b11 << 62) | 0b10 << 62;
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (place, byte) in high.to_be_bytes().into_iter().chain(low.to_be_bytes()).enumerate() {
        at += usize::from([4, 6, 8, 10].contains(&place));
        let digits = [byte >> 4, byte & 0xf].map(|it| b"0123456789abcdef"[usize::from(it)]);
        text[at..at + 2].copy_from_slice(&digits);
        at += 2;
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
