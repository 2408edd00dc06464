//! Configured providers: each is made from its configuration, the environment, and the session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass::provider::{BuiltIn, Preset, ProviderApi, reject_credentials};
use windlass_anthropic::{ANTHROPIC_BASE_URL, Anthropic, AnthropicConfig, sdk_base_url};
use windlass_demo::DemoServer;
use windlass_engine::core::Settings;
use windlass_engine::ports::{Provider, ProviderError};
use windlass_gemini::{Gemini, GeminiConfig};
use windlass_http::HttpConfig;
use windlass_openai::{Api, Models, OPENAI_BASE_URL, OpenAi, OpenAiConfig};
use windlass_replay::Recorder;

use super::address::{Address, AddressSource};
use super::provider_scheme::ProviderScheme;
use super::providers::{ProviderEntry, ProvidersFile};
use crate::args::SettingsArgs;
use crate::exit::{ExitKind, Failure};
use crate::secrets;
use crate::wiring::wire::ProviderTransport;

/// Time-out for listing a provider's models.
const WAIT: Duration = Duration::from_secs(10);

/// Address of the demo when its answers come from a recording: nothing listens there.
const NOWHERE: &str = "http://demo.invalid/v1";

/// Provider over the wire.
#[derive(Clone)]
pub(super) enum ProviderAdapter {
    OpenAi(Arc<OpenAi>),
    Anthropic(Arc<Anthropic>),
    Gemini(Arc<Gemini>),
    /// Provider of a program's own, which lists no models.
    Own(Arc<dyn Provider>),
}

impl ProviderAdapter {
    pub(super) fn port(&self) -> Arc<dyn Provider> {
        match self {
            Self::OpenAi(openai) => openai.clone(),
            Self::Anthropic(anthropic) => anthropic.clone(),
            Self::Gemini(gemini) => gemini.clone(),
            Self::Own(own) => own.clone(),
        }
    }

    pub(super) async fn models(&self) -> Result<Vec<String>, ProviderError> {
        match self {
            Self::OpenAi(openai) => openai.models(WAIT).await,
            Self::Anthropic(anthropic) => anthropic.models(WAIT).await,
            Self::Gemini(gemini) => gemini.models(WAIT).await,
            Self::Own(_) => Ok(Vec::new()),
        }
    }
}

/// Configured provider.
pub(super) struct ReadyProvider {
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    pub(super) model: Option<String>,
    pub(super) adapter: ProviderAdapter,
    /// True if its endpoint lists its models.
    pub(super) lists_models: bool,
    /// Warning for a new session whose model has no known window.
    pub(super) window_warning: Option<&'static str>,
    pub(super) demo: Option<DemoServer>,
    pub(super) recorder: Option<Arc<Recorder>>,
}

/// Providers to choose from.
pub(super) struct ProviderCandidates<'a> {
    pub(super) shape: &'a SettingsArgs,
    pub(super) over: &'a ProviderTransport,
    pub(super) recorded: Option<&'a Settings>,
    pub(super) models: Models,
    pub(super) file: ProvidersFile,
    /// Providers of the program.
    pub(super) schemes: &'a [ProviderScheme],
}

