//! Configuration: where the provider is, and as whom it is asked. Secrets never print.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use url::Url;
use windlass_kit_http::{Models, Secret};

use crate::quirks::{QuirkOverrides, Quirks};
use crate::servers::Server;

/// Base URL of OpenAI's own endpoint.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Protocol that the endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// Chat Completions: `POST {base}/chat/completions`.
    Chat,
    /// Responses API: `POST {base}/responses`.
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

    /// The name of its dialect in the provenance of opaque items.
    pub(crate) fn dialect(self) -> &'static str {
        match self {
            Self::Chat => crate::chat::DIALECT,
            Self::Responses => crate::responses::DIALECT,
        }
    }
}

/// Endpoint, protocol and credentials of the provider.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiConfig {
    /// Protocol of the requests.
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
    /// Uses a WebSocket for Responses where one is available, and HTTP elsewhere.
    #[serde(default)]
    pub websocket: bool,
    /// Further headers of every request. Their values count as secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// The kind of server, where the host of `base_url` does not tell it.
    #[serde(default)]
    pub server: Option<Server>,
    /// In what it differs from its kind.
    #[serde(default)]
    pub quirks: QuirkOverrides,
    /// The `api-version` that Azure wants in the query.
    #[serde(default)]
    pub api_version: Option<String>,
    /// Capabilities of its models.
    #[serde(skip)]
    pub models: Models,
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
            server: None,
            quirks: QuirkOverrides::default(),
            api_version: None,
            models: Models::default(),
        }
    }

    /// The same with another table of models.
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// In what its server differs: by its kind, and what is set here.
    #[must_use]
    pub fn quirks(&self) -> Quirks {
        let server = self.server.unwrap_or_else(|| Server::of(&self.base_url));
        self.quirks.over(server.quirks())
    }

    /// The base URL with the version of the API in its query.
    pub(crate) fn url(&self) -> Cow<'_, str> {
        match (&self.api_version, Url::parse(self.base_url.trim())) {
            (Some(version), Ok(mut url)) => {
                url.query_pairs_mut().append_pair("api-version", version);
                Cow::Owned(url.into())
            }
            // What is no URL is refused where it is used.
            (Some(_), Err(_)) | (None, _) => Cow::Borrowed(&self.base_url),
        }
    }

    /// The same with a server of this kind.
    #[must_use]
    pub fn with_server(mut self, server: Server) -> Self {
        self.server = Some(server);
        self
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
            .field("server", &self.server)
            .field("quirks", &self.quirks)
            .field("api_version", &self.api_version)
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
        config.headers.insert("x-gate".into(), Secret::new("open-sesame"));
        let shown = format!("{config:?}");
        assert!(!shown.contains("very-secret") && !shown.contains("sesame"), "{shown}");
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
        let own = r#"{"api":"chat","quirks":{"contxt":"user"}}"#;
        assert!(serde_json::from_str::<OpenAiConfig>(own).is_err());
    }

    #[test]
    fn quirks_come_from_what_is_set_then_the_kind_then_the_host() {
        let read = |json: &str| serde_json::from_str::<OpenAiConfig>(json).unwrap().quirks();
        let at = r#""base_url":"https://api.mistral.ai/v1""#;
        let mistral = Server::Mistral.quirks();
        assert_eq!(read(&format!(r#"{{"api":"chat",{at}}}"#)), mistral);
        let vllm = Server::Vllm.quirks();
        assert_eq!(read(&format!(r#"{{"api":"chat",{at},"server":"vllm"}}"#)), vllm);
        let own = read(&format!(r#"{{"api":"chat",{at},"quirks":{{"images":false}}}}"#));
        assert_eq!(own, Quirks { images: false, ..mistral });
    }

    #[test]
    fn the_version_of_the_api_goes_into_the_query() {
        let mut config = OpenAiConfig::new(Api::Chat).with_base_url("https://h/v1?a=b");
        assert_eq!(config.url(), "https://h/v1?a=b");
        config.api_version = Some("2024-10-21 x".into());
        assert_eq!(config.url(), "https://h/v1?a=b&api-version=2024-10-21+x");
    }
}
