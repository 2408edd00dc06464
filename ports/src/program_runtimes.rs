//! The program runtimes of an engine, by name.

use std::fmt;
use std::sync::Arc;

use windlass_core::Settings;

use crate::guide::ProgramGuide;
use crate::program::ProgramRuntime;

/// Marker between a session's own instructions and the guide.
const GUIDE: &str = "\n\n## How you work here\n\n";

/// The program runtimes of an engine, by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct ProgramRuntimes(Vec<Arc<dyn ProgramRuntime>>);

impl ProgramRuntimes {
    /// Returns an empty set: sessions in program mode cannot run.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a runtime. Replaces one of the same name.
    #[must_use]
    pub fn with(mut self, runtime: Arc<dyn ProgramRuntime>) -> Self {
        self.0.retain(|other| other.name() != runtime.name());
        self.0.push(runtime);
        self
    }

    /// Returns the runtime of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ProgramRuntime>> {
        self.0.iter().find(|runtime| runtime.name() == name)
    }

    /// Adds the guide of the runtime to the instructions if the model writes programs, and removes it
    /// if not. Equal settings give equal instructions. The guide depends on other settings, so it is
    /// written last.
    ///
    /// The engine reports a runtime that is missing.
    pub fn write_guide(&self, settings: &mut Settings) {
        if let Some((own, _)) = settings.instructions.split_once(GUIDE) {
            settings.instructions = own.to_owned();
        }
        let (Some(program), Some(guide)) = (&settings.options.program, ProgramGuide::of(settings))
        else {
            return;
        };
        if let Some(runtime) = self.get(&program.runtime) {
            settings.instructions.push_str(&format!("{GUIDE}{}", runtime.guide(&guide)));
        }
    }

    /// Returns the names of all runtimes.
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
