//! Configuration: where the provider is, and as whom it is asked. Secrets never print.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use windlass_kit_http::{Models, Secret, with_path};

use crate::model::Thinking;

/// Base URL of Anthropic's own endpoint.
pub const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com/v1";

/// The version of the protocol that is spoken.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Extent of a request that the provider is asked to cache for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// Asks for no caching.
    Off,
    /// Tools and instructions, by a mark at the end of each.
    Prefix,
    /// These, and all of the conversation: the provider itself puts a mark at its end.
    Automatic,
}

/// Header in which the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Sent as `x-api-key: KEY`.
    ApiKey,
    /// Sent as `authorization: Bearer KEY`, as many compatible servers expect.
    Bearer,
}

/// Endpoint and credentials of the provider.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnthropicConfig {
    /// The endpoint without the path of a call, for example `https://api.anthropic.com/v1`. A URL
    /// without a path means its `/v1`.
    pub base_url: String,
    /// API key.
    pub api_key: Option<Secret>,
    /// Header of the key. Default: `api_key`.
    pub auth: Auth,
    /// The version of the protocol, as the header `anthropic-version`.
    pub version: String,
    /// Features in trial that are asked for, as the header `anthropic-beta`.
    pub beta: Vec<String>,
    /// Further headers of every request. Their values count as secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Caching that the provider is asked for. Default: `automatic` at Anthropic's own endpoint,
    /// `prefix` at every other.
    pub caching: Option<Caching>,
    /// Form in which every model of this endpoint is asked to think. Default: derived from the
    /// model's name.
    pub thinking: Option<Thinking>,
    /// Drops thinking whose conversation has changed since, as compaction changes it; newer models
    /// refuse such requests. Default: only at Anthropic's own endpoint.
    pub drop_stale_thinking: Option<bool>,
    /// Searches the web with the provider's servers where a session asks for it. Default: only at
    /// Anthropic's own endpoint.
    pub web_search: Option<bool>,
    /// Capabilities of its models.
    #[serde(skip)]
    pub models: Models,
}

impl Default for AnthropicConfig {
    fn default() -> Self {
        Self {
            base_url: ANTHROPIC_BASE_URL.to_owned(),
            api_key: None,
            auth: Auth::ApiKey,
            version: ANTHROPIC_VERSION.to_owned(),
            beta: Vec::new(),
            headers: BTreeMap::new(),
            caching: None,
            thinking: None,
            drop_stale_thinking: None,
            web_search: None,
            models: Models::default(),
        }
    }
}

impl AnthropicConfig {
    /// Anthropic's own endpoint, without a key.
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

    /// The same with the key in another header.
    #[must_use]
    pub fn with_auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// The same with another table of models.
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// The same with every model asked to think in one way.
    #[must_use]
    pub fn with_thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// The same with another caching.
    #[must_use]
    pub fn with_caching(mut self, caching: Caching) -> Self {
        self.caching = Some(caching);
        self
    }

    /// The base URL as requests use it.
    pub(crate) fn url(&self) -> Cow<'_, str> {
        with_path(&self.base_url, "/v1")
    }

    pub(crate) fn caching(&self) -> Caching {
        self.caching.unwrap_or(if self.is_own() { Caching::Automatic } else { Caching::Prefix })
    }

    pub(crate) fn drops_stale_thinking(&self) -> bool {
        self.drop_stale_thinking.unwrap_or(self.is_own())
    }

    pub(crate) fn searches_web(&self) -> bool {
        self.web_search.unwrap_or(self.is_own())
    }

    /// Returns true for Anthropic's own endpoint, which accepts fields that others may not know
    /// yet.
    fn is_own(&self) -> bool {
        let url = url::Url::parse(self.base_url.trim()).ok();
        url.is_some_and(|url| url.host_str() == Some("api.anthropic.com"))
    }
}

/// Returns the base URL that a value of `ANTHROPIC_BASE_URL` means: by the convention of the SDKs,
/// which append `/v1/messages`, it ends before the version. A value that ends in a version is
/// returned as it is.
#[must_use]
pub fn sdk_base_url(value: &str) -> String {
    let value = value.trim().trim_end_matches('/');
    let path = value.split_once("://").map_or(value, |(_, rest)| rest);
    let last = path.split_once('/').and_then(|(_, path)| path.rsplit('/').next());
    let digits = last.and_then(|last| last.strip_prefix('v'));
    if digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return value.to_owned();
    }
    format!("{value}/v1")
}

impl fmt::Debug for AnthropicConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("auth", &self.auth)
            .field("version", &self.version)
            .field("beta", &self.beta)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("caching", &self.caching)
            .field("thinking", &self.thinking)
            .field("drop_stale_thinking", &self.drop_stale_thinking)
            .field("web_search", &self.web_search)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut config = AnthropicConfig::new().with_api_key("sk-very-secret");
        let gate = Secret::new("open-sesame");
        config.headers.insert("x-gate".into(), gate);
        let shown = format!("{config:?}");
        assert!(!shown.contains("very-secret") && !shown.contains("sesame"), "{shown}");
        assert!(shown.contains("x-gate"));
    }

    #[test]
    fn reads_from_json_and_refuses_what_it_does_not_know() {
        let config: AnthropicConfig =
            serde_json::from_str(r#"{"api_key":"k","thinking":"budget","caching":"off"}"#).unwrap();
        assert_eq!(config.base_url, ANTHROPIC_BASE_URL);
        assert_eq!(config.thinking, Some(Thinking::Budget));
        assert_eq!(config.caching(), Caching::Off);
        assert!(serde_json::from_str::<AnthropicConfig>(r#"{"apikey":"k"}"#).is_err());
    }

    #[test]
    fn what_only_its_own_endpoint_is_known_to_take_goes_only_there() {
        let own = AnthropicConfig::new();
        assert_eq!(own.caching(), Caching::Automatic);
        assert!(own.drops_stale_thinking() && own.searches_web());
        let other = own.with_base_url("https://host/api.anthropic.com/v1");
        assert_eq!(other.caching(), Caching::Prefix);
        assert!(!other.drops_stale_thinking() && !other.searches_web());
    }

    #[test]
    fn a_base_url_without_a_path_means_its_first_version() {
        let url = |base: &str| AnthropicConfig::new().with_base_url(base).url().into_owned();
        assert_eq!(url("http://host:8080"), "http://host:8080/v1");
        assert_eq!(url("http://host/"), "http://host/v1");
        assert_eq!(url("http://host/v1"), "http://host/v1");
        assert_eq!(url("http://host/proxy"), "http://host/proxy");
        assert_eq!(url("nonsense"), "nonsense");
    }

    #[test]
    fn a_base_url_of_the_sdks_ends_before_the_version() {
        for (value, url) in [
            ("http://host:8080", "http://host:8080/v1"),
            ("https://host/anthropic/", "https://host/anthropic/v1"),
            ("https://v1.host", "https://v1.host/v1"),
            ("http://v1", "http://v1/v1"),
            ("https://host/api/v1/", "https://host/api/v1"),
            (" https://host/v1beta ", "https://host/v1beta"),
        ] {
            assert_eq!(sdk_base_url(value), url, "{value}");
        }
    }
}
