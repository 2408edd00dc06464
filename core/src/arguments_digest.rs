//! Digests of arguments: decisions, questions and answers about a call name the exact arguments.
//!
//! SHA-256 is computed where a call is read, and recorded with it. Older logs have none; their
//! decisions name the arguments by [`Digest`], which the fold computes.

use core::fmt;
use core::str::from_utf8;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use crate::digest::{Digest, deserialize_digits, read_digits, write_digits};

/// Prefix of the text form of a SHA-256.
const SHA256: &str = "sha256:";

/// SHA-256 of a text. Serialised as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Returns the digest that these digits spell, in lower case.
    fn parse(text: &str) -> Option<Self> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        read_digits(text).filter(|_| lower).map(Self)
    }

    fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        write_digits(&self.0, &mut digits);
        digits
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(from_utf8(&self.digits()).map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "a SHA-256 has 64 hexadecimal digits in lower case";
        deserialize_digits(from, Self::parse, expected)
    }
}

/// Digest of the exact arguments of a call. Serialised as `sha256:` and 64 hexadecimal digits, or
/// as the 32 digits of a [`Digest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArgumentsDigest {
    /// SHA-256 of the arguments.
    Sha256(Sha256),
    /// Digest of the arguments as the only part: in logs of earlier versions.
    Digest(Digest),
}

impl ArgumentsDigest {
    /// Returns the digest of arguments as earlier versions computed it.
    #[must_use]
    pub fn without_sha256(arguments: &str) -> Self {
        Self::Digest(Digest::EMPTY.part(arguments.as_bytes()))
    }
}

impl fmt::Display for ArgumentsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(sha256) => write!(f, "{SHA256}{sha256}"),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

impl fmt::Debug for ArgumentsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ArgumentsDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let sha256 = match self {
            Self::Sha256(sha256) => sha256,
            Self::Digest(digest) => return digest.serialize(to),
        };
        let mut text = [0; SHA256.len() + 64];
        let (prefix, digits) = text.split_at_mut(SHA256.len());
        prefix.copy_from_slice(SHA256.as_bytes());
        write_digits(&sha256.0, digits);
        to.serialize_str(from_utf8(&text).map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for ArgumentsDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "a digest of arguments is sha256: and 64 hexadecimal digits in lower case, \
                        or the 32 digits of an earlier version";
        let parse = |text: &str| match text.strip_prefix(SHA256) {
            Some(digits) => Sha256::parse(digits).map(Self::Sha256),
            None => Digest::parse(text).map(Self::Digest),
        };
        deserialize_digits(from, parse, expected)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};

    use serde::de;

    use super::*;

    fn read(text: &str) -> Option<ArgumentsDigest> {
        let text = de::value::StrDeserializer::<de::value::Error>::new(text);
        ArgumentsDigest::deserialize(text).ok()
    }

    #[test]
    fn both_forms_are_read_back_and_never_equal() {
        let new = format!("sha256:{}", "0f".repeat(32));
        let old = "0f".repeat(16);
        for text in [&new, &old] {
            assert_eq!(read(text).unwrap().to_string(), *text);
        }
        assert_ne!(read(&new), read(&old));
        assert_eq!(read(&new), Some(ArgumentsDigest::Sha256(Sha256([0x0f; 32]))));
    }

    /// Text that a value is serialised as.
    struct Serialised<T>(T);

    impl<T: Serialize> fmt::Display for Serialised<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }

    #[test]
    fn both_are_serialised_as_they_are_shown() {
        let sha256 = Sha256(core::array::from_fn(|at| at.to_le_bytes()[0].wrapping_mul(0x1d)));
        let digits: String = sha256.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sha256.to_string(), digits);
        assert_eq!(Serialised(sha256).to_string(), digits);
        let new = ArgumentsDigest::Sha256(sha256);
        assert_eq!(new.to_string(), format!("sha256:{digits}"));
        for digest in [new, ArgumentsDigest::without_sha256("{}")] {
            assert_eq!(Serialised(digest).to_string(), digest.to_string());
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let digits = "0f".repeat(32);
        let upper = format!("sha256:{}", "0F".repeat(32));
        let long = format!("sha256:{digits}0");
        for bad in [digits, upper, long, String::from("sha256:"), String::new()] {
            assert_eq!(read(&bad), None, "{bad}");
        }
    }
}
