//! Names of calls.

/// A UUID of version 4. It need only be unique, so the generator need not be a secret one.
pub(crate) fn fresh() -> String {
    // The version is the first digit of the third group, the variant that of the fourth.
    let high = fastrand::u64(..) & !0xf000 | 0x4000;
    let low = fastrand::u64(..) & !(0b11 << 62) | 0b10 << 62;
    let mut id = Vec::with_capacity(36);
    for (place, byte) in high.to_be_bytes().into_iter().chain(low.to_be_bytes()).enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            id.push(b'-');
        }
        id.extend([byte >> 4, byte & 0xf].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
    String::from_utf8(id).expect("digits are ASCII")
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
