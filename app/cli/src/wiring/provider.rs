//! Providers: which one answers, and how it is reached.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use windlass::core::Settings;
use windlass::ports::Provider;
use windlass_demo::Demo;
use windlass_openai::{Api, OPENAI_BASE_URL, OpenAi, OpenAiConfig};

use crate::args::{ProviderName, Shape};
use crate::exit::{Exit, Failure};

/// How long the provider may take to list its models.
const WAIT: Duration = Duration::from_secs(10);

/// A provider that was chosen.
pub(crate) struct Chosen {
    pub(crate) name: ProviderName,
    /// Where it is, if not at its usual place.
    pub(crate) base_url: Option<String>,
    pub(crate) port: Arc<dyn Provider>,
    /// The demo's server, which must live as long as the port.
    pub(crate) demo: Option<Demo>,
    pub(crate) openai: Arc<OpenAi>,
}

/// Chooses the provider: what the command says, then what the session was opened with, then what
/// the environment has a key for, then the demo. A session stays where it was opened: what it
/// said there is not sent elsewhere unless the command says so.
pub(crate) fn choose(shape: &Shape, recorded: Option<&Settings>) -> Result<Chosen, Failure> {
    let name = match (shape.provider, recorded) {
        (Some(name), _) => name,
        (None, Some(recorded)) => {
            let provider = &recorded.provider;
            ProviderName::from_settings(provider).ok_or_else(|| {
                let words = format!(
                    "the session's provider {provider:?} is not built in: name another with \
                     --provider"
                );
                Failure::new(Exit::Provider, words)
            })?
        }
        (None, None) if set("OPENAI_API_KEY").or(set("OPENAI_BASE_URL")).is_some() => {
            ProviderName::Openai
        }
        (None, None) if shape.base_url.is_some() => ProviderName::Openai,
        (None, None) => ProviderName::Demo,
    };
    let base_url = match (&shape.base_url, recorded) {
        (Some(url), _) => Some(url.clone()),
        (None, Some(recorded)) if is_openai(&recorded.provider) => recorded.base_url.clone(),
        (None, Some(_) | None) => set("OPENAI_BASE_URL"),
    };
    match name {
        ProviderName::Demo => demo(name),
        ProviderName::Openai => openai(name, Api::Responses, base_url),
        ProviderName::OpenaiChat => openai(name, Api::Chat, base_url),
    }
}

fn demo(name: ProviderName) -> Result<Chosen, Failure> {
    let demo = Demo::start().map_err(|error| {
        Failure::new(
            Exit::Provider,
            format!("the demo model does not start: {error}"),
        )
    })?;
    let config = OpenAiConfig::new(Api::Chat).with_base_url(demo.base_url());
    let openai = connect(config)?;
    Ok(Chosen {
        name,
        base_url: None,
        port: openai.clone(),
        demo: Some(demo),
        openai,
    })
}

/// Whether the two dialects of one kind of server are meant.
fn is_openai(provider: &str) -> bool {
    match ProviderName::from_settings(provider) {
        Some(ProviderName::Openai | ProviderName::OpenaiChat) => true,
        Some(ProviderName::Demo) | None => false,
    }
}

fn openai(name: ProviderName, api: Api, base_url: Option<String>) -> Result<Chosen, Failure> {
    let key = set("OPENAI_API_KEY");
    let base_url = base_url.filter(|url| url != OPENAI_BASE_URL);
    let address = base_url
        .clone()
        .unwrap_or_else(|| OPENAI_BASE_URL.to_owned());
    let authority = address.split("://").nth(1).unwrap_or(&address);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Failure::new(
            Exit::Provider,
            "the base URL holds a name or a password, which would be recorded: take it out, and \
             put a key into OPENAI_API_KEY",
        ));
    }
    if key.is_none() && base_url.is_none() {
        return Err(Failure::new(
            Exit::Provider,
            "OPENAI_API_KEY is not set: set it, name another endpoint with --base-url, or try \
             --provider demo, which needs no key",
        ));
    }
    let mut config = OpenAiConfig::new(api).with_base_url(address);
    if let Some(key) = key {
        config = config.with_api_key(key);
    }
    config.organisation = set("OPENAI_ORG_ID");
    config.project = set("OPENAI_PROJECT_ID");
    let openai = connect(config)?;
    Ok(Chosen {
        name,
        base_url,
        port: openai.clone(),
        demo: None,
        openai,
    })
}

fn connect(config: OpenAiConfig) -> Result<Arc<OpenAi>, Failure> {
    OpenAi::new(&config)
        .map(Arc::new)
        .map_err(|error| Failure::new(Exit::Provider, error.to_string()))
}

/// Asks the provider for its models, as `doctor` does.
pub(crate) async fn reach(chosen: &Chosen) -> Result<Vec<String>, Failure> {
    let models = chosen.openai.models(WAIT).await;
    models.map_err(|error| Failure::new(Exit::Provider, error.to_string()))
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