impl ProviderCandidates<'_> {
    /// Returns the provider of this name. Returns `None` when the name stands for several, or when
    /// the provider is unavailable and not needed.
    pub(super) fn ready(&self, name: &str, needed: bool) -> Result<Option<ReadyProvider>, Failure> {
        let made = match (self.scheme(name), self.file.provider(name)) {
            (Some(scheme), None) => scheme.ready(self),
            (_, Some(entry)) => self.provider_from_entry(entry),
            (None, None) => return Ok(None),
        };
        match made {
            Ok(ready) => Ok(Some(ready)),
            Err(_) if !needed => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the program's provider of this name.
    pub(super) fn scheme(&self, name: &str) -> Option<&ProviderScheme> {
        self.schemes.iter().find(|scheme| scheme.name() == name)
    }

    /// Creates a built-in provider.
    pub(super) fn built_in(&self, built: BuiltIn) -> Result<ReadyProvider, Failure> {
        match built {
            BuiltIn::Demo => self.demo(),
            BuiltIn::Anthropic => self.anthropic(),
            BuiltIn::Openai | BuiltIn::OpenaiChat => self.openai(built),
        }
    }

    /// Returns the base URL of a built-in provider: from the command, then the session, then the
    /// environment.
    fn base_url(&self, built: BuiltIn) -> Address {
        let meant = match (&self.shape.provider, self.recorded) {
            (Some(named), _) => named == built.name(),
            (None, Some(recorded)) => recorded.provider == built.name(),
            (None, None) => true,
        };
        let recorded = self.recorded.filter(|recorded| same_kind(&recorded.provider, built));
        let configured = |url| Address { url, source: AddressSource::Configured };
        match (&self.shape.base_url, recorded) {
            (Some(url), _) if meant => configured(Some(url.clone())),
            (_, Some(recorded)) => {
                Address { url: recorded.base_url.clone(), source: AddressSource::Log }
            }
            (_, None) => configured(environment_url(built)),
        }
    }

    /// Returns the key of a built-in provider for an address. One that only a log names gets none.
    fn key(&self, built: BuiltIn, address: &Address, own: &str) -> Result<Option<String>, Failure> {
        let Some((_, variable)) = built.variables() else {
            return Ok(None);
        };
        if self.over.has_network() {
            let named = environment_url(built);
            address.may_have_key(&[Some(own), named.as_deref()], &[variable])?;
        }
        let key = env_value(variable);
        if key.is_none() && address.url.is_none() && self.over.has_network() {
            return Err(Failure::new(
                ExitKind::Provider,
                format!(
                    "{variable} is not set: set it, name another endpoint with --base-url, or try \
                     --provider demo, which needs no key"
                ),
            ));
        }
        Ok(key)
    }

    fn openai(&self, built: BuiltIn) -> Result<ReadyProvider, Failure> {
        let api = match built {
            BuiltIn::OpenaiChat => Api::Chat,
            BuiltIn::Openai | BuiltIn::Anthropic | BuiltIn::Demo => Api::Responses,
        };
        let mut place = self.base_url(built);
        place.url = place.url.filter(|url| url != OPENAI_BASE_URL);
        let address = place.url.as_deref().unwrap_or(OPENAI_BASE_URL);
        holds_no_name(address, "OPENAI_API_KEY")?;
        let mut config = OpenAiConfig::new(api).with_base_url(address);
        if let Some(key) = self.key(built, &place, OPENAI_BASE_URL)? {
            config = config.with_api_key(key);
            config.organisation = env_value("OPENAI_ORG_ID");
            config.project = env_value("OPENAI_PROJECT_ID");
        }
        let base_url = place.url;
        let ready = self.connect(built.name(), config, &HttpConfig::default())?;
        Ok(ReadyProvider { model: own_model(built, base_url.as_ref()), base_url, ..ready })
    }

    fn anthropic(&self) -> Result<ReadyProvider, Failure> {
        let built = BuiltIn::Anthropic;
        let mut place = self.base_url(built);
        place.url = place.url.filter(|url| url != ANTHROPIC_BASE_URL);
        let address = place.url.as_deref().unwrap_or(ANTHROPIC_BASE_URL);
        holds_no_name(address, "ANTHROPIC_API_KEY")?;
        let mut config = AnthropicConfig::new().with_base_url(address);
        if let Some(key) = self.key(built, &place, ANTHROPIC_BASE_URL)? {
            config = config.with_api_key(key);
        }
        let base_url = place.url;
        let ready = self.messages(built.name(), config, &HttpConfig::default())?;
        Ok(ReadyProvider { model: own_model(built, base_url.as_ref()), base_url, ..ready })
    }

    fn demo(&self) -> Result<ReadyProvider, Failure> {
        let demo = match self.over.has_network() {
            true => Some(DemoServer::start().map_err(|error| {
                let words = format!("cannot start the demo model: {error}");
                Failure::new(ExitKind::Provider, words)
            })?),
            false => None,
        };
        let url = demo.as_ref().map(DemoServer::base_url);
        let url = url.unwrap_or_else(|| NOWHERE.to_owned());
        let config = OpenAiConfig::new(Api::Chat).with_base_url(url);
        let ready = self.connect(BuiltIn::Demo.name(), config, &HttpConfig::default())?;
        Ok(ReadyProvider { model: Some(BuiltIn::Demo.model().to_owned()), demo, ..ready })
    }

    /// Creates a provider of the file.
    fn provider_from_entry(&self, entry: &ProviderEntry) -> Result<ReadyProvider, Failure> {
        let config = entry.config(self.over.has_network())?;
        let about = format!("the provider {} of the providers file", entry.name);
        let ready = self.configured(&entry.name, entry.api, config, &entry.http, &about)?;
        Ok(ReadyProvider { model: entry.model.clone(), ..ready })
    }

    /// Creates a provider that is known by name. Its base URL comes from the command, then the
    /// session, then the environment.
    pub(super) fn provider_from_preset(
        &self,
        preset: &'static Preset,
    ) -> Result<ReadyProvider, Failure> {
        let recorded = self.recorded.filter(|recorded| recorded.provider == preset.name);
        let meant = match &self.shape.provider {
            Some(named) => *named == preset.name,
            None => recorded.is_some(),
        };
        let recorded = recorded.and_then(|recorded| recorded.base_url.as_ref());
        let flag = self.shape.base_url.as_ref().filter(|_| meant);
        let named = flag.or(recorded);
        let own = preset.address(&env_value);
        let source = flag.map_or(AddressSource::Log, |_| AddressSource::Configured);
        let place = Address { url: named.cloned(), source };
        if self.over.has_network() && !named.is_some_and(|url| preset.is_own(url)) {
            let keys: Vec<&str> = preset.secret_variables().collect();
            place.may_have_key(&[own.as_deref().ok()], &keys)?;
        }
        let configured = |url: &str, needs_key| {
            preset.config(url, needs_key, &env_value).map_err(provider_words)
        };
        let config = match named {
            Some(url) => configured(url, self.over.has_network() && own.as_ref() == Ok(url))?,
            None => {
                let wrong = |words| provider_words(format!("{words} with --base-url"));
                let url = own.map_err(wrong)?;
                configured(&url, self.over.has_network())?
            }
        };
        let base_url = config["base_url"].as_str().map(str::to_owned);
        let about = format!("the provider {}", preset.name);
        let http = HttpConfig::default();
        let ready = self.configured(preset.name, preset.api, config, &http, &about)?;
        let base_url = base_url.filter(|url| !preset.is_usual(url));
        Ok(ReadyProvider {
            model: preset.model.filter(|_| base_url.is_none()).map(str::to_owned),
            base_url,
            lists_models: preset.lists_models,
            window_warning: preset.window_warning,
            ..ready
        })
    }

    /// Creates a provider from the configuration of its adapter.
    fn configured(
        &self,
        name: &str,
        api: ProviderApi,
        config: Value,
        http: &HttpConfig,
        about: &str,
    ) -> Result<ReadyProvider, Failure> {
        let wrong = |error: serde_json::Error| {
            Failure::new(ExitKind::Provider, format!("{about}: {error}"))
        };
        match api {
            ProviderApi::Openai | ProviderApi::OpenaiChat => {
                let config: OpenAiConfig = serde_json::from_value(config).map_err(wrong)?;
                holds_no_name(&config.base_url, KEY_ENV)?;
                self.connect(name, config, http)
            }
            ProviderApi::Anthropic => {
                let config: AnthropicConfig = serde_json::from_value(config).map_err(wrong)?;
                holds_no_name(&config.base_url, KEY_ENV)?;
                self.messages(name, config, http)
            }
            ProviderApi::Gemini => {
                let config: GeminiConfig = serde_json::from_value(config).map_err(wrong)?;
                holds_no_name(&config.base_url, KEY_ENV)?;
                self.gemini(name, config, http)
            }
        }
    }

    /// Returns how the network is used, with what the command says of it.
    pub(super) fn network(&self, http: &HttpConfig) -> HttpConfig {
        let connect_ms = self.shape.timeouts.connect_ms().or(http.connect_ms);
        HttpConfig { connect_ms, ..http.clone() }
    }

    fn connect(
        &self,
        name: &str,
        config: OpenAiConfig,
        http: &HttpConfig,
    ) -> Result<ReadyProvider, Failure> {
        let config = config.with_models(self.models.clone());
        let (wire, recorder) = self.over.wire(&config.base_url, &self.network(http))?;
        let openai = OpenAi::over(&config, wire).map_err(provider_failure)?;
        let adapter = ProviderAdapter::OpenAi(Arc::new(openai));
        Ok(ReadyProvider::new(name, adapter, recorder))
    }

    fn messages(
        &self,
        name: &str,
        config: AnthropicConfig,
        http: &HttpConfig,
    ) -> Result<ReadyProvider, Failure> {
        let config = config.with_models(self.models.clone());
        let (wire, recorder) = self.over.wire(&config.base_url, &self.network(http))?;
        let anthropic = Anthropic::over(&config, wire).map_err(provider_failure)?;
        let adapter = ProviderAdapter::Anthropic(Arc::new(anthropic));
        Ok(ReadyProvider::new(name, adapter, recorder))
    }

    fn gemini(
        &self,
        name: &str,
        config: GeminiConfig,
        http: &HttpConfig,
    ) -> Result<ReadyProvider, Failure> {
        let config = config.with_models(self.models.clone());
        let (wire, recorder) = self.over.wire(&config.base_url, &self.network(http))?;
        let gemini = Gemini::over(&config, wire).map_err(provider_failure)?;
        let adapter = ProviderAdapter::Gemini(Arc::new(gemini));
        Ok(ReadyProvider::new(name, adapter, recorder))
    }
}

/// Advice on the key of a provider of the file.
const KEY_ENV: &str = "an environment variable, and name it in key_env";

impl ReadyProvider {
    pub(super) fn new(
        name: &str,
        adapter: ProviderAdapter,
        recorder: Option<Arc<Recorder>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            base_url: None,
            model: None,
            adapter,
            lists_models: true,
            window_warning: None,
            demo: None,
            recorder,
        }
    }

    /// Returns the adapter if its endpoint lists its models.
    pub(super) fn lister(&self) -> Option<ProviderAdapter> {
        self.lists_models.then(|| self.adapter.clone())
    }
}

