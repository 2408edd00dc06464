//! The decoders of the two protocols, as one.

use windlass_core::StreamEvent;
use windlass_kit_http::{Dialect, Fault};
use windlass_ports::Streaming;

use crate::chat::decode::ChatDecoder;
use crate::config::Api;
use crate::quirks::Quirks;
use crate::responses::decode::ResponsesDecoder;
use crate::servers::Server;

/// Reads the events of either protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Events(Of);

#[derive(Debug, Clone, PartialEq)]
enum Of {
    Chat(Box<ChatDecoder>),
    Responses(Box<ResponsesDecoder>),
}

impl Events {
    /// The events of a stream that `endpoint` sends about `model`, with the quirks of the server
    /// that its host tells.
    #[must_use]
    pub fn new(api: Api, endpoint: &str, model: &str) -> Self {
        Self::with_quirks(api, endpoint, model, &Server::of(endpoint).quirks())
    }

    /// The same with these quirks.
    #[must_use]
    pub fn with_quirks(api: Api, endpoint: &str, model: &str, quirks: &Quirks) -> Self {
        Self(match api {
            Api::Chat => Of::Chat(Box::new(ChatDecoder::new(endpoint, model, quirks))),
            Api::Responses => Of::Responses(Box::new(ResponsesDecoder::new(endpoint, model))),
        })
    }

    /// Returns true if the answer held items that are not reported, such as those of tools that run
    /// at the provider.
    pub(crate) fn foreign(&self) -> bool {
        match &self.0 {
            Of::Chat(_) => false,
            Of::Responses(responses) => responses.foreign(),
        }
    }
}

impl Dialect for Events {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<Streaming, Fault> {
        match &mut self.0 {
            Of::Chat(chat) => chat.event(name, data, out),
            Of::Responses(responses) => responses.event(name, data, out),
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        match &mut self.0 {
            Of::Chat(chat) => chat.end(out),
            Of::Responses(_) => Err(Fault::Truncated),
        }
    }

    fn ignored(&self) -> u64 {
        match &self.0 {
            Of::Chat(chat) => chat.ignored(),
            Of::Responses(responses) => responses.ignored(),
        }
    }

    fn finish(&self) -> Option<&str> {
        match &self.0 {
            Of::Chat(chat) => chat.finish(),
            Of::Responses(responses) => responses.finish(),
        }
    }
}
