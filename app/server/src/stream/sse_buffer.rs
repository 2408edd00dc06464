//! SSE buffer: server-sent events as bytes. Several ready events become one chunk.
//!
//! The format is that of <https://html.spec.whatwg.org/multipage/server-sent-events.html>. The text
//! of an envelope is one line, since its JSON has no line breaks.

use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use windlass_engine::core::Seq;

/// Text size from which a text is sent as it is, shared by all its receivers. Shorter texts are
/// copied together.
const SHARED: usize = 16 * 1024;

/// Server-sent events that are ready to send.
#[derive(Debug, Default)]
pub(crate) struct SseBuffer {
    /// Current chunk.
    chunk: BytesMut,
    /// Complete chunks before it.
    before: VecDeque<Bytes>,
    bytes: usize,
}

impl SseBuffer {
    /// Writes the delay before a client reconnects.
    pub(crate) fn retry(&mut self, ms: u64) {
        // Writing to memory cannot fail.
        let _ = write!(self.chunk, "retry: {ms}\n\n");
    }

    /// Writes a durable fact.
    pub(crate) fn fact(&mut self, seq: Seq, text: &Bytes) {
        self.id(seq);
        self.event("fact", text);
    }

    /// Writes the position of the following data.
    pub(crate) fn id(&mut self, seq: Seq) {
        let _ = writeln!(self.chunk, "id: {seq}");
    }

    /// Writes an event without a position.
    pub(crate) fn event(&mut self, kind: &str, text: &Bytes) {
        self.put(b"event: ");
        self.put(kind.as_bytes());
        self.put(b"\n");
        self.data(text);
    }

    /// Writes data without a kind.
    pub(crate) fn data(&mut self, text: &Bytes) {
        self.put(b"data: ");
        if text.len() < SHARED {
            self.put(text);
        } else {
            self.close();
            self.bytes = self.bytes.saturating_add(text.len());
            self.before.push_back(text.clone());
        }
        self.put(b"\n\n");
    }

    /// Writes a comment as a heartbeat.
    pub(crate) fn heartbeat(&mut self) {
        self.put(b":\n\n");
    }

    /// Returns the number of ready bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.saturating_add(self.chunk.len())
    }

    /// Returns the next chunk to send.
    pub(crate) fn take_chunk(&mut self) -> Option<Bytes> {
        if self.before.is_empty() {
            self.close();
        }
        let piece = self.before.pop_front()?;
        self.bytes = self.bytes.saturating_sub(piece.len());
        Some(piece)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.chunk.extend_from_slice(bytes);
    }

    fn close(&mut self) {
        if !self.chunk.is_empty() {
            let piece = self.chunk.split().freeze();
            self.bytes = self.bytes.saturating_add(piece.len());
            self.before.push_back(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &mut SseBuffer) -> Vec<Bytes> {
        std::iter::from_fn(|| lines.take_chunk()).collect()
    }

    #[test]
    fn what_is_ready_goes_out_in_one_piece() {
        let mut lines = SseBuffer::default();
        lines.retry(1_000);
        lines.fact(Seq(7), &Bytes::from_static(b"{}"));
        lines.event("live", &Bytes::from_static(b"[]"));
        lines.heartbeat();
        let expected =
            "retry: 1000\n\nid: 7\nevent: fact\ndata: {}\n\nevent: live\ndata: []\n\n:\n\n";
        assert_eq!(lines.len(), expected.len());
        assert_eq!(taken(&mut lines), [expected]);
        assert_eq!((lines.len(), lines.take_chunk()), (0, None));
    }

    #[test]
    fn a_large_text_is_not_copied() {
        let large = Bytes::from(vec![b'1'; SHARED]);
        let mut lines = SseBuffer::default();
        lines.fact(Seq(1), &large);
        lines.heartbeat();
        assert_eq!(lines.len(), SHARED + 29);
        let pieces = taken(&mut lines);
        let [head, text, tail] = &pieces[..] else { panic!("{} pieces", pieces.len()) };
        assert_eq!(head, "id: 1\nevent: fact\ndata: ");
        assert_eq!(text.as_ptr(), large.as_ptr());
        assert_eq!(tail, "\n\n:\n\n");
        assert_eq!(lines.len(), 0);
    }
}
