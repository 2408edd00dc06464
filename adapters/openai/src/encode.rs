//! The encoders of the two protocols, as one.

use windlass_core::{ChainIter, PromptItem, Settings};
use windlass_ports::{ProviderError, SampleRequest};
use windlass_wire::{Encoded, Encoder, Pictures};

use crate::config::Api;
use crate::{chat, responses};

/// Writes requests in either protocol.
#[derive(Debug, Clone)]
pub struct Writer {
    api: Api,
    endpoint: String,
    over: Transport,
}

/// What a request goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Socket,
}

impl Writer {
    /// A writer of requests to `endpoint`.
    #[must_use]
    pub fn new(api: Api, endpoint: impl Into<String>) -> Self {
        let endpoint = endpoint.into();
        let over = Transport::Http;
        Self {
            api,
            endpoint,
            over,
        }
    }

    /// A writer of Responses requests to `endpoint` that go over a WebSocket.
    pub(crate) fn over_socket(endpoint: &str) -> Self {
        let over = Transport::Socket;
        Self {
            over,
            ..Self::new(Api::Responses, endpoint)
        }
    }
}

impl Encoder for Writer {
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        match self.api {
            Api::Chat => chat::request::head(settings, out),
            Api::Responses => responses::request::head(settings, self.over, out),
        }
    }

    fn items(
        &self,
        items: ChainIter<'_, PromptItem>,
        settings: &Settings,
        pictures: &Pictures,
        out: &mut Vec<u8>,
    ) -> Result<Encoded, ProviderError> {
        match self.api {
            Api::Chat => chat::request::items(items, pictures, out),
            Api::Responses => {
                responses::request::items(items, settings, &self.endpoint, pictures, out)
            }
        }
    }

    fn tail(&self, _: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        out.extend_from_slice(b"]}");
        Ok(())
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
