//! The committer: one thread that owns all claims, gathers appends of all sessions into one
//! commit, and acknowledges them once they are synced.
//!
//! A commit is, in this order: one atomic batch in the database, its flush into the file, a real
//! `fdatasync` of the file, the heads, the witness, the answers. A crash between two of these
//! leaves the database ahead of the witness, never behind it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Claimed, Repair, StoreError, StoreErrorKind};

use crate::error::{io_error, sled_error};
use crate::folder::Folder;
use crate::heads::Seen;
use crate::queue::{Append, Request, Shared, Stopped};
use crate::record::{self, Link};
use crate::statement::Statement;
use crate::watchdog::message;
use crate::witness::Witness;

const GROUP_BYTES: usize = 8 * 1024 * 1024;
const GROUP_APPENDS: usize = 1_024;

/// The committer's state.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    witness: Witness,
    stopped: Arc<Stopped>,
    claims: BTreeMap<SessionId, Claim>,
    epoch: u64,
}

/// A claim, with the end of the log as it will be once the group at hand is committed.
struct Claim {
    epoch: Epoch,
    last: Seq,
    link: Link,
}

/// Appends that are committed together.
#[derive(Default)]
struct Group {
    batch: sled::Batch,
    bytes: usize,
    ends: BTreeMap<SessionId, (Seq, Link)>,
    answers: Vec<Answer>,
}

struct Answer {
    to: oneshot::Sender<Result<(), StoreError>>,
    outcome: Result<(), StoreError>,
    _room: OwnedSemaphorePermit,
}

impl Committer {
    pub(crate) fn new(shared: Arc<Shared>, witness: Witness, stopped: Arc<Stopped>) -> Self {
        Self {
            shared,
            witness,
            stopped,
            claims: BTreeMap::new(),
            epoch: 0,
        }
    }

