//! The machine under test, as plain functions, so that a mutant is a wrapper around one of them.

use windlass_core::{
    Draft, History, Input, Limits, Misfit, Owed, Recorded, Reject, Session, Stamped, Timestamp,
};

/// The type of [`windlass_core::decide`].
pub type Decide = fn(&Session, &Limits, Stamped<Input>) -> Result<Vec<Draft>, Reject>;

/// The functions of the core that a driver uses.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Which facts an input leads to.
    pub decide: Decide,
    /// What a fact does to the state.
    pub evolve: fn(Session, &Recorded) -> Result<Session, Misfit>,
    /// What a fact does to the history.
    pub remember: fn(&mut History, &Recorded) -> Result<(), Misfit>,
    /// What the world owes a state.
    pub owed: fn(&Session) -> Vec<Owed>,
    /// When to tick next.
    pub deadline: fn(&Session) -> Option<Timestamp>,
}

impl Machine {
    /// The core as it is.
    pub const CORE: Self = Self {
        decide: windlass_core::decide,
        evolve: windlass_core::evolve,
        remember: History::apply,
        owed: windlass_core::owed,
        deadline: windlass_core::deadline,
    };
}

impl Default for Machine {
    fn default() -> Self {
        Self::CORE
    }
}
