//! Providers: chooses the provider of a session, and its address.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;
use std::time::Duration;

use windlass_anthropic::{ANTHROPIC_BASE_URL, Anthropic, AnthropicConfig};
use windlass_demo::DemoServer;
use windlass_engine::core::Settings;
use windlass_engine::ports::{Provider, ProviderError};
use windlass_http::HttpConfig;
use windlass_openai::Models;
use windlass_openai::{Api, OPENAI_BASE_URL, OpenAi, OpenAiConfig};
use windlass_replay::Recorder;
use windlass_route::{Fallback, FallbackProvider, ModelPattern, Router};

use super::built_in::{BuiltIn, holds_no_name};
use super::providers::{ProviderApi, ProviderChain, ProviderEntry, ProvidersFile};
use super::renamed_provider::RenamedProvider;
use crate::args::SettingsArgs;
use crate::exit::{ExitKind, Failure};
use crate::wiring::wire::ProviderTransport;

/// Time-out for listing a provider's models.
const WAIT: Duration = Duration::from_secs(10);

/// Address of the demo when its answers come from a recording: nothing listens there.
const NOWHERE: &str = "http://demo.invalid/v1";

/// Provider that routes models as the providers file says.
const ROUTES: &str = "routes";

/// Chosen provider.
pub(crate) struct ProviderChoice {
    /// Name, as in `Settings::provider`.
    pub(crate) name: String,
    /// Base URL, if it is not the default.
    pub(crate) base_url: Option<String>,
    /// Default model.
    pub(crate) model: Option<String>,
    pub(crate) port: Arc<dyn Provider>,
    /// Server of the demo, which must live as long as the port.
    pub(crate) demo: Option<DemoServer>,
    /// Recorder of the traffic, if it is recorded.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Providers that a session may name, each with its base URL unless that is the default.
    pub(crate) base_urls: BTreeMap<String, Option<String>>,
    adapters: Vec<(String, ProviderAdapter)>,
}

/// Provider over the wire.
#[derive(Clone)]
enum ProviderAdapter {
    OpenAi(Arc<OpenAi>),
    Anthropic(Arc<Anthropic>),
}

impl ProviderAdapter {
    fn port(&self) -> Arc<dyn Provider> {
        match self {
            Self::OpenAi(openai) => openai.clone(),
            Self::Anthropic(anthropic) => anthropic.clone(),
        }
    }

    async fn models(&self) -> Result<Vec<String>, ProviderError> {
        match self {
            Self::OpenAi(openai) => openai.models(WAIT).await,
            Self::Anthropic(anthropic) => anthropic.models(WAIT).await,
        }
    }
}

/// Configured provider.
struct ReadyProvider {
    name: String,
    base_url: Option<String>,
    model: Option<String>,
    adapter: ProviderAdapter,
    demo: Option<DemoServer>,
    recorder: Option<Arc<Recorder>>,
}

/// Chooses the provider: first the one on the command line, then the session's, then one whose key
/// the environment has, then the demo. A session stays with its provider: its conversation goes to
/// another one only if the command says so.
///
/// All other configured providers are available too, since an open turn of one of them continues
/// there. If the traffic is recorded or replayed, the provider is the only one.
pub(crate) fn choose(
    shape: &SettingsArgs,
    over: &ProviderTransport,
    recorded: Option<&Settings>,
) -> Result<ProviderChoice, Failure> {
    let file = ProvidersFile::load(shape.providers.as_deref())?;
    let name = match (&shape.provider, recorded) {
        (Some(name), _) => name.clone(),
        (None, Some(recorded)) => recorded.provider.clone(),
        (None, None) => usual(shape).name().to_owned(),
    };
    let all = ProviderCandidates {
        shape,
        over,
        recorded,
        models: Models::extended(&file.models()?).map_err(provider_failure)?,
        file,
    };
    all.check(&name)?;
    match over {
        ProviderTransport::Network => all.routed(&name),
        ProviderTransport::Record { .. } | ProviderTransport::Replay { .. } => all.single(&name),
    }
}

/// Returns the default provider.
fn usual(shape: &SettingsArgs) -> BuiltIn {
    let openai = env_value("OPENAI_API_KEY").or(env_value("OPENAI_BASE_URL"));
    if openai.is_some() || shape.base_url.is_some() {
        BuiltIn::Openai
    } else if env_value("ANTHROPIC_API_KEY").is_some() {
        BuiltIn::Anthropic
    } else {
        BuiltIn::Demo
    }
}

