//! Claims of sessions: the writer of each, and the end of its log. The commit thread changes them.

use std::collections::HashSet;

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{ChainLink, StoreError, StoreErrorKind};

use crate::backend::{AppendRequest, LogEnd};
use crate::batch::Batch;
use crate::hash::Sessions;

/// The decision about an append.
#[derive(Debug)]
pub(crate) enum Admission {
    /// Commit it with the group.
    Commit(AppendRequest),
    /// Answer it without a commit.
    Answered {
        answer: Result<(), StoreError>,
        /// The answer holds only if the current group is committed.
        with_group: bool,
    },
}

/// The claims of all sessions.
#[derive(Debug)]
pub(crate) struct Claims {
    location: String,
    table: Mutex<ClaimTable>,
}

#[derive(Debug, Default)]
struct ClaimTable {
    claims: Sessions<Claim>,
    epoch: u64,
    /// Last epoch of the claims that ended when the storage was opened again.
    lost: u64,
}

#[derive(Debug)]
struct Claim {
    epoch: Epoch,
    /// False once a commit or an erasure failed: the end of the log is unknown.
    sound: bool,
    /// End of the log with the appends of the current group.
    end: LogEnd,
    /// Last durable position of the log.
    durable: Seq,
    latest: Option<LatestAppend>,
}

/// The beginning of the append that brought a log to its end.
#[derive(Debug)]
struct LatestAppend {
    after: Seq,
    before: ChainLink,
}

impl Claims {
    pub(crate) fn new(place: String) -> Self {
        Self { location: place, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, ClaimTable> {
        self.table.lock()
    }

    /// Sessions that are claimed.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.table().claims.keys().cloned().collect()
    }

    /// Last durable position of a claimed session.
    pub(crate) fn durable(&self, session: &SessionId) -> Option<Seq> {
        self.table().claims.get(session).map(|claim| claim.durable)
    }

    /// End of a claimed log, if it is known. Call it between groups.
    pub(crate) fn end(&self, session: &SessionId) -> Option<LogEnd> {
        let table = self.table();
        let claim = table.claims.get(session);
        claim.filter(|claim| claim.sound).map(|claim| claim.end.clone())
    }

    /// Gives a session to a new writer.
    pub(crate) fn claim(&self, session: &SessionId, end: LogEnd) -> Epoch {
        let mut table = self.table();
        table.epoch += 1;
        let epoch = Epoch(table.epoch);
        let claim = Claim { epoch, sound: true, durable: end.last, end, latest: None };
        table.claims.insert(session.clone(), claim);
        epoch
    }

    /// Returns true if this is the latest claim, even if the end of its log is unknown.
    pub(crate) fn is_latest(&self, session: &SessionId, epoch: Epoch) -> bool {
        let table = self.table();
        let claim = table.claims.get(session);
        claim.is_some_and(|claim| claim.epoch == epoch)
    }

    /// Checks that this claim may write.
    pub(crate) fn check(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut table = self.table();
        match table.writer(session, epoch) {
            Some(_) => Ok(()),
            None => Err(table.refuse(&self.location, session, epoch)),
        }
    }

    pub(crate) fn remove(&self, session: &SessionId) {
        self.table().claims.remove(session);
    }

    /// Ends all claims, since the storage is opened again.
    pub(crate) fn lose(&self) {
        let mut table = self.table();
        table.claims.clear();
        table.lost = table.epoch;
    }

    /// Records that appends are durable.
    pub(crate) fn committed(&self, requests: &[AppendRequest]) {
        let mut table = self.table();
        for request in requests {
            if let Some(claim) = table.claims.get_mut(&request.batch.session) {
                claim.durable = request.end.last;
            }
        }
    }

    /// Records that the end of a log is unknown. Only a new claim finds it.
    pub(crate) fn doubt(&self, session: &SessionId) {
        if let Some(claim) = self.table().claims.get_mut(session) {
            claim.sound = false;
        }
    }

    /// Checks an append and moves the end of its log.
    pub(crate) fn admit(&self, batch: Batch, epoch: Epoch) -> Admission {
        let mut table = self.table();
        if table.writer(&batch.session, epoch).is_none() {
            let answer = Err(table.refuse(&self.location, &batch.session, epoch));
            return Admission::Answered { answer, with_group: false };
        }
        let Some(claim) = table.claims.get_mut(&batch.session) else {
            let answer = Err(not_claimed(&self.location, &batch.session, epoch));
            return Admission::Answered { answer, with_group: false };
        };
        if claim.end.last != batch.after {
            let answer = match claim.is_latest(&batch) {
                true => Ok(()),
                false => Err(conflict(&self.location, &batch, claim.end.last)),
            };
            return Admission::Answered { answer, with_group: claim.end.last != claim.durable };
        }
        let request = AppendRequest::new(claim.end.clone(), batch);
        claim.end.clone_from(&request.end);
        claim.latest = Some(LatestAppend { after: request.batch.after, before: request.before });
        Admission::Commit(request)
    }
}

impl ClaimTable {
    /// The error of a writer that may not write. Without a later claim nobody has taken over from
    /// one whose claim ended with the storage.
    fn refuse(&self, place: &str, session: &SessionId, epoch: Epoch) -> StoreError {
        // No claim has epoch 0.
        let was_lost = (1..=self.lost).contains(&epoch.0);
        if !was_lost || self.claims.contains_key(session) {
            return not_claimed(place, session, epoch);
        }
        let context = format!(
            "writing to session {session} in {place}: it failed and was opened again since the \
             claim {epoch}: claim the session again"
        );
        StoreError::new(StoreErrorKind::Unavailable, context)
    }

    /// The claim with this epoch, if it may write.
    fn writer(&mut self, session: &SessionId, epoch: Epoch) -> Option<&mut Claim> {
        let claim = self.claims.get_mut(session)?;
        (claim.epoch == epoch && claim.sound).then_some(claim)
    }
}

impl Claim {
    /// Returns true if this append brought the log to its end.
    fn is_latest(&self, batch: &Batch) -> bool {
        let latest = self.latest.as_ref();
        latest.is_some_and(|latest| {
            latest.after == batch.after
                && self.end.last == batch.last()
                && batch.links(&latest.before).last() == Some(&self.end.link)
        })
    }
}

fn not_claimed(place: &str, session: &SessionId, epoch: Epoch) -> StoreError {
    StoreError::new(
        StoreErrorKind::NotClaimed,
        format!(
            "writing to session {session} in {place}: epoch {epoch} is not that of its latest claim; \
             another writer has taken over, it was released, or a write to it failed: claim it again"
        ),
    )
}

fn conflict(place: &str, batch: &Batch, last: Seq) -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict { last },
        format!(
            "appending to session {} in {place} after position {}: its log ends at {last}; read on \
             from there",
            batch.session, batch.after
        ),
    )
}
