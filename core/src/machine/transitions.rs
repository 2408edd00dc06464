//! Transitions: the core functions that a machine decides and folds with.

use alloc::vec::Vec;
use core::ptr::fn_addr_eq;

use crate::decide::{Decision, decide, decide_and_evolve};
use crate::effect::DesiredEffect;
use crate::error::{InvalidFact, Reject};
use crate::history::History;
use crate::input::{Incoming, Input};
use crate::limits::Limits;
use crate::record::RecordedFact;
use crate::replay::Decide;
use crate::session::Session;
use crate::time::Timestamp;

/// Functions that a machine decides and folds with. A test can replace one of them.
#[derive(Debug, Clone, Copy)]
pub struct Transitions {
    /// Returns the facts that an input leads to.
    pub decide: Decide,
    /// Applies a fact to the state.
    pub evolve: fn(Session, &RecordedFact) -> Result<Session, InvalidFact>,
    /// Applies a fact to the history.
    pub remember: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>,
    /// Returns the effects that a state requires.
    pub desired_effects: fn(&Session) -> Vec<DesiredEffect>,
    /// Returns the time of the next tick.
    pub deadline: fn(&Session) -> Option<Timestamp>,
}

impl Transitions {
    /// The core's own functions.
    pub const CORE: Self = Self {
        decide,
        evolve: crate::evolve::evolve,
        remember: History::apply,
        desired_effects: crate::desired_effects::desired_effects,
        deadline: crate::deadline::deadline,
    };

    /// Returns the facts that an input leads to, and the session with them applied.
    ///
    /// The core's own `decide` has already applied each fact. The facts of another function are
    /// applied here.
    pub(super) fn decide_and_evolve(
        &self,
        session: &Session,
        limits: &Limits,
        input: Incoming<Input>,
    ) -> Result<Decision, Reject> {
        let core = Self::CORE;
        if fn_addr_eq(self.decide, core.decide) && fn_addr_eq(self.evolve, core.evolve) {
            return decide_and_evolve(session, limits, input);
        }
        let drafts = (self.decide)(session, limits, input)?;
        let mut session = session.clone();
        let mut facts = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let recorded = draft.number(&session.id, session.next);
            session = (self.evolve)(session, &recorded).map_err(Reject::Defect)?;
            facts.push(recorded);
        }
        Ok(Decision { session, facts })
    }
}

impl Default for Transitions {
    fn default() -> Self {
        Self::CORE
    }
}
