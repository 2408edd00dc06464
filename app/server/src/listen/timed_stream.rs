//! Timed stream: ends a connection that sends or reads too slowly.

use std::future::Future as _;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::phase::{ConnectionPhase, SharedPhase};

/// Connection with its time-outs. `H` is a value held as long as the connection.
pub(super) struct TimedStream<S, H> {
    stream: S,
    pulse: Arc<SharedPhase>,
    header: Duration,
    stall: Duration,
    /// Time by which the head of the request must be complete.
    head: Pin<Box<Sleep>>,
    /// Time by which the client must have read something; `None` unless a write is blocked.
    stalled: Option<Pin<Box<Sleep>>>,
    _held: H,
}

impl<S, H> TimedStream<S, H> {
    pub(super) fn new(
        stream: S,
        pulse: Arc<SharedPhase>,
        (header, stall): (Duration, Duration),
        held: H,
    ) -> Self {
        Self {
            stream,
            pulse,
            header,
            stall,
            head: Box::pin(sleep_until(Instant::now() + header)),
            stalled: None,
            _held: held,
        }
    }

    /// Returns the result of a write, or an error if the other side has read nothing for too long.
    fn check_stall<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let until = Instant::now() + self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(timed_out("the other side takes nothing")))
    }
}

impl<S: AsyncRead + Unpin, H: Unpin> AsyncRead for TimedStream<S, H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let came = buf.filled().len() > before;
        match self.pulse.phase() {
            ConnectionPhase::Idle if came => {
                self.pulse.on_request();
                let until = Instant::now() + self.header;
                self.head.as_mut().reset(until);
            }
            // Checked during receipt too, since sending byte by byte is too slow.
            ConnectionPhase::Head if self.head.as_mut().poll(cx).is_ready() => {
                return Poll::Ready(Err(timed_out("the head of a request does not come")));
            }
            ConnectionPhase::Head
            | ConnectionPhase::Busy
            | ConnectionPhase::Idle
            | ConnectionPhase::Upgraded => {}
        }
        read
    }
}

impl<S: AsyncWrite + Unpin, H: Unpin> AsyncWrite for TimedStream<S, H> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_stall(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.check_stall(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.check_stall(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn timed_out(what: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, what)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::sleep;

    use super::*;

    const TIMES: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_byte_by_byte_ends_the_connection_in_time() {
        let (mut client, server) = duplex(64);
        let pulse = Arc::new(SharedPhase::default());
        let mut server = TimedStream::new(server, pulse.clone(), TIMES, ());
        tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let start = Instant::now();
        let error = loop {
            let mut byte = [0];
            if let Err(error) = server.read_exact(&mut byte).await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_later_head_begins_with_its_first_byte() {
        let (mut client, server) = duplex(64);
        let pulse = Arc::new(SharedPhase::default());
        let mut server = TimedStream::new(server, pulse.clone(), TIMES, ());
        pulse.on_head();
        client.write_all(b"b").await.unwrap();
        sleep(Duration::from_secs(100)).await;
        let mut bytes = [0; 1];
        server.read_exact(&mut bytes).await.unwrap();
        pulse.on_response_end();
        sleep(Duration::from_secs(100)).await;
        client.write_all(b"h").await.unwrap();
        server.read_exact(&mut bytes).await.unwrap();
        let start = Instant::now();
        assert!(server.read_exact(&mut bytes).await.is_err());
        assert_eq!(start.elapsed().as_secs(), 10);
        // A WebSocket may be silent.
        pulse.on_upgrade();
        pulse.on_response_end();
        let silent =
            tokio::time::timeout(Duration::from_secs(3_600), server.read_exact(&mut bytes));
        assert!(silent.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_cut_and_one_that_takes_little_is_not() {
        let (mut client, server) = duplex(4);
        let mut server = TimedStream::new(server, Arc::default(), TIMES, ());
        let slow = tokio::spawn(async move {
            let mut byte = [0];
            for _ in 0..10 {
                sleep(Duration::from_secs(29)).await;
                client.read_exact(&mut byte).await.unwrap();
            }
            client
        });
        let start = Instant::now();
        let error = server.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 10 * 29 + 30);
        drop(slow.await.unwrap());
    }
}
