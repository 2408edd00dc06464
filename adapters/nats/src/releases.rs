//! Returns: sessions that this node may be on record as the holder of although nobody works on them here,
//! since the word to the server failed or was not answered. They are given back as soon as it is there.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{SessionSummary, StoreError};

use crate::header::{MessageHeader, MessageKind};
use crate::server_error::ServerError;
use crate::store::NatsStore;

/// The most that are remembered; those beyond are found where all sessions are listed.
const MOST: usize = 65_536;
/// The most that are given back at a time.
const TOGETHER: usize = 64;

/// Sessions that may have to be released.
#[derive(Debug, Default)]
pub(crate) struct UnconfirmedReleases(Mutex<BTreeSet<SessionId>>);

/// A word to the server that is under way. Dropped before it was answered, it is to be told again.
pub(crate) struct PendingRelease<'a> {
    returns: &'a UnconfirmedReleases,
    unconfirmed: Option<SessionId>,
}

impl PendingRelease<'_> {
    /// The server has answered.
    pub(crate) fn done(mut self) {
        self.unconfirmed = None;
    }
}

impl Drop for PendingRelease<'_> {
    fn drop(&mut self) {
        let Some(untold) = self.unconfirmed.take() else {
            return;
        };
        let mut all = self.returns.0.lock();
        if all.len() < MOST {
            all.insert(untold);
        }
    }
}

impl UnconfirmedReleases {
    /// Begins to tell the server something of who holds a session.
    pub(crate) fn begin(&self, session: &SessionId) -> PendingRelease<'_> {
        PendingRelease { returns: self, unconfirmed: Some(session.clone()) }
    }
}

impl NatsStore {
    /// Gives back what could not be given back before. What still cannot be stays remembered.
    pub(crate) async fn retry_releases(&self) {
        let some: Vec<_> = self.returns.0.lock().iter().take(TOGETHER).cloned().collect();
        let given = some.iter().map(|session| async move {
            match self.retry_release(session).await {
                Ok(true) => {
                    self.returns.0.lock().remove(session);
                }
                Ok(false) => {}
                Err(error) => tracing::debug!(%session, %error, "it is still to be given back"),
            }
        });
        join_all(given).await;
    }

    /// Returns true if the session needs no further check.
    async fn retry_release(&self, session: &SessionId) -> Result<bool, StoreError> {
        let slot = self.slot(session);
        let Ok(held) = slot.try_lock() else {
            return Ok(false);
        };
        // One that was claimed again is held.
        let given = match held.is_some() {
            true => Ok(true),
            false => self.release_recorded(session).await,
        };
        let empty = held.is_none();
        drop(held);
        if empty {
            self.forget_slot(session, slot);
        }
        given
    }

    async fn release_recorded(&self, session: &SessionId) -> Result<bool, StoreError> {
        let doing = "giving back";
        let Some((head, end, stored)) = self.last(session, doing).await? else {
            return Ok(true);
        };
        if head.holder != self.node.name {
            return Ok(true);
        }
        if !matches!(head.kind, MessageKind::Release | MessageKind::Erase) {
            let release =
                MessageHeader::new(MessageKind::Release, head.epoch, &self.node.name, &end);
            match self.mark(session, &release, stored.seq).await {
                Ok(_) => {}
                Err(ServerError::Moved) => return Ok(false),
                Err(trouble) => return Err(trouble.in_store(&self.about(doing, session))),
            }
        }
        if end.summary.as_ref().is_some_and(SessionSummary::is_open) {
            self.publish_freed(session).await;
        }
        Ok(true)
    }
}
