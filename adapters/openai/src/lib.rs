#![doc = include_str!("../README.md")]

mod chat;
mod citations;
mod config;
mod decode;
mod encode;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod options;
mod quirks;
mod request;
mod responses;
mod servers;
mod socket;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use url::Url;
use windlass_core::{RequestRecord, Settings};
use windlass_kit_http::{
    Bodies, Client, Decoder, ErrorContext, ResponseStream, SseCaps, misconfigured,
};
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    WebSearchSupport, Wire,
};

use crate::socket::{SocketOutcome, SocketRequest, Sockets};

pub use config::{Api, OPENAI_BASE_URL, OpenAiConfig};
pub use decode::OpenAiDecoder;
pub use encode::OpenAiEncoder;
pub use quirks::{
    AfterResults, AnswerForm, Auth, CallExtra, CallIds, ChoiceForm, ContextRole, EffortForm,
    EmptyContent, MaxTokens, QuirkOverrides, Quirks, ReasoningBack, RequiredWord, SearchForm,
    UserTurns,
};
pub use servers::Server;
pub use windlass_kit_http::{Models, Secret};

/// OpenAI, or a server that speaks one of its two protocols.
pub struct OpenAi {
    api: Api,
    endpoint: String,
    client: Client,
    url: Url,
    origin: ErrorContext,
    bodies: Bodies<OpenAiEncoder>,
    quirks: Quirks,
    models: Models,
    /// Where Responses are asked for over WebSockets.
    sockets: Option<Sockets>,
    caps: SseCaps,
}

impl OpenAi {
    /// A provider as configured, over a wire: the network, one that records, or one that replays.
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the configuration cannot be used: a base
    /// URL that is none, a key with a line break.
    pub fn over(config: &OpenAiConfig, wire: Arc<dyn Wire>) -> Result<Self, ProviderError> {
        let headers = headers::headers(config)?;
        let keyed = config.api_key.is_some() || !config.headers.is_empty();
        let client = Client::new(&config.url(), &headers, keyed, wire)?;
        let (url, origin) = match config.api {
            Api::Chat => client.call(&["chat", "completions"]),
            Api::Responses => client.call(&["responses"]),
        };
        let endpoint = client.endpoint();
        let quirks = config.quirks();
        let sockets = match (config.websocket, config.api) {
            (false, _) => None,
            (true, Api::Responses) => {
                let writer = OpenAiEncoder::over_socket(&endpoint)
                    .with_quirks(quirks)
                    .with_models(config.models.clone());
                Some(Sockets::new(writer, SseCaps::default()))
            }
            (true, Api::Chat) => {
                let what = "Chat Completions has no WebSockets: leave `websocket` out, or ask for \
                            Responses";
                return Err(misconfigured(what.into()));
            }
        };
        Ok(Self {
            api: config.api,
            bodies: Bodies::new(
                OpenAiEncoder::new(config.api, endpoint.as_str())
                    .with_quirks(quirks)
                    .with_models(config.models.clone()),
            ),
            quirks,
            models: config.models.clone(),
            endpoint,
            sockets,
            client,
            url,
            origin,
            caps: SseCaps::default(),
        })
    }

    /// The same with other caps on its streams.
    #[must_use]
    pub fn with_caps(mut self, caps: SseCaps) -> Self {
        self.caps = caps;
        self.sockets = self.sockets.map(|sockets| sockets.with_caps(caps));
        self
    }

    /// The ids of the models that the endpoint offers: shows that it is there and that the key
    /// is good, without sampling.
    ///
    /// # Errors
    /// [`ProviderError`] when the endpoint cannot be reached within `wait`, refuses, or answers
    /// with something else than a list of models.
    pub async fn models(&self, wait: Duration) -> Result<Vec<String>, ProviderError> {
        self.client.models(None, wait).await
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("api", &self.api)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        self.api.name()
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let both = ProviderCapabilities::default().with_tools().with_effort().with_temperature();
        let both = match (self.api, self.quirks.web_search) {
            (Api::Responses, SearchForm::Responses | SearchForm::Both) => {
                both.with_web_search(WebSearchSupport::all())
            }
            // No bound and no filters there.
            (Api::Chat, SearchForm::Both) => both.with_web_search(WebSearchSupport::default()),
            (Api::Chat, SearchForm::Responses) | (_, SearchForm::None) => both,
        };
        match self.api {
            // Chat Completions itself has no place for reasoning that goes back.
            Api::Chat if self.quirks.reasoning_back == ReasoningBack::None => both,
            Api::Chat => both.with_reasoning(),
            Api::Responses => both.with_reasoning(),
        }
    }

    fn model(&self, model: &str) -> ModelCapabilities {
        self.models.of(self.name(), model)
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.capabilities().check_settings(settings)?;
        self.models.admit(self.name(), settings)
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.check_settings(&request.prompt.settings)?;
        let model = &request.prompt.settings.model;
        let mut asked = RequestRecord {
            provider: self.name().to_owned(),
            model: model.clone(),
            endpoint: self.endpoint.clone(),
            ..RequestRecord::default()
        };
        let wait = Duration::from_millis(request.limits.connect_ms);
        let until = Instant::now() + wait;
        if let Some(sockets) = &self.sockets {
            let ask = SocketRequest {
                client: &self.client,
                url: &self.url,
                origin: &self.origin,
                request: &request,
                asked: asked.clone(),
            };
            match sockets.sample(ask).await? {
                SocketOutcome::Answered(stream) => return Ok(stream),
                SocketOutcome::Unavailable(why) => asked.fallback_reason = Some(why),
            }
        }
        let written = self.bodies.body(&request).await?;
        asked.bytes = written.body.len() as u64;
        asked.shared_prefix_bytes = written.reused_bytes;
        asked.lowered = written.lowered;
        // What a handshake has taken is no longer there to wait for.
        let wait = match asked.fallback_reason {
            Some(_) => until.saturating_duration_since(Instant::now()),
            None => wait,
        };
        let sent =
            self.client.send("POST", &self.url, &self.origin, Some(written.body), wait).await;
        let answered = match sent {
            Ok(answered) => answered,
            Err(error) => return Err(error.with_request(asked)),
        };
        let settings = &request.prompt.settings;
        let quirks = self.bodies.encoder().quirks(settings);
        let mut events = OpenAiDecoder::with_quirks(self.api, &self.endpoint, model, &quirks);
        if quirks.strict_tools {
            events = events.with_strict_tools(settings.clone());
        }
        if quirks.grammars {
            events = events.with_grammars(settings.clone());
        }
        let decoder = Decoder::new(events, self.caps);
        Ok(Box::new(ResponseStream::new(answered, decoder, Some(asked))))
    }
}

#[cfg(test)]
mod tests;
