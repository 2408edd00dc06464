//! Appends whose answer may be repeated: the same facts must be the same ciphertext again.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::sync::Mutex;

/// Facts of an append, or their encrypted form.
pub(crate) type Facts = Vec<Arc<RecordedFact>>;

/// Last appends of each claimed session.
#[derive(Default)]
pub(crate) struct RecentAppends(Mutex<HashMap<SessionId, Vec<RecentAppend>>>);

struct RecentAppend {
    epoch: Epoch,
    after: Seq,
    plain: Facts,
    sealed: Arc<Facts>,
}

impl RecentAppends {
    /// Returns the encrypted form of an append that was tried before.
    pub(crate) fn find(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        plain: &[Arc<RecordedFact>],
    ) -> Option<Arc<Facts>> {
        let recent = self.0.lock();
        let mut tried = recent.get(session)?.iter();
        let same = |tried: &&RecentAppend| {
            (tried.epoch, tried.after) == (epoch, after) && tried.plain == plain
        };
        tried.find(same).map(|tried| tried.sealed.clone())
    }

    /// Remembers an append that is about to be tried. Returns the form to append: that of another
    /// attempt with the same facts, if one was faster.
    pub(crate) fn insert(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        plain: &[Arc<RecordedFact>],
        sealed: Facts,
    ) -> Arc<Facts> {
        let mut recent = self.0.lock();
        let tried = recent.entry(session.clone()).or_default();
        let same = |tried: &&RecentAppend| {
            (tried.epoch, tried.after) == (epoch, after) && tried.plain == plain
        };
        if let Some(known) = tried.iter().find(same) {
            return known.sealed.clone();
        }
        let sealed = Arc::new(sealed);
        tried.push(RecentAppend { epoch, after, plain: plain.to_vec(), sealed: sealed.clone() });
        sealed
    }

    /// Forgets all appends before one that succeeded.
    pub(crate) fn on_success(&self, session: &SessionId, epoch: Epoch, after: Seq) {
        if let Some(tried) = self.0.lock().get_mut(session) {
            tried.retain(|tried| tried.epoch >= epoch && tried.after >= after);
        }
    }

    /// Forgets an append that was rejected, so that nothing of it is stored.
    pub(crate) fn on_rejection(&self, session: &SessionId, sealed: &Arc<Facts>) {
        let mut recent = self.0.lock();
        let Some(tried) = recent.get_mut(session) else {
            return;
        };
        tried.retain(|tried| !Arc::ptr_eq(&tried.sealed, sealed));
        if tried.is_empty() {
            recent.remove(session);
        }
    }

    /// Forgets the appends of a claim that ended, and of earlier ones.
    pub(crate) fn on_end(&self, session: &SessionId, epoch: Epoch) {
        let mut recent = self.0.lock();
        let Some(tried) = recent.get_mut(session) else {
            return;
        };
        tried.retain(|tried| tried.epoch > epoch);
        if tried.is_empty() {
            recent.remove(session);
        }
    }
}
