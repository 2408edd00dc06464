//! Next: the answer of one phase to the question which fact comes next.

use crate::fact::Fact;

/// Answer of a phase.
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub(crate) enum NextFact {
    /// Adds this fact.
    Fact(Fact),
    /// None, until the world says something.
    Wait,
    /// It has none, so the next phase is asked.
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
