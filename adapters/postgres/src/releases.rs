//! Returns: claims that are over here and of which the server has not been told yet. It counts them to
//! this node, whose lease lives, so nobody else would ever have them: they are given back as soon as
//! the server takes that.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio_postgres::types::Type;
use windlass_core::{Epoch, SessionId};
use windlass_ports::StoreError;
use windlass_ports::sync::Mutex as Lock;

use crate::store::StoreContext;

/// The most that are remembered; those beyond end with the node's lease.
const MOST: usize = 65_536;
/// The most that are given back by one statement.
const TOGETHER: usize = 1_000;

/// A claim that is to be given back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClaimRelease {
    session: SessionId,
    /// Its epoch; `None` for one that was asked for and not answered.
    epoch: Option<Epoch>,
    /// The epoch of the lease that it is under.
    owner: i64,
}

/// Those that the server has not been told of.
#[derive(Debug, Default)]
pub(crate) struct UnconfirmedReleases(Lock<BTreeSet<ClaimRelease>>);

/// A word to the server that is under way. Dropped before it was answered, it is to be told again.
pub(crate) struct PendingRelease<'a> {
    returns: &'a UnconfirmedReleases,
    unconfirmed: Option<ClaimRelease>,
}

impl PendingRelease<'_> {
    /// The server has answered.
    pub(crate) fn done(mut self) {
        self.unconfirmed = None;
    }
}

impl Drop for PendingRelease<'_> {
    fn drop(&mut self) {
        if let Some(untold) = self.unconfirmed.take() {
            self.returns.add(untold);
        }
    }
}

impl UnconfirmedReleases {
    /// Begins to tell the server of a claim, or to ask it for one.
    pub(crate) fn begin(
        &self,
        session: &SessionId,
        epoch: Option<Epoch>,
        owner: i64,
    ) -> PendingRelease<'_> {
        let untold = ClaimRelease { session: session.clone(), epoch, owner };
        PendingRelease { returns: self, unconfirmed: Some(untold) }
    }

    fn add(&self, one: ClaimRelease) {
        let mut all = self.0.lock();
        if all.len() >= MOST {
            let session = &one.session;
            tracing::warn!(%session, "{MOST} claims wait to be given back: it ends with the lease");
            return;
        }
        all.insert(one);
    }

    /// The first of them.
    fn next_batch(&self) -> Vec<ClaimRelease> {
        self.0.lock().iter().take(TOGETHER).cloned().collect()
    }

    fn confirm(&self, some: &[ClaimRelease]) {
        let mut all = self.0.lock();
        for one in some {
            all.remove(one);
        }
    }
}

/// Gives back what is to be given back, for as long as there is a store object.
pub(crate) async fn retry_releases(shared: Weak<StoreContext>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        loop {
            let some = shared.releases.next_batch();
            if some.is_empty() {
                break;
            }
            if let Err(error) = release_batch(&shared, &some).await {
                tracing::debug!(%error, count = some.len(), "claims are still to be given back");
                break;
            }
            shared.releases.confirm(&some);
        }
    }
}

async fn release_batch(
    shared: &Arc<StoreContext>,
    some: &[ClaimRelease],
) -> Result<(), StoreError> {
    // One whose epoch was not told is whatever this node's lease has of the session, unless that is
    // a claim which was answered since.
    const SQL: &str = "select SCHEMA.release(s.id, s.epoch, s.owner) \
        from unnest($1, $2, $3, $4) as g (id, epoch, owner, told) \
        join SCHEMA.sessions s on s.id = g.id and s.owner = g.owner \
            and (s.epoch = g.epoch) = g.told \
        order by s.id";
    let ids: Vec<&str> = some.iter().map(|one| one.session.as_str()).collect();
    let known = |one: &ClaimRelease| one.epoch.or_else(|| shared.slots.known(&one.session));
    let epochs = some.iter().map(|one| known(one).unwrap_or(Epoch(0)));
    let epochs: Vec<i64> = epochs.map(|epoch| epoch.0.cast_signed()).collect();
    let owners: Vec<i64> = some.iter().map(|one| one.owner).collect();
    let told: Vec<bool> = some.iter().map(|one| one.epoch.is_some()).collect();
    let params = &[
        (&ids as _, Type::TEXT_ARRAY),
        (&epochs as _, Type::INT8_ARRAY),
        (&owners as _, Type::INT8_ARRAY),
        (&told as _, Type::BOOL_ARRAY),
    ];
    let doing = "giving back what could not be given back before";
    shared.database.rows(doing, SQL, params).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_answered_is_kept_and_only_so_much_of_it() {
        let returns = UnconfirmedReleases::default();
        let session = SessionId::new("s").unwrap();
        returns.begin(&session, Some(Epoch(1)), 1).done();
        assert_eq!(returns.next_batch(), []);
        for epoch in 0..=MOST as u64 {
            drop(returns.begin(&session, Some(Epoch(epoch)), 1));
        }
        assert_eq!((returns.next_batch().len(), returns.0.lock().len()), (TOGETHER, MOST));
        returns.confirm(&returns.next_batch());
        assert_eq!(returns.0.lock().len(), MOST - TOGETHER);
    }
}
