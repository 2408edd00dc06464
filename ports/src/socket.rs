//! Sockets of the wire port: text messages both ways over one connection that stays open.
//!
//! A provider that keeps a conversation in memory for as long as a connection lives is asked over
//! one. No framing shows here: a message is whole, or it is an error.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;

use crate::wire::{Segments, WireError, WireResponse};

/// Result of opening a socket.
pub enum WireOpenOutcome {
    /// The socket is open.
    Socket(Box<dyn WireSocket>),
    /// The other side answered the handshake like any request, and there is no socket: a missing
    /// key, a page, a redirect.
    Refused(WireResponse),
}

/// A socket of text messages.
///
/// Laws: messages go out and come in whole and in order; pings are answered, also while nobody
/// waits for a message; a message that is larger than was allowed when the socket was opened is
/// an error of the kind `TooLarge`, and no more than that is kept of it; what has come and was not
/// yet taken is bounded, for the other side is then not read from; after an error nothing more
/// comes; dropping the socket closes the connection; no value of a sensitive header, no query of a
/// URL and no word of the other side is ever in an error.
#[async_trait]
pub trait WireSocket: Send {
    /// Sends one message, and waits until the connection has taken it. Dropping the future leaves
    /// open whether it goes out.
    ///
    /// # Errors
    /// [`WireError`] when the connection is closed or breaks. Whether the other side has the
    /// message is not known then.
    async fn send(&mut self, text: Segments) -> Result<(), WireError>;

    /// The next message; `None` when the other side has closed the socket in good order. After
    /// that, or an error, it is not called again. Giving up between two polls loses nothing.
    ///
    /// # Errors
    /// [`WireError`] when the connection breaks, is closed for a reason, or a message is too large
    /// or no text.
    fn poll_text(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>>;

    /// Closes the socket in good order, in the background and within a bounded time.
    fn close(self: Box<Self>);
}

impl dyn WireSocket {
    /// Waits for the next message. Safe to drop while it waits.
    ///
    /// # Errors
    /// As [`poll_text`](WireSocket::poll_text).
    pub fn text(&mut self) -> impl Future<Output = Result<Option<Bytes>, WireError>> + '_ {
        poll_fn(|cx| self.poll_text(cx))
    }
}
