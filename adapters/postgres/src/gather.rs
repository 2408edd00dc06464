//! Gathering: appends of many sessions go to the server in one statement and one commit. While groups
//! are under way, what comes next gathers for the next group.

use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::error::{again, not_claimed};
use crate::group::{self, ClaimStatus};
use crate::slots::ClaimSlot;
use crate::store::StoreContext;

/// The most appends of one group.
const GROUP: usize = 1_024;
/// The bytes of texts from which on a group is full.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
/// The most appends that wait; who comes then waits for room.
const QUEUE: usize = 4_096;

/// An append on its way.
pub(crate) struct AppendJob {
    pub(crate) session: SessionId,
    /// The session's slot, held until the append is answered.
    pub(crate) slot: OwnedMutexGuard<ClaimSlot>,
    pub(crate) after: Seq,
    pub(crate) crc: i32,
    pub(crate) body: Vec<u8>,
    /// End of the log after it.
    pub(crate) end: LogEnd,
    pub(crate) answer: oneshot::Sender<Result<(), StoreError>>,
}

/// Starts gathering, and tells where to put appends. It ends when nobody can put any more.
pub(crate) fn start(shared: &Arc<StoreContext>, writers: usize) -> mpsc::Sender<AppendJob> {
    let (put, jobs) = mpsc::channel(QUEUE);
    let writers = Arc::new(Semaphore::new(writers));
    tokio::spawn(gather(Arc::clone(shared), jobs, writers));
    put
}

async fn gather(
    shared: Arc<StoreContext>,
    mut jobs: mpsc::Receiver<AppendJob>,
    writers: Arc<Semaphore>,
) {
    while let Some(first) = jobs.recv().await {
        let Ok(permit) = Arc::clone(&writers).acquire_owned().await else {
            return;
        };
        let mut bytes = first.body.len();
        let mut group = vec![first];
        while group.len() < GROUP && bytes < GROUP_BYTES {
            let Ok(next) = jobs.try_recv() else { break };
            bytes += next.body.len();
            group.push(next);
        }
        tokio::spawn(write(Arc::clone(&shared), group, permit));
    }
}

async fn write(shared: Arc<StoreContext>, mut group: Vec<AppendJob>, permit: OwnedSemaphorePermit) {
    // Whoever locks rows locks them in one order.
    group.sort_by(|one, other| one.session.cmp(&other.session));
    let written = group::append_group(&shared.database, &group).await;
    match written {
        Ok(kept) => answer(&shared, group, kept).await,
        // One that the server does not take is not to fail the others.
        Err(error) if group.len() > 1 && error.kind == StoreErrorKind::Io => {
            for job in group {
                let alone = [job];
                let written = group::append_group(&shared.database, &alone).await;
                match written {
                    Ok(kept) => answer(&shared, alone.into(), kept).await,
                    Err(error) => fail(alone.into(), &error),
                }
            }
        }
        Err(error) => fail(group, &error),
    }
    drop(permit);
}

/// Answers each append of a group: kept, kept before, or why not.
async fn answer(shared: &StoreContext, group: Vec<AppendJob>, kept: Vec<bool>) {
    let mut moved = Vec::with_capacity(group.len());
    let mut open = Vec::new();
    for (job, kept) in group.into_iter().zip(kept) {
        if kept {
            moved.push((job.session.clone(), job.end.last));
            done(job);
        } else {
            open.push(job);
        }
    }
    shared.tails.notify_append(moved);
    if open.is_empty() {
        return;
    }
    let standing = match group::claim_status(&shared.database, &open).await {
        Ok(standing) => standing,
        Err(error) => return fail(open, &error),
    };
    for (job, standing) in open.into_iter().zip(standing) {
        let place = &shared.database.location;
        let error = match standing {
            ClaimStatus::Other => not_claimed(place, &job.session, "appending to"),
            ClaimStatus::Ours { last, link } => {
                if last == job.end.last && link == job.end.link {
                    // It was kept although its answer was lost.
                    shared.tails.notify_append(vec![(job.session.clone(), last)]);
                    done(job);
                    continue;
                }
                conflict(place, &job.session, job.after, last)
            }
        };
        let _ = job.answer.send(Err(error));
    }
}

/// The position is not the log's last.
pub(crate) fn conflict(place: &str, session: &SessionId, after: Seq, last: Seq) -> StoreError {
    let context = format!(
        "appending to session {session} in {place} after position {after}: its log ends at {last}; \
         read on from there"
    );
    StoreError::new(StoreErrorKind::Conflict { last }, context)
}

/// The log ends with this append now.
fn done(mut job: AppendJob) {
    if job.slot.end.last != job.end.last {
        let before = std::mem::replace(&mut job.slot.end, job.end);
        job.slot.before = Some(before);
    }
    drop(job.slot);
    let _ = job.answer.send(Ok(()));
}

/// Nobody knows what became of these.
fn fail(group: Vec<AppendJob>, error: &StoreError) {
    for job in group {
        drop(job.slot);
        let _ = job.answer.send(Err(again(error)));
    }
}
