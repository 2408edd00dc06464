//! The provider port: asks a model and streams its answer.

use async_trait::async_trait;
use windlass_core::{
    FailedAttempt, FailureKind, Limits, Prompt, RequestRecord, Retry, SampleFailure, Seq,
    SessionId, Settings, StreamEvent, ToolChoice, TurnId, WebSearch,
};

use crate::blobs::BlobReader;
use crate::error::PortError;

/// Asks a model.
///
/// Laws:
/// - *one request*: one request to the model per call, without retries inside (the engine owns the
///   only retry budget);
/// - *split-invariant*: the answer depends on the stream's bytes, not on how they were split (law
///   6);
/// - *complete*: a stream that ends without its terminal event is an error, never an answer; so is
///   one with data that cannot be read, which may have been a part of the answer;
/// - *in any form*: an answer that comes as one body of the protocol, although a stream was
///   requested, is the same answer;
/// - *cancellable*: dropping the stream ends the request;
/// - *confidential*: no error contains a key, and no redirect carries a key elsewhere;
/// - *bounded*: a request asks for no more tokens than [`SampleRequest::max_output_tokens`];
/// - *declared*: a request that needs an undeclared capability is rejected as `Unsupported` before
///   anything is sent; declared ones are supported.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Returns the adapter's name, as in `Settings::provider`.
    fn name(&self) -> &str;

    /// Returns the capabilities of this provider.
    fn capabilities(&self) -> ProviderCapabilities;

    /// Returns the known capabilities of a model, which settings of a session may rely on.
    fn model(&self, model: &str) -> ModelCapabilities {
        let _ = model;
        ModelCapabilities::unknown()
    }

    /// Accepts settings whose requests this provider and their model support, as far as it is known
    /// without a request. The engine's callers ask before they record settings.
    ///
    /// # Errors
    /// [`ProviderError`] of the kind `Unsupported`, without a retry.
    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.capabilities().check_settings(settings)
    }

    /// Sends the request and waits for the head of the response.
    ///
    /// # Errors
    /// [`ProviderError`] when the request cannot be sent or is rejected; of the kind `Unsupported`
    /// when it needs an undeclared capability.
    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError>;
}

/// Capabilities of a provider. The default declares none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderCapabilities {
    /// Offers the tools of the settings to a model, and returns its calls.
    pub tools: bool,
    /// Passes on the reasoning effort (`Settings::effort`).
    pub effort: bool,
    /// Passes on the sampling temperature (`Settings::temperature`).
    pub temperature: bool,
    /// Returns reasoning in the provider's own form, and sends it back unchanged. No request needs
    /// it: reasoning of another provider is omitted if it cannot be sent back.
    pub reasoning: bool,
    /// Searches the web with its own servers, if it does.
    pub web_search: Option<WebSearchSupport>,
}

/// Options of a web search that a provider supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebSearchSupport {
    /// Bounds the searches of one sample.
    pub max_searches: bool,
    /// Searches allowed domains only.
    pub allowed_domains: bool,
    /// Leaves blocked domains out.
    pub blocked_domains: bool,
    /// Takes allowed and blocked domains in one request.
    pub both_domains: bool,
}

impl WebSearchSupport {
    /// Returns support of all options.
    #[must_use]
    pub fn all() -> Self {
        Self {
            max_searches: true,
            allowed_domains: true,
            blocked_domains: true,
            both_domains: true,
        }
    }

    /// Returns this support with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the part of a search that is not supported, in words.
    fn missing(self, search: &WebSearch) -> Option<&'static str> {
        let (allowed, blocked) =
            (!search.allowed_domains.is_empty(), !search.blocked_domains.is_empty());
        if search.max_searches.is_some() && !self.max_searches {
            Some("a bound on web searches")
        } else if allowed && !self.allowed_domains {
            Some("allowed domains of a web search")
        } else if blocked && !self.blocked_domains {
            Some("blocked domains of a web search")
        } else if allowed && blocked && !self.both_domains {
            Some("both allowed and blocked domains of a web search")
        } else {
            None
        }
    }

    fn combined(self, other: Self, combine: fn(bool, bool) -> bool) -> Self {
        Self {
            max_searches: combine(self.max_searches, other.max_searches),
            allowed_domains: combine(self.allowed_domains, other.allowed_domains),
            blocked_domains: combine(self.blocked_domains, other.blocked_domains),
            both_domains: combine(self.both_domains, other.both_domains),
        }
    }
}

