//! Master keys: they encrypt the keys of sessions, and nothing else.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::cipher::{KEY_BYTES, Key};

/// Digits of a master key's id.
const ID_DIGITS: usize = 16;

/// A master key.
#[derive(Clone)]
pub struct MasterKey {
    id: String,
    pub(crate) key: Key,
}

/// Error for a text that is no master key. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the master key must be 32 random bytes, as 64 hexadecimal digits or as Base64: make one with \
     `openssl rand -hex 32`"
)]
pub struct InvalidMasterKey;

impl MasterKey {
    /// Parses 32 bytes, as 64 hexadecimal digits or as Base64. White space around them is ignored.
    ///
    /// # Errors
    /// [`InvalidMasterKey`] for any other text, and for 32 equal bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidMasterKey> {
        let text = text.trim();
        let bytes = hexadecimal(text).or_else(|| STANDARD.decode(text).ok().map(Zeroizing::new));
        let bytes = bytes.ok_or(InvalidMasterKey)?;
        let bytes: [u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_| InvalidMasterKey)?;
        let bytes = Zeroizing::new(bytes);
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return Err(InvalidMasterKey);
        }
        let digest = Sha256::new().chain_update(b"windlass-master 1 ").chain_update(*bytes);
        let mut id: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        id.truncate(ID_DIGITS);
        Ok(Self { id, key: Key(bytes) })
    }

    /// Returns the name under which the keys of sessions record it: a digest of 16 digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey").field("id", &self.id).finish_non_exhaustive()
    }
}

fn hexadecimal(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES));
    for at in (0..text.len()).step_by(2) {
        bytes.push(u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?);
    }
    Some(bytes)
}

/// The master key that encrypts new keys, and earlier ones that still decrypt.
#[derive(Debug, Clone)]
pub struct MasterKeys {
    pub(crate) current: MasterKey,
    pub(crate) older: Vec<MasterKey>,
}

impl MasterKeys {
    /// Creates the master keys of a process. The earlier ones are only needed until
    /// [`rotate`](crate::rotate) has encrypted all keys of sessions with the current one.
    #[must_use]
    pub fn new(current: MasterKey, older: Vec<MasterKey>) -> Self {
        Self { current, older }
    }

    /// Returns the key of this id, if the process has it.
    pub(crate) fn get(&self, id: &str) -> Option<&MasterKey> {
        std::iter::once(&self.current).chain(&self.older).find(|key| key.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_key_is_32_bytes_and_never_shown() {
        let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        let key = MasterKey::parse(&format!("  {digits}\n")).unwrap();
        let base64 = MasterKey::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        assert_eq!(key.id(), base64.id());
        assert_eq!(key.id().len(), ID_DIGITS);
        assert!(!format!("{key:?}").contains("0102"), "{key:?}");
        for wrong in ["", "secret", &digits[1..], &"0".repeat(64), &digits.replace('a', "g")] {
            let error = MasterKey::parse(wrong).unwrap_err();
            assert!(wrong.is_empty() || !error.to_string().contains(wrong));
        }
    }
}
