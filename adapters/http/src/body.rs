//! A request's body in the pieces that it came in, its length told beforehand.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use windlass_ports::Segments;

/// A body that is sent.
pub(crate) struct SizedBody {
    pieces: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl SizedBody {
    pub(crate) fn new(body: Segments) -> Self {
        let left = body.len() as u64;
        let pieces = body.into_iter();
        Self { pieces, left }
    }
}

impl Body for SizedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.pieces.next();
        let sent = next.as_ref().map_or(0, |piece| piece.len() as u64);
        self.left = self.left.saturating_sub(sent);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
