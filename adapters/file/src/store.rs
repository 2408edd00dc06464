//! The store: the log store port over the files of one folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::oneshot;
use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{
    Claimed, Durability, Fencing, LogStore, SessionFilter, SessionHead, StoreCapabilities,
    StoreError, StoreErrorKind, Verified, codec,
};

use crate::disk::{Disk, RealDisk};
use crate::error;
use crate::marks::Marks;
use crate::places::Places;
use crate::pool::Pool;
use crate::reader::{self, Reader};
use crate::slot::{Append, Op, Shared, Slot};

/// The largest fact in bytes of its text form.
const MAX_FACT_BYTES: usize = 32 * 1024 * 1024;
/// From how many slots on the idle ones are looked for and dropped.
const MANY_SLOTS: usize = 64;

/// A log store in a folder of the local filesystem.
///
/// Its methods must be called within a Tokio runtime. Dropping it waits until the appends that
/// were begun are done, then gives its claims back.
pub struct FileStore {
    // Fields are dropped in this order: the threads end, then the files are closed.
    pool: Pool,
    slots: Mutex<BTreeMap<SessionId, Arc<Slot>>>,
    shared: Arc<Shared>,
    marks: Arc<Marks>,
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileStore")
            .field("sessions", &self.shared.places.sessions())
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Opens the store in the folder `dir`, which the first claim creates where it is missing.
    /// Opening itself changes nothing.
    ///
    /// # Errors
    /// `Io` when `dir` is no folder, or no thread can be started.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        Self::on(Box::new(RealDisk), dir)
    }

    pub(crate) fn on(disk: Box<dyn Disk>, dir: PathBuf) -> Result<Self, StoreError> {
        if dir.exists() && !dir.is_dir() {
            let context = format!(
                "{} is no folder, so it cannot hold a file store: name a folder",
                dir.display()
            );
            return Err(StoreError::new(StoreErrorKind::Io, context));
        }
        let pool = Pool::start()
            .map_err(|error| error::from_io(error, "starting the threads of the store in", &dir))?;
        let shared = Shared {
            places: Places::new(dir),
            disk,
            epochs: AtomicU64::new(0),
        };
        Ok(Self {
            pool,
            slots: Mutex::default(),
            shared: Arc::new(shared),
            marks: Arc::default(),
        })
    }

    /// Queues an operation on a session and waits for its answer.
    ///
    /// The slot is looked up and the operation queued under one lock, so that a slot is dropped
    /// only while nothing waits in it.
    async fn call<T>(
        &self,
        session: &SessionId,
        op: Op,
        answer: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        {
            let mut slots = self.slots();
            if slots.len() >= MANY_SLOTS && !slots.contains_key(session) {
                slots.retain(|_, slot| !slot.is_idle());
            }
            let slot = slots
                .entry(session.clone())
                .or_insert_with(|| Arc::new(Slot::new(session.clone(), self.shared.clone())));
            if slot.push(op)? {
                self.pool.schedule(slot.clone());
            }
        }
        answer.await.unwrap_or_else(|_| Err(error::gone(session)))
    }

    /// Reads on a thread that may block.
    async fn reading<T: Send + 'static>(
        &self,
        session: &SessionId,
        read: impl FnOnce(Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let known_end = self.slots().get(session).and_then(|slot| slot.known_end());
        let (shared, marks, id) = (self.shared.clone(), self.marks.clone(), session.clone());
        let reading = tokio::task::spawn_blocking(move || {
            read(Reader {
                places: &shared.places,
                marks: &marks,
                session: &id,
                known_end,
            })
        });
        reading.await.unwrap_or_else(|_| Err(error::gone(session)))
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LogStore for FileStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Power,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::Place,
            tail: None,
            erase: false,
            snapshots: None,
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.call(session, Op::Claim { reply }, answer).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.call(session, Op::Release { epoch, reply }, answer)
            .await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        let bodies = encode(session, after, facts)?;
        let (reply, answer) = oneshot::channel();
        let append = Append {
            epoch,
            after,
            bodies,
            reply,
        };
        self.call(session, Op::Append(append), answer).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.reading(session, move |reader| reader.read(after, limit))
            .await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        let known: BTreeMap<_, _> = {
            let slots = self.slots();
            let ends = slots
                .iter()
                .map(|(id, slot)| (id.clone(), slot.known_end()));
            ends.collect()
        };
        let (shared, marks, after) = (self.shared.clone(), self.marks.clone(), after.cloned());
        let filter = filter.clone();
        let listing = tokio::task::spawn_blocking(move || {
            let known_end = |id: &SessionId| known.get(id).copied().flatten();
            let after = after.as_ref();
            reader::sessions(&shared.places, &marks, known_end, &filter, after, limit)
        });
        listing.await.unwrap_or_else(|error| {
            let context = "listing the sessions was stopped with the runtime: ask again";
            Err(StoreError::new(StoreErrorKind::Io, context).caused_by(error))
        })
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        self.reading(session, |reader| reader.verify()).await
    }
}

/// Encodes a batch, which must be what may follow `after`.
fn encode(
    session: &SessionId,
    after: Seq,
    facts: &[Arc<Recorded>],
) -> Result<Vec<Vec<u8>>, StoreError> {
    let invalid = |context: String| StoreError::new(StoreErrorKind::Invalid, context);
    if facts.is_empty() {
        return Err(invalid(format!("an append to {session} holds no fact")));
    }
    let mut bodies = Vec::with_capacity(facts.len());
    let mut expected = after;
    for fact in facts {
        expected = expected.next();
        if fact.session != *session || fact.seq != expected {
            return Err(invalid(format!(
                "an append to {session} holds position {} of {} where {expected} of {session} \
                 must stand",
                fact.seq, fact.session
            )));
        }
        let body = codec::encode(fact)
            .map_err(|error| invalid(format!("fact {expected} of {session}: {error}")))?;
        if body.len() > MAX_FACT_BYTES {
            let what = format!("fact {expected}");
            return Err(error::too_large(
                session,
                &what,
                body.len(),
                MAX_FACT_BYTES as u64,
            ));
        }
        bodies.push(body);
    }
    Ok(bodies)
}
