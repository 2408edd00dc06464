//! Sockets of the wire port: text messages in both directions over one long connection.
//!
//! For providers that keep a conversation in memory while a connection lives. Framing is hidden: a
//! message is complete, or it is an error.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;

use crate::wire::{Segments, WireError, WireResponse};

/// Result of opening a socket.
pub enum WireOpenOutcome {
    /// The socket is open.
    Socket(Box<dyn WireSocket>),
    /// The server answered the handshake with an ordinary response, and there is no socket: for
    /// example a missing key or a redirect.
    Refused(WireResponse),
}

/// A socket of text messages.
///
/// Laws:
/// - *in order*: messages are sent and received complete and in order;
/// - *alive*: pings are answered, also while no caller waits for a message;
/// - *bounded*: a message above the limit of the open socket is an error of the kind `TooLarge`,
///   and its excess bytes are discarded. Unread messages are bounded: the socket then stops
///   reading;
/// - *final*: nothing follows an error; dropping the socket closes the connection;
/// - *confidential*: no error contains the value of a sensitive header, the query of a URL or text
///   of the server.
#[async_trait]
pub trait WireSocket: Send {
    /// Sends one message, and waits until the connection accepts it. If the future is dropped, the
    /// message may or may not be sent.
    ///
    /// # Errors
    /// [`WireError`] when the connection is closed or breaks. The server may or may not have the
    /// message then.
    async fn send(&mut self, text: Segments) -> Result<(), WireError>;

    /// Returns the next message; `None` when the server has closed the socket normally. Not called
    /// again after that or an error. Nothing is lost if the caller stops polling.
    ///
    /// # Errors
    /// [`WireError`] when the connection breaks, is closed with an error, or a message is too large
    /// or not text.
    fn poll_text(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>>;

    /// Closes the socket normally, in the background and within a bounded time.
    fn close(self: Box<Self>);
}

impl dyn WireSocket {
    /// Waits for the next message. Cancel-safe.
    ///
    /// # Errors
    /// As [`poll_text`](WireSocket::poll_text).
    pub fn text(&mut self) -> impl Future<Output = Result<Option<Bytes>, WireError>> + '_ {
        poll_fn(|cx| self.poll_text(cx))
    }
}
