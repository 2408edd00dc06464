//! Capabilities of models: a table that users extend. Unknown models get safe defaults.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use windlass_core::{FailureKind, Retry, Settings};
use windlass_ports::glob;
use windlass_ports::sync::Mutex;
use windlass_ports::{ModelCapabilities, ProviderError};

use crate::address::misconfigured;

/// Built-in table of models.
const KNOWN: &str = include_str!("models.toml");

/// Prefixes by which Amazon Bedrock names the vendor of a model.
const VENDORS: &[&str] = &["anthropic.", "openai.", "deepseek.", "mistral."];

/// Most cached lookups.
const LOOKED_UP: usize = 16;

static BUILT_IN: LazyLock<Vec<ModelEntry>> = LazyLock::new(|| parse(KNOWN).unwrap_or_default());

/// Table of models.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// The user's own entries, which take precedence.
    own: Vec<ModelEntry>,
    /// Cached lookups: a request looks its model up several times, and sessions use few models.
    looked_up: Arc<Mutex<VecDeque<CachedLookup>>>,
}

/// Capabilities of a model at a provider, as found in the table.
#[derive(Debug, Clone)]
struct CachedLookup {
    provider: String,
    model: String,
    found: ModelCapabilities,
}

/// Models whose names match, and their capabilities. A missing capability has the value of unknown
/// models.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    /// Pattern of their names, in which `*` matches any text.
    name: String,
    /// Name of the adapter to which the entry is limited.
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    window: Option<u64>,
    #[serde(default)]
    max_output: Option<u64>,
    #[serde(default)]
    tools: Option<bool>,
    #[serde(default)]
    parallel_calls: Option<bool>,
    #[serde(default)]
    reasoning: Option<bool>,
    #[serde(default)]
    images: Option<bool>,
    #[serde(default)]
    structured_output: Option<bool>,
    #[serde(default)]
    patches: Option<bool>,
    #[serde(default)]
    grammars: Option<bool>,
    #[serde(default)]
    web_search: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    #[serde(default)]
    model: Vec<ModelEntry>,
}

impl Models {
    /// Creates a table with the user's own entries before the built-in ones. It is TOML, with a
    /// `[[model]]` for each kind of model. An entry has `name`, in which `*` matches any text, and
    /// those of `provider`, `window`, `max_output` (tokens), `tools`, `parallel_calls`,
    /// `reasoning`, `images`, `structured_output`, `patches`, `grammars` and `web_search` (the adapters in whose
    /// protocol it searches the web) that are known. The first entry that matches a model's name applies.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when it is no such table.
    pub fn extended(toml: &str) -> Result<Self, ProviderError> {
        let own = parse(toml).map_err(|error| {
            misconfigured(format!("the table of models cannot be read: {error}"))
        })?;
        Ok(Self { own, ..Self::default() })
    }

    /// Returns the capabilities of a model at a provider. A name with a vendor prefix
    /// (`openai/gpt-4o`, `us.anthropic.claude-opus-4-5-v1:0`) is looked up with and without it.
    #[must_use]
    pub fn of(&self, provider: &str, model: &str) -> ModelCapabilities {
        let looked_up = || self.looked_up.lock();
        let same = |one: &&CachedLookup| one.model == model && one.provider == provider;
        if let Some(known) = looked_up().iter().find(same) {
            return known.found;
        }
        let found = self.find(provider, model);
        let mut looked_up = looked_up();
        looked_up.push_back(CachedLookup {
            provider: provider.to_owned(),
            model: model.to_owned(),
            found,
        });
        if looked_up.len() > LOOKED_UP {
            looked_up.pop_front();
        }
        found
    }

    fn find(&self, provider: &str, model: &str) -> ModelCapabilities {
        let bare = model.rsplit('/').next().unwrap_or(model);
        let vendor = VENDORS.iter().find_map(|vendor| bare.split_once(vendor));
        let bare = vendor.map_or(bare, |(_, name)| name);
        let meets = |entry: &&ModelEntry| {
            let here = entry.provider.as_deref().is_none_or(|name| name == provider);
            here && (glob(&entry.name, model) || glob(&entry.name, bare))
        };
        let found = self.own.iter().find(meets);
        let found = found.or_else(|| BUILT_IN.iter().find(meets));
        let unknown = ModelCapabilities::unknown();
        let Some(entry) = found else {
            return unknown;
        };
        ModelCapabilities {
            known: true,
            window: entry.window,
            max_output: entry.max_output,
            tools: entry.tools.unwrap_or(unknown.tools),
            parallel_calls: entry.parallel_calls.unwrap_or(unknown.parallel_calls),
            reasoning: entry.reasoning.unwrap_or(unknown.reasoning),
            images: entry.images.unwrap_or(unknown.images),
            structured_output: entry.structured_output.unwrap_or(unknown.structured_output),
            patches: entry.patches.unwrap_or(unknown.patches),
            grammars: entry.grammars.unwrap_or(unknown.grammars),
            web_search: entry.web_search.iter().any(|name| name == provider),
        }
    }
}

