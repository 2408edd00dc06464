//! Law 14: a reject changes nothing, and what must be rejected is.
//!
//! After a reject the log, the state and what runs are as they were before it. An answer of a
//! run that nobody waits for, the word that something never began which is not to wind down, a
//! person's answer to a question that is not open or about other arguments than those asked about, a
//! goal without words or turns, and an input whose key was used before, are rejected.
//!
//! It kills: an answer that is taken without a look at its key, or at what it is about.

use std::collections::BTreeMap;

use windlass_core::{CallId, Demand, Digest, EffectKey, Goal, Input, Owed, Progress, Seq, Session};

use super::{Held, hold};

/// What a reject must leave as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The last position of the log.
    pub last: Seq,
    /// The state.
    pub session: Session,
    /// What runs.
    pub running: BTreeMap<EffectKey, Demand>,
    /// How many effects were begun so far.
    pub begun: usize,
}

/// Checks one input: what stood before it, what is owed then, whether it was rejected, and what
/// stands after it.
///
/// # Errors
/// [`Broken`](super::Broken) when a reject changed something, or there should have been one.
pub fn check(
    before: &Standing,
    owed: &[Owed],
    input: &Input,
    rejected: bool,
    after: &Standing,
) -> Held {
    hold(14, !rejected || before == after, || {
        format!("{input:?} was rejected, and {before:?}\nbecame {after:?}")
    })?;
    let refusable = match input {
        Input::Sampled { key, .. }
        | Input::Ran { key, .. }
        | Input::Hooked { key, .. }
        | Input::Asked { key, .. }
        | Input::Reconciled { key, .. }
        | Input::Compacted { key, .. } => !owed.iter().any(|owed| owed.key == *key),
        Input::NeverBegan { key } => {
            let winds = |owed: &Owed| owed.key == *key && owed.demand == Demand::Wind;
            !owed.iter().any(winds)
        }
        Input::Answer {
            call, arguments, ..
        } => asked(&before.session, *call) != Some(*arguments),
        Input::SetGoal { goal, .. } => {
            let empty = |goal: &Goal| goal.text.trim().is_empty() || goal.turns == 0;
            goal.as_ref().is_some_and(empty)
        }
        Input::Send { key, text, .. } => {
            let known = |key| before.session.keys.iter().any(|(known, _)| known == key);
            text.trim().is_empty() || key.as_ref().is_some_and(known)
        }
        Input::Configure { .. }
        | Input::Continue
        | Input::Interrupt { .. }
        | Input::Close
        | Input::Recovered
        | Input::Tick => false,
    };
    hold(14, rejected || !refusable, || {
        format!("{input:?} was not rejected, and nobody waited for it")
    })
}

/// The arguments of the open question about a call.
fn asked(session: &Session, id: CallId) -> Option<Digest> {
    let call = session.turn()?.calls().iter().find(|call| call.id == id)?;
    match call.progress {
        Progress::Asking { question } => question.map(|_| call.arguments),
        Progress::Proposed
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Running { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { .. } => None,
    }
}
