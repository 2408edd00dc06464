//! Environment variables that hold secrets of this program: keys of providers, tokens, and URLs of
//! stores, which may have a password.

use super::adapters::Adapters;
use super::encryption::Encryption;
use super::provider_scheme::ProviderScheme;
use super::providers::ProvidersFile;
use super::ready_provider::env_value;
use crate::args::{Command, LocationArgs, McpCommand, SettingsArgs};

/// Variables of tokens and of URLs that may have a password.
pub(crate) const OWN: [&str; 5] =
    ["WINDLASS_COPY_FROM", "WINDLASS_COPY_TO", "WINDLASS_LIVE", "WINDLASS_STORE", "WINDLASS_TOKEN"];

/// Returns the variables that hold secrets for this command; none if it starts no tools.
pub(crate) fn secret_variables(command: &Command, adapters: &Adapters) -> Vec<String> {
    let (place, shapes) = match command {
        Command::Chat(args) => (&args.place, vec![args.shape.for_session(None)]),
        Command::Run(args) => (&args.place, vec![args.shape.for_session(None)]),
        Command::Resume(args) => (&args.place, vec![args.shape.for_session(None)]),
        Command::Compact(args) => (&args.place, vec![args.shape.for_session(None)]),
        Command::Sandbox(args) => (&args.place, vec![SettingsArgs::default()]),
        #[cfg(feature = "server")]
        Command::Serve(args) => (&args.place, super::serve::shapes(args)),
        #[cfg(not(feature = "server"))]
        Command::Serve(_) => return Vec::new(),
        Command::Mcp(args) => match &args.command {
            McpCommand::Serve(args) => (&args.place, vec![args.shape.for_session(None)]),
            McpCommand::Add(_)
            | McpCommand::List(_)
            | McpCommand::Get(_)
            | McpCommand::Prompts(_)
            | McpCommand::Resources(_)
            | McpCommand::Login(_)
            | McpCommand::Logout(_)
            | McpCommand::Remove { .. } => return Vec::new(),
        },
        Command::Sessions(_)
        | Command::Show(_)
        | Command::Log(_)
        | Command::Verify(_)
        | Command::Replay(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Copy(_)
        | Command::Fork(_)
        | Command::Rewind(_)
        | Command::Undo(_)
        | Command::Diff(_)
        | Command::Repair(_)
        | Command::Erase(_)
        | Command::Inputs(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Processes(_)
        | Command::Vacuum(_)
        | Command::Rekey(_)
        | Command::Skills(_)
        | Command::Trust(_)
        | Command::Approvals(_)
        | Command::Doctor(_)
        | Command::Config(_)
        | Command::Init(_)
        | Command::Attach(_) => return Vec::new(),
    };
    let own = OWN.into_iter().map(str::to_owned);
    let known = adapters.providers.iter().flat_map(|scheme| scheme.secrets()).cloned();
    let listed = shapes.iter().flat_map(of_file);
    let mut names: Vec<String> = own.chain(known).chain(listed).chain(of_store(place)).collect();
    names.sort();
    names.dedup();
    names
}

impl Adapters {
    /// Returns the first variable with a key of a provider.
    pub(crate) fn key_variable(&self, provider: &str) -> Option<String> {
        let of = self.providers.iter().find(|scheme| scheme.name() == provider);
        of.and_then(|scheme| scheme.secrets().first().cloned())
    }

    /// Returns true if a variable with a key of a provider is set.
    pub(crate) fn has_key(&self, provider: &str) -> bool {
        let mut of = self.providers.iter().filter(|scheme| scheme.name() == provider);
        of.any(|scheme| scheme.secrets().iter().any(|name| env_value(name).is_some()))
    }

    /// Returns the variables of the providers' keys, each with true if it is set.
    pub(crate) fn key_variables(&self, shape: &SettingsArgs) -> Vec<(String, bool)> {
        let known = self.providers.iter().flat_map(ProviderScheme::secrets).cloned();
        let mut names: Vec<String> = known.chain(of_file(shape)).collect();
        names.sort();
        names.dedup();
        let set = |name: &String| env_value(name).is_some();
        names.into_iter().map(|name| (name.clone(), set(&name))).collect()
    }
}

/// Returns the variable with the master key of the store, if there is one. A source that cannot be read
/// fails the command later.
fn of_store(place: &LocationArgs) -> Option<String> {
    let encryption = Encryption::new(place).ok()?;
    encryption.variable().map(str::to_owned)
}

/// Returns the variables that a providers file names. One that cannot be read fails the command
/// later, before anything starts.
fn of_file(shape: &SettingsArgs) -> Vec<String> {
    let file = ProvidersFile::load(shape.providers.as_deref()).unwrap_or_default();
    file.providers.iter().flat_map(|entry| entry.secret_variables()).cloned().collect()
}