/// Returns the default model at the vendor's own endpoint. No model is assumed at another one.
fn own_model(built: BuiltIn, base_url: Option<&String>) -> Option<String> {
    base_url.is_none().then(|| built.model().to_owned())
}

/// Returns the base URL of a built-in provider in the environment.
pub(super) fn environment_url(built: BuiltIn) -> Option<String> {
    let (address, _) = built.variables()?;
    let url = env_value(address);
    match built {
        BuiltIn::Anthropic => url.map(|url| sdk_base_url(&url)),
        BuiltIn::Openai | BuiltIn::OpenaiChat | BuiltIn::Demo => url,
    }
}

/// Returns true if the session's provider and this one are two dialects of one server.
fn same_kind(recorded: &str, built: BuiltIn) -> bool {
    let recorded = BuiltIn::of(recorded).and_then(BuiltIn::variables);
    recorded.is_some() && recorded == built.variables()
}

/// Rejects a URL that would write a user name or a password to the log.
fn holds_no_name(url: &str, place: &str) -> Result<(), Failure> {
    reject_credentials(url, place).map_err(provider_words)
}

fn provider_words(words: String) -> Failure {
    Failure::new(ExitKind::Provider, words)
}

pub(super) fn provider_failure(error: ProviderError) -> Failure {
    Failure::new(ExitKind::Provider, error.to_string())
}

pub(super) fn env_value(name: &str) -> Option<String> {
    secrets::value(name).filter(|value| !value.trim().is_empty())
}
