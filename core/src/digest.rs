//! A rolling digest: FNV-1a, 128 bits (draft-eastlake-fnv). It detects drift, not an adversary; the
//! store protects the log's integrity.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Digest of a sequence of parts. Serialised as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u128);

impl Digest {
    /// Digest of an empty sequence.
    pub const EMPTY: Self = Self(OFFSET);

    /// Adds a part. Its length is hashed first, so the boundaries of parts count.
    #[must_use]
    pub fn part(self, bytes: &[u8]) -> Self {
        self.raw(&(bytes.len() as u64).to_le_bytes()).raw(bytes)
    }

    /// Adds another digest as a part.
    #[must_use]
    pub fn digest(self, other: Self) -> Self {
        self.raw(&other.0.to_le_bytes())
    }

    /// Returns the digest that these digits spell.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let half = |range| text.get(range).and_then(|half| u64::from_str_radix(half, 16).ok());
        // Two halves, since a checkpoint has thousands, and each digit of the whole is slower.
        let (high, low) = (half(0..16).filter(|_| digits)?, half(16..32)?);
        Some(Self((u128::from(high) << 64) | u128::from(low)))
    }

    /// Returns the halves of the digest, combined.
    pub(crate) fn folded(self) -> u64 {
        let [high, low] = [self.0 >> 64, self.0 & u128::from(u64::MAX)];
        u64::try_from(high ^ low).unwrap_or_default()
    }

    fn raw(self, bytes: &[u8]) -> Self {
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        Self(bytes.iter().fold(self.0, step))
    }
}

/// Writes the hexadecimal digits of bytes to a buffer of twice their number. Each step writes several
/// digests, and the formatting of a number is slow.
pub(crate) fn write_digits(bytes: &[u8], digits: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(digits.chunks_exact_mut(2)) {
        for (digit, nibble) in pair.iter_mut().zip([byte >> 4, byte & 0xf]) {
            *digit = match nibble {
                0..10 => b'0'.wrapping_add(nibble),
                _ => (b'a' - 10).wrapping_add(nibble),
            };
        }
    }
}

/// Returns the digits of a digest, most significant first.
fn digits(digest: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    write_digits(&digest.to_be_bytes(), &mut digits);
    digits
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = digits(self.0);
        f.write_str(core::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let digits = digits(self.0);
        to.serialize_str(core::str::from_utf8(&digits).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("a digest has 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_test_vectors() {
        assert_eq!(Digest::EMPTY.raw(b"a").0, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(Digest::EMPTY.raw(b"foobar").0, 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        let ab_c = Digest::EMPTY.part(b"ab").part(b"c");
        let a_bc = Digest::EMPTY.part(b"a").part(b"bc");
        assert_ne!(ab_c, a_bc);
    }

    #[test]
    fn its_digits_are_those_of_the_number() {
        for number in [0, 1, 0x9a, OFFSET, PRIME, u128::MAX, u128::MAX << 4] {
            let digits = digits(number);
            let text = core::str::from_utf8(&digits).unwrap();
            assert_eq!(text, alloc::format!("{number:032x}"));
        }
    }

    #[test]
    fn is_shown_as_its_32_digits_in_debug_output_too() {
        let digest = Digest(0xab);
        let shown = "000000000000000000000000000000ab";
        assert_eq!(alloc::format!("{digest}"), shown);
        assert_eq!(alloc::format!("{digest:?}"), shown);
    }
}
