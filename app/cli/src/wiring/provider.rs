//! Providers: which one answers, and how it is reached.

use std::env;
use std::sync::Arc;
use std::time::Duration;

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
    pub(crate) port: Arc<dyn Provider>,
    /// The demo's server, which must live as long as the port.
    pub(crate) demo: Option<Demo>,
    pub(crate) openai: Arc<OpenAi>,
}

/// Chooses the provider: what the command says, then what the session was opened with, then what
/// the environment has a key for, then the demo.
pub(crate) fn choose(shape: &Shape, recorded: Option<&str>) -> Result<Chosen, Failure> {
    let name = match (shape.provider, recorded) {
        (Some(name), _) => name,
        (None, Some(recorded)) => ProviderName::from_settings(recorded).ok_or_else(|| {
            Failure::new(
                Exit::Provider,
                format!("the session's provider {recorded:?} is not built in: name another with --provider"),
            )
        })?,
        (None, None) if set("OPENAI_API_KEY").or(set("OPENAI_BASE_URL")).is_some() => {
            ProviderName::Openai
        }
        (None, None) if shape.base_url.is_some() => ProviderName::Openai,
        (None, None) => ProviderName::Demo,
    };
    match name {
        ProviderName::Demo => demo(name),
        ProviderName::Openai => openai(name, Api::Responses, shape),
        ProviderName::OpenaiChat => openai(name, Api::Chat, shape),
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
        port: openai.clone(),
        demo: Some(demo),
        openai,
    })
}

fn openai(name: ProviderName, api: Api, shape: &Shape) -> Result<Chosen, Failure> {
    let base_url = shape.base_url.clone().or(set("OPENAI_BASE_URL"));
    let key = set("OPENAI_API_KEY");
    let base_url = base_url.unwrap_or_else(|| OPENAI_BASE_URL.to_owned());
    if key.is_none() && base_url == OPENAI_BASE_URL {
        return Err(Failure::new(
            Exit::Provider,
            "OPENAI_API_KEY is not set: set it, name another endpoint with --base-url, or try \
             --provider demo, which needs no key",
        ));
    }
    let mut config = OpenAiConfig::new(api).with_base_url(base_url);
    if let Some(key) = key {
        config = config.with_api_key(key);
    }
    config.organisation = set("OPENAI_ORG_ID");
    config.project = set("OPENAI_PROJECT_ID");
    let openai = connect(config)?;
    Ok(Chosen {
        name,
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
