//! Admit: an input enters the conversation, if its hooks let it.

use super::{Plan, context};
use crate::fact::{Fact, InputAccepted, InputBlocked};
use crate::gate::hooks::{self, At};
use crate::gate::word;
use crate::hook::HookAt;
use crate::session::{Queued, Turn};
use crate::stage::Next;

/// Asks the hooks on the prompt, then adds what the model is to know before it, then the input.
pub(crate) fn admit(plan: &Plan, turn: &Turn, queued: &Queued) -> Next {
    let at = HookAt::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Next::Fact(fact),
        At::Wait => return Next::Wait,
        At::Passed(_) => {}
    }
    Next::from(kept_out(turn, queued))
        .or(|| Next::from(context::before_input(plan, turn, queued)))
        .or(|| Next::Fact(Fact::InputAccepted(InputAccepted { input: queued.id })))
}

/// Returns the fact that hooks keep an input out, if they do.
pub(crate) fn kept_out(turn: &Turn, queued: &Queued) -> Option<Fact> {
    let at = HookAt::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(_) | At::Wait => None,
        At::Passed(word) => hooks::reason(word).map(|reason| {
            Fact::InputBlocked(InputBlocked {
                input: queued.id,
                reason,
            })
        }),
    }
}
