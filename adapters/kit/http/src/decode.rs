//! From the bytes of a body to stream events: framing, recognising what is no stream, dialect.

use windlass_core::StreamEvent;
use windlass_ports::{ProviderError, StreamState};

use crate::error::{DecodeError, ERROR_BODY_BYTES, ErrorContext};
use crate::sse::{SseCaps, SseError, SseParser};

/// Reads the events of one protocol. Pure, and total: it never panics, and what it keeps is bounded
/// by the caps of the stream.
pub trait Dialect: Send {
    /// Takes one event: its name, which is empty where none is sent, and its data. Appends what it
    /// brings to `out`, and says whether the answer is whole.
    ///
    /// # Errors
    /// [`DecodeError`] when it is none, or carries an error.
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError>;

    /// The body has ended before the answer was known to be whole.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], unless all of the answer is there although nobody said so.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError>;

    /// Returns the number of events that were ignored.
    fn ignored(&self) -> u64;

    /// Returns the finish reason in the provider's own word, if one was sent. For comparing words;
    /// the events carry its meaning.
    fn finish(&self) -> Option<&str> {
        None
    }
}

/// Decodes the body of one response. Pure: bytes in, events out, however they were cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder<D> {
    sse: SseParser,
    body: BodyKind,
    dialect: D,
}

#[derive(Debug, Clone, PartialEq)]
enum BodyKind {
    /// Nothing but white space has come.
    Unknown,
    /// It is an event stream.
    Stream,
    /// It is something else: an HTML page, a JSON text.
    Other(Vec<u8>),
}

impl<D: Dialect> Decoder<D> {
    /// A decoder for one stream.
    #[must_use]
    pub fn new(dialect: D, caps: SseCaps) -> Self {
        Self {
            sse: SseParser::new(caps),
            body: BodyKind::Unknown,
            dialect,
        }
    }

    /// Takes the next bytes; appends what they bring to `out`. After an end or an error nothing
    /// more may be pushed.
    ///
    /// # Errors
    /// [`ProviderError`], worded for `origin`, when the bytes are no answer.
    pub fn push(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<StreamEvent>,
        origin: &ErrorContext,
    ) -> Result<StreamState, ProviderError> {
        self.read(bytes, out).map_err(|fault| origin.fault(fault))
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `Truncated` when the answer is not whole.
    pub fn end(
        &mut self,
        out: &mut Vec<StreamEvent>,
        origin: &ErrorContext,
    ) -> Result<(), ProviderError> {
        let ended = self.close(out).map_err(|fault| origin.fault(fault))?;
        if ended == StreamState::More {
            tracing::debug!("the answer is whole, although no event said that it ends");
        }
        Ok(())
    }

    /// Returns the number of events that the dialect ignored.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.dialect.ignored()
    }

    /// The dialect, and what it knows.
    #[must_use]
    pub fn dialect(&self) -> &D {
        &self.dialect
    }

    /// The same as [`Decoder::push`], with what is wrong as the stream has it.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no answer.
    pub fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let mut bytes = bytes;
        if let BodyKind::Unknown = self.body {
            let significant = |b: &u8| !b.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(b);
            let begin = bytes.iter().position(significant);
            match begin.and_then(|at| bytes.get(at..)) {
                None => {}
                Some(rest @ [b'<' | b'{' | b'[', ..]) => {
                    self.body = BodyKind::Other(Vec::new());
                    self.sse.restart();
                    // What came before in this chunk counts as little as in a chunk of its own.
                    bytes = rest;
                }
                Some(_) => self.body = BodyKind::Stream,
            }
        }
        if let BodyKind::Other(head) = &mut self.body {
            head.extend_from_slice(bytes);
            if head.len() > ERROR_BODY_BYTES {
                head.truncate(ERROR_BODY_BYTES);
                return Err(DecodeError::NotAStream(std::mem::take(head)));
            }
            return Ok(StreamState::More);
        }
        let mut rest = bytes;
        loop {
            let (used, event) = self.sse.next(rest).map_err(too_large)?;
            let Some(event) = event else {
                return Ok(StreamState::More);
            };
            if self.dialect.event(event.name, event.data, out)? == StreamState::End {
                return Ok(StreamState::End);
            }
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// The same as [`Decoder::end`], with what is wrong as the stream has it. Answers
    /// [`StreamState::End`] when its last event said that the answer ends, and
    /// [`StreamState::More`] when all of the answer is there although none did.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when the answer is not whole.
    pub fn close(&mut self, out: &mut Vec<StreamEvent>) -> Result<StreamState, DecodeError> {
        if let BodyKind::Other(head) = &mut self.body {
            return Err(DecodeError::NotAStream(std::mem::take(head)));
        }
        if let Some(last) = self.sse.finish().map_err(too_large)? {
            match self.dialect.event(last.name, last.data, out) {
                Ok(StreamState::End) => return Ok(StreamState::End),
                Ok(StreamState::More) => {}
                // An event that was cut off is no longer JSON: the stream broke, not its sender.
                Err(DecodeError::Protocol(_)) => return Err(DecodeError::Truncated),
                Err(fault) => return Err(fault),
            }
        }
        self.dialect.end(out).map(|()| StreamState::More)
    }
}

fn too_large(error: SseError) -> DecodeError {
    DecodeError::TooLarge(error.to_string())
}