impl ProviderCapabilities {
    /// Adds tools.
    #[must_use]
    pub fn with_tools(self) -> Self {
        let tools = true;
        Self { tools, ..self }
    }

    /// Adds effort.
    #[must_use]
    pub fn with_effort(self) -> Self {
        let effort = true;
        Self { effort, ..self }
    }

    /// Adds temperature.
    #[must_use]
    pub fn with_temperature(self) -> Self {
        let temperature = true;
        Self { temperature, ..self }
    }

    /// Adds reasoning.
    #[must_use]
    pub fn with_reasoning(self) -> Self {
        let reasoning = true;
        Self { reasoning, ..self }
    }

    /// Adds web search.
    #[must_use]
    pub fn with_web_search(self, support: WebSearchSupport) -> Self {
        Self { web_search: Some(support), ..self }
    }

    /// Returns the capabilities that both declare.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            effort: self.effort && other.effort,
            temperature: self.temperature && other.temperature,
            reasoning: self.reasoning && other.reasoning,
            web_search: match (self.web_search, other.web_search) {
                (Some(a), Some(b)) => Some(a.combined(b, |a, b| a && b)),
                (_, None) | (None, _) => None,
            },
        }
    }

    /// Returns the capabilities that either declares.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            effort: self.effort || other.effort,
            temperature: self.temperature || other.temperature,
            reasoning: self.reasoning || other.reasoning,
            web_search: match (self.web_search, other.web_search) {
                (Some(a), Some(b)) => Some(a.combined(b, |a, b| a || b)),
                (search, None) | (None, search) => search,
            },
        }
    }

    /// Accepts a request that needs only these capabilities. An adapter calls this before it sends.
    ///
    /// # Errors
    /// [`ProviderError`] of the kind `Unsupported`, without a retry, when the request needs more.
    pub fn check(self, request: &SampleRequest) -> Result<(), ProviderError> {
        self.check_settings(&request.prompt.settings)
    }

    /// Accepts settings whose requests need only these capabilities.
    ///
    /// # Errors
    /// The same as [`check`](Self::check).
    pub fn check_settings(self, settings: &Settings) -> Result<(), ProviderError> {
        let search = settings.options.web_search.as_ref();
        let missing = if !settings.tools.is_empty() && !self.tools {
            "tools"
        } else if settings.effort.is_some() && !self.effort {
            "an effort"
        } else if settings.temperature.is_some() && !self.temperature {
            "a temperature"
        } else if let Some(search) = search {
            match self.web_search.map(|support| support.missing(search)) {
                None => "a web search",
                Some(Some(part)) => part,
                Some(None) => return Ok(()),
            }
        } else {
            return Ok(());
        };
        let context = format!(
            "asking {} of {}: it cannot be given {missing}; take another provider, or do without",
            settings.model, settings.provider
        );
        Err(ProviderError::new(FailureKind::Unsupported, Retry::Never, context))
    }
}

/// Capabilities of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// True if the model is known. The other fields are safe defaults if it is not.
    pub known: bool,
    /// Tokens that a request and its answer may have together.
    pub window: Option<u64>,
    /// Tokens that an answer may have.
    pub max_output: Option<u64>,
    /// Supports tools.
    pub tools: bool,
    /// Supports the choice of several calls at once.
    pub parallel_calls: bool,
    /// Supports a reasoning effort.
    pub reasoning: bool,
    /// Supports images.
    pub images: bool,
    /// Supports output that its provider constrains to a JSON Schema.
    pub structured_output: bool,
    /// Trained to change files by patches, which the tool `apply_patch` takes. Others replace exact
    /// texts.
    pub patches: bool,
    /// Supports tools that take a text of a grammar, if its server does.
    pub grammars: bool,
    /// Supports web searches by its provider.
    pub web_search: bool,
}

impl ModelCapabilities {
    /// Returns the capabilities of an unknown model: tools, since an agent needs them, and nothing
    /// else. Images are described in words, and the engine checks a schema.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            known: false,
            window: None,
            max_output: None,
            tools: true,
            parallel_calls: false,
            reasoning: false,
            images: false,
            structured_output: false,
            patches: false,
            grammars: false,
            web_search: false,
        }
    }

    /// Returns the capabilities that both models have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            known: self.known && other.known,
            window: least(self.window, other.window),
            max_output: least(self.max_output, other.max_output),
            tools: self.tools && other.tools,
            parallel_calls: self.parallel_calls && other.parallel_calls,
            reasoning: self.reasoning && other.reasoning,
            images: self.images && other.images,
            structured_output: self.structured_output && other.structured_output,
            patches: self.patches && other.patches,
            grammars: self.grammars && other.grammars,
            web_search: self.web_search && other.web_search,
        }
    }
}