impl Models {
    /// Rejects settings whose requests need a capability which its model is known to lack. The provider
    /// would reject such a request or ignore a part of it, so the error comes before anything is
    /// sent. A request to an unknown model is never rejected.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `Unsupported`, which is never worth a retry.
    pub fn admit(&self, provider: &str, settings: &Settings) -> Result<(), ProviderError> {
        let known = self.of(provider, &settings.model);
        let missing = if !known.known {
            return Ok(());
        } else if !known.tools && !settings.tools.is_empty() {
            "cannot be given tools"
        } else if !known.reasoning && settings.effort.is_some() {
            "takes no effort"
        } else if !known.parallel_calls && settings.options.parallel_calls == Some(true) {
            "cannot be told to ask for several calls at once"
        } else if !known.web_search && settings.options.web_search.is_some() {
            "does not search the web"
        } else {
            return Ok(());
        };
        let context = format!(
            "asking {}: it {missing}, as far as the table of models knows; take another model, do \
             without, or correct the table",
            settings.model
        );
        let kind = FailureKind::Unsupported;
        Err(ProviderError::new(kind, Retry::Never, context))
    }
}

fn parse(text: &str) -> Result<Vec<ModelEntry>, toml::de::Error> {
    Ok(toml::from_str::<ModelsFile>(text)?.model)
}

#[cfg(test)]
mod tests {
    use windlass_core::WebSearch;

    use super::*;

    #[test]
    fn the_built_in_table_can_be_read_and_each_entry_can_be_met() {
        let known = parse(KNOWN).unwrap();
        assert!(known.len() > 20);
        for (at, entry) in known.iter().enumerate() {
            let name = entry.name.replace('*', "");
            let first = known.iter().position(|other| glob(&other.name, &name));
            assert_eq!(first, Some(at), "{} is never met", entry.name);
            assert!(entry.window.is_some_and(|window| window > 1_000), "{name}");
            assert!(entry.max_output <= entry.window, "{name}");
        }
    }

    #[test]
    fn a_model_is_found_by_the_first_name_that_it_meets() {
        let models = Models::default();
        let of = |model| models.of("openai", model);
        assert!(of("gpt-4o-mini").images && !of("gpt-4o-mini").reasoning);
        assert!(of("openai/gpt-4o").images);
        assert!(of("o3").reasoning && !of("o3").parallel_calls);
        assert!(of("claude-sonnet-4-5-20250929").reasoning);
        assert!(of("us.anthropic.claude-sonnet-4-5-20250929-v1:0").reasoning);
        assert!(of("openai.gpt-oss-120b-1:0").known);
    }

    #[test]
    fn a_model_is_found_again_and_few_are_remembered() {
        let own = "[[model]]\nname = \"m-7\"\nprovider = \"here\"\nwindow = 7000";
        let models = Models::extended(own).unwrap();
        for _ in 0..3 {
            for number in 0..20 {
                let name = format!("m-{number}");
                let window = (number == 7).then_some(7_000);
                assert_eq!(models.of("here", &name).window, window, "{name}");
                assert_eq!(models.of("there", &name).window, None, "{name}");
            }
            assert_eq!(models.looked_up.lock().len(), LOOKED_UP);
        }
        assert_eq!(models.of("there", "m-19"), models.of("there", "m-19"));
        assert_eq!(models.looked_up.lock().len(), LOOKED_UP);
    }

    #[test]
    fn an_unknown_model_gets_what_is_safe() {
        let unknown = Models::default().of("openai", "my-own");
        assert_eq!(unknown, ModelCapabilities::unknown());
        assert!(!unknown.known && unknown.tools && !unknown.images && !unknown.reasoning);
    }

    #[test]
    fn the_users_own_come_first_and_may_be_for_one_provider() {
        let own =
            "[[model]]\nname = \"gpt-4o*\"\nprovider = \"here\"\nwindow = 9000\nimages = false";
        let models = Models::extended(own).unwrap();
        assert_eq!(models.of("here", "gpt-4o").window, Some(9_000));
        assert!(!models.of("here", "gpt-4o").images);
        assert!(models.of("there", "gpt-4o").images);
        let error = Models::extended("[[model]]\nname = \"a\"\nwindows = 1").unwrap_err();
        assert!(error.context.contains("windows"), "{error}");
    }

    #[test]
    fn what_a_known_model_cannot_do_is_said_before_it_is_asked() {
        let refused = |model: &str, tools: bool, effort: Option<&str>| {
            let mut request = crate::bodies::tests::request("s", &[]);
            let settings = Arc::make_mut(&mut request.prompt.settings);
            settings.model = model.into();
            settings.effort = effort.map(String::from);
            if tools {
                settings.tools.push(crate::bodies::tests::tool());
            }
            Models::default().admit("openai", &request.prompt.settings).err()
        };
        assert!(refused("gpt-4o", true, None).is_none());
        assert!(refused("o3", true, Some("low")).is_none());
        assert!(refused("my-own", true, Some("low")).is_none());
        let error = refused("gpt-4o", false, Some("low")).unwrap();
        assert_eq!((error.kind, error.retry), (FailureKind::Unsupported, Retry::Never));
        let error = refused("o1-mini", true, None).unwrap();
        assert!(error.context.contains("o1-mini") && error.context.contains("tools"));
    }

    #[test]
    fn a_known_model_searches_only_in_the_protocols_that_the_table_names() {
        let searches = |provider: &str, model: &str| {
            let settings = Settings::new(provider, model);
            let settings = settings.with(|it| it.options.web_search = Some(WebSearch::default()));
            Models::default().admit(provider, &settings).is_ok()
        };
        assert!(searches("openai", "gpt-5.1") && !searches("openai-chat", "gpt-5.1"));
        assert!(searches("openai-chat", "gpt-5-search-api"));
        assert!(!searches("openai", "gpt-4.1-nano"));
        assert!(searches("anthropic", "claude-sonnet-4-5"));
        assert!(!searches("anthropic", "claude-3-opus-20240229"));
        assert!(searches("openai", "my-own"));
    }
}
