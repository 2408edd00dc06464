//! A chain of providers: the next one is asked when one fails.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_core::{FailureKind, RequestRecord, Retry, Settings, StreamEvent};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    StreamState,
};

use crate::chain::{ProviderModel, ProviderStatus, next, provider_status, retry};
use crate::misconfigured;
use crate::settings::SettingsOverride;

/// Default time for which a failed provider rests.
const REST: Duration = Duration::from_secs(30);

/// The longest that a provider rests.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Failures over which the next provider is asked, where the user names none.
const USUAL: &[FailureKind] = &[
    FailureKind::RateLimit,
    FailureKind::Quota,
    FailureKind::Overloaded,
    FailureKind::Server,
    FailureKind::Unavailable,
    FailureKind::Timeout,
];

/// One provider of a chain.
pub struct FallbackProvider {
    provider: Arc<dyn Provider>,
    model: Option<String>,
    settings: SettingsOverride,
    resting_until: Mutex<Option<Instant>>,
}

impl FallbackProvider {
    /// This provider, with the model of the session's settings.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            model: None,
            settings: SettingsOverride::default(),
            resting_until: Mutex::default(),
        }
    }

    /// The same with a model of its own.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    fn model<'a>(&'a self, request: &'a SampleRequest) -> &'a str {
        let own = self.model.as_deref();
        own.unwrap_or(&request.prompt.settings.model)
    }

    fn is_resting(&self) -> bool {
        let until = self.resting_until.lock();
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Lets it rest after a failure, or not any more after an answer.
    fn set_rest(&self, after: Option<Retry>) {
        let time = after.map(|retry| match retry {
            Retry::AfterMs(ms) => Duration::from_millis(ms).min(LONGEST_REST),
            Retry::Never | Retry::Now | Retry::Soon => REST,
        });
        let until = time.and_then(|time| Instant::now().checked_add(time));
        *self.resting_until.lock() = until;
    }
}

/// A chain of providers. See the crate's own words.
pub struct Fallback {
    name: String,
    links: Arc<[FallbackProvider]>,
    on: Arc<[FailureKind]>,
}

impl Fallback {
    /// A chain that a session's settings name `name`. The next provider is asked when one is rate
    /// limited, out of quota, overloaded, failing, unreachable, or too slow.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when it has no provider, or one of them twice
    /// with the same model.
    pub fn new(
        name: impl Into<String>,
        links: impl IntoIterator<Item = FallbackProvider>,
    ) -> Result<Self, ProviderError> {
        let (name, links): (String, Vec<FallbackProvider>) =
            (name.into(), links.into_iter().collect());
        if links.is_empty() {
            return Err(misconfigured(format!(
                "the chain {name} has no provider: name one at least"
            )));
        }
        for (at, link) in links.iter().enumerate() {
            let same = |other: &FallbackProvider| {
                other.provider.name() == link.provider.name() && other.model == link.model
            };
            if links.iter().take(at).any(same) {
                return Err(misconfigured(format!(
                    "the chain {name} names {} twice: give one of them another model, or leave \
                     it out",
                    link.provider.name()
                )));
            }
        }
        Ok(Self { name, links: links.into(), on: USUAL.into() })
    }

    /// The same chain, where the next provider is asked over these failures and no other.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when one of them is no case for another
    /// provider: a request that is too large, a stop, the user's own word.
    pub fn on(
        mut self,
        kinds: impl IntoIterator<Item = FailureKind>,
    ) -> Result<Self, ProviderError> {
        let kinds: Vec<FailureKind> = kinds.into_iter().collect();
        let own = [
            FailureKind::ContextOverflow,
            FailureKind::Cancelled,
            FailureKind::Restart,
            FailureKind::Steered,
            FailureKind::Hook,
        ];
        if let Some(kind) = kinds.iter().find(|kind| own.contains(kind)) {
            return Err(misconfigured(format!(
                "the chain {} names {kind:?}, which is no failure of a provider",
                self.name
            )));
        }
        self.on = kinds.into();
        Ok(self)
    }

    fn statuses(&self, request: &SampleRequest) -> Vec<ProviderStatus> {
        let of = |link: &FallbackProvider| {
            let named =
                ProviderModel { provider: link.provider.name(), model: link.model(request) };
            provider_status(named, &request.failed, &self.on, link.is_resting())
        };
        self.links.iter().map(of).collect()
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.links.iter().map(|link| link.provider.name());
        f.debug_struct("Fallback")
            .field("name", &self.name)
            .field("links", &names.collect::<Vec<_>>())
            .field("on", &self.on)
            .finish()
    }
}

