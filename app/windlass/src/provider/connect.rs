//! Connections: a provider from the configuration of its adapter, as far as this build has it.

use std::sync::Arc;

use serde_json::Value;
use windlass_engine::ports::{Provider, Wire};

use super::ProviderApi;
use crate::error::Error;

/// Returns the provider of a configuration, over this wire or the network.
pub(super) fn connect(
    api: ProviderApi,
    config: Value,
    wire: Option<Arc<dyn Wire>>,
) -> Result<Arc<dyn Provider>, Error> {
    match api {
        ProviderApi::Openai | ProviderApi::OpenaiChat => openai(config, wire),
        ProviderApi::Anthropic => anthropic(config, wire),
        ProviderApi::Gemini => gemini(config, wire),
    }
}

#[cfg(all(feature = "openai", feature = "http"))]
fn openai(config: Value, wire: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    let config: windlass_openai::OpenAiConfig = read(config)?;
    let wire = wire.map_or_else(|| network(&config.base_url), Ok)?;
    Ok(Arc::new(windlass_openai::OpenAi::over(&config, wire)?))
}

#[cfg(not(all(feature = "openai", feature = "http")))]
fn openai(_: Value, _: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    Err(Error::not_built("the protocols of OpenAI over the network", "openai,http"))
}

#[cfg(all(feature = "anthropic", feature = "http"))]
fn anthropic(config: Value, wire: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    let config: windlass_anthropic::AnthropicConfig = read(config)?;
    let wire = wire.map_or_else(|| network(&config.base_url), Ok)?;
    Ok(Arc::new(windlass_anthropic::Anthropic::over(&config, wire)?))
}

#[cfg(not(all(feature = "anthropic", feature = "http")))]
fn anthropic(_: Value, _: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    Err(Error::not_built("the Messages API over the network", "anthropic,http"))
}

#[cfg(all(feature = "gemini", feature = "http"))]
fn gemini(config: Value, wire: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    let config: windlass_gemini::GeminiConfig = read(config)?;
    let wire = wire.map_or_else(|| network(&config.base_url), Ok)?;
    Ok(Arc::new(windlass_gemini::Gemini::over(&config, wire)?))
}

#[cfg(not(all(feature = "gemini", feature = "http")))]
fn gemini(_: Value, _: Option<Arc<dyn Wire>>) -> Result<Arc<dyn Provider>, Error> {
    Err(Error::not_built("the native API of Gemini over the network", "gemini,http"))
}

#[cfg(all(any(feature = "anthropic", feature = "gemini", feature = "openai"), feature = "http"))]
fn read<T: serde::de::DeserializeOwned>(config: Value) -> Result<T, Error> {
    serde_json::from_value(config).map_err(|error| Error::Config(format!("the provider: {error}")))
}

#[cfg(all(any(feature = "anthropic", feature = "gemini", feature = "openai"), feature = "http"))]
fn network(base_url: &str) -> Result<Arc<dyn Wire>, Error> {
    windlass_http::http_wire(base_url).map_err(|error| Error::Config(error.to_string()))
}
