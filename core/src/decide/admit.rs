//! Admission: an input enters the conversation if its hooks allow it.

use super::{Plan, context};
use crate::fact::{Fact, InputAccepted, InputBlocked};
use crate::hook::HookOccurrence;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::subject_name;
use crate::session::{QueuedInput, Turn};
use crate::stage::NextFact;

/// Runs the prompt's hooks, then adds the context that precedes the input, then the input.
pub(crate) fn admit(plan: &Plan, turn: &Turn, queued: &QueuedInput) -> NextFact {
    let at = HookOccurrence::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => return NextFact::Fact(fact),
        HookStep::Wait => return NextFact::Wait,
        HookStep::Finished(_) => {}
    }
    NextFact::from(block_input(turn, queued))
        .or(|| NextFact::from(context::before_input(plan, turn, queued)))
        .or(|| NextFact::Fact(Fact::InputAccepted(InputAccepted { input: queued.id, call: None })))
}

/// Returns the fact that blocks an input, if its hooks block it.
pub(crate) fn block_input(turn: &Turn, queued: &QueuedInput) -> Option<Fact> {
    let at = HookOccurrence::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(_) | HookStep::Wait => None,
        HookStep::Finished(word) => hooks::reason(word)
            .map(|reason| Fact::InputBlocked(InputBlocked { input: queued.id, reason })),
    }
}

/// Returns true if the hooks of an input have let it in, or there are none.
pub(crate) fn is_let_in(turn: &Turn, queued: &QueuedInput) -> bool {
    let at = HookOccurrence::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, subject_name(at)) {
        HookStep::Add(_) | HookStep::Wait => false,
        HookStep::Finished(word) => hooks::reason(word).is_none(),
    }
}
