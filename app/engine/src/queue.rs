//! Queue: the inputs of a session that no turn has accepted yet, and their change while nobody
//! drives the session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::{
    Delivery, History, Hold, Input, InputId, Scope, Session, SessionId, Timestamp, TurnId,
};
use windlass_ports::LogStore;

use crate::offline::{ChangeError, OfflineSession};

/// The inputs of a session that no turn has accepted yet. Its serialised form is that of the HTTP
/// interface and of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputQueue {
    /// The inputs, in their order. Steering inputs and follow-ups precede the others, wherever they
    /// stand.
    pub inputs: Vec<WaitingInput>,
    /// True if they wait, after an interrupt or a rewind, to be resumed.
    pub held: bool,
}

impl InputQueue {
    /// Reads the queue of a loaded session. Opens nothing.
    #[must_use]
    pub fn of(session: &Session, history: &History) -> Self {
        let inputs = waiting_inputs(session, history);
        Self { inputs, held: session.hold == Hold::Held }
    }
}

/// An input that no turn has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Change of a waiting input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputChange {
    /// Replaces its text.
    Edit {
        /// New text.
        text: String,
    },
    /// Moves it within the queue.
    Move {
        /// Waiting input that it is to precede; `None` to make it the last.
        before: Option<InputId>,
    },
    /// Withdraws it.
    Withdraw,
}

/// Request to change a waiting input of a session that nobody drives.
#[derive(Debug, Clone)]
pub struct ChangeRequest {
    /// Id of the session.
    pub session: SessionId,
    /// Id of the input.
    pub input: InputId,
    /// The change.
    pub change: InputChange,
    /// Scope of the caller.
    pub scope: Scope,
    /// Time of the change.
    pub now: Timestamp,
}

/// Changes a waiting input of a session that nobody drives. Claims the session, appends the change
/// and releases the session. Returns false if there was nothing to change.
///
/// Starts no effect: what follows from the change is decided by the next driver, as after a crash
/// right behind the change. To change an input of a session that an engine may drive, use
/// [`SessionHandle`](crate::SessionHandle).
///
/// # Errors
/// [`ChangeError`]: an unknown session (also when the scope may not see it), one that another process
/// holds, an input that does not wait, or a failing store.
pub async fn change_input(
    store: &dyn LogStore,
    request: &ChangeRequest,
) -> Result<bool, ChangeError> {
    let ChangeRequest { session: id, scope, now, .. } = request;
    let session = OfflineSession { store, id, scope, now: *now };
    let changed = session.change(async |_| Ok::<_, ChangeError>(Some(request.input()))).await?;
    Ok(changed.is_some())
}

impl ChangeRequest {
    fn input(&self) -> Input {
        let (scope, input) = (self.scope.clone(), self.input);
        match &self.change {
            InputChange::Edit { text } => Input::EditInput { scope, input, text: text.clone() },
            InputChange::Move { before } => Input::MoveInput { scope, input, before: *before },
            InputChange::Withdraw => Input::WithdrawInput { scope, input },
        }
    }
}
