//! Named provider: a provider and model by one text, such as `anthropic/claude-sonnet-4-5`.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_engine::ports::{Provider, Wire};

use super::built_in::{BuiltIn, reject_credentials};
use super::connect::connect;
use super::preset::Preset;
use super::{ProviderApi, RenamedProvider};
use crate::error::Error;

/// Request for a provider.
pub(crate) struct ProviderRequest<'a> {
    /// Name of the provider, with the model after a slash.
    pub(crate) model: &'a str,
    /// Base URL in place of the one of the environment.
    pub(crate) base_url: Option<&'a str>,
    /// Key in place of the one of the environment.
    pub(crate) api_key: Option<&'a str>,
    /// Wire in place of the network.
    pub(crate) wire: Option<Arc<dyn Wire>>,
    /// Environment variables.
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
}

/// Provider with its model.
pub(crate) struct NamedProvider {
    /// Name, as in `Settings::provider`.
    pub(crate) name: String,
    pub(crate) model: String,
    /// Base URL, if it is not the default.
    pub(crate) base_url: Option<String>,
    pub(crate) port: Arc<dyn Provider>,
    /// Server that must live as long as the port.
    pub(crate) server: Option<Arc<dyn Any + Send + Sync>>,
}

/// A provider that is known by name.
enum KnownProvider {
    BuiltIn(BuiltIn),
    Preset(&'static Preset),
}

impl ProviderRequest<'_> {
    /// Returns the provider.
    ///
    /// # Errors
    /// [`Error::Config`] when no provider has this name, when its key is missing, or when its cargo
    /// feature is off.
    pub(crate) fn provider(&self) -> Result<NamedProvider, Error> {
        let (name, model) = match self.model.split_once('/') {
            Some((name, model)) => (name, Some(model)),
            None => (self.model, None),
        };
        let known = KnownProvider::of(name).ok_or_else(|| unknown(self.model))?;
        let default = match &known {
            KnownProvider::BuiltIn(built) => Some(built.model()),
            KnownProvider::Preset(preset) => preset.model,
        };
        let model = model.filter(|model| !model.is_empty()).or(default);
        let model = model.ok_or_else(|| {
            let words = format!("the provider {name} has no default model: name one, {name}/MODEL");
            Error::Config(words)
        })?;
        if let KnownProvider::BuiltIn(BuiltIn::Demo) = known {
            return demo(model);
        }
        let (api, config, base_url) = match known {
            KnownProvider::BuiltIn(built) => self.built_in(built)?,
            KnownProvider::Preset(preset) => self.preset(preset)?,
        };
        let port = Arc::new(RenamedProvider::new(name, connect(api, config, self.wire.clone())?));
        Ok(NamedProvider { name: name.into(), model: model.into(), base_url, port, server: None })
    }

    fn built_in(&self, built: BuiltIn) -> Result<ConfiguredProvider, Error> {
        let (api, organisation) = match built {
            BuiltIn::Openai => (ProviderApi::Openai, true),
            BuiltIn::OpenaiChat | BuiltIn::Demo => (ProviderApi::OpenaiChat, true),
            BuiltIn::Anthropic => (ProviderApi::Anthropic, false),
        };
        let (address, variable) = built.variables().unwrap_or_default();
        let base_url = self.base_url.map(str::to_owned);
        let base_url = base_url.or_else(|| (self.env)(address).map(|url| sdk_base_url(api, url)));
        let key = self.api_key.map(str::to_owned).or_else(|| (self.env)(variable));
        if key.is_none() && base_url.is_none() && self.wire.is_none() {
            return Err(Error::Config(format!(
                "{variable} is not set, and the provider {} needs it: set it, name another \
                 endpoint with base_url, or try the model demo, which needs no key",
                built.name()
            )));
        }
        let mut config = api_config(api);
        if let Some(key) = key {
            config.insert("api_key".into(), key.into());
            let names = [("organisation", "OPENAI_ORG_ID"), ("project", "OPENAI_PROJECT_ID")];
            for (name, variable) in names.into_iter().filter(|_| organisation) {
                config.extend((self.env)(variable).map(|value| (name.to_owned(), value.into())));
            }
        }
        if let Some(url) = &base_url {
            reject_credentials(url, variable).map_err(Error::Config)?;
            config.insert("base_url".into(), url.clone().into());
        }
        Ok((api, config.into(), base_url))
    }

