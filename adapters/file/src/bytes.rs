//! Encoding of numbers, texts and summaries. Pure.

use windlass_core::{Seq, Timestamp};
use windlass_ports::{ChainLink, SessionSummary};

/// Writes a number in groups of seven bits, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// Writes the length of a text, then the text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Writes an optional summary.
pub(crate) fn put_summary(out: &mut Vec<u8>, summary: Option<&SessionSummary>) {
    let Some(summary) = summary else {
        out.push(0);
        return;
    };
    let mut flags = 1;
    flags |= if summary.turn_open { 2 } else { 0 };
    flags |= if summary.tenant.is_some() { 4 } else { 0 };
    flags |= if summary.bytes.is_some() { 8 } else { 0 };
    out.push(flags);
    put_varint(out, summary.last.0);
    put_varint(out, summary.changed_at.0);
    put_varint(out, u64::from(summary.waiting_inputs));
    if let Some(tenant) = &summary.tenant {
        put_text(out, tenant);
    }
    if let Some(bytes) = summary.bytes {
        put_varint(out, bytes);
    }
}

/// Takes values from the front of a slice. Returns `None` if bytes are missing.
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn link(&mut self) -> Option<ChainLink> {
        self.array().map(ChainLink)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let part = u64::from(byte & 0x7f);
            if part.checked_shl(shift)? >> shift != part {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let len = usize::try_from(self.varint()?).ok()?;
        std::str::from_utf8(self.bytes(len)?).ok()
    }

    /// Takes an optional summary.
    pub(crate) fn summary(&mut self) -> Option<Option<SessionSummary>> {
        let [flags] = self.array()?;
        if flags == 0 {
            return Some(None);
        }
        if flags & 1 == 0 || flags > 15 {
            return None;
        }
        let last = Seq(self.varint()?);
        let changed = Timestamp(self.varint()?);
        let waiting = self.varint32()?;
        let tenant = match flags & 4 {
            0 => None,
            _ => Some(self.text()?.into()),
        };
        let bytes = match flags & 8 {
            0 => None,
            _ => Some(self.varint()?),
        };
        Some(Some(SessionSummary {
            last,
            changed_at: changed,
            tenant,
            turn_open: flags & 2 != 0,
            waiting_inputs: waiting,
            bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_taken() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        for number in numbers {
            put_varint(&mut out, number);
        }
        let summary = SessionSummary {
            last: Seq(7),
            changed_at: Timestamp(1_700_000_000_000),
            tenant: Some("acme".into()),
            turn_open: true,
            waiting_inputs: 3,
            bytes: Some(70_000),
        };
        let uncounted = SessionSummary { bytes: None, ..summary.clone() };
        put_summary(&mut out, Some(&summary));
        put_summary(&mut out, Some(&uncounted));
        put_summary(&mut out, None);
        let mut taker = ByteReader(&out);
        for number in numbers {
            assert_eq!(taker.varint(), Some(number));
        }
        assert_eq!(taker.summary(), Some(Some(summary)));
        assert_eq!(taker.summary(), Some(Some(uncounted)));
        assert_eq!(taker.summary(), Some(None));
        assert_eq!(taker.array::<1>(), None);
        assert_eq!(ByteReader(&[0xff; 10]).varint(), None);
    }
}
