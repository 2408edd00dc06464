//! The store object: checks what it is given, asks the committer or the readers, and bounds the
//! wait for either.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{
    Claimed, Durability, Fencing, Link, LogStore, SessionFilter, SessionHead, StoreCapabilities,
    StoreError, StoreErrorKind, StoreRetry, Summary, Verified,
};

use crate::check::texts;
use crate::commit::Committer;
use crate::error::{corrupt_store, io_error};
use crate::open::{self, Mode};
use crate::pool::{self, Job};
use crate::queue::{Append, Request, Shared, Stopped};
use crate::read::{Cursor, Stretch, decode, sessions, stretch};
use crate::record::MAX_FACT_BYTES;
use crate::watchdog::message;
use crate::witness::Witness;

/// Requests that wait for the committer, and reads that wait for a reader.
const WAITING: usize = 4_096;

/// How long an answer may take before the database is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long closing may take.
const CLOSING: Duration = Duration::from_secs(30);

const PAGE_SESSIONS: usize = 1_024;

/// A log store in a sled database.
#[derive(Debug)]
pub struct SledStore {
    dir: PathBuf,
    requests: Option<Sender<Request>>,
    jobs: Option<Sender<Job>>,
    room: Arc<Semaphore>,
    stopped: Arc<Stopped>,
    /// Nothing comes; it closes when the last thread has let go of the database.
    alive: Mutex<Receiver<()>>,
}

impl SledStore {
    /// Opens the store in a folder, or makes one there. Blocks until it is open: a few tens of
    /// milliseconds, more for a large database, and never longer than 30 s and 1 s for each
    /// 10 MiB of it.
    ///
    /// # Errors
    /// `Locked` when another process, or another object in this one, has it open; `Corrupt` when
    /// the database and its witness disagree, either is damaged, or the database does not open in
    /// time; `Full`, `ReadOnly`, `Io`.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        Self::start(open::open(dir, Mode::Open, None)?)
    }

    /// As [`open`](Self::open), within a time of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_within(dir: PathBuf, bound: Duration) -> Result<Self, StoreError> {
        Self::start(open::open(dir, Mode::Open, Some(bound))?)
    }

    /// Checks every log of the store in a folder, and writes its witness anew from what the
    /// database holds now. Only for a witness that is lost while the database is known to be
    /// whole: afterwards nobody can tell whether logs ended later than they do now.
    ///
    /// # Errors
    /// `Corrupt` when any log does not verify, or there is no database; otherwise as
    /// [`open`](Self::open).
    pub fn rebuild_witness(dir: PathBuf) -> Result<Self, StoreError> {
        Self::start(open::open(dir, Mode::Rebuild, None)?)
    }

    fn start((shared, witness): (Shared, Witness)) -> Result<Self, StoreError> {
        let dir = shared.dir.clone();
        let no_thread = |error| io_error("starting the threads of", &dir, error);
        let shared = Arc::new(shared);
        let stopped = Arc::new(Stopped::default());
        let (alive, closed) = channel();
        let jobs = pool::start(&shared, &alive).map_err(no_thread)?;
        let (requests, queue) = channel();
        let committer = Committer::new(shared, witness, stopped.clone());
        let commit = move || {
            committer.run(&queue);
            drop(alive);
        };
        let name = "windlass-sled-commit".to_owned();
        thread::Builder::new()
            .name(name)
            .spawn(commit)
            .map_err(no_thread)?;
        Ok(Self {
            dir: dir.clone(),
            requests: Some(requests),
            jobs: Some(jobs),
            room: Arc::new(Semaphore::new(WAITING)),
            stopped,
            alive: Mutex::new(closed),
        })
    }

    /// Asks the committer and waits for its answer.
    async fn ask<T>(
        &self,
        doing: &str,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>, OwnedSemaphorePermit) -> Request,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            let room = self.room.clone().acquire_owned().await;
            let room = room.map_err(|_| self.silent(doing, "closed"))?;
            self.stopped.check()?;
            let sent = self
                .requests
                .as_ref()
                .map(|to| to.send(request(answer, room)));
            if !matches!(sent, Some(Ok(()))) {
                return Err(self.silent(doing, "no committer"));
            }
            answered
                .await
                .unwrap_or_else(|_| Err(self.silent(doing, "no answer")))
        };
        match timeout(PATIENCE, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                let late =
                    self.silent(doing, &format!("no answer within {} s", PATIENCE.as_secs()));
                self.stopped.stop(&late);
                Err(late)
            }
        }
    }

    /// Runs a read on a reader's thread.
    async fn read_with<T: Send + 'static>(
        &self,
        doing: &str,
        read: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            let room = self.room.clone().acquire_owned().await;
            let room = room.map_err(|_| self.silent(doing, "closed"))?;
            let job = move |shared: &Shared| {
                let done = catch_unwind(AssertUnwindSafe(|| read(shared)));
                let done = done.unwrap_or_else(|panic| {
                    let what = format!("the database panicked: {}", message(&*panic));
                    Err(corrupt_store(&shared.dir, &what))
                });
                let _ = answer.send(done);
                drop(room);
            };
            let sent = self.jobs.as_ref().map(|to| to.send(Box::new(job)));
            if !matches!(sent, Some(Ok(()))) {
                return Err(self.silent(doing, "no reader"));
            }
            answered
                .await
                .unwrap_or_else(|_| Err(self.silent(doing, "no answer")))
        };
        let late =
            |_| Err(self.silent(doing, &format!("no answer within {} s", PATIENCE.as_secs())));
        timeout(PATIENCE, asked).await.unwrap_or_else(late)
    }

    fn silent(&self, doing: &str, what: &str) -> StoreError {
        let mut error = StoreError::new(
            StoreErrorKind::Io,
            format!(
                "{doing} in the sled store {}: {what}; end this process and open the store again",
                self.dir.display()
            ),
        );
        error.retry = StoreRetry::Later;
        error
    }

    async fn page(&self, session: &SessionId, cursor: Cursor) -> Result<Stretch, StoreError> {
        let id = session.clone();
        let doing = format!("reading session {session}");
        self.read_with(&doing, move |shared| stretch(shared, &id, cursor))
            .await
    }
}

