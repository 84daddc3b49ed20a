//! Names of calls.

/// A UUID of version 4. It need only be unique, so the generator need not be a secret one.
pub(crate) fn fresh() -> String {
    let random = fastrand::u128(..);
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let mut id = [b'-'; 36];
    let places = (0..36).filter(|it| ![8, 13, 18, 23].contains(it));
    for (place, at) in places.enumerate() {
        id[at] = b"0123456789abcdef"[(bits >> (124 - place * 4)) as usize & 0xf];
    }
    String::from_utf8(id.to_vec()).expect("digits are ASCII")
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
