//! Configuration: where the provider is, and as whom it is asked. Secrets never print.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use windlass_wire::Secret;

/// OpenAI's own endpoint.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Which of the two protocols is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// Chat Completions: `POST {base}/chat/completions`.
    Chat,
    /// Responses: `POST {base}/responses`.
    Responses,
}

impl Api {
    /// The adapter's name, as in `Settings::provider`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai",
        }
    }
}

/// Where the provider is, and as whom it is asked.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiConfig {
    /// The protocol.
    pub api: Api,
    /// The endpoint without the path of a call, for example `http://127.0.0.1:8080/v1`.
    #[serde(default = "openai_base_url")]
    pub base_url: String,
    /// The key; servers on one's own machine often need none.
    #[serde(default)]
    pub api_key: Option<Secret>,
    /// The organisation that is billed.
    #[serde(default, alias = "organization")]
    pub organisation: Option<String>,
    /// The project that is billed.
    #[serde(default)]
    pub project: Option<String>,
    /// Whether Responses are asked for over a WebSocket where that works, and over HTTP otherwise.
    #[serde(default)]
    pub websocket: bool,
    /// Further headers of every request. Their values count as secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
}

impl OpenAiConfig {
    /// OpenAI's own endpoint, without a key.
    #[must_use]
    pub fn new(api: Api) -> Self {
        Self {
            api,
            base_url: openai_base_url(),
            api_key: None,
            organisation: None,
            project: None,
            websocket: false,
            headers: BTreeMap::new(),
        }
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

    /// The same with Responses over a WebSocket.
    #[must_use]
    pub fn with_websocket(mut self) -> Self {
        self.websocket = true;
        self
    }
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("api", &self.api)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("organisation", &self.organisation)
            .field("project", &self.project)
            .field("websocket", &self.websocket)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish()
    }
}

fn openai_base_url() -> String {
    OPENAI_BASE_URL.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut config = OpenAiConfig::new(Api::Chat).with_api_key("sk-very-secret");
        config
            .headers
            .insert("x-gate".into(), Secret::new("open-sesame"));
        let shown = format!("{config:?}");
        assert!(
            !shown.contains("very-secret") && !shown.contains("sesame"),
            "{shown}"
        );
        assert!(shown.contains("x-gate"));
    }

    #[test]
    fn reads_from_json_and_refuses_what_it_does_not_know() {
        let config: OpenAiConfig =
            serde_json::from_str(r#"{"api":"responses","api_key":"k","organization":"o"}"#)
                .unwrap();
        assert_eq!(config.base_url, OPENAI_BASE_URL);
        assert_eq!(config.organisation.as_deref(), Some("o"));
        assert!(serde_json::from_str::<OpenAiConfig>(r#"{"api":"chat","apikey":"k"}"#).is_err());
    }
}
