//! Slots: what this store object knows of the sessions that it claimed. The server decides; a slot
//! only spares asking it where a log ends.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::sync::Mutex as Lock;

/// State of a claimed session. An append holds it until the answer arrives.
#[derive(Debug)]
pub(crate) struct ClaimSlot {
    pub(crate) epoch: Epoch,
    /// The epoch of the node's lease under which it was claimed.
    pub(crate) owner: i64,
    /// End of the log.
    pub(crate) end: LogEnd,
    /// End of the log before the last append, to recognise its repetition.
    pub(crate) before: Option<LogEnd>,
}

impl ClaimSlot {
    /// The end that an append after this position builds on, if it is one that is known.
    pub(crate) fn end_at(&self, after: Seq) -> Option<&LogEnd> {
        if self.end.last == after {
            return Some(&self.end);
        }
        self.before.as_ref().filter(|before| before.last == after)
    }
}

/// The slots of all sessions that this store object claimed.
#[derive(Debug, Default)]
pub(crate) struct ClaimSlots(Lock<ClaimMap>);

/// The latest claim of each session, with its slot.
type ClaimMap = HashMap<SessionId, (Epoch, Arc<Mutex<ClaimSlot>>)>;

impl ClaimSlots {
    /// Keeps a claim, unless a later one is known.
    pub(crate) fn insert(&self, session: &SessionId, slot: ClaimSlot) {
        let mut slots = self.0.lock();
        let known = slots.get(session).map(|(epoch, _)| *epoch);
        if known.is_none_or(|known| known < slot.epoch) {
            let kept = (slot.epoch, Arc::new(Mutex::new(slot)));
            slots.insert(session.clone(), kept);
        }
    }

    /// The slot of a claim, if it is the latest that is known.
    pub(crate) fn of(&self, session: &SessionId, epoch: Epoch) -> Option<Arc<Mutex<ClaimSlot>>> {
        let slots = self.0.lock();
        let (known, slot) = slots.get(session)?;
        (*known == epoch).then(|| Arc::clone(slot))
    }

    /// The epoch of the latest claim that is known.
    pub(crate) fn known(&self, session: &SessionId) -> Option<Epoch> {
        self.0.lock().get(session).map(|(epoch, _)| *epoch)
    }

    /// Removes a claim.
    pub(crate) fn forget(&self, session: &SessionId, epoch: Epoch) {
        let mut slots = self.0.lock();
        if slots.get(session).is_some_and(|(known, _)| *known == epoch) {
            slots.remove(session);
        }
    }
}
