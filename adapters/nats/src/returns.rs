//! Returns: sessions that this node may be on record as the holder of although nobody works on them here,
//! since the word to the server failed or was not answered. They are given back as soon as it is there.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{StoreError, Summary};

use crate::head::{Head, Kind};
use crate::store::NatsStore;
use crate::trouble::Trouble;

/// The most that are remembered; those beyond are found where all sessions are listed.
const MOST: usize = 65_536;
/// The most that are given back at a time.
const TOGETHER: usize = 64;

/// Sessions that may have to be released.
#[derive(Debug, Default)]
pub(crate) struct Returns(Mutex<BTreeSet<SessionId>>);

/// A word to the server that is under way. Dropped before it was answered, it is to be told again.
pub(crate) struct Telling<'a> {
    returns: &'a Returns,
    untold: Option<SessionId>,
}

impl Telling<'_> {
    /// The server has answered.
    pub(crate) fn done(mut self) {
        self.untold = None;
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let Some(untold) = self.untold.take() else {
            return;
        };
        let mut all = self.returns.0.lock();
        if all.len() < MOST {
            all.insert(untold);
        }
    }
}

impl Returns {
    /// Begins to tell the server something of who holds a session.
    pub(crate) fn telling(&self, session: &SessionId) -> Telling<'_> {
        Telling {
            returns: self,
            untold: Some(session.clone()),
        }
    }
}

impl NatsStore {
    /// Gives back what could not be given back before. What still cannot be stays remembered.
    pub(crate) async fn give_back_late(&self) {
        let some: Vec<_> = self
            .returns
            .0
            .lock()
            .iter()
            .take(TOGETHER)
            .cloned()
            .collect();
        let given = some.iter().map(|session| async move {
            match self.give_back_one(session).await {
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
    async fn give_back_one(&self, session: &SessionId) -> Result<bool, StoreError> {
        let slot = self.slot(session);
        let Ok(held) = slot.try_lock() else {
            return Ok(false);
        };
        // One that was claimed again is held.
        let given = match held.is_some() {
            true => Ok(true),
            false => self.unhold(session).await,
        };
        let empty = held.is_none();
        drop(held);
        if empty {
            self.forget_slot(session, slot);
        }
        given
    }

    async fn unhold(&self, session: &SessionId) -> Result<bool, StoreError> {
        let doing = "giving back";
        let Some((head, end, stored)) = self.last(session, doing).await? else {
            return Ok(true);
        };
        if head.holder != self.node.name {
            return Ok(true);
        }
        if !matches!(head.kind, Kind::Release | Kind::Erase) {
            let release = Head::new(Kind::Release, head.epoch, &self.node.name, &end);
            match self.mark(session, &release, stored.seq).await {
                Ok(_) => {}
                Err(Trouble::Moved) => return Ok(false),
                Err(trouble) => return Err(trouble.in_store(&self.about(doing, session))),
            }
        }
        if end.summary.as_ref().is_some_and(Summary::is_open) {
            self.tell_freed(session).await;
        }
        Ok(true)
    }
}