    /// Serves requests until nobody can make any more.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        loop {
            let next = match self.witness.due() {
                None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => requests.recv_timeout(wait),
            };
            match next {
                Ok(request) => self.serve(request, requests),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.witness.due().is_some_and(|wait| wait.is_zero()) {
                self.sync_witness();
            }
        }
        self.sync_witness();
    }

    /// Serves a request and the appends that wait behind it.
    fn serve(&mut self, first: Request, requests: &Receiver<Request>) {
        let mut group = Group::default();
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Append(append) => self.add(append, &mut group),
                Request::Claim {
                    session,
                    answer,
                    room,
                } => {
                    self.commit(std::mem::take(&mut group));
                    let _ = answer.send(self.claim(&session));
                    drop(room);
                }
                Request::Release {
                    session,
                    epoch,
                    answer,
                    room,
                } => {
                    self.commit(std::mem::take(&mut group));
                    self.release(&session, epoch);
                    let _ = answer.send(Ok(()));
                    drop(room);
                }
            }
            let full = group.bytes >= GROUP_BYTES || group.answers.len() >= GROUP_APPENDS;
            next = if full { None } else { requests.try_recv().ok() };
        }
        self.commit(group);
    }

    fn claim(&mut self, session: &SessionId) -> Result<Claimed, StoreError> {
        self.stopped.check()?;
        let shared = self.shared.clone();
        let doing = format!("claiming session {session} in");
        let admitted = self.guarded(&doing, |shared| {
            let mut heads = shared.heads();
            let head = heads.admit(&shared.db, &shared.dir, session)?;
            // From here on the session's rows in the database may be ahead of what is synced.
            if head.seen == Seen::Whole {
                heads.set(session, head.seq, head.link);
            }
            Ok(head)
        });
        let head = admitted?;
        let repaired = match head.seen {
            Seen::Not | Seen::Whole => None,
            Seen::Torn { bytes } => {
                let cut = self.guarded(&doing, |shared| cut(shared, session, head.seq));
                cut.inspect_err(|error| self.stopped.stop(error))?;
                shared.heads().set(session, head.seq, head.link);
                Some(Repair {
                    kept: head.seq,
                    cut_bytes: bytes,
                })
            }
        };
        self.epoch += 1;
        let epoch = Epoch(self.epoch);
        let claim = Claim {
            epoch,
            last: head.seq,
            link: head.link,
        };
        self.claims.insert(session.clone(), claim);
        Ok(Claimed {
            epoch,
            last: head.seq,
            repaired,
        })
    }

    fn release(&mut self, session: &SessionId, epoch: Epoch) {
        if self
            .claims
            .get(session)
            .is_some_and(|claim| claim.epoch == epoch)
        {
            self.claims.remove(session);
            self.shared.heads().forget_empty(session);
        }
    }

    /// Takes an append into a group, or the reason why not.
    fn add(&mut self, append: Append, group: &mut Group) {
        let outcome = self
            .stopped
            .check()
            .and_then(|()| self.take(&append, group));
        let Append {
            answer: to, room, ..
        } = append;
        group.answers.push(Answer {
            to,
            outcome,
            _room: room,
        });
    }

    fn take(&mut self, append: &Append, group: &mut Group) -> Result<(), StoreError> {
        let Append {
            session,
            epoch,
            after,
            texts,
            bytes,
            ..
        } = append;
        let dir = self.shared.dir.display();
        let claim = self
            .claims
            .get_mut(session)
            .filter(|claim| claim.epoch == *epoch);
        let Some(claim) = claim else {
            return Err(StoreError::new(
                StoreErrorKind::NotClaimed,
                format!(
                    "appending to session {session} in the sled store {dir}: epoch {epoch} is \
                     not that of its latest claim; another writer has taken over, or it was \
                     released: claim it again"
                ),
            ));
        };
        let last = claim.last;
        if last != *after {
            return Err(StoreError::new(
                StoreErrorKind::Conflict { last },
                format!(
                    "appending to session {session} in the sled store {dir} after position \
                     {after}: its log ends at {last}; read on from there"
                ),
            ));
        }
        let count = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        for (index, text) in (0..count).zip(texts) {
            claim.last = claim.last.next();
            claim.link = record::link(&claim.link, text);
            let place = (index, count);
            for (key, value) in record::rows(session, claim.last, place, claim.link, text) {
                group.batch.insert(key, value);
            }
        }
        group.bytes += bytes;
        group.ends.insert(session.clone(), (claim.last, claim.link));
        Ok(())
    }

    fn commit(&mut self, group: Group) {
        let Group {
            batch,
            ends,
            answers,
            ..
        } = group;
        let kept = if ends.is_empty() {
            Ok(())
        } else {
            self.keep(batch, &ends)
        };
        if let Err(error) = &kept {
            // Whether the facts were kept is for a new claim to find out.
            for session in ends.keys() {
                self.claims.remove(session);
            }
            tracing::warn!(%error, appends = answers.len(), "a commit failed");
        }
        for Answer { to, outcome, _room } in answers {
            // A conflict with an append of this very group stands only if the group does.
            let outcome = match (&kept, outcome) {
                (Ok(()), outcome) => outcome,
                (Err(error), _) => Err(StoreError::new(error.kind.clone(), error.context.clone())),
            };
            let _ = to.send(outcome);
        }
    }

    fn keep(
        &mut self,
        batch: sled::Batch,
        ends: &BTreeMap<SessionId, (Seq, Link)>,
    ) -> Result<(), StoreError> {
        let done = self.guarded("appending to", |shared| write(shared, batch));
        done.inspect_err(|error| self.stopped.stop(error))?;
        let statements: Vec<_> = ends
            .iter()
            .map(|(session, (seq, link))| Statement {
                session: session.clone(),
                seq: *seq,
                link: *link,
            })
            .collect();
        let mut heads = self.shared.heads();
        for Statement { session, seq, link } in &statements {
            heads.set(session, *seq, *link);
        }
        if !self.witness.overgrown(heads.len()) {
            drop(heads);
            return self.witness.state(&statements);
        }
        let all: Vec<_> = heads.statements().collect();
        drop(heads);
        let folder = Folder {
            dir: self.shared.dir.clone(),
        };
        self.witness = Witness::create(&folder, self.witness.id(), all.into_iter())?;
        Ok(())
    }

    fn sync_witness(&mut self) {
        if self.witness.due().is_some()
            && let Err(error) = self.witness.sync()
        {
            self.stopped.stop(&error);
        }
    }

    /// Runs work on the database; its panic is an error that stops the store.
    fn guarded<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Shared) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let shared = &*self.shared;
        catch_unwind(AssertUnwindSafe(|| work(shared))).unwrap_or_else(|panic| {
            let what = message(&*panic);
            let bug = sled::Error::ReportableBug(format!("it panicked: {what}"));
            let error = sled_error(doing, &shared.dir, bug);
            self.stopped.stop(&error);
            Err(error)
        })
    }
}

/// Writes a batch and returns once it is on the disk.
fn write(shared: &Shared, batch: sled::Batch) -> Result<(), StoreError> {
    let doing = "appending to";
    let applied = shared
        .db
        .apply_batch(batch)
        .and_then(|()| shared.db.flush());
    applied.map_err(|error| sled_error(doing, &shared.dir, error))?;
    let synced = shared.data.sync_data();
    synced.map_err(|error| io_error("syncing the sled store", &shared.dir, error))
}

/// Cuts a half append off the end of a log.
fn cut(shared: &Shared, session: &SessionId, kept: Seq) -> Result<(), StoreError> {
    let mut batch = sled::Batch::default();
    let torn = record::key(session, kept.next(), 0)..record::after_session(session);
    for key in shared.db.range(torn).keys() {
        batch.remove(key.map_err(|error| sled_error("repairing", &shared.dir, error))?);
    }
    write(shared, batch)
}
