//! Next: a phase's choice of the next fact.

use crate::fact::Fact;

/// Choice of a phase.
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub(crate) enum NextFact {
    /// Adds this fact.
    Fact(Fact),
    /// No fact until an input arrives.
    Wait,
    /// No fact; ask the next phase.
    Pass,
}

impl NextFact {
    /// Asks the next phase, if this one passes.
    pub(crate) fn or(self, phase: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Pass => phase(),
            Self::Fact(_) | Self::Wait => self,
        }
    }

    /// Waits if there is no fact.
    pub(crate) fn or_wait(fact: Option<Fact>) -> Self {
        fact.map_or(Self::Wait, Self::Fact)
    }

    /// Returns the fact, if there is one.
    pub(crate) fn fact(self) -> Option<Fact> {
        match self {
            Self::Fact(fact) => Some(fact),
            Self::Wait | Self::Pass => None,
        }
    }
}

/// Passes if there is no fact.
impl From<Option<Fact>> for NextFact {
    fn from(fact: Option<Fact>) -> Self {
        fact.map_or(Self::Pass, Self::Fact)
    }
}
