//! Messages requests: a prompt to the bytes of a body. Pure.

mod around;
mod fit;
mod hosted;
mod messages;
mod shape;

use windlass_core::{Prompt, Settings};
use windlass_kit_http::lowering::RequestTarget;
use windlass_kit_http::{EncodedImages, EncodedItems, Encoder};
use windlass_ports::{ProviderError, SampleRequest};

use crate::DIALECT;
use crate::config::{AnthropicConfig, Caching};
use crate::model::{ModelTraits, Thinking, traits};

/// Writes request bodies of the Messages API.
#[derive(Debug, Clone)]
pub struct MessagesEncoder {
    endpoint: String,
    caching: Caching,
    thinking: Option<Thinking>,
    drop_stale_thinking: bool,
}

impl MessagesEncoder {
    /// A writer of requests to `endpoint`, as configured.
    #[must_use]
    pub fn new(config: &AnthropicConfig, endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            caching: config.caching(),
            thinking: config.thinking,
            drop_stale_thinking: config.drops_stale_thinking(),
        }
    }

    /// Accepts settings whose effort and temperature the model takes.
    pub(crate) fn check(&self, settings: &Settings) -> Result<(), ProviderError> {
        around::check(settings, &self.of(&settings.model))
    }

    /// Returns the known traits of the model, overridden by the configuration.
    pub(crate) fn of(&self, model: &str) -> ModelTraits {
        let known = traits(model);
        ModelTraits { thinking: self.thinking.unwrap_or(known.thinking), ..known }
    }
}

impl Encoder for MessagesEncoder {
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        around::head(settings, self.caching, out)
    }

    fn items(
        &self,
        prompt: &Prompt,
        from: usize,
        pictures: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError> {
        let here = RequestTarget {
            dialect: DIALECT,
            endpoint: &self.endpoint,
            model: &prompt.settings.model,
        };
        messages::items(&prompt.items, from, here, pictures, out)
    }

    fn tail(&self, request: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        let traits = self.of(&request.prompt.settings.model);
        around::tail(request, &traits, self.drop_stale_thinking, out)
    }
}

#[cfg(test)]
mod tests;