/// The answer of a model as it streams.
#[async_trait]
pub trait SampleStream: Send {
    /// Waits for the next events of one read and appends them to `events`.
    ///
    /// Must be cancel-safe. Not called again after [`StreamState::End`] or an error.
    ///
    /// # Errors
    /// [`ProviderError`] when the stream breaks, ends early, is too large, or carries an error.
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError>;

    /// Returns the record of the sent request, as far as the adapter knows it. Called once, before
    /// the first [`next`](Self::next).
    fn request_record(&mut self) -> Option<RequestRecord> {
        None
    }
}

/// State of a stream after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// More events may follow.
    More,
    /// The answer is complete: the appended events contain `Finished`.
    End,
}

/// Request for one sample.
#[derive(Debug, Clone)]
pub struct SampleRequest {
    /// Session, for caches per session.
    pub session: SessionId,
    /// Turn of the sample.
    pub turn: TurnId,
    /// Position of the `SampleStarted` of the run.
    pub started: Seq,
    /// Prompt that the model sees.
    pub prompt: Prompt,
    /// Limits of the turn. An adapter applies `connect_ms` if it can measure connecting; the engine
    /// applies the others.
    pub limits: Limits,
    /// Most tokens of the answer by the turn's budget, if that bounds it further than the settings.
    pub output_bound: Option<u64>,
    /// Permission or duty of the model to call tools in this sample.
    pub choice: ToolChoice,
    /// Failed attempts at this sample, oldest first.
    pub failed: Vec<FailedAttempt>,
    /// Reader of the images in the conversation.
    pub blobs: BlobReader,
}

impl SampleRequest {
    /// Creates a first attempt at a sample with free tool choice, in a conversation without images.
    #[must_use]
    pub fn new(session: SessionId, turn: TurnId, started: Seq, prompt: Prompt) -> Self {
        Self {
            blobs: BlobReader::disabled(session.clone()),
            session,
            turn,
            started,
            limits: prompt.settings.limits,
            prompt,
            output_bound: None,
            choice: ToolChoice::Auto,
            failed: Vec::new(),
        }
    }

    /// Returns the most tokens of the answer, if the settings or the budget limit it. A bound of
    /// the budget alone is no more than `model`, the most that the model is known to answer: some
    /// servers reject more.
    #[must_use]
    pub fn max_output_tokens(&self, model: Option<u64>) -> Option<u64> {
        let settings = self.prompt.settings.max_output_tokens;
        let bound = self.output_bound.map(|bound| model.map_or(bound, |model| bound.min(model)));
        match (settings, bound) {
            (Some(settings), Some(bound)) => Some(settings.min(bound)),
            (settings, bound) => settings.or(bound),
        }
    }
}

/// Failure to ask a model or to read its answer.
pub type ProviderError = PortError<FailureKind, ProviderErrorDetails>;

/// Facts about a failed request, as far as the adapter knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderErrorDetails {
    /// HTTP status of the response.
    pub status: Option<u16>,
    /// Request id assigned by the provider.
    pub request_id: Option<String>,
    /// Record of the request as it was sent.
    pub request: Option<Box<RequestRecord>>,
}

impl ProviderError {
    /// Creates an error without details and without a cause.
    #[must_use]
    pub fn new(kind: FailureKind, retry: Retry, context: impl Into<String>) -> Self {
        Self {
            kind,
            retry,
            context: context.into(),
            details: ProviderErrorDetails::default(),
            source: None,
        }
    }

    /// Adds the record of the sent request.
    #[must_use]
    pub fn with_request(mut self, asked: RequestRecord) -> Self {
        self.details.request = Some(Box::new(asked));
        self
    }

    /// Converts the error to the recorded failure.
    #[must_use]
    pub fn into_failure(self) -> SampleFailure {
        SampleFailure {
            kind: self.kind,
            message: self.context,
            retry: self.retry,
            status: self.details.status,
            request_id: self.details.request_id,
        }
    }
}
