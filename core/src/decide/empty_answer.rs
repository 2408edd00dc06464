//! Empty answers: asks the model again after an answer with neither text nor calls.
//!
//! Models end with nothing now and then, most often after results of calls. Reasoning alone is
//! empty too: nobody who waits for an answer gets one.

use super::Plan;
use crate::budget;
use crate::budget::answer::reserve_sample;
use crate::fact::{ContextInjected, ContextLifetime, ContextSource, Fact};
use crate::id::Seq;
use crate::session::Turn;

/// Notice to the model.
const EMPTY: &str =
    "The last answer was empty. Give the answer now, or go on if the work is not done.";

/// Returns the notice after which the model is asked again. `None` if it was asked again before
/// this answer, if the turn is to pause, or if the budget has no room for a sample: the turn ends
/// then.
pub(crate) fn ask_again(plan: &Plan, turn: &Turn, started: Seq) -> Option<Fact> {
    let may = turn.may_ask_after_empty() && turn.pause.is_none();
    let exhausted = || budget::exhausted_limit(&plan.session, turn).is_some();
    if !may || exhausted() || reserve_sample(plan, turn).is_err() {
        return None;
    }
    Some(Fact::ContextInjected(ContextInjected {
        from: ContextSource::EmptyAnswer { started, text: EMPTY.into() },
        lifetime: ContextLifetime::Turn,
    }))
}
