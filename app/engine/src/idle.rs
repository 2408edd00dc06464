//! Idle sessions: work beside a session while nobody drives it.

use windlass_core::{Reject, Scope, SessionId, Timestamp};
use windlass_ports::LogStore;

use crate::offline::{ChangeError, OfflineSession};

/// Runs `work` while the session is claimed, so no engine drives it and no call of it runs. Nothing is
/// appended. `work` may block for as long as it changes a few files.
///
/// # Errors
/// [`ChangeError`] before `work` began: when the session cannot be claimed, and
/// [`Reject::TurnRunning`] when a turn is open.
pub async fn with_idle_session<T>(
    store: &dyn LogStore,
    session: &SessionId,
    scope: &Scope,
    now: Timestamp,
    work: impl FnOnce() -> T,
) -> Result<T, ChangeError> {
    let offline = OfflineSession { store, id: session, scope, now };
    let inspected = offline.inspect(|session| match session.turn() {
        Some(turn) => Err(ChangeError::Rejected(Reject::TurnRunning(turn.id))),
        None => Ok(work()),
    });
    inspected.await
}
