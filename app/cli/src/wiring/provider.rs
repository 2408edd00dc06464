//! Providers: which one answers, and how it is reached.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use windlass::core::Settings;
use windlass::ports::Provider;
use windlass_demo::Demo;
use windlass_openai::{Api, OPENAI_BASE_URL, OpenAi, OpenAiConfig};
use windlass_replay::Recorder;

use crate::args::{ProviderName, Shape};
use crate::exit::{Exit, Failure};
use crate::wiring::wire::Over;

/// How long the provider may take to list its models.
const WAIT: Duration = Duration::from_secs(10);

/// Where the demo is when its answers come from a recording: nobody listens, and nobody is asked.
const NOWHERE: &str = "http://demo.invalid/v1";

/// A provider that was chosen.
pub(crate) struct Chosen {
    pub(crate) name: ProviderName,
    /// Where it is, if not at its usual place.
    pub(crate) base_url: Option<String>,
    pub(crate) port: Arc<dyn Provider>,
    /// The demo's server, which must live as long as the port.
    pub(crate) demo: Option<Demo>,
    pub(crate) openai: Arc<OpenAi>,
    /// What records the traffic, if it is recorded.
    pub(crate) recorder: Option<Arc<Recorder>>,
}

/// Chooses the provider: what the command says, then what the session was opened with, then what
/// the environment has a key for, then the demo. A session stays where it was opened: what it
/// said there is not sent elsewhere unless the command says so.
pub(crate) fn choose(
    shape: &Shape,
    over: &Over,
    recorded: Option<&Settings>,
) -> Result<Chosen, Failure> {
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
        ProviderName::Demo => demo(name, over),
        ProviderName::Openai => openai(name, Api::Responses, base_url, over),
        ProviderName::OpenaiChat => openai(name, Api::Chat, base_url, over),
    }
}

fn demo(name: ProviderName, over: &Over) -> Result<Chosen, Failure> {
    let demo = match over.has_network() {
        true => Some(Demo::start().map_err(|error| {
            Failure::new(
                Exit::Provider,
                format!("the demo model does not start: {error}"),
            )
        })?),
        false => None,
    };
    let base_url = demo
        .as_ref()
        .map_or_else(|| NOWHERE.to_owned(), Demo::base_url);
    let config = OpenAiConfig::new(Api::Chat).with_base_url(base_url);
    connect(name, None, demo, &config, over)
}

/// Whether the two dialects of one kind of server are meant.
fn is_openai(provider: &str) -> bool {
    match ProviderName::from_settings(provider) {
        Some(ProviderName::Openai | ProviderName::OpenaiChat) => true,
        Some(ProviderName::Demo) | None => false,
    }
}

fn openai(
    name: ProviderName,
    api: Api,
    base_url: Option<String>,
    over: &Over,
) -> Result<Chosen, Failure> {
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
    if key.is_none() && base_url.is_none() && over.has_network() {
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
    connect(name, base_url, None, &config, over)
}

fn connect(
    name: ProviderName,
    base_url: Option<String>,
    demo: Option<Demo>,
    config: &OpenAiConfig,
    over: &Over,
) -> Result<Chosen, Failure> {
    let (wire, recorder) = over.wire(&config.base_url)?;
    let openai = OpenAi::over(config, wire)
        .map(Arc::new)
        .map_err(|error| Failure::new(Exit::Provider, error.to_string()))?;
    Ok(Chosen {
        name,
        base_url,
        port: openai.clone(),
        demo,
        openai,
        recorder,
    })
}

/// Asks the provider for its models, as `doctor` does.
pub(crate) async fn reach(chosen: &Chosen) -> Result<Vec<String>, Failure> {
    let models = chosen.openai.models(WAIT).await;
    models.map_err(|error| Failure::new(Exit::Provider, error.to_string()))
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
