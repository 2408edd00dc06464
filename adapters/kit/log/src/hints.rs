//! Where logs end, as those who append think: they make the links of an append themselves, and need
//! its log's end for that.
//!
//! Nothing rests on a hint. The pipeline's thread checks each append, and makes it anew where the hint
//! was wrong. So that thread need not write down here what it keeps, and those who append need not
//! read what it writes for itself: each has its own in the caches of its own processor.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{Epoch, SessionId};

use crate::hash::Sessions;
use crate::medium::{End, Seat};

/// Hints of the sessions that are claimed.
#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<Sessions<Hint>>);

/// Where a log may end.
#[derive(Debug, Clone)]
pub(crate) struct Hint {
    pub(crate) epoch: Epoch,
    /// That of the claim with this epoch, always.
    pub(crate) seat: Seat,
    /// With all that was asked for.
    pub(crate) end: End,
}

impl Hints {
    fn hints(&self) -> MutexGuard<'_, Sessions<Hint>> {
        // No panic can leave the map half changed, so a poisoned lock is as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is thought of a session that was claimed with this epoch.
    pub(crate) fn of(&self, session: &SessionId, epoch: Epoch) -> Option<Hint> {
        let hints = self.hints();
        hints
            .get(session)
            .filter(|hint| hint.epoch == epoch)
            .cloned()
    }

    pub(crate) fn set(&self, session: &SessionId, hint: Hint) {
        self.hints().insert(session.clone(), hint);
    }

    /// Notes that the log of such a session ends there.
    pub(crate) fn note(&self, session: &SessionId, epoch: Epoch, end: &End) {
        if let Some(hint) = self.hints().get_mut(session)
            && hint.epoch == epoch
        {
            hint.end.clone_from(end);
        }
    }

    pub(crate) fn remove(&self, session: &SessionId) {
        self.hints().remove(session);
    }
}
