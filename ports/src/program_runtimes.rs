//! The program runtimes of an engine, by name.

use std::fmt;
use std::sync::Arc;

use crate::program::ProgramRuntime;

/// The program runtimes of an engine, by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct ProgramRuntimes(Vec<Arc<dyn ProgramRuntime>>);

impl ProgramRuntimes {
    /// No runtime: sessions whose models write programs cannot be run.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// With this runtime, in the place of one of the same name.
    #[must_use]
    pub fn with(mut self, runtime: Arc<dyn ProgramRuntime>) -> Self {
        self.0.retain(|other| other.name() != runtime.name());
        self.0.push(runtime);
        self
    }

    /// The runtime of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ProgramRuntime>> {
        self.0.iter().find(|runtime| runtime.name() == name)
    }

    /// The names of all of them.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|runtime| runtime.name()).collect()
    }
}

impl fmt::Debug for ProgramRuntimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgramRuntimes").field(&self.names()).finish()
    }
}
