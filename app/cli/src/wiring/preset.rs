//! Provider presets: providers that are known by name, as rows of `presets.toml`.
//!
//! A provider of the providers file with the same name takes precedence.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::providers::ProviderApi;
use super::ready_provider::env_value;
use crate::exit::{ExitKind, Failure};

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let read: Result<PresetsFile, _> = toml::from_str(include_str!("presets.toml"));
    read.map(|file| file.presets).unwrap_or_default()
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetsFile {
    #[serde(rename = "preset")]
    presets: Vec<Preset>,
}

/// A provider that is known by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preset {
    pub(super) name: String,
    pub(super) api: ProviderApi,
    /// Base URL, with the names of variables in braces.
    base_url: Option<String>,
    /// Variable of another address.
    address_env: Option<String>,
    /// Path of an address that has none.
    #[serde(default)]
    path: String,
    /// Port of an address that is a host alone.
    port: Option<u16>,
    /// Variables of the key.
    key_env: Vec<String>,
    /// Variable of a bearer token in place of the key.
    token_env: Option<String>,
    /// True if the provider can be asked without a key.
    #[serde(default)]
    key_optional: bool,
    /// Variables of the version of the API, for addresses with a path of their own.
    #[serde(default)]
    api_version_env: Vec<String>,
    /// Default model.
    pub(super) model: Option<String>,
    /// False if its endpoint lists no models.
    #[serde(default = "yes")]
    pub(super) lists_models: bool,
    /// Warning for a new session whose model has no known window.
    pub(super) window_warning: Option<String>,
    /// Configuration of the adapter.
    #[serde(default)]
    options: Map<String, Value>,
}

fn yes() -> bool {
    true
}

