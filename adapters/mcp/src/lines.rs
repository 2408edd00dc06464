//! Reader that ends with an error at a line that is too long.
//!
//! A message is one line. The reader behind this one would discard a line that is too long, and the
//! call that it answers would wait until its time is up.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Most bytes of one message.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Reader with a bound on the length of a line.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    inner: R,
    most: usize,
    /// Bytes of the line that has not ended.
    line: usize,
    /// Set when a line was too long.
    exceeded: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    /// Bounds the lines of a reader. `exceeded` is set when one is too long.
    pub(crate) fn new(inner: R, most: usize, exceeded: Arc<AtomicBool>) -> Self {
        Self { inner, most, line: 0, exceeded }
    }

    /// Counts bytes; false if a line is too long.
    fn count(&mut self, bytes: &[u8]) -> bool {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.line = self.line.saturating_add(part.len());
            if self.line > self.most {
                return false;
            }
            if parts.peek().is_some() {
                self.line = 0;
            }
        }
        true
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        if this.count(buffer.filled().get(before..).unwrap_or_default()) {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        this.exceeded.store(true, Ordering::Relaxed);
        let words = format!("a message is longer than {} bytes", this.most);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, words)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(text: &str) -> (io::Result<usize>, bool) {
        let exceeded = Arc::new(AtomicBool::new(false));
        let mut lines = BoundedLines::new(text.as_bytes(), 4, exceeded.clone());
        let read = lines.read_to_end(&mut Vec::new()).await;
        (read, exceeded.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_line_may_have_the_most_bytes_and_no_more() {
        for text in ["", "abcd", "abcd\nabcd\n", "\n\n\nab\nabcd"] {
            let (all, exceeded) = read(text).await;
            assert_eq!((all.unwrap(), exceeded), (text.len(), false), "{text:?}");
        }
        for text in ["abcde", "ab\nabcde\n", "abcd\n\nabcdefghijk"] {
            let (all, exceeded) = read(text).await;
            assert!(all.is_err() && exceeded, "{text:?}");
        }
    }
}
