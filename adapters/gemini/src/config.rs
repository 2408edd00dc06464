//! Configuration: where the provider is, and as whom it is asked. Secrets never print.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use windlass_kit_http::{Models, Secret, with_path};

use crate::model::Thinking;

/// Base URL of Google's own endpoint.
pub const GEMINI_BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Header in which the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Sent as `x-goog-api-key: KEY`.
    ApiKey,
    /// Sent as `authorization: Bearer KEY`, as gateways expect.
    Bearer,
}

/// Endpoint and credentials of the provider.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GeminiConfig {
    /// The endpoint without the path of a call. A URL without a path means its `/v1beta`.
    pub base_url: String,
    /// API key.
    pub api_key: Option<Secret>,
    /// Header of the key. Default: `api_key`.
    pub auth: Auth,
    /// Further headers of every request. Their values count as secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Form in which every model of this endpoint is asked to think. Default: derived from the
    /// model's name.
    pub thinking: Option<Thinking>,
    /// Capabilities of its models.
    #[serde(skip)]
    pub models: Models,
}

impl Default for GeminiConfig {
    fn default() -> Self {
        Self {
            base_url: GEMINI_BASE_URL.to_owned(),
            api_key: None,
            auth: Auth::ApiKey,
            headers: BTreeMap::new(),
            thinking: None,
            models: Models::default(),
        }
    }
}

impl GeminiConfig {
    /// Google's own endpoint, without a key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with another endpoint.
    #[must_use]
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    /// The same with a key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(Secret::new(key));
        self
    }

    /// The same with another table of models.
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// The base URL as requests use it.
    pub(crate) fn url(&self) -> Cow<'_, str> {
        with_path(&self.base_url, "/v1beta")
    }
}

impl fmt::Debug for GeminiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("auth", &self.auth)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("thinking", &self.thinking)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut config = GeminiConfig::new().with_api_key("very-secret");
        config.headers.insert("x-gate".into(), Secret::new("open-sesame"));
        let shown = format!("{config:?}");
        assert!(!shown.contains("very-secret") && !shown.contains("sesame"), "{shown}");
        assert!(shown.contains("x-gate"));
    }

    #[test]
    fn reads_from_json_and_refuses_what_it_does_not_know() {
        let config: GeminiConfig =
            serde_json::from_str(r#"{"api_key":"k","auth":"bearer","thinking":"budget"}"#).unwrap();
        assert_eq!(config.base_url, GEMINI_BASE_URL);
        assert_eq!((config.auth, config.thinking), (Auth::Bearer, Some(Thinking::Budget)));
        assert!(serde_json::from_str::<GeminiConfig>(r#"{"apikey":"k"}"#).is_err());
    }

    #[test]
    fn a_base_url_without_a_path_means_its_version() {
        let url = |base: &str| GeminiConfig::new().with_base_url(base).url().into_owned();
        assert_eq!(url("http://host:8080"), "http://host:8080/v1beta");
        assert_eq!(url("http://host/v1"), "http://host/v1");
        assert_eq!(url("nonsense"), "nonsense");
    }
}
