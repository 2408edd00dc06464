//! Decide: which facts an input leads to.
//!
//! First the facts that the input itself is, then every step that needs nothing from the world.
//! Each draft is applied to a scratch copy of the state as it is made, so a decision fits its own
//! state by construction (law 13).

mod calls;
mod input;
mod policy;
mod proceed;

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Reject;
use crate::fact::{Fact, SessionOpened};
use crate::id::TurnId;
use crate::input::{Input, OpenSession, Stamped};
use crate::limits::Limits;
use crate::record::Draft;
use crate::session::Session;
use crate::time::Timestamp;

/// The fact that opens a session.
#[must_use]
pub fn open(opening: Stamped<OpenSession>) -> Draft {
    Draft {
        turn: None,
        ts: opening.at,
        fact: Fact::SessionOpened(SessionOpened {
            owner: Arc::new(opening.input.owner),
            workspace: opening.input.workspace,
            settings: Arc::new(opening.input.settings),
            lineage: opening.input.lineage,
        }),
    }
}

/// The facts that an input leads to, in order. `limits` is what this process allows at most.
///
/// No facts means that there is nothing to record: a tick before its time, settings that are the
/// same.
///
/// # Errors
/// [`Reject`] when the input is not possible where the session stands; nothing changes then.
pub fn decide(
    session: &Session,
    limits: &Limits,
    input: Stamped<Input>,
) -> Result<Vec<Draft>, Reject> {
    let mut plan = Plan {
        session: session.clone(),
        ceiling: *limits,
        at: input.at,
        entropy: input.entropy,
        drafts: Vec::new(),
    };
    input::take(&mut plan, input.input)?;
    proceed::go_on(&mut plan)?;
    Ok(plan.drafts)
}

/// A decision as it is made.
struct Plan {
    /// The state with the drafts applied.
    session: Session,
    ceiling: Limits,
    at: Timestamp,
    entropy: u64,
    drafts: Vec<Draft>,
}

impl Plan {
    /// Adds a fact and applies it.
    fn push(&mut self, fact: Fact) -> Result<(), Reject> {
        let turn = match &fact {
            Fact::SessionOpened(_) | Fact::SettingsChanged(_) | Fact::InputQueued(_) => None,
            Fact::TurnOpened(_) => Some(TurnId(self.session.next.0)),
            Fact::InputAccepted(_)
            | Fact::SampleStarted(_)
            | Fact::ItemAdded(_)
            | Fact::SampleEnded(_)
            | Fact::SampleCut(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_)
            | Fact::TurnSettled(_) => self.session.turn().map(|turn| turn.id),
        };
        let draft = Draft {
            turn,
            ts: self.at,
            fact,
        };
        let recorded = draft.clone().number(&self.session.id, self.session.next);
        self.session.apply(&recorded).map_err(Reject::Defect)?;
        self.drafts.push(draft);
        Ok(())
    }
}
