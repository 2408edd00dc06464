//! Facts: events, in the past tense. Nothing else changes a session.
//!
//! [`table`] lists them all. Readers match the group of a fact, or ask for one of its properties in
//! the table. So a new fact touches only the readers that depend on it.

mod calls;
mod generate;
mod opening;
mod program;
mod sample;
mod shaping;
mod table;
mod turn;

use alloc::string::String;

pub use calls::*;
pub use opening::*;
pub use program::*;
pub use sample::*;
pub use shaping::*;
pub(crate) use table::Kind;
pub use table::{
    CompactionFact, ContextFact, EffectStart, Fact, FactGroup, GoalFact, HookFact, InputFact,
    PermissionFact, ProgramFact, RecoveryFact, RunFact, SampleFact, SessionFact, TurnFact,
};
pub use turn::*;

/// Relation of a fact to the turns of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactTurn {
    /// The fact belongs to no turn.
    Outside,
    /// The fact opens a turn; its position is the turn's id.
    Opens,
    /// The fact belongs to the open turn, if there is one.
    Inside,
}

impl Fact {
    /// Returns the distinct keys of the fact: the caller's own, and that of an
    /// [`Input::Keyed`](crate::Input::Keyed).
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        let [own, said] = self.key_fields();
        own.into_iter().chain(said.filter(|_| own != said))
    }

    /// Returns the outputs, images and contents of files that the fact names: the digest and the
    /// length of each.
    pub fn blobs(&self) -> impl Iterator<Item = (&str, u64)> {
        let (output, changes, shown) = if let Self::CallObserved(fact) = self {
            let observation = &fact.observation;
            (observation.stored_output.as_ref(), &*observation.changes, &*observation.images)
        } else {
            (None, &[][..], &[][..])
        };
        let files = changes.iter().flat_map(|file| [file.before.stored(), file.after.stored()]);
        let images = if let Self::InputQueued(fact) = self { &*fact.images } else { &[] };
        let stored = output.into_iter().chain(files.flatten());
        let stored = stored.map(|stored| (stored.sha256.as_str(), stored.bytes));
        let images = images.iter().chain(shown).map(|image| (image.sha256.as_str(), image.bytes));
        stored.chain(images)
    }
}
