//! A router: the provider that a session's settings name.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{FailureKind, Retry, Settings};
use windlass_ports::glob;
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
};

use crate::misconfigured;
use crate::settings::SettingsOverride;

/// Providers by their names, and models by rules.
pub struct Router {
    name: String,
    providers: Vec<Arc<dyn Provider>>,
    rules: Vec<ModelRule>,
    settings: SettingsOverride,
}

/// Models whose names look like this: a name in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPattern(String);

#[derive(Debug, Clone)]
struct ModelRule {
    models: ModelPattern,
    provider: String,
    model: Option<String>,
}

impl ModelPattern {
    /// A pattern such as `claude-*`.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// Returns true if a model's name matches the pattern.
    #[must_use]
    pub fn matches(&self, model: &str) -> bool {
        glob(&self.0, model)
    }
}

impl Router {
    /// A router of this name among providers. A session whose settings name one of them gets it;
    /// a session whose settings name the router gets the provider of the first rule that its model
    /// meets.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when two of them have the same name.
    pub fn new(
        name: impl Into<String>,
        providers: impl IntoIterator<Item = Arc<dyn Provider>>,
    ) -> Result<Self, ProviderError> {
        let (name, providers): (String, Vec<_>) = (name.into(), providers.into_iter().collect());
        for (at, one) in providers.iter().enumerate() {
            let same = |other: &Arc<dyn Provider>| other.name() == one.name();
            if one.name() == name || providers.iter().take(at).any(same) {
                return Err(misconfigured(format!(
                    "the router {name} has two providers named {}: a name says who is asked",
                    one.name()
                )));
            }
        }
        Ok(Self { name, providers, rules: Vec::new(), settings: SettingsOverride::default() })
    }

    /// The same router with one more rule: models like these are the affair of this provider,
    /// under another name of theirs where one is given. Earlier rules come first.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `NotFound` when it has no such provider.
    pub fn rule(
        mut self,
        models: ModelPattern,
        provider: &str,
        model: Option<&str>,
    ) -> Result<Self, ProviderError> {
        self.provider(provider)?;
        self.rules.push(ModelRule {
            models,
            provider: provider.to_owned(),
            model: model.map(str::to_owned),
        });
        Ok(self)
    }

    fn provider(&self, name: &str) -> Result<&Arc<dyn Provider>, ProviderError> {
        let named = self.providers.iter().find(|one| one.name() == name);
        named.ok_or_else(|| {
            let names: Vec<&str> = self.providers.iter().map(|one| one.name()).collect();
            let context =
                format!("no provider is named {name:?} here; there are: {}", names.join(", "));
            ProviderError::new(FailureKind::NotFound, Retry::Never, context)
        })
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.providers.iter().map(|one| one.name());
        f.debug_struct("Router")
            .field("name", &self.name)
            .field("providers", &names.collect::<Vec<_>>())
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Router {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the capabilities of at least one of them; the chosen provider refuses requests that
    /// it cannot serve.
    fn capabilities(&self) -> ProviderCapabilities {
        let each = self.providers.iter().map(|one| one.capabilities());
        each.reduce(ProviderCapabilities::or).unwrap_or_default()
    }

    /// Returns the capabilities that the matching provider reports; without a matching rule, those
    /// of the first that knows the model.
    fn model(&self, model: &str) -> ModelCapabilities {
        let rule = self.rules.iter().find(|rule| rule.models.matches(model));
        if let Some((rule, Ok(provider))) = rule.map(|rule| (rule, self.provider(&rule.provider))) {
            return provider.model(rule.model.as_deref().unwrap_or(model));
        }
        let mut each = self.providers.iter().map(|one| one.model(model));
        let known = each.find(|one| one.known);
        known.unwrap_or_else(ModelCapabilities::unknown)
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        if settings.provider != self.name {
            return self.provider(&settings.provider)?.check_settings(settings);
        }
        let Some(rule) = self.rules.iter().find(|rule| rule.models.matches(&settings.model)) else {
            return Ok(());
        };
        let model = rule.model.as_ref().unwrap_or(&settings.model).clone();
        let settings = settings.clone().with(|it| it.model = model);
        self.provider(&rule.provider)?.check_settings(&settings)
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let settings = &request.prompt.settings;
        if settings.provider != self.name {
            return self.provider(&settings.provider)?.sample(request).await;
        }
        let model = &settings.model;
        let rule = self.rules.iter().find(|rule| rule.models.matches(model));
        let Some(rule) = rule else {
            let context = format!(
                "the router {} has no rule for the model {model:?}: add one, or name a provider",
                self.name
            );
            return Err(ProviderError::new(FailureKind::NotFound, Retry::Never, context));
        };
        let prompt = self.settings.prompt(&request.prompt, &rule.provider, rule.model.as_deref());
        let provider = self.provider(&rule.provider)?;
        provider.sample(SampleRequest { prompt, ..request }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, model, matches) in [
            ("claude-*", "claude-opus-4", true),
            ("claude-*", "gpt-5", false),
            ("*", "", true),
            ("*-mini", "gpt-5-mini", true),
            ("*-mini", "gpt-5-mini-x", false),
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("a*a", "a", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(ModelPattern::new(pattern).matches(model), matches, "{pattern} {model}");
        }
    }
}