#[async_trait]
impl LogStore for SledStore {
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
        let doing = format!("claiming session {session}");
        let session = session.clone();
        let claim = |answer, room| Request::Claim {
            session,
            answer,
            room,
        };
        self.ask(&doing, claim).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        if self.stopped.check().is_err() {
            // No claim appends any more: there is nothing to give back.
            return Ok(());
        }
        let doing = format!("releasing session {session}");
        let session = session.clone();
        let release = |answer, room| Request::Release {
            session,
            epoch,
            answer,
            room,
        };
        self.ask(&doing, release).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        let (texts, bytes) = texts(&self.dir, session, after, facts)?;
        let doing = format!("appending to session {session}");
        let session = session.clone();
        let append = |answer, room| {
            Request::Append(Append {
                session,
                epoch,
                after,
                texts,
                bytes,
                answer,
                room,
            })
        };
        self.ask(&doing, append).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let mut facts = Vec::new();
        let mut cursor = Cursor {
            after,
            link: None,
            limit,
        };
        loop {
            let stretch = self.page(session, cursor).await?;
            for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
                facts.push(decode(&self.dir, session, Seq(seq), text)?);
            }
            cursor.after = cursor.after.plus(stretch.texts.len() as u64);
            cursor.link = Some(stretch.link);
            cursor.limit -= stretch.texts.len();
            if cursor.after >= stretch.last || cursor.limit == 0 {
                return Ok(facts);
            }
        }
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        let mut listed = Vec::new();
        let mut after = after.cloned();
        while listed.len() < limit {
            let count = PAGE_SESSIONS.min(limit - listed.len());
            let from = after.clone();
            let page = self
                .read_with("listing the sessions", move |shared| {
                    sessions(shared, from, count)
                })
                .await?;
            let ended = page.len() < count;
            after = page.last().cloned();
            for id in page {
                let facts = self.read(&id, Seq::ZERO, usize::MAX).await;
                let summary = facts.ok().and_then(|facts| Summary::after(None, &facts));
                if filter.takes(summary.as_ref()) {
                    listed.push(SessionHead { id, summary });
                }
            }
            if ended {
                break;
            }
        }
        Ok(listed)
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        let mut bytes = 0;
        let mut chain = Link::genesis(session);
        let mut cursor = Cursor {
            after: Seq::ZERO,
            link: None,
            limit: usize::MAX,
        };
        loop {
            let stretch = self.page(session, cursor).await?;
            for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
                decode(&self.dir, session, Seq(seq), text)?;
                bytes += text.len() as u64;
                chain = chain.then(text);
            }
            cursor.after = cursor.after.plus(stretch.texts.len() as u64);
            cursor.link = Some(stretch.link);
            if cursor.after < stretch.last {
                continue;
            }
            return Ok(Verified {
                last: cursor.after,
                bytes,
                torn_bytes: stretch.torn_bytes,
                chain,
            });
        }
    }
}

impl Drop for SledStore {
    /// Waits until the database is closed, so that it can be opened again at once.
    fn drop(&mut self) {
        self.requests = None;
        self.jobs = None;
        let alive = self.alive.get_mut().unwrap_or_else(PoisonError::into_inner);
        match alive.recv_timeout(CLOSING) {
            Err(RecvTimeoutError::Disconnected) | Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => tracing::error!(
                store = %self.dir.display(),
                "the sled store did not close in time; it stays locked until this process ends"
            ),
        }
    }
}
