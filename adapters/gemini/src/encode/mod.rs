//! Requests: a prompt to the bytes of a body. Pure.

mod around;
mod contents;

use windlass_core::{Prompt, Settings};
use windlass_kit_http::lowering::RequestTarget;
use windlass_kit_http::{EncodedImages, EncodedItems, Encoder};
use windlass_ports::{ProviderError, SampleRequest};

use crate::DIALECT;
use crate::config::GeminiConfig;
use crate::model::{ModelTraits, Thinking, traits};

/// Writes request bodies of `streamGenerateContent`.
#[derive(Debug, Clone)]
pub struct GeminiEncoder {
    endpoint: String,
    thinking: Option<Thinking>,
}

impl GeminiEncoder {
    /// A writer of requests to `endpoint`, as configured.
    #[must_use]
    pub fn new(config: &GeminiConfig, endpoint: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), thinking: config.thinking }
    }

    /// Accepts settings whose effort the model takes.
    pub(crate) fn check(&self, settings: &Settings) -> Result<(), ProviderError> {
        around::check_effort(settings, &self.of(&settings.model))
    }

    /// The traits of the model, overridden by the configuration.
    fn of(&self, model: &str) -> ModelTraits {
        let known = traits(model);
        ModelTraits { thinking: self.thinking.unwrap_or(known.thinking), ..known }
    }
}

impl Encoder for GeminiEncoder {
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        around::head(settings, &self.of(&settings.model), out)
    }

    fn items(
        &self,
        prompt: &Prompt,
        from: usize,
        pictures: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError> {
        let model = &prompt.settings.model;
        let here = RequestTarget { dialect: DIALECT, endpoint: &self.endpoint, model };
        contents::items(prompt.items.iter_from(from), here, self.of(model), pictures, out)
    }

    fn tail(&self, request: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        let traits = self.of(&request.prompt.settings.model);
        around::tail(request, &traits, out)
    }
}

#[cfg(test)]
mod tests;