/// Providers to choose from.
struct ProviderCandidates<'a> {
    shape: &'a SettingsArgs,
    over: &'a ProviderTransport,
    recorded: Option<&'a Settings>,
    models: Models,
    file: ProvidersFile,
}

impl ProviderCandidates<'_> {
    /// Checks that a provider with this name exists, and that the name is unambiguous.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let entries = self.file.providers.iter().map(|entry| entry.name.as_str());
        let chains = self.file.chains.iter().map(|chain| chain.name.as_str());
        let own: Vec<&str> = entries.chain(chains).collect();
        for (at, one) in own.iter().enumerate() {
            let taken = BuiltIn::of(one).is_some() || *one == ROUTES;
            if taken || own.iter().take(at).any(|other| other == one) {
                let words = format!("the providers file has a second provider named {one:?}");
                return Err(Failure::new(ExitKind::Provider, words));
            }
        }
        let routes = name == ROUTES && !self.file.routes.is_empty();
        if BuiltIn::of(name).is_some() || own.contains(&name) || routes {
            return Ok(());
        }
        let built = BuiltIn::ALL.map(BuiltIn::name);
        let known: Vec<&str> = built.into_iter().chain(own).collect();
        let known = known.join(", ");
        Err(match self.shape.provider {
            Some(_) => Failure::usage(format!("there is no provider {name:?}; there are: {known}")),
            None => Failure::new(
                ExitKind::Provider,
                format!(
                    "the session's provider {name:?} is not built in, and not in the providers \
                     file: name another with --provider; there are: {known}"
                ),
            ),
        })
    }

    /// Returns a single provider without others.
    fn single(&self, name: &str) -> Result<ProviderChoice, Failure> {
        let ready = self.ready(name, true)?.ok_or_else(|| {
            Failure::usage(format!(
                "{name:?} stands for several providers, and a recording holds the traffic with \
                 one: name one with --provider"
            ))
        })?;
        let port = self.named(&ready);
        let adapters = vec![(ready.name.clone(), ready.adapter)];
        let places = BTreeMap::from([(ready.name.clone(), ready.base_url.clone())]);
        Ok(ProviderChoice {
            base_urls: places,
            name: ready.name,
            base_url: ready.base_url,
            model: ready.model,
            port,
            demo: ready.demo,
            recorder: ready.recorder,
            adapters,
        })
    }

    /// Returns the provider of this name among all configured ones.
    fn routed(&self, name: &str) -> Result<ProviderChoice, Failure> {
        let chosen = self.ready(name, true)?;
        let mut others = Vec::new();
        let entries = self.file.providers.iter();
        for entry in entries.filter(|entry| entry.name != name) {
            others.extend(self.ready(&entry.name, true)?);
        }
        for built in BuiltIn::ALL {
            let wanted = self.is_wanted(built.name());
            if built.name() != name && (wanted || self.may_have_turn(built) || has_key(built)) {
                // A provider that the session leaves need not exist any more.
                others.extend(self.ready(built.name(), wanted)?);
            }
        }
        let mut ports: Vec<Arc<dyn Provider>> = Vec::new();
        let mut adapters = Vec::new();
        let mut demo = None;
        let (mut base_url, mut model) = (None, None);
        let mut places = BTreeMap::new();
        let found = chosen.is_some();
        for (at, ready) in chosen.into_iter().chain(others).enumerate() {
            ports.push(self.named(&ready));
            places.insert(ready.name.clone(), ready.base_url.clone());
            adapters.push((ready.name, ready.adapter));
            demo = demo.or(ready.demo);
            if at == 0 && found {
                (base_url, model) = (ready.base_url, ready.model);
            }
        }
        for chain in &self.file.chains {
            places.insert(chain.name.clone(), None);
            let chain = fallback(chain, &ports)?;
            ports.push(Arc::new(chain));
        }
        let mut router = Router::new(ROUTES, ports).map_err(provider_failure)?;
        for route in &self.file.routes {
            places.insert(ROUTES.to_owned(), None);
            let models = ModelPattern::new(&route.models);
            let to = route.model.as_deref();
            router = router.rule(models, &route.provider, to).map_err(provider_failure)?;
        }
        Ok(ProviderChoice {
            name: name.to_owned(),
            base_url,
            model,
            port: Arc::new(router),
            demo,
            recorder: None,
            base_urls: places,
            adapters,
        })
    }

    /// Returns true if an open turn may use this provider.
    fn may_have_turn(&self, built: BuiltIn) -> bool {
        let recorded = self.recorded.map(|recorded| recorded.provider.as_str());
        recorded == Some(built.name())
    }

    /// Returns true if a chain or a route of the file refers to this provider.
    fn is_wanted(&self, name: &str) -> bool {
        let mut links = self.file.chains.iter().flat_map(|chain| &chain.links);
        let mut routes = self.file.routes.iter();
        links.any(|link| link.provider == name) || routes.any(|route| route.provider == name)
    }

    fn named(&self, ready: &ReadyProvider) -> Arc<dyn Provider> {
        let port = ready.adapter.port();
        Arc::new(RenamedProvider::new(&ready.name, port))
    }

    /// Returns the provider of this name. Returns `None` when the name stands for several, or when
    /// the provider is unavailable and not needed.
    fn ready(&self, name: &str, needed: bool) -> Result<Option<ReadyProvider>, Failure> {
        let made = match (BuiltIn::of(name), self.file.provider(name)) {
            (Some(BuiltIn::Demo), _) => self.demo(),
            (Some(BuiltIn::Anthropic), _) => self.anthropic(),
            (Some(built @ (BuiltIn::Openai | BuiltIn::OpenaiChat)), _) => self.openai(built),
            (None, Some(entry)) => self.provider_from_entry(entry),
            (None, None) => return Ok(None),
        };
        match made {
            Ok(ready) => Ok(Some(ready)),
            Err(_) if !needed => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the base URL of a built-in provider: from the command, then the session, then the
    /// environment.
    fn base_url(&self, built: BuiltIn, variable: &str) -> Option<String> {
        let meant = match (&self.shape.provider, self.recorded) {
            (Some(named), _) => named == built.name(),
            (None, Some(recorded)) => recorded.provider == built.name(),
            (None, None) => true,
        };
        let recorded = self.recorded.filter(|recorded| same_kind(&recorded.provider, built));
        match (&self.shape.base_url, recorded) {
            (Some(url), _) if meant => Some(url.clone()),
            (_, Some(recorded)) => recorded.base_url.clone(),
            (_, None) => env_value(variable),
        }
    }

    fn openai(&self, built: BuiltIn) -> Result<ReadyProvider, Failure> {
        let api = match built {
            BuiltIn::OpenaiChat => Api::Chat,
            BuiltIn::Openai | BuiltIn::Anthropic | BuiltIn::Demo => Api::Responses,
        };
        let base_url = self.base_url(built, "OPENAI_BASE_URL");
        let base_url = base_url.filter(|url| url != OPENAI_BASE_URL);
        let address = base_url.as_deref().unwrap_or(OPENAI_BASE_URL);
        holds_no_name(address, "OPENAI_API_KEY")?;
        let key = env_value("OPENAI_API_KEY");
        if key.is_none() && base_url.is_none() && self.over.has_network() {
            return Err(Failure::new(
                ExitKind::Provider,
                "OPENAI_API_KEY is not set: set it, name another endpoint with --base-url, or try \
                 --provider demo, which needs no key",
            ));
        }
        let mut config = OpenAiConfig::new(api).with_base_url(address);
        if let Some(key) = key {
            config = config.with_api_key(key);
        }
        config.organisation = env_value("OPENAI_ORG_ID");
        config.project = env_value("OPENAI_PROJECT_ID");
        let ready = self.connect(built.name(), config, &HttpConfig::default())?;
        Ok(ReadyProvider { base_url, model: Some(built.model().to_owned()), ..ready })
    }

    fn anthropic(&self) -> Result<ReadyProvider, Failure> {
        let built = BuiltIn::Anthropic;
        let base_url = self.base_url(built, "ANTHROPIC_BASE_URL");
        let base_url = base_url.filter(|url| url != ANTHROPIC_BASE_URL);
        let address = base_url.as_deref().unwrap_or(ANTHROPIC_BASE_URL);
        holds_no_name(address, "ANTHROPIC_API_KEY")?;
        let key = env_value("ANTHROPIC_API_KEY");
        if key.is_none() && base_url.is_none() && self.over.has_network() {
            return Err(Failure::new(
                ExitKind::Provider,
                "ANTHROPIC_API_KEY is not set: set it, name another endpoint with --base-url, or \
                 try --provider demo, which needs no key",
            ));
        }
        let mut config = AnthropicConfig::new().with_base_url(address);
        if let Some(key) = key {
            config = config.with_api_key(key);
        }
        let ready = self.messages(built.name(), config, &HttpConfig::default())?;
        Ok(ReadyProvider { base_url, model: Some(built.model().to_owned()), ..ready })
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
        let wrong = |error: serde_json::Error| {
            let words = format!("the provider {} of the providers file: {error}", entry.name);
            Failure::new(ExitKind::Provider, words)
        };
        let ready = match entry.api {
            ProviderApi::Openai | ProviderApi::OpenaiChat => {
                let config: OpenAiConfig = serde_json::from_value(config).map_err(wrong)?;
                holds_no_name(&config.base_url, KEY_ENV)?;
                self.connect(&entry.name, config, &entry.http)?
            }
            ProviderApi::Anthropic => {
                let config: AnthropicConfig = serde_json::from_value(config).map_err(wrong)?;
                holds_no_name(&config.base_url, KEY_ENV)?;
                self.messages(&entry.name, config, &entry.http)?
            }
        };
        Ok(ReadyProvider { model: entry.model.clone(), ..ready })
    }

    fn connect(
        &self,
        name: &str,
        config: OpenAiConfig,
        http: &HttpConfig,
    ) -> Result<ReadyProvider, Failure> {
        let config = config.with_models(self.models.clone());
        let (wire, recorder) = self.over.wire(&config.base_url, http)?;
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
        let (wire, recorder) = self.over.wire(&config.base_url, http)?;
        let anthropic = Anthropic::over(&config, wire).map_err(provider_failure)?;
        let adapter = ProviderAdapter::Anthropic(Arc::new(anthropic));
        Ok(ReadyProvider::new(name, adapter, recorder))
    }
}

/// Advice on the key of a provider of the file.
const KEY_ENV: &str = "an environment variable, and name it in key_env";

impl ReadyProvider {
    fn new(name: &str, adapter: ProviderAdapter, recorder: Option<Arc<Recorder>>) -> Self {
        Self { name: name.to_owned(), base_url: None, model: None, adapter, demo: None, recorder }
    }
}

/// Creates a chain of the file from configured providers.
fn fallback(chain: &ProviderChain, ports: &[Arc<dyn Provider>]) -> Result<Fallback, Failure> {
    let mut links = Vec::new();
    for next in &chain.links {
        let port = ports.iter().find(|port| port.name() == next.provider);
        let port = port.ok_or_else(|| {
            let words = format!(
                "the chain {} names the provider {:?}, which is not configured",
                chain.name, next.provider
            );
            Failure::new(ExitKind::Provider, words)
        })?;
        let link = FallbackProvider::new(port.clone());
        links.push(match &next.model {
            Some(model) => link.with_model(model),
            None => link,
        });
    }
    let fallback = Fallback::new(&chain.name, links).map_err(provider_failure)?;
    match &chain.on {
        Some(kinds) => fallback.on(kinds.iter().copied()).map_err(provider_failure),
        None => Ok(fallback),
    }
}

/// Returns true if the session's provider and this one are two dialects of one server.
fn same_kind(recorded: &str, built: BuiltIn) -> bool {
    let recorded = BuiltIn::of(recorded).and_then(BuiltIn::variables);
    recorded.is_some() && recorded == built.variables()
}

fn has_key(built: BuiltIn) -> bool {
    built.variables().is_some_and(|(_, key)| env_value(key).is_some())
}

/// Lists each provider's models, as `doctor` does.
pub(crate) async fn list_models(chosen: &ProviderChoice) -> Vec<(String, Result<usize, Failure>)> {
    let mut reached = Vec::new();
    for (name, adapter) in &chosen.adapters {
        let models = adapter.models().await;
        let models = models.map(|models| models.len()).map_err(provider_failure);
        reached.push((name.clone(), models));
    }
    reached
}

fn provider_failure(error: ProviderError) -> Failure {
    Failure::new(ExitKind::Provider, error.to_string())
}

fn env_value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
