//! Application of the configuration to the arguments of a command.
//!
//! A session keeps its settings, so an existing one takes from the file what applies to a process alone.
//! Only flags and variables change a session.

use std::collections::BTreeMap;

use clap::{ArgMatches, FromArgMatches as _};
use windlass_engine::core::{Rule, RuleVerdict, Settings};

use super::file::Entry;
use super::keys::Key;
use super::{Config, is_given};
use crate::args::{ProgramSharingArgs, SettingsArgs};
use crate::exit::Failure;

/// Provider of an address that names none.
const ADDRESS_PROVIDER: &str = "openai";

/// Arguments of a turn together with the user's defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usual {
    /// Arguments for a new session.
    new: Option<Box<SettingsArgs>>,
    /// Arguments for an existing session.
    existing: Option<Box<SettingsArgs>>,
    /// Base URLs of the file, with their providers.
    addresses: Vec<(String, String)>,
    /// Rules of the file, which may name tools that a session does not have.
    rules: Vec<Rule>,
}

impl Usual {
    /// Returns the rules of the file, of which those that narrow apply to existing sessions too.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl SettingsArgs {
    /// Returns the arguments for a session, with the defaults of the user's configuration: all of them
    /// for a new session, and those of a process for one with recorded settings.
    pub(crate) fn for_session(&self, recorded: Option<&Settings>) -> Self {
        let Some(recorded) = recorded else {
            return self.usual.new.as_deref().unwrap_or(self).clone();
        };
        let mut shape = self.usual.existing.as_deref().unwrap_or(self).clone();
        if shape.provider.is_none() && shape.base_url.is_none() {
            // An address that the user has configured too is not the log's alone.
            let own = self.usual.addresses.iter().find(|(provider, url)| {
                *provider == recorded.provider && Some(url) == recorded.base_url.as_ref()
            });
            shape.base_url = own.map(|(_, url)| url.clone());
        }
        shape
    }
}

/// Values of keys in force, by name.
type Values<'a> = BTreeMap<&'a str, Vec<String>>;

/// Adds the defaults of the configuration to the arguments of a command, which `given` names.
///
/// # Errors
/// [`Failure`] when values of the configuration do not go together.
pub(crate) fn apply(
    config: &Config,
    given: &ArgMatches,
    shape: &mut SettingsArgs,
    sharing: &mut ProgramSharingArgs,
) -> Result<(), Failure> {
    let wrong = |words: String| Failure::usage(format!("cannot use config.toml: {words}"));
    let parsed = |values: &Values<'_>| {
        let values = values.iter().map(|(name, values)| (*name, values.as_slice()));
        config.keys.parse(values).map_err(wrong)
    };
    let all = config.values(given, shape.model.as_deref());
    let mut new =
        SettingsArgs { allow: Vec::new(), ask: Vec::new(), deny: Vec::new(), ..shape.clone() };
    let matches = parsed(&all)?;
    let invalid = |error: clap::Error| wrong(error.to_string());
    new.update_from_arg_matches(&matches).map_err(invalid)?;
    let rules = rules(&new);
    new.usual.rules.clone_from(&rules);
    new.allow.extend(shape.allow.clone());
    new.ask.extend(shape.ask.clone());
    new.deny.extend(shape.deny.clone());
    let named_model = config.model(shape.model.as_deref());
    let of_process = all.into_iter().filter(|(name, _)| {
        let key = config.keys.find(name);
        key.is_some_and(Key::is_of_process) || named_model.iter().any(|entry| entry.name == *name)
    });
    let matches = parsed(&of_process.collect())?;
    let mut existing = shape.clone();
    existing.update_from_arg_matches(&matches).map_err(invalid)?;
    sharing.update_from_arg_matches(&matches).map_err(invalid)?;
    let addresses = config.addresses();
    let (new, existing) = (Some(Box::new(new)), Some(Box::new(existing)));
    shape.usual = Usual { new, existing, addresses, rules };
    Ok(())
}

/// Returns the rules of arguments.
fn rules(shape: &SettingsArgs) -> Vec<Rule> {
    let lists = [
        (&shape.deny, RuleVerdict::Deny),
        (&shape.ask, RuleVerdict::Ask),
        (&shape.allow, RuleVerdict::Allow),
    ];
    let rules = lists
        .into_iter()
        .flat_map(|(patterns, verdict)| patterns.iter().map(move |pattern| pattern.rule(verdict)));
    rules.collect()
}

impl Config {
    /// Returns the entries of a model's own table.
    fn model(&self, name: Option<&str>) -> &[Entry] {
        let entries = name.and_then(|name| self.file.models.get(name));
        entries.map_or(&[], Vec::as_slice)
    }

    /// Returns the entries in force for a key, if the model in force is this one: that of the model's
    /// table, the profile or the file, or all of them for a rule. The second part names the table.
    pub(super) fn entries_for(
        &self,
        key: &Key,
        model: Option<&str>,
    ) -> Vec<(&Entry, Option<String>)> {
        let of_model = self.model(model).iter();
        let of_model = of_model.map(|entry| (entry, model.map(|name| format!("model {name}"))));
        let others = self.entries();
        let others =
            others.map(|(entry, name)| (entry, name.map(|name| format!("profile {name}"))));
        let found = of_model.chain(others).filter(|(entry, _)| entry.name == key.name);
        found.take(if key.is_rule() { usize::MAX } else { 1 }).collect()
    }

    /// Returns the model in force: the command's, else the one of the profile or the file.
    pub(super) fn model_in_force(&self, named: Option<&str>) -> Option<String> {
        named.map(str::to_owned).or_else(|| self.value("model"))
    }

    /// Returns true if the command leaves a key to the file. Rules add up.
    pub(super) fn is_open(&self, key: &Key, given: &ArgMatches) -> bool {
        match key.is_rule() {
            true => !is_given(given, "no_rules"),
            false => !is_given(given, &key.id) && !self.keys.is_excluded(key, given),
        }
    }

    /// Returns the values of the keys that the command leaves to the file.
    fn values(&self, given: &ArgMatches, model: Option<&str>) -> Values<'_> {
        let model = self.model_in_force(model);
        let keys = self.keys.all().iter().filter(|key| key.name != "store");
        let open = keys.filter(|key| self.is_open(key, given));
        let entries = open.filter_map(|key| {
            let entries = self.entries_for(key, model.as_deref());
            let values = entries.iter().flat_map(|(entry, _)| entry.values.clone());
            (!entries.is_empty()).then(|| (key.name.as_str(), values.collect()))
        });
        entries.collect()
    }

    /// Returns the base URLs of the file, with their providers.
    fn addresses(&self) -> Vec<(String, String)> {
        let models = self.file.models.keys().map(Some).chain([None]);
        let pairs = models.filter_map(|model| {
            let value = |name: &str| {
                let key = self.keys.find(name)?;
                let entries = self.entries_for(key, model.map(String::as_str));
                entries.first().and_then(|(entry, _)| entry.values.first().cloned())
            };
            let provider = value("provider").unwrap_or_else(|| ADDRESS_PROVIDER.to_owned());
            Some((provider, value("base-url")?))
        });
        pairs.collect()
    }
}
