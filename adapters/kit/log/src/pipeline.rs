//! The pipeline: the calls of a store object, and their bounds.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant as TokioInstant, timeout, timeout_at};
use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{SessionClaim, StoreError, StoreErrorKind};

use crate::backend::CommitBackend;
use crate::batch::Batch;
use crate::claims::Claims;
use crate::commit::{Committer, PipelineState};
use crate::queue::{PendingAppend, PipelineRequest, QueuedRequest, SessionRequest, StopCause};
use crate::tails::Tails;
use crate::watchdog::{BackendWatch, watch};

/// Longest time to wait for the commit thread when the pipeline is dropped.
const CLOSING: Duration = Duration::from_secs(30);

/// Bytes of one permit of the room for waiting requests.
const PERMIT_BYTES: usize = 4 * 1024;

/// Limit on a tail's patience, so that its deadline does not overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Limits of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineLimits {
    /// Appends that close a group, and claims and releases that wait for it.
    pub group_appends: usize,
    /// Bytes of facts that close a group.
    pub group_bytes: usize,
    /// Bytes that may wait; each request counts as 4 KiB at least.
    pub waiting_bytes: usize,
    /// Longest duration of one call of the backend, after which the pipeline stops. It is also the
    /// longest time that a request waits for its turn.
    pub timeout: Duration,
}

impl Default for PipelineLimits {
    fn default() -> Self {
        Self {
            group_appends: 4_096,
            group_bytes: 8 * 1024 * 1024,
            waiting_bytes: 128 * 1024 * 1024,
            timeout: Duration::from_secs(60),
        }
    }
}

/// Commits the appends of many sessions together, on a thread that owns a [`CommitBackend`].
///
/// Appends that arrive while the backend commits a group form the next; no append waits for others
/// to arrive. Claims, releases and erasures run between groups. The calls for one session run in
/// their order. Every call returns within three times [`PipelineLimits::timeout`].
///
/// Dropping it waits until all requests are served and the backend is dropped, 30 s at most.
#[derive(Debug)]
pub struct Pipeline {
    shared: Arc<PipelineState>,
    requests: Option<Sender<QueuedRequest>>,
    /// Closes when the thread has dropped the backend. Nothing is sent.
    alive: Mutex<Receiver<()>>,
}

impl Pipeline {
    /// Starts a pipeline over a backend. `place` names the store in error messages, as in
    /// `the sled store state/sled`.
    ///
    /// # Errors
    /// `Io` if its threads cannot be started.
    pub fn start(
        place: impl Into<String>,
        backend: impl CommitBackend,
        bounds: PipelineLimits,
    ) -> Result<Self, StoreError> {
        let place = place.into();
        let (requests, queue) = channel();
        let shared = Arc::new(PipelineState {
            location: place.clone(),
            bounds,
            watched: BackendWatch::new(queue),
            stopped: StopCause::default(),
            claims: Claims::new(place.clone()),
            tails: Tails::default(),
            room: Semaphore::new(all_permits(&bounds) as usize),
        });
        let no_thread = |error: std::io::Error| {
            let context = format!("starting the threads of {place}: {error}");
            StoreError::new(StoreErrorKind::Io, context).caused_by(error)
        };
        let (closing, alive) = channel::<()>();
        let (running, ended) = channel::<()>();
        let committer = Committer::new(shared.clone(), backend);
        let commit = move || {
            committer.run();
            drop((running, closing));
        };
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let committing = named("windlass-kit-log-commit").spawn(commit);
        committing.map_err(no_thread)?;
        let watching = {
            let shared = shared.clone();
            move || watch(&shared, &ended)
        };
        let watching = named("windlass-kit-log-watch").spawn(watching);
        watching.map_err(no_thread)?;
        Ok(Self { shared, requests: Some(requests), alive: Mutex::new(alive) })
    }

