//! The cipher: XChaCha20-Poly1305 with a random nonce before each ciphertext.

use std::fmt;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;
/// Bytes that sealing adds: the nonce and the tag.
pub(crate) const OVERHEAD: usize = NONCE_BYTES + 16;

/// A key, which is overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct Key(pub(crate) Zeroizing<[u8; KEY_BYTES]>);

impl Key {
    /// Returns a random key.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Data that a ciphertext is bound to: the purpose of the key's use, and parts with their lengths.
pub(crate) struct Bound(Vec<u8>);

impl Bound {
    pub(crate) fn to(purpose: &str) -> Self {
        Self(Vec::new()).and(purpose.as_bytes())
    }

    pub(crate) fn and(mut self, part: &[u8]) -> Self {
        self.0.extend((part.len() as u64).to_le_bytes());
        self.0.extend(part);
        self
    }

    /// Adds a part that may be absent.
    pub(crate) fn and_maybe(self, part: Option<&str>) -> Self {
        match part {
            None => self.and(&[0]),
            Some(part) => self.and(&[1]).and(part.as_bytes()),
        }
    }
}

/// Encrypts a text that is bound to data. Fails only if the system has no random numbers.
pub(crate) fn seal(key: &Key, bound: &Bound, plain: &[u8]) -> Result<Vec<u8>, getrandom::Error> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce)?;
    let payload = Payload { msg: plain, aad: &bound.0 };
    let sealed = key.cipher().encrypt(&XNonce::from(nonce), payload);
    // It fails only beyond 256 GiB.
    let sealed = sealed.map_err(|_| getrandom::Error::UNSUPPORTED)?;
    Ok([&nonce[..], &sealed].concat())
}

/// Decrypts a text; `None` if the key, the data or the ciphertext is another.
pub(crate) fn open(key: &Key, bound: &Bound, sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    let payload = Payload { msg: sealed, aad: &bound.0 };
    key.cipher().decrypt(&XNonce::from(*nonce), payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ciphertext_opens_only_as_it_was_sealed() {
        let key = Key::random().unwrap();
        let bound = || Bound::to("test").and(b"a").and(b"bc");
        let sealed = seal(&key, &bound(), b"plain").unwrap();
        assert_eq!(sealed.len(), 5 + OVERHEAD);
        assert_eq!(open(&key, &bound(), &sealed).as_deref(), Some(&b"plain"[..]));
        // Parts cannot be shifted, and no byte can be changed.
        assert_eq!(open(&key, &Bound::to("test").and(b"ab").and(b"c"), &sealed), None);
        assert_eq!(open(&Key::random().unwrap(), &bound(), &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&key, &bound(), &changed), None, "byte {at}");
            assert_eq!(open(&key, &bound(), &sealed[..at]), None, "cut at {at}");
        }
        assert_ne!(sealed, seal(&key, &bound(), b"plain").unwrap(), "nonces are random");
    }

    /// The test vector of draft-irtf-cfrg-xchacha-03, A.3.1.
    #[test]
    fn the_cipher_is_the_one_of_the_draft() {
        let hex = |text: &str| -> Vec<u8> {
            let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(digit).collect()
        };
        let key: Vec<u8> = (0x80..0xa0).collect();
        let key = Key(Zeroizing::new(key.try_into().unwrap()));
        let nonce = hex("404142434445464748494a4b4c4d4e4f5051525354555657");
        let aad = hex("50515253c0c1c2c3c4c5c6c7");
        let plain: &[u8] = b"Ladies and Gentlemen of the class of '99: If I could offer you only \
            one tip for the future, sunscreen would be it.";
        let sealed = key
            .cipher()
            .encrypt(
                &XNonce::from(<[u8; 24]>::try_from(nonce).unwrap()),
                Payload { msg: plain, aad: &aad },
            )
            .unwrap();
        assert_eq!(sealed[..8], hex("bd6d179d3e83d43b"));
        assert_eq!(sealed[sealed.len() - 16..], hex("c0875924c1c7987947deafd8780acf49"));
    }
}
