//! Output that no call has returned yet, in bounded memory: the end of it.

use std::collections::VecDeque;

/// Output that no call has returned yet.
#[derive(Debug)]
pub(crate) struct UnreadOutput {
    bytes: VecDeque<u8>,
    room: usize,
    dropped: u64,
}

impl UnreadOutput {
    /// Retains the last `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), room, dropped: 0 }
    }

    /// Appends a part of the output.
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend(part);
        self.drop_beyond(self.room);
    }

    /// Retains the last `room` bytes from now on.
    pub(crate) fn shrink(&mut self, room: usize) {
        self.room = self.room.min(room);
        self.drop_beyond(self.room);
        self.bytes.shrink_to_fit();
    }

    /// Returns the retained bytes, and the number of bytes before them that were dropped.
    pub(crate) fn take(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.bytes).into(), std::mem::take(&mut self.dropped))
    }

    /// Number of bytes that no call has returned.
    pub(crate) fn total(&self) -> u64 {
        self.dropped.saturating_add(self.bytes.len() as u64)
    }

    fn drop_beyond(&mut self, room: usize) {
        let over = self.bytes.len().saturating_sub(room);
        self.bytes.drain(..over);
        self.dropped = self.dropped.saturating_add(over as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_rest_counted() {
        let mut output = UnreadOutput::new(4);
        output.push(b"abc");
        assert_eq!(output.take(), (b"abc".to_vec(), 0));
        output.push(b"abc");
        output.push(b"defgh");
        assert_eq!(output.total(), 8);
        output.shrink(2);
        assert_eq!(output.take(), (b"gh".to_vec(), 6));
        assert_eq!(output.take(), (Vec::new(), 0));
        output.push(b"ijk");
        assert_eq!(output.take(), (b"jk".to_vec(), 1));
    }
}
