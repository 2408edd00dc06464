//! Adapters of the command: its stores, providers and tools, each a table of schemes.

use windlass::provider::BuiltIn;
use windlass::store::{StoreScheme, StoreSchemes};
use windlass_engine::core::Settings;

use super::provider::{ProviderChoice, choose, usual};
use super::provider_scheme::ProviderScheme;
use super::ready_provider::environment_url;
use super::tool_scheme::ToolScheme;
use super::wire::ProviderTransport;
use super::workspace::Workspace;
use crate::StoreLayer;
use crate::args::{LocationArgs, SettingsArgs};
use crate::exit::Failure;

/// Adapters that commands choose from.
pub(crate) struct Adapters {
    pub(super) stores: StoreSchemes,
    pub(super) providers: Vec<ProviderScheme>,
    pub(super) tools: Vec<ToolScheme>,
    /// Layer over the stores of turns.
    pub(crate) layer: StoreLayer,
    /// Forms of the stores that the program adds, for help.
    own_stores: Vec<String>,
    /// Names of the providers that the program adds, for help.
    own_providers: Vec<String>,
}

impl Adapters {
    /// Creates the adapters of the command itself.
    pub(crate) fn built_in() -> Self {
        Self {
            stores: StoreSchemes::built_in(),
            providers: ProviderScheme::built_in(),
            tools: ToolScheme::built_in(),
            layer: |store| store,
            own_stores: Vec::new(),
            own_providers: Vec::new(),
        }
    }

    /// Adds a store.
    ///
    /// # Errors
    /// [`Failure`] when its name is taken or invalid.
    pub(crate) fn add_store(&mut self, scheme: StoreScheme) -> Result<(), Failure> {
        self.own_stores.push(scheme.form().to_owned());
        self.stores = self.stores.clone().with(scheme)?;
        Ok(())
    }

    /// Adds a provider.
    ///
    /// # Errors
    /// [`Failure`] when its name is taken.
    pub(crate) fn add_provider(&mut self, scheme: ProviderScheme) -> Result<(), Failure> {
        let name = scheme.name();
        if name.is_empty() || self.providers.iter().any(|other| other.name() == name) {
            let words = format!("cannot add the provider {name:?}: use a name that is not taken");
            return Err(Failure::usage(words));
        }
        self.own_providers.push(name.to_owned());
        self.providers.push(scheme);
        Ok(())
    }

    /// Adds tools.
    pub(crate) fn add_tools(&mut self, scheme: ToolScheme) {
        self.tools.push(scheme);
    }

    /// Returns the workspace and the store of a command.
    pub(crate) fn workspace(&self, place: &LocationArgs) -> Result<Workspace, Failure> {
        Workspace::new(&self.stores, place)
    }

    /// Returns the store of a URL, without a workspace. `key` is the source of its master key.
    pub(crate) fn named_store(&self, url: &str, key: Option<&str>) -> Result<Workspace, Failure> {
        Workspace::named(&self.stores, url, key)
    }

    /// Returns the names of the providers, without those of the providers file.
    pub(crate) fn provider_names(&self) -> Vec<String> {
        self.providers.iter().map(|scheme| scheme.name().to_owned()).collect()
    }

    /// Returns the provider of new sessions that name none.
    pub(crate) fn usual_provider(&self, shape: &SettingsArgs) -> String {
        shape.provider.clone().unwrap_or_else(|| usual(shape).name().to_owned())
    }

    /// Returns the address of a built-in provider in the environment.
    pub(crate) fn environment_url(&self, provider: &str) -> Option<String> {
        BuiltIn::of(provider).and_then(environment_url)
    }

    /// Returns the default model of a provider.
    pub(crate) fn usual_model(&self, provider: &str) -> Option<String> {
        let scheme = self.providers.iter().find(|scheme| scheme.name() == provider);
        scheme.and_then(|scheme| scheme.model().map(str::to_owned))
    }

    /// Chooses the provider of a session, given its recorded settings.
    pub(crate) fn choose_provider(
        &self,
        shape: &SettingsArgs,
        over: &ProviderTransport,
        recorded: Option<&Settings>,
    ) -> Result<ProviderChoice, Failure> {
        choose(&self.providers, shape, over, recorded)
    }

    /// Returns the forms of the store URLs that the program adds.
    pub(crate) fn own_stores(&self) -> &[String] {
        &self.own_stores
    }

    /// Returns the names of the providers that the program adds.
    pub(crate) fn own_providers(&self) -> &[String] {
        &self.own_providers
    }
}
