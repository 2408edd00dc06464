//! Providers: chooses the provider of a session, and its address.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass::provider::{BuiltIn, RenamedProvider};
use windlass_demo::DemoServer;
use windlass_engine::core::Settings;
use windlass_engine::ports::Provider;
use windlass_openai::Models;
use windlass_replay::Recorder;
use windlass_route::{Fallback, FallbackProvider, ModelPattern, Router};

use super::provider_scheme::ProviderScheme;
use super::providers::{ProviderChain, ProvidersFile};
use super::ready_provider::{
    ProviderAdapter, ProviderCandidates, ReadyProvider, env_value, provider_failure,
};
use crate::args::SettingsArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::visible;
use crate::wiring::wire::ProviderTransport;

/// Most models that an error names.
const MODELS: usize = 20;

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
    /// Warning for a new session whose model has no known window.
    pub(crate) window_warning: Option<&'static str>,
    /// Providers by name; without an adapter if the endpoint lists no models.
    adapters: Vec<(String, Option<ProviderAdapter>)>,
}

/// Chooses the provider: first the one on the command line, then the session's, then one whose key
/// the environment has, then the demo. A session stays with its provider: its conversation goes to
/// another one only if the command says so.
///
/// All other configured providers are available too, since an open turn of one of them continues
/// there. If the traffic is recorded or replayed, the provider is the only one.
pub(crate) fn choose(
    schemes: &[ProviderScheme],
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
        schemes,
    };
    all.check(&name)?;
    match over {
        ProviderTransport::Network => all.routed(&name),
        ProviderTransport::Record { .. } | ProviderTransport::Replay { .. } => all.single(&name),
    }
}

/// Returns the default provider.
pub(super) fn usual(shape: &SettingsArgs) -> BuiltIn {
    let openai = env_value("OPENAI_API_KEY").or(env_value("OPENAI_BASE_URL"));
    if openai.is_some() || shape.base_url.is_some() {
        BuiltIn::Openai
    } else if env_value("ANTHROPIC_API_KEY").is_some() {
        BuiltIn::Anthropic
    } else {
        BuiltIn::Demo
    }
}

impl ProviderCandidates<'_> {
    /// Checks that a provider with this name exists, and that the name is unambiguous.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let entries = self.file.providers.iter().map(|entry| entry.name.as_str());
        let chains = self.file.chains.iter().map(|chain| chain.name.as_str());
        let own: Vec<&str> = entries.chain(chains).collect();
        for (at, one) in own.iter().enumerate() {
            let ours = self.scheme(one).is_some_and(|scheme| !scheme.yields());
            let taken = ours || *one == ROUTES;
            if taken || own.iter().take(at).any(|other| other == one) {
                let words = format!("the providers file has a second provider named {one:?}");
                return Err(Failure::new(ExitKind::Provider, words));
            }
        }
        let routes = name == ROUTES && !self.file.routes.is_empty();
        if self.scheme(name).is_some() || own.contains(&name) || routes {
            return Ok(());
        }
        let schemes = self.schemes.iter().map(ProviderScheme::name);
        let schemes = schemes.filter(|name| !own.contains(name));
        let known: Vec<&str> = schemes.chain(own.clone()).collect();
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
        let adapters = vec![(ready.name.clone(), ready.lister())];
        let places = BTreeMap::from([(ready.name.clone(), ready.base_url.clone())]);
        Ok(ProviderChoice {
            base_urls: places,
            name: ready.name,
            base_url: ready.base_url,
            model: ready.model,
            window_warning: ready.window_warning,
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
        for scheme in self.schemes {
            let other = scheme.name();
            let done = self.file.provider(other).is_some() || other == name;
            let wanted = self.is_wanted(other);
            if !done && (wanted || self.may_have_turn(other) || scheme.has_key()) {
                // A provider that the session leaves need not exist any more.
                others.extend(self.ready(other, wanted)?);
            }
        }
        let mut ports: Vec<Arc<dyn Provider>> = Vec::new();
        let mut adapters = Vec::new();
        let mut demo = None;
        let (mut base_url, mut model, mut window_warning) = (None, None, None);
        let mut places = BTreeMap::new();
        let found = chosen.is_some();
        for (at, ready) in chosen.into_iter().chain(others).enumerate() {
            ports.push(self.named(&ready));
            places.insert(ready.name.clone(), ready.base_url.clone());
            adapters.push((ready.name.clone(), ready.lister()));
            demo = demo.or(ready.demo);
            if at == 0 && found {
                (base_url, model) = (ready.base_url, ready.model);
                window_warning = ready.window_warning;
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
            window_warning,
            port: Arc::new(router),
            demo,
            recorder: None,
            base_urls: places,
            adapters,
        })
    }

    /// Returns true if an open turn may use this provider.
    fn may_have_turn(&self, name: &str) -> bool {
        self.recorded.is_some_and(|recorded| recorded.provider == name)
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

/// Rejects a command whose model nobody names, with the models that the provider lists.
pub(crate) async fn require_model(
    shape: &SettingsArgs,
    chosen: &ProviderChoice,
    recorded: Option<&Settings>,
) -> Result<(), Failure> {
    let is_kept = recorded.is_some_and(|recorded| recorded.provider == chosen.name);
    if is_kept || shape.model.is_some() || chosen.model.is_some() {
        return Ok(());
    }
    let listed = provider_models(chosen).await.unwrap_or_default();
    Err(no_model(chosen, &listed))
}

/// Creates the failure of a missing model, with those that the provider lists.
pub(super) fn no_model(chosen: &ProviderChoice, listed: &[String]) -> Failure {
    let place = chosen.base_url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    let mut words = format!(
        "the provider {}{place} has no default model: name one with --model, or in the variable \
         WINDLASS_MODEL",
        chosen.name
    );
    if !listed.is_empty() {
        let named: Vec<&str> = listed.iter().take(MODELS).map(String::as_str).collect();
        let more = if listed.len() > MODELS { " and more" } else { "" };
        words.push_str(&format!(". It lists {}{more}", named.join(", ")));
    }
    Failure::usage(visible(&words))
}

/// Lists the models of the chosen provider; none if its endpoint lists none.
pub(crate) async fn provider_models(chosen: &ProviderChoice) -> Result<Vec<String>, Failure> {
    let mut adapters = chosen.adapters.iter().filter(|(name, _)| *name == chosen.name);
    let Some((_, Some(adapter))) = adapters.next() else {
        return Ok(Vec::new());
    };
    adapter.models().await.map_err(provider_failure)
}

/// Lists each provider's models, as `doctor` does: `None` if its endpoint lists none.
pub(crate) async fn list_models(
    chosen: &ProviderChoice,
) -> Vec<(String, Option<Result<usize, Failure>>)> {
    let mut reached = Vec::new();
    for (name, adapter) in &chosen.adapters {
        let models = match adapter {
            Some(adapter) => Some(adapter.models().await),
            None => None,
        };
        let counted = |models: Vec<String>| models.len();
        reached.push((name.clone(), models.map(|m| m.map(counted).map_err(provider_failure))));
    }
    reached
}
