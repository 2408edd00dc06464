//! Provider presets: providers that are known by name, as rows of `presets.rs`.

use serde_json::{Map, Value, json};

use super::ProviderApi;
use super::named::api_config;
use super::presets::PRESETS;

/// A provider that is known by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name of the provider.
    pub name: &'static str,
    /// Protocol of the provider.
    pub api: ProviderApi,
    /// Base URL, with the names of variables in braces.
    pub(super) base_url: Option<&'static str>,
    /// Variable of another address.
    pub(super) address_env: Option<&'static str>,
    /// Path of an address that has none.
    pub(super) path: &'static str,
    /// Port of an address that is a host alone. Without a scheme, such an address is `http`, and any
    /// other is `https`.
    pub(super) port: Option<u16>,
    /// Variables of the key, of which the first that is set applies.
    pub(super) key_env: &'static [&'static str],
    /// Variable of a bearer token in place of the key.
    pub(super) token_env: Option<&'static str>,
    /// True if the provider can be asked without a key.
    pub(super) key_optional: bool,
    /// Variables of the version of the API, for addresses with a path of their own.
    pub(super) api_version_env: &'static [&'static str],
    /// Default model.
    pub model: Option<&'static str>,
    /// False if its endpoint lists no models.
    pub lists_models: bool,
    /// Warning for a new session whose model has no known window.
    pub window_warning: Option<&'static str>,
    /// Configuration of the adapter.
    pub(super) options: &'static [(&'static str, &'static str)],
}

/// Row without properties, which the rows of the table extend.
pub(super) const PLAIN: Preset = Preset {
    name: "",
    api: ProviderApi::Openai,
    base_url: None,
    address_env: None,
    path: "",
    port: None,
    key_env: &[],
    token_env: None,
    key_optional: false,
    api_version_env: &[],
    model: None,
    lists_models: true,
    window_warning: None,
    options: &[],
};

impl Preset {
    /// Returns all presets.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        PRESETS.iter()
    }

    /// Returns the preset of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        Self::all().find(|preset| preset.name == name)
    }

    /// Returns the variables of its key and of its token.
    pub fn secret_variables(&self) -> impl Iterator<Item = &'static str> {
        self.key_env.iter().copied().chain(self.token_env)
    }

    /// Returns true if this base URL is the one of every environment.
    #[must_use]
    pub fn is_usual(&self, base_url: &str) -> bool {
        self.base_url == Some(base_url)
    }

    /// Returns true if this base URL is the provider's own, with any value of its variable.
    #[must_use]
    pub fn is_own(&self, base_url: &str) -> bool {
        let Some(template) = self.base_url else {
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
    pub fn address(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let missing = |names: &str| {
            let names = names.replace('|', " or ");
            let name = &self.name;
            format!(
                "{names} is not set, and the provider {name} needs it: set it, or name the endpoint"
            )
        };
        let named = self.address_env;
        if let Some(address) = named.and_then(env) {
            return Ok(self.complete(&address));
        }
        let Some(template) = self.base_url else {
            return Err(missing(named.unwrap_or_default()));
        };
        let Some((before, rest)) = template.split_once('{') else {
            return Ok(template.to_owned());
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
        let path = if host.contains(['/', '?']) { "" } else { self.path };
        format!("{scheme}://{host}{path}")
    }

    /// Returns the configuration of the adapter for this base URL. `needs_key` makes a missing key
    /// an error, unless the provider can be asked without one.
    ///
    /// # Errors
    /// A message when the key is missing.
    pub fn config(
        &self,
        base_url: &str,
        needs_key: bool,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Value, String> {
        let options = self.options.iter();
        let mut config: Map<String, Value> =
            options.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        config.extend(api_config(self.api));
        config.insert("base_url".into(), base_url.into());
        let key = self.key_env.iter().find_map(|name| env(name));
        let token = self.token_env.and_then(env);
        match (key, token) {
            (Some(key), _) => {
                config.insert("api_key".into(), key.into());
            }
            (None, Some(token)) => {
                config.insert("api_key".into(), token.into());
                config.insert("quirks".into(), json!({ "auth": "bearer" }));
            }
            (None, None) if needs_key && !self.key_optional => {
                let names: Vec<&str> = self.secret_variables().collect();
                let names = names.join(" or ");
                return Err(format!("{names} is not set, and the provider {} needs it", self.name));
            }
            (None, None) => {}
        }
        let version = self.api_version_env.iter().find_map(|name| env(name));
        if let Some(version) = version.filter(|_| !base_url.ends_with(self.path)) {
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
    #[cfg(all(feature = "anthropic", feature = "gemini", feature = "openai"))]
    fn each_row_is_one_that_its_adapter_takes() {
        for preset in Preset::all() {
            let config = preset.config("https://host/v1", false, &|_| None).unwrap();
            let read = match preset.api {
                ProviderApi::Openai | ProviderApi::OpenaiChat => {
                    serde_json::from_value::<windlass_openai::OpenAiConfig>(config).map(drop)
                }
                ProviderApi::Anthropic => {
                    serde_json::from_value::<windlass_anthropic::AnthropicConfig>(config).map(drop)
                }
                ProviderApi::Gemini => {
                    serde_json::from_value::<windlass_gemini::GeminiConfig>(config).map(drop)
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
