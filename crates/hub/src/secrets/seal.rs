//! Sealing: ChaCha20-Poly1305 with a random nonce per record and the record's id bound to it, so
//! that no record can stand in another's place.

use althing_stdx::{Fault, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

pub(super) const KEY_BYTES: usize = 32;

/// A master key. It does not print itself.
pub(super) struct Key(LessSafeKey);

impl Key {
    pub(super) fn new(bytes: &[u8; KEY_BYTES]) -> Key {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes);
        Key(LessSafeKey::new(key.expect("the key has the cipher's length")))
    }

    /// The nonce and what `plain` became, as text.
    pub(super) fn seal(&self, id: &str, plain: &[u8]) -> Result<String> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(id.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        let done = self.0.seal_in_place_append_tag(nonce_used, aad, &mut sealed);
        done.map_err(|_| Fault::internal("a secret could not be sealed"))?;
        Ok(STANDARD.encode([&nonce[..], &sealed].concat()))
    }

    /// What was sealed under this id; none where anything about it was changed.
    pub(super) fn unseal(&self, id: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let aad = Aad::from(id.as_bytes());
        let plain = self.0.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut sealed);
        Some(plain.ok()?.to_vec())
    }
}

/// Bytes nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Fault::internal("the system gives no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_under_the_id_opens() {
        let key = Key::new(&[7; KEY_BYTES]);
        let sealed = key.seal("a", b"words").unwrap();
        assert_eq!(key.unseal("a", &sealed).unwrap(), b"words");
        assert_ne!(key.seal("a", b"words").unwrap(), sealed, "every record has its own nonce");
        assert_eq!(key.unseal("b", &sealed), None, "another id");
        assert_eq!(Key::new(&[8; KEY_BYTES]).unseal("a", &sealed), None, "another key");
        let bytes = STANDARD.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(key.unseal("a", &STANDARD.encode(changed)), None, "byte {at} changed");
            assert_eq!(key.unseal("a", &STANDARD.encode(&bytes[..at])), None, "cut at {at}");
        }
        assert_eq!(key.unseal("a", "not base64!"), None);
    }
}
