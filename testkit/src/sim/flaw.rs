//! Flaws: what may be wrong with the store or the driver of a simulation, on purpose.

use windlass_core::{DesiredEffect, Seq, Session, desired_effects};

/// A wrong store, or a wrong driver. Each shows that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// The store answers an append before it is synced.
    AnswersBeforeSync,
    /// The store takes what is left of an interrupted append for whole.
    TakesTornForWhole,
    /// The store believes, after a sync that failed, what its cache shows.
    TrustsTheCache,
    /// The store takes appends of claims that are not the latest.
    KeepsOldClaims,
    /// The store does not look where an append belongs.
    AppendsAnywhere,
    /// The driver starts effects before the log is durable as far as they need.
    StartsEarly,
    /// The driver acknowledges and publishes what is not durable.
    AcknowledgesEarly,
    /// The driver goes on though another one has claimed the session.
    IgnoresSupersession,
    /// The driver takes an append that failed for one that was kept.
    GoesOnAfterError,
    /// The driver takes up a session without telling the core that a process died.
    ForgetsRecovery,
    /// The driver drops what was decided while an append was under way, and takes it for appended.
    DropsTheBacklog,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::AnswersBeforeSync,
        Self::TakesTornForWhole,
        Self::TrustsTheCache,
        Self::KeepsOldClaims,
        Self::AppendsAnywhere,
        Self::StartsEarly,
        Self::AcknowledgesEarly,
        Self::IgnoresSupersession,
        Self::GoesOnAfterError,
        Self::ForgetsRecovery,
        Self::DropsTheBacklog,
    ];
}

/// Effects that need nothing to be durable: a flaw.
pub(super) fn owed_early(session: &Session) -> Vec<DesiredEffect> {
    let early = |one| DesiredEffect { requires_durable: Seq::ZERO, ..one };
    desired_effects(session).into_iter().map(early).collect()
}
