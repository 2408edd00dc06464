//! Providers file: the user's own providers, chains of them, and routes from models to providers.
//!
//! It comes from the command line or the user's configuration folder, never from a workspace:
//! opening a repository must not redirect a conversation. It contains no key; it names the
//! environment variables of the keys.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass::provider::ProviderApi;
use windlass_engine::core::FailureKind;
use windlass_http::HttpConfig;

use super::tools::configured;
use crate::exit::{ExitKind, Failure};
use crate::secrets;

/// Most bytes of the file.
const MOST: u64 = 1024 * 1024;

/// Name of the file in the user's configuration folder.
const NAME: &str = "providers.toml";

/// Contents of the providers file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProvidersFile {
    /// Providers of the file.
    #[serde(default, rename = "provider")]
    pub(super) providers: Vec<ProviderEntry>,
    /// Chains, in which the next provider replaces one that fails.
    #[serde(default, rename = "chain")]
    pub(super) chains: Vec<ProviderChain>,
    /// Routes from models to providers, for the provider `routes`.
    #[serde(default, rename = "route")]
    pub(super) routes: Vec<ModelRoute>,
    /// Capabilities of models, which precede the built-in table.
    #[serde(default, rename = "model")]
    pub(super) models: Vec<toml::Table>,
}

/// One configured provider.
#[derive(Debug, Deserialize)]
pub(super) struct ProviderEntry {
    /// Name of the provider.
    pub(super) name: String,
    /// Protocol of the provider.
    pub(super) api: ProviderApi,
    /// Environment variable of the key.
    key_env: Option<String>,
    /// Headers by the environment variables that hold their values.
    #[serde(default)]
    header_env: BTreeMap<String, String>,
    /// Default model.
    pub(super) model: Option<String>,
    /// Configuration of the network.
    #[serde(default)]
    pub(super) http: HttpConfig,
    /// Options of the adapter itself.
    #[serde(flatten)]
    own: Map<String, Value>,
}

/// Chain of providers that replace one another after a failure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderChain {
    /// Name of the chain, which a session names as its provider.
    pub(super) name: String,
    /// Members in order.
    pub(super) links: Vec<ChainMember>,
    /// Failures after which the next member is used; `None` for the default ones.
    pub(super) on: Option<Vec<FailureKind>>,
}

/// A provider in a chain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChainMember {
    /// Name of the provider.
    pub(super) provider: String,
    /// Model at this member; `None` for the session's.
    pub(super) model: Option<String>,
}

/// Route from models to a provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRoute {
    /// Pattern of model names, in which `*` matches any text.
    pub(super) models: String,
    /// Name of the provider.
    pub(super) provider: String,
    /// Name of the model at this provider, if it differs.
    pub(super) model: Option<String>,
}

impl ProvidersFile {
    /// Reads the named file, or the one in the user's configuration folder if it exists.
    pub(super) fn load(named: Option<&Path>) -> Result<Self, Failure> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => match configured(NAME) {
                Some(path) if path.is_file() => path,
                Some(_) | None => return Ok(Self::default()),
            },
        };
        let exit = named.map_or(ExitKind::Provider, |_| ExitKind::Usage);
        let unreadable = |error: std::io::Error| {
            let words = format!("cannot read the providers file {}: {error}", path.display());
            Failure::new(exit, words)
        };
        let about = fs::metadata(&path).map_err(unreadable)?;
        if !about.is_file() || about.len() > MOST {
            let words = format!(
                "the providers file {} is not a file of at most {MOST} bytes",
                path.display()
            );
            return Err(Failure::new(exit, words));
        }
        let text = fs::read_to_string(&path).map_err(unreadable)?;
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let wrong = |what: String| {
            let words = format!("the providers file {}: {what}", path.display());
            Failure::new(ExitKind::Provider, words)
        };
        let mut read: Self = toml::from_str(text).map_err(|error| {
            // The line itself is not shown, since it may contain a key.
            let line = error.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            wrong(format!("{line}{}", error.message()))
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for entry in &mut read.providers {
            entry.check().map_err(wrong)?;
            entry.http.resolve(beside);
        }
        Ok(read)
    }

    /// Returns the provider of this name.
    pub(super) fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|entry| entry.name == name)
    }

    /// Returns the models of the file as a table of their own.
    pub(super) fn models(&self) -> Result<String, Failure> {
        let mut table = toml::Table::new();
        let models = self.models.iter().cloned().map(toml::Value::Table);
        let models: Vec<toml::Value> = models.collect();
        table.insert(String::from("model"), toml::Value::Array(models));
        Ok(table.to_string())
    }
}

