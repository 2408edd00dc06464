//! From the bytes of a body to stream events: framing, recognising what is no stream, dialect.

use windlass_core::StreamEvent;
use windlass_ports::{ProviderError, Streaming};

use crate::chat::decode::ChatDecoder;
use crate::config::Api;
use crate::error::{ERROR_BODY_BYTES, Fault, Origin};
use crate::responses::decode::ResponsesDecoder;
use crate::sse::{SseCaps, SseError, SseEvent, SseParser};

/// Decodes the body of one response. Pure: bytes in, events out, however they were cut.
#[derive(Debug)]
pub struct Decoder {
    sse: SseParser,
    body: Body,
    dialect: Dialect,
}

#[derive(Debug)]
enum Body {
    /// Nothing but white space has come.
    Unknown,
    /// It is an event stream.
    Stream,
    /// It is something else: an HTML page, a JSON text.
    Other(Vec<u8>),
}

#[derive(Debug)]
enum Dialect {
    Chat(Box<ChatDecoder>),
    Responses(Box<ResponsesDecoder>),
}

impl Decoder {
    /// A decoder for a stream that `endpoint` sends about `model`.
    #[must_use]
    pub fn new(api: Api, endpoint: &str, model: &str, caps: SseCaps) -> Self {
        let dialect = match api {
            Api::Chat => Dialect::Chat(Box::default()),
            Api::Responses => Dialect::Responses(Box::new(ResponsesDecoder::new(endpoint, model))),
        };
        Self {
            sse: SseParser::new(caps),
            body: Body::Unknown,
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
        origin: &Origin,
    ) -> Result<Streaming, ProviderError> {
        self.take(bytes, out).map_err(|fault| origin.fault(fault))
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `Truncated` when the answer is not whole.
    pub fn end(
        &mut self,
        out: &mut Vec<StreamEvent>,
        origin: &Origin,
    ) -> Result<(), ProviderError> {
        self.finish(out).map_err(|fault| origin.fault(fault))
    }

    /// How many events of the stream meant nothing to the decoder.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        match &self.dialect {
            Dialect::Chat(chat) => chat.ignored(),
            Dialect::Responses(responses) => responses.ignored(),
        }
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<Streaming, Fault> {
        let mut bytes = bytes;
        if let Body::Unknown = self.body {
            let significant = |b: &u8| !b.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(b);
            let begin = bytes.iter().position(significant);
            match begin.and_then(|at| bytes.get(at..)) {
                None => {}
                Some(rest @ [b'<' | b'{' | b'[', ..]) => {
                    self.body = Body::Other(Vec::new());
                    // What came before in this chunk counts as little as in a chunk of its own.
                    bytes = rest;
                }
                Some(_) => self.body = Body::Stream,
            }
        }
        if let Body::Other(head) = &mut self.body {
            head.extend_from_slice(bytes);
            if head.len() > ERROR_BODY_BYTES {
                head.truncate(ERROR_BODY_BYTES);
                return Err(Fault::NotAStream(std::mem::take(head)));
            }
            return Ok(Streaming::More);
        }
        let mut rest = bytes;
        loop {
            let (used, event) = self.sse.next(rest).map_err(too_large)?;
            let Some(event) = event else {
                return Ok(Streaming::More);
            };
            if self.dialect.event(event, out)? == Streaming::End {
                return Ok(Streaming::End);
            }
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if let Body::Other(head) = &mut self.body {
            return Err(Fault::NotAStream(std::mem::take(head)));
        }
        if let Some(last) = self.sse.finish().map_err(too_large)? {
            match self.dialect.event(last, out) {
                Ok(Streaming::End) => return Ok(()),
                Ok(Streaming::More) => {}
                // An event that was cut off is no longer JSON: the stream broke, not its sender.
                Err(Fault::Protocol(_)) => return Err(Fault::Truncated),
                Err(fault) => return Err(fault),
            }
        }
        match &mut self.dialect {
            Dialect::Chat(chat) => chat.end(out),
            Dialect::Responses(_) => Err(Fault::Truncated),
        }
    }
}

impl Dialect {
    fn event(
        &mut self,
        event: SseEvent<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<Streaming, Fault> {
        match self {
            Self::Chat(chat) => chat.event(event.name, event.data, out),
            Self::Responses(responses) => responses.event(event.name, event.data, out),
        }
    }
}

fn too_large(error: SseError) -> Fault {
    Fault::TooLarge(error.to_string())
}
