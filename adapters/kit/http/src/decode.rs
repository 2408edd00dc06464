//! Decoder: turns the bytes of a body into stream events. It frames events, detects bodies that are
//! no stream, and applies a dialect.
//!
//! A gateway may answer a request for a stream with the protocol's plain JSON. Such a body is read
//! to its end, within the cap of one event, and decoded as a whole.

use serde::de::IgnoredAny;
use windlass_core::StreamEvent;
use windlass_ports::{ProviderError, StreamState};

use crate::error::{DecodeError, ERROR_BODY_BYTES, ErrorContext};
use crate::sse::{SseCaps, SseError, SseParser};

/// Reads the events of one protocol. Pure, and total: it never panics, and its memory is bounded by
/// the caps of the stream.
pub trait Dialect: Send {
    /// Reads one event: its name, empty if none was sent, and its data. Appends the resulting
    /// events to `out`, and returns whether the answer is complete.
    ///
    /// # Errors
    /// [`DecodeError`] when the event is invalid or carries an error.
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError>;

    /// Handles the end of a body that came before the end of the answer was known.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], unless the answer is complete without an explicit end.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError>;

    /// Reads a body that is one JSON object in place of a stream. If it is an answer of this
    /// protocol, appends the events of it, as a stream would have sent them, and returns true.
    ///
    /// # Errors
    /// [`DecodeError`] when the answer is invalid or carries an error.
    fn whole(&mut self, body: &str, out: &mut Vec<StreamEvent>) -> Result<bool, DecodeError>;

    /// Returns the number of events that were ignored.
    fn ignored(&self) -> u64;

    /// Returns the finish reason in the provider's own word, if one was sent. It serves to compare
    /// words; the events carry its meaning.
    fn finish(&self) -> Option<&str> {
        None
    }
}

/// Decodes the body of one response. Pure: equal bytes give equal events for any chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder<D> {
    sse: SseParser,
    body: BodyKind,
    /// Most bytes of a body that is one JSON object.
    most_bytes: usize,
    dialect: D,
}

#[derive(Debug, Clone, PartialEq)]
enum BodyKind {
    /// Nothing but white space was received.
    Unknown,
    /// An event stream.
    Stream,
    /// A JSON object, as far as it was received.
    Object(Vec<u8>),
    /// Another body, such as an HTML page.
    Other(Vec<u8>),
}

impl<D: Dialect> Decoder<D> {
    /// Creates a decoder for one stream.
    #[must_use]
    pub fn new(dialect: D, caps: SseCaps) -> Self {
        let most_bytes = caps.event;
        Self { sse: SseParser::new(caps), body: BodyKind::Unknown, most_bytes, dialect }
    }

    /// Decodes the next bytes and appends the resulting events to `out`. After an end or an error
    /// nothing more may be pushed.
    ///
    /// # Errors
    /// [`ProviderError`], worded for `origin`, when the bytes are no valid answer.
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
    /// [`ProviderError`] of kind `Truncated` when the answer is incomplete.
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

    /// Returns the dialect with its state.
    #[must_use]
    pub fn dialect(&self) -> &D {
        &self.dialect
    }

    /// As [`Decoder::push`], with the error as the decoder found it.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no valid answer.
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
                // 0x1f begins a compressed body that does not say so.
                Some(rest @ [first @ (b'<' | b'{' | b'[' | 0x1f), ..]) => {
                    self.body = match first {
                        b'{' => BodyKind::Object(Vec::new()),
                        _ => BodyKind::Other(Vec::new()),
                    };
                    self.sse.restart();
                    // White space in this chunk is skipped like white space in a chunk of its own.
                    bytes = rest;
                }
                Some(_) => self.body = BodyKind::Stream,
            }
        }
        if let BodyKind::Object(body) = &mut self.body {
            if body.len().saturating_add(bytes.len()) > self.most_bytes {
                let most = self.most_bytes;
                let what = format!("the body, which is no stream, is larger than {most} bytes");
                return Err(DecodeError::TooLarge(what));
            }
            body.extend_from_slice(bytes);
            return Ok(StreamState::More);
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

    /// As [`Decoder::end`], with the error as the decoder found it. Returns [`StreamState::End`]
    /// when the last event was the explicit end of the answer, and [`StreamState::More`] when the
    /// answer is complete without one.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when the answer is incomplete.
    pub fn close(&mut self, out: &mut Vec<StreamEvent>) -> Result<StreamState, DecodeError> {
        match &mut self.body {
            BodyKind::Unknown | BodyKind::Stream => {}
            BodyKind::Object(body) => {
                let body = std::mem::take(body);
                return self.object(body, out);
            }
            BodyKind::Other(head) => return Err(DecodeError::NotAStream(std::mem::take(head))),
        }
        if let Some(last) = self.sse.finish().map_err(too_large)? {
            match self.dialect.event(last.name, last.data, out) {
                Ok(StreamState::End) => return Ok(StreamState::End),
                Ok(StreamState::More) => {}
                // A truncated event is no valid JSON: the connection failed, not its sender.
                Err(DecodeError::Protocol(_)) => return Err(DecodeError::Truncated),
                Err(fault) => return Err(fault),
            }
        }
        self.dialect.end(out).map(|()| StreamState::More)
    }

    /// Decodes a body that is a JSON object.
    fn object(
        &mut self,
        mut body: Vec<u8>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let text = String::from_utf8_lossy(&body);
        let read = match serde_json::from_str::<IgnoredAny>(&text) {
            Ok(IgnoredAny) => self.dialect.whole(&text, out)?,
            Err(error) if error.is_eof() => return Err(DecodeError::Truncated),
            Err(_) => false,
        };
        if read {
            tracing::debug!("the answer came as one body, although a stream was requested");
            return Ok(StreamState::End);
        }
        body.truncate(ERROR_BODY_BYTES);
        Err(DecodeError::NotAStream(body))
    }
}

fn too_large(error: SseError) -> DecodeError {
    DecodeError::TooLarge(error.to_string())
}