impl ProviderEntry {
    /// Returns the variables of its key and of its headers.
    pub(super) fn secret_variables(&self) -> impl Iterator<Item = &String> {
        self.key_env.iter().chain(self.header_env.values())
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fit) {
            return Err(format!(
                "the provider's name {name:?} is invalid: use letters, digits, - _ and ."
            ));
        }
        if self.own.contains_key("api_key") {
            return Err(format!(
                "the provider {name} has a key in the file: put it into an environment variable, \
                 and the variable's name into key_env"
            ));
        }
        Ok(())
    }

    /// Returns the configuration for the adapter, with the values from the environment.
    pub(super) fn config(&self, has_network: bool) -> Result<Value, Failure> {
        let mut own = self.own.clone();
        let api = match self.api {
            ProviderApi::Openai => Some("responses"),
            ProviderApi::OpenaiChat => Some("chat"),
            ProviderApi::Anthropic | ProviderApi::Gemini => None,
        };
        if let Some(api) = api {
            own.insert("api".into(), api.into());
        }
        let held = |variable: &String| {
            let value = secrets::value(variable).filter(|value| !value.trim().is_empty());
            match value {
                Some(value) => Ok(Some(value)),
                None if !has_network => Ok(None),
                None => Err(Failure::new(
                    ExitKind::Provider,
                    format!("{variable} is not set, and the provider {} needs it", self.name),
                )),
            }
        };
        if let Some(key) = self.key_env.as_ref().map(held).transpose()?.flatten() {
            own.insert("api_key".into(), key.into());
        }
        let headers = own.entry("headers").or_insert_with(|| Map::new().into());
        if let Some(headers) = headers.as_object_mut() {
            for (name, variable) in &self.header_env {
                if let Some(value) = held(variable)? {
                    headers.insert(name.clone(), value.into());
                }
            }
        }
        Ok(own.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ProvidersFile, String> {
        ProvidersFile::parse(text, Path::new("p.toml")).map_err(|failure| failure.message)
    }

    #[test]
    fn the_file_is_read_whole() {
        let read = parsed(
            r#"
                [[provider]]
                name = "groq"
                api = "openai-chat"
                base_url = "https://api.groq.com/openai/v1"
                model = "small"
                headers = { "x-team" = "a" }
                http = { tls_min = "1.3", connect_ms = 500 }

                [[chain]]
                name = "careful"
                links = [{ provider = "groq" }, { provider = "anthropic", model = "claude" }]
                on = ["rate_limit", "overloaded"]

                [[route]]
                models = "claude-*"
                provider = "anthropic"

                [[model]]
                name = "small"
                window = 1000
            "#,
        )
        .unwrap();
        let entry = read.provider("groq").unwrap();
        assert_eq!(entry.api, ProviderApi::OpenaiChat);
        let config = entry.config(true).unwrap();
        assert_eq!(config["api"], "chat");
        assert_eq!(config["headers"]["x-team"], "a");
        assert_eq!(read.chains[0].links.len(), 2);
        assert!(read.models().unwrap().contains("window = 1000"));
    }

    #[test]
    fn the_file_of_the_guide_is_one() {
        let guide = include_str!("../../../../docs/providers.md");
        let (_, file) = guide.split_once("```toml\n").unwrap();
        let (file, _) = file.split_once("```").unwrap();
        let read = parsed(file).unwrap();
        assert_eq!((read.providers.len(), read.chains.len()), (1, 1));
        assert!(windlass_openai::Models::extended(&read.models().unwrap()).is_ok());
    }

    #[test]
    fn what_is_wrong_is_told_without_the_line() {
        let head = "[[provider]]\nname = \"a\"\napi = \"openai\"\n";
        for (text, why) in [
            (format!("{head}api_key = \"sk-s3cret\"\n"), "key_env"),
            (format!("{head}http = {{ insecure = true }}\n"), "insecure"),
            (format!("{head}x = sk-s3cret\n"), "line 4"),
            (format!("{head}[[chains]]\n"), "chains"),
            (head.replace("\"a\"", "\"a b\""), "is invalid"),
            (head.replace("openai", "cohere"), "cohere"),
        ] {
            let words = parsed(&text).unwrap_err();
            assert!(words.contains(why), "{text}: {words}");
            assert!(!words.contains("s3cret"), "{words}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let text = "[[provider]]\nname = \"a\"\napi = \"openai\"\nkey_env = \"NOT_SET_HERE\"\n";
        let read = parsed(text).unwrap();
        let failure = read.providers[0].config(true).unwrap_err();
        assert!(failure.message.contains("NOT_SET_HERE is not set"));
        assert!(read.providers[0].config(false).is_ok());
    }
}
