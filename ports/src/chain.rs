//! The hash chain of a log: one definition, so that a log has the same last link in every store.

use std::fmt;

use sha2::{Digest as _, Sha256};
use windlass_core::SessionId;

use crate::codec::{self, CodecError};

/// A link of the hash chain over a log: the digest of everything appended, in 32 bytes.
///
/// The link before the first fact is the SHA-256 of `windlass-chain 1 ` and the session's id. So
/// the log of one session cannot pass for another's. Each fact's link is the SHA-256 of the
/// previous link and the fact's text form, as [`codec::encode`] writes it.
///
/// Its text is 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainLink(pub [u8; Self::BYTES]);

impl ChainLink {
    /// Bytes of a link.
    pub const BYTES: usize = 32;

    /// Returns the link before the first fact of a session.
    #[must_use]
    pub fn genesis(session: &SessionId) -> Self {
        let hash = Sha256::new().chain_update(b"windlass-chain 1 ").chain_update(session.as_str());
        Self(hash.finalize().into())
    }

    /// Returns the link of the next fact, which has this text form.
    #[must_use]
    pub fn next(&self, text: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(self.0).chain_update(text);
        Self(hash.finalize().into())
    }

    /// Returns the last link of a complete log of a session.
    ///
    /// # Errors
    /// As [`codec::encode`].
    pub fn of_log<'a>(
        session: &SessionId,
        facts: impl IntoIterator<Item = &'a windlass_core::RecordedFact>,
    ) -> Result<Self, CodecError> {
        facts
            .into_iter()
            .try_fold(Self::genesis(session), |link, fact| Ok(link.next(&codec::encode(fact)?)))
    }

    /// Parses the text of a link.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 2 * Self::BYTES {
            return None;
        }
        let mut link = [0; Self::BYTES];
        for (byte, pair) in link.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return None,
                };
                *byte = *byte << 4 | value;
            }
        }
        Some(Self(link))
    }
}

impl fmt::Display for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_what_the_documentation_says() {
        // printf 'windlass-chain 1 s' | sha256sum
        let genesis = ChainLink::genesis(&SessionId::new("s").unwrap());
        assert_eq!(
            genesis.to_string(),
            "b1f167e100f78c72e737f964211ba1115433ec297a1294f878cff7f2ce1cf1ce"
        );
        // (printf '%s' GENESIS | xxd -r -p; printf '{}') | sha256sum
        assert_eq!(
            genesis.next(b"{}").to_string(),
            "fc77bcb15d46767ae1c6785be2de0eb2ec937bc1774ac3337c34c0e7e88be008"
        );
    }

    #[test]
    fn a_link_reads_as_it_is_written() {
        let link = ChainLink::genesis(&SessionId::new("s").unwrap());
        assert_eq!(ChainLink::parse(&link.to_string()), Some(link));
        assert_eq!(ChainLink::parse(&link.to_string().to_uppercase()), None);
        assert_eq!(ChainLink::parse("00"), None);
        assert_eq!(ChainLink::parse(&format!("{link}0")), None);
    }
}
