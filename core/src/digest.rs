//! A rolling digest: FNV-1a, 128 bits (draft-eastlake-fnv). It detects drift, not an adversary; the
//! store protects the log's integrity.

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
        read_digits(text).map(u128::from_be_bytes).map(Self)
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

/// Hexadecimal digits of each byte, and the value of each digit. Each step writes several digests and
/// a checkpoint has thousands of them, for which the formatting of numbers is slow.
static DIGITS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < pairs.len() {
        pairs[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    pairs
};
static VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        values[digit as usize] = value as u8;
        values[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};
const NO_DIGIT: u8 = 0xff;

/// Writes the hexadecimal digits of bytes to a buffer of twice their number.
pub(crate) fn write_digits(bytes: &[u8], digits: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(digits.as_chunks_mut().0) {
        *pair = DIGITS.get(usize::from(*byte)).copied().unwrap_or_default();
    }
}

/// Returns the bytes that hexadecimal digits of either case spell.
pub(crate) fn read_digits<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    let mut bytes = [0; BYTES];
    let mut valid = pairs.len() == BYTES && rest.is_empty();
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let value = |digit: u8| VALUES.get(usize::from(digit)).copied().unwrap_or(NO_DIGIT);
        let [high, low] = pair.map(value);
        valid &= high != NO_DIGIT && low != NO_DIGIT;
        *byte = high.wrapping_shl(4) | low;
    }
    valid.then_some(bytes)
}

/// Reads a value from its digits, without a copy of them. `expected` describes the digits.
pub(crate) fn deserialize_digits<'de, T, D: Deserializer<'de>>(
    from: D,
    parse: fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<T, D::Error> {
    struct Digits<T>(fn(&str) -> Option<T>, &'static str);

    impl<T> de::Visitor<'_> for Digits<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.1)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).ok_or_else(|| E::custom(self.1))
        }
    }

    from.deserialize_str(Digits(parse, expected))
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
        deserialize_digits(from, Self::parse, "a digest has 32 hexadecimal digits")
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