impl Preset {
    /// Returns all presets.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        PRESETS.iter()
    }

    pub(super) fn of(name: &str) -> Option<&'static Self> {
        Self::all().find(|preset| preset.name == name)
    }

    /// Returns the variables of its key and of its token.
    pub(super) fn secret_variables(&self) -> impl Iterator<Item = &String> {
        self.key_env.iter().chain(&self.token_env)
    }

    /// Returns true if this base URL is the one of every environment.
    pub(super) fn is_usual(&self, base_url: &str) -> bool {
        self.base_url.as_deref() == Some(base_url)
    }

    /// Returns true if this base URL is the provider's own, with any value of its variable.
    pub(super) fn is_own(&self, base_url: &str) -> bool {
        let Some(template) = &self.base_url else {
            return false;
        };
        let Some((before, rest)) = template.split_once('{') else {
            return template == base_url;
        };
        let after = rest.split_once('}').map_or("", |(_, after)| after);
        let value = base_url.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        value.is_some_and(|value| !value.is_empty() && value.chars().all(plain))
    }

    /// Returns the base URL by these variables.
    ///
    /// # Errors
    /// A message when a variable is missing.
    pub(super) fn address(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let missing = |names: &str| {
            let names = names.replace('|', " or ");
            let name = &self.name;
            format!(
                "{names} is not set, and the provider {name} needs it: set it, or name the \
                 endpoint with --base-url"
            )
        };
        let named = self.address_env.as_deref();
        if let Some(address) = named.and_then(env) {
            return Ok(self.complete(&address));
        }
        let Some(template) = &self.base_url else {
            return Err(missing(named.unwrap_or_default()));
        };
        let Some((before, rest)) = template.split_once('{') else {
            return Ok(template.clone());
        };
        let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
        let value = names.split('|').find_map(env).ok_or_else(|| missing(names))?;
        Ok(format!("{before}{}{after}", value.trim()))
    }

    /// Adds the parts that an address lacks.
    fn complete(&self, address: &str) -> String {
        let address = address.trim().trim_end_matches('/');
        let (scheme, host) = match address.split_once("://") {
            Some((scheme, host)) => (scheme, host.to_owned()),
            None => match self.port {
                Some(port) if !address.contains(':') => ("http", format!("{address}:{port}")),
                Some(_) if address.starts_with(':') => ("http", format!("127.0.0.1{address}")),
                Some(_) => ("http", address.to_owned()),
                // A key is sent there.
                None => ("https", address.to_owned()),
            },
        };
        let path = if host.contains(['/', '?']) { "" } else { &self.path };
        format!("{scheme}://{host}{path}")
    }

    /// Returns the configuration of the adapter for this base URL. `needs_key` makes a missing key
    /// an error, unless the provider can be asked without one.
    pub(super) fn config(&self, base_url: &str, needs_key: bool) -> Result<Value, Failure> {
        let mut config = self.options.clone();
        match self.api {
            ProviderApi::Openai => config.insert("api".into(), "responses".into()),
            ProviderApi::OpenaiChat => config.insert("api".into(), "chat".into()),
            ProviderApi::Anthropic => None,
        };
        config.insert("base_url".into(), base_url.into());
        let key = self.key_env.iter().find_map(|name| env_value(name));
        let token = self.token_env.as_deref().and_then(env_value);
        match (key, token) {
            (Some(key), _) => {
                config.insert("api_key".into(), key.into());
            }
            (None, Some(token)) => {
                config.insert("api_key".into(), token.into());
                config.insert("quirks".into(), json!({ "auth": "bearer" }));
            }
            (None, None) if needs_key && !self.key_optional => {
                let token = self.token_env.iter();
                let names: Vec<&str> =
                    self.key_env.iter().chain(token).map(String::as_str).collect();
                let words = format!(
                    "{} is not set, and the provider {} needs it",
                    names.join(" or "),
                    self.name
                );
                return Err(Failure::new(ExitKind::Provider, words));
            }
            (None, None) => {}
        }
        let version = self.api_version_env.iter().find_map(|name| env_value(name));
        if let Some(version) = version.filter(|_| !base_url.ends_with(&self.path)) {
            config.insert("api_version".into(), version.into());
        }
        Ok(config.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str, set: &[(&str, &str)]) -> Result<String, String> {
        let value = |wanted: &str| {
            let found = set.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        };
        Preset::of(name).unwrap().address(&value)
    }

    #[test]
    fn each_row_is_one_that_its_adapter_takes() {
        assert!(toml::from_str::<PresetsFile>(include_str!("presets.toml")).is_ok());
        for preset in Preset::all() {
            let config = preset.config("https://host/v1", false).unwrap();
            let read = match preset.api {
                ProviderApi::Openai | ProviderApi::OpenaiChat => {
                    serde_json::from_value::<windlass_openai::OpenAiConfig>(config).map(drop)
                }
                ProviderApi::Anthropic => {
                    serde_json::from_value::<windlass_anthropic::AnthropicConfig>(config).map(drop)
                }
            };
            assert!(read.is_ok(), "{}: {read:?}", preset.name);
            assert_eq!(Preset::all().filter(|other| other.name == preset.name).count(), 1);
        }
    }

    #[test]
    fn a_region_is_no_other_host_and_another_host_is_no_region() {
        let bedrock = Preset::of("bedrock").unwrap();
        let at = |region: &str| {
            bedrock.is_own(&format!("https://bedrock-runtime.{region}.amazonaws.com/openai/v1"))
        };
        assert!(at("eu-west-1"));
        for bad in ["", "a.b", "evil.example/", "x@evil.example/y", "a:1"] {
            assert!(!at(bad), "{bad}");
        }
        assert!(!Preset::of("azure").unwrap().is_own("https://me.openai.azure.com/openai/v1"));
    }

    #[test]
    fn an_address_follows_from_the_usual_variables() {
        for (name, set, url) in [
            ("ollama", &[][..], "http://127.0.0.1:11434/v1"),
            ("ollama", &[("OLLAMA_HOST", "box")], "http://box:11434/v1"),
            ("ollama", &[("OLLAMA_HOST", "0.0.0.0:8000")], "http://0.0.0.0:8000/v1"),
            ("ollama", &[("OLLAMA_HOST", ":8000")], "http://127.0.0.1:8000/v1"),
            ("ollama-messages", &[("OLLAMA_HOST", "https://ollama.com/")], "https://ollama.com/v1"),
            ("openrouter", &[], "https://openrouter.ai/api/v1"),
            (
                "bedrock",
                &[("AWS_DEFAULT_REGION", "eu-west-1")],
                "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
            ),
            (
                "bedrock-messages",
                &[("AWS_REGION", "us-east-1"), ("AWS_DEFAULT_REGION", "eu-west-1")],
                "https://bedrock-runtime.us-east-1.amazonaws.com/anthropic/v1",
            ),
            (
                "azure",
                &[("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")],
                "https://me.openai.azure.com/openai/v1",
            ),
            (
                "azure",
                &[("AZURE_OPENAI_ENDPOINT", "me.openai.azure.com")],
                "https://me.openai.azure.com/openai/v1",
            ),
            (
                "azure-chat",
                &[("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/openai/deployments/d")],
                "https://me.openai.azure.com/openai/deployments/d",
            ),
        ] {
            assert_eq!(address(name, set).as_deref(), Ok(url), "{name} {set:?}");
        }
        for (name, variable) in
            [("bedrock", "AWS_REGION or AWS_DEFAULT_REGION"), ("azure", "AZURE_OPENAI_ENDPOINT")]
        {
            let words = address(name, &[]).unwrap_err();
            assert!(words.starts_with(variable), "{words}");
        }
    }
}
