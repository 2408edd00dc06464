#![doc = include_str!("../README.md")]

mod config;
mod decode;
mod encode;
#[doc(hidden)]
pub mod fuzzing;
mod grounding;
mod model;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;
use windlass_core::{FailureKind, RequestRecord, Retry, Settings};
use windlass_kit_http::{Bodies, Client, Decoder, ErrorContext, Headers, ResponseStream, SseCaps};
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    WebSearchSupport, Wire,
};

pub use config::{Auth, GEMINI_BASE_URL, GeminiConfig};
pub use decode::GeminiDecoder;
pub use encode::GeminiEncoder;
pub use model::Thinking;
pub use windlass_kit_http::{Models, Secret};

/// The adapter's name, as in `Settings::provider`.
const NAME: &str = "gemini";

/// The name of this dialect in the provenance of opaque items.
const DIALECT: &str = "gemini-generate";

/// The most models of one page of their list, which is all of them.
const MODELS: (&str, &str) = ("pageSize", "1000");

/// Gemini, or a server that speaks its native API.
pub struct Gemini {
    endpoint: String,
    client: Client,
    bodies: Bodies<GeminiEncoder>,
    caps: SseCaps,
    models: Models,
}

impl Gemini {
    /// A provider as configured, over a wire: the network, one that records, or one that replays.
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the configuration cannot be used: a base
    /// URL that is none, a key with a line break.
    pub fn over(config: &GeminiConfig, wire: Arc<dyn Wire>) -> Result<Self, ProviderError> {
        let keyed = config.api_key.is_some() || !config.headers.is_empty();
        let client = Client::new(&config.url(), &headers(config)?, keyed, wire)?;
        let endpoint = client.endpoint();
        Ok(Self {
            bodies: Bodies::new(GeminiEncoder::new(config, endpoint.as_str())),
            endpoint,
            client,
            caps: SseCaps::default(),
            models: config.models.clone(),
        })
    }

    /// The same with other caps on its streams.
    #[must_use]
    pub fn with_caps(mut self, caps: SseCaps) -> Self {
        self.caps = caps;
        self
    }

    /// The names of the models that the endpoint offers: shows that it is there and that the key
    /// is good, without sampling.
    ///
    /// # Errors
    /// [`ProviderError`] when the endpoint cannot be reached within `wait`, refuses, or answers
    /// with something else than a list of models.
    pub async fn models(&self, wait: Duration) -> Result<Vec<String>, ProviderError> {
        self.client.models(Some(MODELS), wait).await
    }

    /// The address of a request for a stream: the model is a part of it.
    fn address(&self, model: &str) -> (Url, ErrorContext) {
        let (collection, name) = model.split_once('/').unwrap_or(("models", model));
        let method = format!("{name}:streamGenerateContent");
        let (mut url, origin) = self.client.call(&[collection, &method]);
        url.query_pairs_mut().append_pair("alt", "sse");
        (url, origin)
    }
}

/// The headers of every request.
fn headers(config: &GeminiConfig) -> Result<Headers, ProviderError> {
    let mut headers = Headers::new();
    if let Some(key) = &config.api_key {
        let text = key.expose().trim();
        match config.auth {
            Auth::ApiKey => headers.set("API key", "x-goog-api-key", text)?,
            Auth::Bearer => headers.set("API key", "authorization", &format!("Bearer {text}"))?,
        }
        headers.hide(key.clone());
        headers.hide(Secret::new(text));
    }
    headers.extend(&config.headers)?;
    Ok(headers)
}

impl fmt::Debug for Gemini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gemini").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Gemini {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let all = ProviderCapabilities::default().with_tools().with_effort();
        let all = all.with_temperature().with_reasoning();
        // The protocol has neither a bound nor domains.
        all.with_web_search(WebSearchSupport::default())
    }

    fn model(&self, model: &str) -> ModelCapabilities {
        self.models.of(NAME, model)
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.capabilities().check_settings(settings)?;
        let with_tools = settings.options.web_search.is_some() && !settings.tools.is_empty();
        if with_tools && !model::traits(&settings.model).signs {
            let context = format!(
                "asking {} of gemini: models before Gemini 3 search the web only without other \
                 tools; take a newer model, or leave the web search or the tools out",
                settings.model
            );
            return Err(ProviderError::new(FailureKind::Unsupported, Retry::Never, context));
        }
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
        let (url, origin) = self.address(model);
        let sent = self.client.send("POST", &url, &origin, Some(written.body), wait).await;
        let answered = match sent {
            Ok(answered) => answered,
            Err(error) => return Err(error.with_request(asked)),
        };
        let decoder = Decoder::new(GeminiDecoder::new(&self.endpoint, model), self.caps);
        Ok(Box::new(ResponseStream::new(answered, decoder, Some(asked))))
    }
}
