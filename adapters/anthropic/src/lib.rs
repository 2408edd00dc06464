#![doc = include_str!("../README.md")]

mod config;
mod decode;
mod encode;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod model;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;
use windlass_core::{RequestRecord, Settings};
use windlass_kit_http::{Bodies, Client, Decoder, ErrorContext, ResponseStream, SseCaps};
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    WebSearchSupport, Wire,
};

pub use config::{
    ANTHROPIC_BASE_URL, ANTHROPIC_VERSION, AnthropicConfig, Auth, Caching, sdk_base_url,
};
pub use decode::{MessagesDecoder, uncached_input};
pub use encode::MessagesEncoder;
pub use model::Thinking;
pub use windlass_kit_http::{Models, Secret};

/// The adapter's name, as in `Settings::provider`.
const NAME: &str = "anthropic";

/// The name of this dialect in the provenance of opaque items.
const DIALECT: &str = "anthropic-messages";

/// The most models of one page of their list, which is all of them.
const MODELS: (&str, &str) = ("limit", "1000");

/// Anthropic, or a server that speaks its Messages API.
pub struct Anthropic {
    endpoint: String,
    client: Client,
    url: Url,
    origin: ErrorContext,
    bodies: Bodies<MessagesEncoder>,
    caps: SseCaps,
    models: Models,
    searches_web: bool,
}

impl Anthropic {
    /// A provider as configured, over a wire: the network, one that records, or one that replays.
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the configuration cannot be used: a base
    /// URL that is none, a key with a line break.
    pub fn over(config: &AnthropicConfig, wire: Arc<dyn Wire>) -> Result<Self, ProviderError> {
        let headers = headers::headers(config)?;
        let keyed = config.api_key.is_some() || !config.headers.is_empty();
        let client = Client::new(&config.url(), &headers, keyed, wire)?;
        let (url, origin) = client.call(&["messages"]);
        let endpoint = client.endpoint();
        Ok(Self {
            bodies: Bodies::new(MessagesEncoder::new(config, endpoint.as_str())),
            endpoint,
            client,
            url,
            origin,
            caps: SseCaps::default(),
            models: config.models.clone(),
            searches_web: config.searches_web(),
        })
    }

    /// The same with other caps on its streams.
    #[must_use]
    pub fn with_caps(mut self, caps: SseCaps) -> Self {
        self.caps = caps;
        self
    }

    /// The ids of the models that the endpoint offers: shows that it is there and that the key
    /// is good, without sampling.
    ///
    /// # Errors
    /// [`ProviderError`] when the endpoint cannot be reached within `wait`, refuses, or answers
    /// with something else than a list of models.
    pub async fn models(&self, wait: Duration) -> Result<Vec<String>, ProviderError> {
        self.client.models(Some(MODELS), wait).await
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let all = ProviderCapabilities::default().with_tools().with_effort();
        let all = all.with_temperature().with_reasoning();
        // The protocol takes one of the two lists of domains.
        let search = WebSearchSupport::all().with(|it| it.both_domains = false);
        if self.searches_web { all.with_web_search(search) } else { all }
    }

    /// Reports thinking and schema support in the form in which requests use them.
    fn model(&self, model: &str) -> ModelCapabilities {
        let traits = self.bodies.encoder().of(model);
        ModelCapabilities {
            reasoning: traits.thinking != Thinking::None,
            structured_output: traits.shapes,
            ..self.models.of(NAME, model)
        }
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.capabilities().check_settings(settings)?;
        self.models.admit(NAME, settings)?;
        self.bodies.encoder().check(settings)
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.check_settings(&request.prompt.settings)?;
        let written = self.bodies.body(&request).await?;
        let model = &request.prompt.settings.model;
        let asked = RequestRecord {
            provider: NAME.to_owned(),
            model: model.clone(),
            endpoint: self.endpoint.clone(),
            bytes: written.body.len() as u64,
            shared_prefix_bytes: written.reused_bytes,
            lowered: written.lowered,
            ..RequestRecord::default()
        };
        let wait = Duration::from_millis(request.limits.connect_ms);
        let sent =
            self.client.send("POST", &self.url, &self.origin, Some(written.body), wait).await;
        let answered = match sent {
            Ok(answered) => answered,
            Err(error) => return Err(error.with_request(asked)),
        };
        let decoder = Decoder::new(MessagesDecoder::new(&self.endpoint, model), self.caps);
        Ok(Box::new(ResponseStream::new(answered, decoder, Some(asked))))
    }
}

#[cfg(test)]
mod search_tests;
