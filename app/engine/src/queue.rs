//! Queue: the inputs of a session that no turn has accepted yet.

use std::sync::Arc;

use windlass_core::{Delivery, History, InputId, Session, TurnId};

/// An input that no turn has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingInput {
    /// Id of the input.
    pub input: InputId,
    /// Its text, with the edits of users and hooks.
    pub text: Arc<str>,
    /// When the model should receive it.
    pub delivery: Delivery,
    /// Number of its images.
    pub images: usize,
    /// True if its turn only plans the effects of its tools.
    pub dry_run: bool,
    /// Turn that was opened for it. It may be edited, and neither moved nor withdrawn.
    pub turn: Option<TurnId>,
}

/// Returns the waiting inputs of a loaded session, in their order. Opens nothing.
#[must_use]
pub fn waiting_inputs(session: &Session, history: &History) -> Vec<WaitingInput> {
    let opened = |input| session.turn().filter(|turn| turn.is_opened_by(input));
    let waiting = session.queue.iter().map(|queued| WaitingInput {
        input: queued.id,
        text: history.waiting(queued.id).cloned().unwrap_or_default(),
        delivery: queued.delivery,
        images: queued.images.len(),
        dry_run: queued.dry_run,
        turn: opened(queued.id).map(|turn| turn.id),
    });
    waiting.collect()
}