    fn preset(&self, preset: &Preset) -> Result<ConfiguredProvider, Error> {
        let own = preset.address(self.env);
        let named = self.base_url.map(str::to_owned);
        // A key of the environment goes to the provider's own address only.
        let needs_key = self.api_key.is_none() && named.is_none() && self.wire.is_none();
        let (url, is_own) = match (named, own) {
            (None, Ok(own)) => (own, true),
            (Some(url), Ok(own)) => {
                let is_own = url == own;
                (url, is_own)
            }
            (Some(url), Err(_)) => (url, false),
            (None, Err(words)) => return Err(Error::Config(format!("{words} with base_url"))),
        };
        let env = |name: &str| (self.env)(name).filter(|_| is_own);
        reject_credentials(&url, "an environment variable").map_err(Error::Config)?;
        let mut config = preset.config(&url, needs_key, &env).map_err(Error::Config)?;
        if let (Some(key), Some(config)) = (self.api_key, config.as_object_mut()) {
            config.insert("api_key".into(), key.into());
        }
        let base_url = (!preset.is_usual(&url)).then_some(url);
        Ok((preset.api, config, base_url))
    }
}

/// Protocol, configuration of its adapter, and base URL if it is not the default.
type ConfiguredProvider = (ProviderApi, Value, Option<String>);

impl KnownProvider {
    fn of(name: &str) -> Option<Self> {
        let built = BuiltIn::of(name).map(Self::BuiltIn);
        built.or_else(|| Preset::of(name).map(Self::Preset))
    }
}

/// Returns the part of an adapter's configuration that names the protocol.
pub(super) fn api_config(api: ProviderApi) -> Map<String, Value> {
    let name = match api {
        ProviderApi::Openai => Some("responses"),
        ProviderApi::OpenaiChat => Some("chat"),
        ProviderApi::Anthropic | ProviderApi::Gemini => None,
    };
    name.map(|name| ("api".to_owned(), name.into())).into_iter().collect()
}

/// Returns the base URL that a variable of the provider's own SDK names.
fn sdk_base_url(api: ProviderApi, url: String) -> String {
    match api {
        #[cfg(feature = "anthropic")]
        ProviderApi::Anthropic => windlass_anthropic::sdk_base_url(&url),
        #[cfg(not(feature = "anthropic"))]
        ProviderApi::Anthropic => url,
        ProviderApi::Openai | ProviderApi::OpenaiChat | ProviderApi::Gemini => url,
    }
}

#[cfg(feature = "demo")]
fn demo(model: &str) -> Result<NamedProvider, Error> {
    let server = windlass_demo::DemoServer::start()
        .map_err(|error| Error::Config(format!("cannot start the demo model: {error}")))?;
    let mut config = api_config(ProviderApi::OpenaiChat);
    config.insert("base_url".into(), server.base_url().into());
    let port = connect(ProviderApi::OpenaiChat, config.into(), None)?;
    let name = BuiltIn::Demo.name();
    Ok(NamedProvider {
        name: name.into(),
        model: model.into(),
        // Its port differs from start to start.
        base_url: None,
        port: Arc::new(RenamedProvider::new(name, port)),
        server: Some(Arc::new(server)),
    })
}

#[cfg(not(feature = "demo"))]
fn demo(_model: &str) -> Result<NamedProvider, Error> {
    Err(Error::not_built("the demo model", "demo"))
}

fn unknown(model: &str) -> Error {
    let built = BuiltIn::ALL.map(BuiltIn::name).into_iter();
    let names: Vec<&str> = built.chain(Preset::all().map(|preset| preset.name)).collect();
    Error::Config(format!(
        "{model:?} names no provider: write PROVIDER/MODEL, for example openai/gpt-5; there are: {}",
        names.join(", ")
    ))
}