    /// Writes a probe, as [`CommitBackend::probe`] does.
    ///
    /// # Errors
    /// As [`LogStore::probe`](windlass_ports::LogStore::probe).
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.shared.stopped.check_reopening()?;
        self.ask(0, |answer| PipelineRequest::Session(SessionRequest::Probe { answer })).await
    }

    /// Becomes the one writer of a session.
    ///
    /// # Errors
    /// As [`LogStore::claim`](windlass_ports::LogStore::claim).
    pub async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let session = session.clone();
        let claim = |answer| PipelineRequest::Session(SessionRequest::Claim { session, answer });
        self.shared.stopped.check_reopening()?;
        self.ask(0, claim).await
    }

    /// Releases a claim.
    ///
    /// # Errors
    /// As [`LogStore::release`](windlass_ports::LogStore::release).
    pub async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        if self.check().is_err() {
            // No claim can append any more.
            return Ok(());
        }
        let session = session.clone();
        let release =
            |answer| PipelineRequest::Session(SessionRequest::Release { session, epoch, answer });
        self.ask(0, release).await
    }

    /// Appends a batch and returns once it is durable.
    ///
    /// # Errors
    /// As [`LogStore::append`](windlass_ports::LogStore::append).
    pub async fn append(&self, batch: Batch, epoch: Epoch) -> Result<(), StoreError> {
        let bytes = batch.bytes;
        let append = |answer| PipelineRequest::Append(PendingAppend { batch, epoch, answer });
        self.check()?;
        self.ask(bytes, append).await
    }

    /// Erases a session.
    ///
    /// # Errors
    /// As [`LogStore::erase`](windlass_ports::LogStore::erase).
    pub async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let session = session.clone();
        let erase =
            |answer| PipelineRequest::Session(SessionRequest::Erase { session, epoch, answer });
        self.check()?;
        self.ask(0, erase).await
    }

    /// Last durable position of a session that is claimed here. Readers stop there: facts behind it
    /// may be visible in the backend but not durable yet.
    ///
    /// It stays known after a failed append, until the next claim or release.
    #[must_use]
    pub fn last(&self, session: &SessionId) -> Option<Seq> {
        self.shared.claims.durable(session)
    }

    /// Sessions that are claimed here.
    #[must_use]
    pub fn claimed(&self) -> HashSet<SessionId> {
        self.shared.claims.sessions()
    }

    /// Waits until a session's log ends after position `after`, or until `patience` has passed.
    /// Returns the last result of `look`, which reads the end of the log. `look` is called first,
    /// after each append or erasure of this pipeline, every `poll` (for logs with other writers),
    /// and at the end.
    ///
    /// # Errors
    /// Those of `look`.
    pub async fn tail<L, F>(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
        poll: Option<Duration>,
        look: L,
    ) -> Result<Seq, StoreError>
    where
        L: Fn() -> F + Send,
        F: Future<Output = Result<Seq, StoreError>> + Send,
    {
        let now = TokioInstant::now();
        let deadline = now.checked_add(patience.min(FAR)).unwrap_or(now);
        let follower = self.shared.tails.follow(session);
        let mut over = false;
        loop {
            let mut woken = pin!(follower.woken.notified());
            // Registered before the look, so that no later append is missed.
            woken.as_mut().enable();
            let last = look().await?;
            if last > after || over {
                return Ok(last);
            }
            let next = poll.and_then(|poll| TokioInstant::now().checked_add(poll));
            let until = next.map_or(deadline, |next| next.min(deadline));
            let waited = timeout_at(until, woken).await;
            over = waited.is_err() && until == deadline;
        }
    }

    /// Returns a handle that wakes all tails, for a store that detects other writers by itself.
    #[must_use]
    pub fn wake(&self) -> TailWaker {
        TailWaker(self.shared.clone())
    }

    /// Checks that the pipeline has not stopped. A stopped one writes nothing until a claim or a
    /// probe has opened the storage again.
    ///
    /// # Errors
    /// The reason why it stopped.
    pub fn check(&self) -> Result<(), StoreError> {
        self.shared.stopped.check()
    }

    #[cfg(test)]
    pub(crate) fn follows_nothing(&self) -> bool {
        self.shared.tails.is_empty()
    }

    /// Queues a request once there is room for it, and waits for its answer.
    async fn ask<T>(
        &self,
        bytes: usize,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> PipelineRequest,
    ) -> Result<T, StoreError> {
        let permits = self.room(bytes).await?;
        let (answer, answered) = oneshot::channel();
        let queued = QueuedRequest { request: request(answer), at: Instant::now(), permits };
        // The thread drops the queue only after the watchdog has abandoned the backend.
        let sent = self.requests.as_ref().map(|queue| queue.send(queued));
        match sent {
            Some(Ok(())) => answered.await.unwrap_or_else(|_| Err(self.gone())),
            Some(Err(_)) | None => Err(self.gone()),
        }
    }

    /// Takes room for a request. The commit thread gives it back.
    async fn room(&self, bytes: usize) -> Result<u32, StoreError> {
        let PipelineState { room, bounds, .. } = &*self.shared;
        let permits = permits(bytes, bounds);
        let waited = timeout(bounds.timeout, room.acquire_many(permits)).await;
        let taken = waited.map_err(|_| self.shared.too_busy())?;
        taken.map_err(|_| self.gone())?.forget();
        Ok(permits)
    }

    fn gone(&self) -> StoreError {
        let silent = || {
            let context = format!(
                "writing to {}: its thread is gone; end this process, and start it again",
                self.shared.location
            );
            StoreError::new(StoreErrorKind::Ended, context)
        };
        self.check().err().unwrap_or_else(silent)
    }
}

/// Returns the permits of a request with this many bytes.
fn permits(bytes: usize, bounds: &PipelineLimits) -> u32 {
    let permits = u32::try_from(1 + bytes / PERMIT_BYTES).unwrap_or(u32::MAX);
    permits.min(all_permits(bounds))
}

/// Wakes the tails of a pipeline.
#[derive(Debug, Clone)]
pub struct TailWaker(Arc<PipelineState>);

impl TailWaker {
    /// Makes all tails look again.
    pub fn all(&self) {
        self.0.tails.wake_all();
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.requests = None;
        match self.alive.lock().recv_timeout(CLOSING) {
            Err(RecvTimeoutError::Disconnected) | Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => tracing::error!(
                "{} did not close in time; it stays open until this process ends",
                self.shared.location
            ),
        }
    }
}

fn all_permits(bounds: &PipelineLimits) -> u32 {
    let permits = (bounds.waiting_bytes / PERMIT_BYTES).max(1);
    let most = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
    u32::try_from(permits.min(most)).unwrap_or(u32::MAX)
}
