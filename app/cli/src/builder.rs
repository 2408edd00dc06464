//! Builder: the command with the adapters of a program.

use std::process::ExitCode;

use windlass::store::StoreScheme;

use crate::exit::Failure;
use crate::wiring::{Adapters, ProviderScheme, ToolScheme};
use crate::{StoreLayer, start};

/// The command `windlass` with all of its subcommands, and adapters of a program beside its own.
///
/// ```no_run
/// use windlass::memory::{MemoryBlobs, MemoryStore};
/// use windlass::store::{OpenStore, StoreScheme};
///
/// // `--store scratch:` is a store of this program.
/// let scratch = StoreScheme::in_process("scratch", async || {
///     Ok(OpenStore::new(MemoryStore::new(), MemoryBlobs::new()))
/// });
/// let exit = windlass_cli::Command::new().store(scratch).main();
/// ```
#[must_use = "a command does nothing until its main function runs"]
pub struct Command {
    adapters: Result<Adapters, Failure>,
}

impl Command {
    /// Creates the command with its own adapters.
    pub fn new() -> Self {
        Self { adapters: Ok(Adapters::built_in()) }
    }

    /// Adds a store, which `--store` and the other options for stores name by its URL.
    pub fn store(self, scheme: StoreScheme) -> Self {
        self.with(|adapters| adapters.add_store(scheme))
    }

    /// Adds a provider, which `--provider` and chains and routes of the providers file name.
    pub fn provider(self, scheme: ProviderScheme) -> Self {
        self.with(|adapters| adapters.add_provider(scheme))
    }

    /// Adds tools to every session.
    pub fn tools(self, scheme: ToolScheme) -> Self {
        self.with(|adapters| {
            adapters.add_tools(scheme);
            Ok(())
        })
    }

    /// Wraps the stores of turns in a layer. Commands that only read use the store itself.
    #[doc(hidden)]
    pub fn layer(self, layer: StoreLayer) -> Self {
        self.with(|adapters| {
            adapters.layer = layer;
            Ok(())
        })
    }

    /// Runs the command with the arguments of the process, and returns its exit code. An adapter
    /// whose name is taken is reported.
    #[must_use]
    pub fn main(self) -> ExitCode {
        start(self.adapters)
    }

    fn with(mut self, add: impl FnOnce(&mut Adapters) -> Result<(), Failure>) -> Self {
        if let Ok(mut adapters) = self.adapters {
            self.adapters = add(&mut adapters).map(|()| adapters);
        }
        self
    }
}

impl Default for Command {
    fn default() -> Self {
        Self::new()
    }
}
