//! The decoders of the two protocols, as one.

use std::sync::Arc;

use windlass_core::{Settings, StreamEvent};
use windlass_kit_http::strict::StrictCalls;
use windlass_kit_http::{DecodeError, Dialect};
use windlass_ports::StreamState;

use crate::chat::decode::ChatDecoder;
use crate::config::Api;
use crate::quirks::Quirks;
use crate::responses::decode::ResponsesDecoder;
use crate::servers::Server;

/// Reads the events of either protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAiDecoder {
    protocol: ProtocolDecoder,
    strict: Option<StrictCalls>,
}

#[derive(Debug, Clone, PartialEq)]
enum ProtocolDecoder {
    Chat(Box<ChatDecoder>),
    Responses(Box<ResponsesDecoder>),
}

impl OpenAiDecoder {
    /// The events of a stream that `endpoint` sends about `model`, with the quirks of the server
    /// that its host tells.
    #[must_use]
    pub fn new(api: Api, endpoint: &str, model: &str) -> Self {
        Self::with_quirks(api, endpoint, model, &Server::of(endpoint).quirks())
    }

    /// The same with these quirks.
    #[must_use]
    pub fn with_quirks(api: Api, endpoint: &str, model: &str, quirks: &Quirks) -> Self {
        let protocol = match api {
            Api::Chat => ProtocolDecoder::Chat(Box::new(ChatDecoder::new(endpoint, model, quirks))),
            Api::Responses => {
                ProtocolDecoder::Responses(Box::new(ResponsesDecoder::new(endpoint, model)))
            }
        };
        Self { protocol, strict: None }
    }

    /// The same for an answer whose tools were sent in their strict forms.
    #[must_use]
    pub fn with_strict_tools(mut self, settings: Arc<Settings>) -> Self {
        self.strict = Some(StrictCalls::new(settings));
        self
    }

    /// The same for an answer whose tools were sent with their grammars: their texts become arguments.
    #[must_use]
    pub fn with_grammars(mut self, settings: Arc<Settings>) -> Self {
        self.protocol = match self.protocol {
            ProtocolDecoder::Chat(chat) => ProtocolDecoder::Chat(chat),
            ProtocolDecoder::Responses(responses) => {
                ProtocolDecoder::Responses(Box::new(responses.with_grammars(settings)))
            }
        };
        self
    }

    /// Returns true if the answer held items that are not reported, such as those of tools that run
    /// at the provider.
    pub(crate) fn foreign(&self) -> bool {
        match &self.protocol {
            ProtocolDecoder::Chat(_) => false,
            ProtocolDecoder::Responses(responses) => responses.foreign(),
        }
    }

    /// Applies to the events that came last, also those before a failure.
    fn apply_strict(&mut self, out: &mut Vec<StreamEvent>, from: usize) {
        if let Some(strict) = &mut self.strict {
            strict.apply(out, from);
        }
    }
}

impl Dialect for OpenAiDecoder {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let from = out.len();
        let state = match &mut self.protocol {
            ProtocolDecoder::Chat(chat) => chat.event(name, data, out),
            ProtocolDecoder::Responses(responses) => responses.event(name, data, out),
        };
        self.apply_strict(out, from);
        state
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        let from = out.len();
        let state = match &mut self.protocol {
            ProtocolDecoder::Chat(chat) => chat.end(out),
            ProtocolDecoder::Responses(_) => Err(DecodeError::Truncated),
        };
        self.apply_strict(out, from);
        state
    }

    fn whole(&mut self, body: &str, out: &mut Vec<StreamEvent>) -> Result<bool, DecodeError> {
        let from = out.len();
        let state = match &mut self.protocol {
            ProtocolDecoder::Chat(chat) => chat.whole(body, out),
            ProtocolDecoder::Responses(responses) => responses.whole(body, out),
        };
        self.apply_strict(out, from);
        state
    }

    fn ignored(&self) -> u64 {
        match &self.protocol {
            ProtocolDecoder::Chat(chat) => chat.ignored(),
            ProtocolDecoder::Responses(responses) => responses.ignored(),
        }
    }

    fn finish(&self) -> Option<&str> {
        match &self.protocol {
            ProtocolDecoder::Chat(chat) => chat.finish(),
            ProtocolDecoder::Responses(responses) => responses.finish(),
        }
    }
}
