//! Bundles: live messages as they travel in notifications. Messages that go out together are one
//! bundle, in pieces that a notification holds; those of one transaction arrive in their order, and with
//! nothing between them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use windlass_core::SessionId;
use windlass_kit_log::LiveMessage;

/// The most bytes of a piece, without what stands before it; PostgreSQL takes 7,999 in all.
const PIECE_BYTES: usize = 7_800;
/// The most pieces of a bundle that is taken in.
const MOST_PIECES: usize = 1_024;

/// Messages as notifications, each of which begins with the sender.
pub(crate) fn pieces(sender: &str, bundle: u64, all: &[LiveMessage]) -> Vec<String> {
    let text = STANDARD_NO_PAD.encode(written(all));
    let of = text.len().div_ceil(PIECE_BYTES);
    let pieces = text.as_bytes().chunks(PIECE_BYTES).enumerate();
    pieces
        .map(|(index, piece)| {
            let mut notice = format!("{sender} {bundle} {index} {of} ");
            // Base64 is ASCII; writing to a string cannot fail.
            let _ = write!(notice, "{}", String::from_utf8_lossy(piece));
            notice
        })
        .collect()
}

/// Of each message: the length of its session's id, that id, its number, its length, and itself.
fn written(all: &[LiveMessage]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for told in all {
        let (session, message) = (told.session.as_str(), &told.message);
        // An id has up to 64 bytes, and a message far less than 4 GiB.
        bytes.push(u8::try_from(session.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(session.as_bytes());
        bytes.extend_from_slice(&told.number.to_be_bytes());
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

fn read(bytes: Vec<u8>) -> Option<Vec<LiveMessage>> {
    let mut rest = Bytes::from(bytes);
    let mut all = Vec::new();
    while !rest.is_empty() {
        let session = usize::from(*rest.first()?);
        let mut take = |count: usize| (count <= rest.len()).then(|| rest.split_to(count));
        let _length = take(1)?;
        let session = take(session)?;
        let number = u64::from_be_bytes(take(8)?.as_ref().try_into().ok()?);
        let length = u32::from_be_bytes(take(4)?.as_ref().try_into().ok()?);
        let message = take(usize::try_from(length).ok()?)?;
        all.push(LiveMessage {
            session: SessionId::new(std::str::from_utf8(&session).ok()?).ok()?,
            number,
            message,
        });
    }
    Some(all)
}

/// Puts pieces together again.
#[derive(Debug, Default)]
pub(crate) struct BundleAssembly {
    /// The sender and the bundle that is coming.
    of: (String, u64),
    next: usize,
    text: String,
}

impl BundleAssembly {
    /// Takes a notification in. With the last piece of a bundle it answers the sender and the
    /// messages; a piece that follows none is dropped, and so is what it does not follow.
    pub(crate) fn add_notice(&mut self, notice: &str) -> Option<(String, Vec<LiveMessage>)> {
        let mut words = notice.splitn(5, ' ');
        let sender = words.next()?;
        let bundle: u64 = words.next()?.parse().ok()?;
        let index: usize = words.next()?.parse().ok()?;
        let of: usize = words.next()?.parse().ok()?;
        let piece = words.next()?;
        let follows = index == self.next && self.of.0 == sender && self.of.1 == bundle;
        if index == 0 {
            self.of = (sender.to_owned(), bundle);
            self.text.clear();
        } else if !follows {
            *self = Self::default();
            return None;
        }
        self.text.push_str(piece);
        self.next = index + 1;
        if self.next < of && of <= MOST_PIECES {
            return None;
        }
        let Self { of, text, .. } = std::mem::take(self);
        Some((of.0, read(STANDARD_NO_PAD.decode(text).ok()?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(session: &str, number: u64, bytes: usize) -> LiveMessage {
        LiveMessage {
            session: SessionId::new(session).unwrap(),
            number,
            message: (0..=255).cycle().take(bytes).collect(),
        }
    }

    #[test]
    fn a_bundle_comes_back_from_its_pieces() {
        let longest = "s".repeat(64);
        let all = [
            told("a", 0, 0),
            told("b.c", u64::MAX, 1),
            told(&longest, 7, 20_000),
            told("a", 1, 5_000),
        ];
        for all in [&all[..], &all[..1]] {
            let pieces = pieces("sender", 3, all);
            assert!(pieces.iter().all(|piece| piece.len() < 8_000));
            let mut assembly = BundleAssembly::default();
            let (last, first) = pieces.split_last().unwrap();
            assert!(first.iter().all(|piece| assembly.add_notice(piece).is_none()));
            let whole = assembly.add_notice(last);
            assert_eq!(whole, Some(("sender".to_owned(), all.to_vec())));
        }
    }

    #[test]
    fn a_bundle_with_a_piece_missing_is_dropped() {
        let big = [told("s", 0, 30_000)];
        let (one, two) = (pieces("me", 1, &big), pieces("me", 2, &big));
        for missing in 0..one.len() {
            let mut assembly = BundleAssembly::default();
            let rest = one.iter().enumerate().filter(|(at, _)| *at != missing);
            assert!(rest.into_iter().all(|(_, it)| assembly.add_notice(it).is_none()));
            let all: Vec<_> = two.iter().filter_map(|it| assembly.add_notice(it)).collect();
            assert_eq!(all, [("me".to_owned(), big.to_vec())], "{missing}");
        }
        for notice in ["", "me", "me x 0 1 ", "me 1 0 1 !", "me 1 0 1 AAA", "me 1 3 9 A"] {
            assert_eq!(BundleAssembly::default().add_notice(notice), None, "{notice}");
        }
    }
}