#[async_trait]
impl Provider for Fallback {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the capabilities that all of them share.
    fn capabilities(&self) -> ProviderCapabilities {
        let each = self.links.iter().map(|link| link.provider.capabilities());
        let both = |a: ProviderCapabilities, b: ProviderCapabilities| a.and(b);
        each.reduce(both).unwrap_or_default()
    }

    /// Returns the capabilities that all of them share for the model, or for their own model.
    fn model(&self, model: &str) -> ModelCapabilities {
        let of =
            |link: &FallbackProvider| link.provider.model(link.model.as_deref().unwrap_or(model));
        let each = self.links.iter().map(of);
        each.reduce(ModelCapabilities::and).unwrap_or_else(ModelCapabilities::unknown)
    }

    /// Accepts settings that all of them accept, each with its own model.
    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.links.iter().try_for_each(|link| {
            let model = link.model.as_ref().unwrap_or(&settings.model).clone();
            link.provider.check_settings(&settings.clone().with(|it| it.model = model))
        })
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.capabilities().check(&request)?;
        let statuses = self.statuses(&request);
        let at = next(&statuses).unwrap_or_default();
        let Some(link) = self.links.get(at) else {
            return Err(misconfigured(format!("the chain {} is empty", self.name)));
        };
        let asked = RequestRecord {
            provider: link.provider.name().to_owned(),
            model: link.model(&request).to_owned(),
            fallback_reason: instead(&request, at),
            ..RequestRecord::default()
        };
        let turn =
            ChainRequest { links: self.links.clone(), on: self.on.clone(), statuses, at, asked };
        let provider = link.provider.name();
        let prompt = link.settings.prompt(&request.prompt, provider, link.model.as_deref());
        let sent = SampleRequest { prompt, ..request };
        match link.provider.sample(sent).await {
            Ok(stream) => Ok(Box::new(FallbackStream { stream, turn })),
            Err(error) => Err(turn.failed(error)),
        }
    }
}

/// Returns the reason for not using the first provider, if there is one.
fn instead(request: &SampleRequest, at: usize) -> Option<String> {
    if at == 0 {
        return None;
    }
    let last = request.failed.last();
    let (provider, kind) = last.map(|last| (last.provider.as_deref(), last.kind)).unzip();
    Some(match (provider.flatten(), kind) {
        (Some(provider), Some(kind)) => format!("{provider} failed: {}", word(kind)),
        _ => String::from("those before it rest after failures"),
    })
}

fn word(kind: FailureKind) -> String {
    let name = format!("{kind:?}");
    let mut word = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push(' ');
        }
        word.extend(c.to_lowercase());
    }
    word
}

/// One request of a chain.
struct ChainRequest {
    links: Arc<[FallbackProvider]>,
    on: Arc<[FailureKind]>,
    statuses: Vec<ProviderStatus>,
    at: usize,
    asked: RequestRecord,
}

impl ChainRequest {
    /// The error, with whether the next provider is to be asked.
    fn failed(&self, mut error: ProviderError) -> ProviderError {
        if self.on.contains(&error.kind) {
            if let Some(link) = self.links.get(self.at) {
                link.set_rest(Some(error.retry));
            }
            let own = error.retry;
            error.retry = retry(&self.statuses, self.at, error.kind, own);
        }
        let asked = error.details.request.take().map(|asked| *asked);
        error.with_request(self.request_record(asked))
    }

    /// Returns the record of the request, with the provider that answered.
    fn request_record(&self, inner: Option<RequestRecord>) -> RequestRecord {
        match inner {
            None => self.asked.clone(),
            Some(inner) => RequestRecord {
                provider: self.asked.provider.clone(),
                model: self.asked.model.clone(),
                fallback_reason: inner
                    .fallback_reason
                    .or_else(|| self.asked.fallback_reason.clone()),
                ..inner
            },
        }
    }
}

/// The answer of one provider of a chain.
struct FallbackStream {
    stream: Box<dyn SampleStream>,
    turn: ChainRequest,
}

#[async_trait]
impl SampleStream for FallbackStream {
    fn request_record(&mut self) -> Option<RequestRecord> {
        let inner = self.stream.request_record();
        Some(self.turn.request_record(inner))
    }

    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        match self.stream.next(events).await {
            Ok(StreamState::End) => {
                if let Some(link) = self.turn.links.get(self.turn.at) {
                    link.set_rest(None);
                }
                Ok(StreamState::End)
            }
            Ok(StreamState::More) => Ok(StreamState::More),
            Err(error) => {
                let mut failed = self.turn.failed(error);
                // It is recorded already how this request went out.
                failed.details.request = None;
                Err(failed)
            }
        }
    }
}
