//! Facts: what happened, in the past tense. Nothing else moves a session.
//!
//! [`table`] lists them all. Readers ask a fact for its group and match that group alone, or ask
//! for one of the properties that the table gives it, so that a new fact touches the readers that
//! decide by it and no others.

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

/// The place of a fact towards the turns of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactTurn {
    /// It belongs to no turn.
    Outside,
    /// It opens a turn, which is named by its position.
    Opens,
    /// It belongs to the turn that is open, if one is.
    Inside,
}

impl Fact {
    /// The keys that it was said under, if it was said under any: the caller's own, and that of an
    /// [`Input::Keyed`](crate::Input::Keyed). None of them twice.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        let [own, said] = self.key_fields();
        own.into_iter().chain(said.filter(|_| own != said))
    }
}
