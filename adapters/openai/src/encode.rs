//! The encoders of the two protocols, as one.

use serde_json::Value;
use windlass_core::{Prompt, Settings, ToolChoice};
use windlass_kit_http::lowering::RequestTarget;
use windlass_kit_http::request::write;
use windlass_kit_http::{EncodedImages, EncodedItems, Encoder, Models};
use windlass_ports::{ProviderError, SampleRequest};

use crate::config::Api;
use crate::quirks::{AnswerForm, MaxTokens, Quirks};
use crate::responses::TextCalls;
use crate::servers::Server;
use crate::{chat, options, responses};

/// Writes requests in either protocol.
#[derive(Debug, Clone)]
pub struct OpenAiEncoder {
    api: Api,
    endpoint: String,
    quirks: Quirks,
    models: Models,
    over: Transport,
}

/// Transport of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Socket,
}

impl OpenAiEncoder {
    /// A writer of requests to `endpoint`, with the quirks of the server that its host tells.
    #[must_use]
    pub fn new(api: Api, endpoint: impl Into<String>) -> Self {
        let endpoint = endpoint.into();
        Self {
            quirks: Server::of(&endpoint).quirks(),
            models: Models::default(),
            over: Transport::Http,
            api,
            endpoint,
        }
    }

    /// A writer of Responses requests to `endpoint` that go over a WebSocket.
    pub(crate) fn over_socket(endpoint: &str) -> Self {
        let over = Transport::Socket;
        Self { over, ..Self::new(Api::Responses, endpoint) }
    }

    /// The same with these quirks.
    #[must_use]
    pub fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// The same with this table of models.
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// The server's quirks, narrowed to what the model is known to take.
    pub(crate) fn quirks(&self, settings: &Settings) -> Quirks {
        let known = self.models.of(self.api.name(), &settings.model);
        let mut quirks = self.quirks;
        if known.known {
            quirks.images &= known.images;
            quirks.grammars &= known.grammars;
            if !known.structured_output {
                quirks.answer = AnswerForm::Words;
                quirks.strict_tools = false;
            }
        } else {
            quirks.grammars = false;
        }
        quirks
    }

    /// The field that limits the answer.
    fn most(&self) -> &'static str {
        match (self.api, self.quirks.max_tokens) {
            (Api::Responses, _) => "max_output_tokens",
            (Api::Chat, MaxTokens::MaxCompletionTokens) => "max_completion_tokens",
            (Api::Chat, MaxTokens::MaxTokens) => "max_tokens",
        }
    }

    fn here<'a>(&'a self, settings: &'a Settings) -> RequestTarget<'a> {
        RequestTarget {
            dialect: self.api.dialect(),
            endpoint: &self.endpoint,
            model: &settings.model,
        }
    }
}

impl Encoder for OpenAiEncoder {
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        let quirks = self.quirks(settings);
        match self.api {
            Api::Chat => chat::request::head(settings, &quirks, out),
            Api::Responses => responses::request::head(settings, &quirks, self.over, out),
        }
    }

    fn items(
        &self,
        prompt: &Prompt,
        from: usize,
        pictures: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError> {
        let (here, quirks) = (self.here(&prompt.settings), self.quirks(&prompt.settings));
        match self.api {
            Api::Chat => {
                let items = prompt.items.iter_from(from);
                chat::messages::items(items, here, &quirks, pictures, out)
            }
            Api::Responses => {
                let texts = TextCalls::new(prompt, from, &quirks);
                responses::request::items(texts, here, &quirks, pictures, out)
            }
        }
    }

    // What differs from request to request stands here, so that the bytes before stay as they were.
    fn tail(&self, request: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        let settings = &request.prompt.settings;
        let named = match (self.api, &request.choice) {
            (Api::Chat, _) => chat::request::named,
            (Api::Responses, ToolChoice::Tool(tool))
                if self.quirks(settings).grammars
                    && settings.tool(tool).is_some_and(|tool| tool.grammar.is_some()) =>
            {
                responses::request::named_text
            }
            (Api::Responses, _) => responses::request::named,
        };
        out.push(b']');
        let choice = options::choice(&request.choice, settings, &self.quirks, named)?;
        let key = self.quirks.cache_key;
        let key = key.then(|| Value::from(options::cache_key(&request.session)));
        let known = self.models.of(self.api.name(), &settings.model);
        let most = request.max_output_tokens(known.max_output).map(Value::from);
        let temperature = settings.temperature.map(|it| Value::from(it.value()));
        let fields = [
            (self.most(), most),
            ("temperature", temperature),
            ("tool_choice", choice),
            ("prompt_cache_key", key),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                out.push(b',');
                write(out, name)?;
                out.push(b':');
                write(out, &value)?;
            }
        }
        out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod text_calls_tests;

#[cfg(test)]
#[path = "servers_tests.rs"]
mod servers_tests;
