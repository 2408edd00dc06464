//! The pipeline: what a store object asks, and the bounds on it.

use std::collections::HashSet;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, TryAcquireError, oneshot};
use tokio::time::{Instant as TokioInstant, timeout, timeout_at};
use windlass_core::{Epoch, Retry, Seq, SessionId};
use windlass_ports::{Claimed, StoreError, StoreErrorKind};

use crate::batch::Batch;
use crate::claims::Claims;
use crate::commit::{Committer, Shared};
use crate::hints::Hints;
use crate::medium::{Medium, Unit};
use crate::queue::{Append, Asked, Request, Stopped};
use crate::tails::Tails;
use crate::watch::{Watched, watch};

/// How long closing may take.
const CLOSING: Duration = Duration::from_secs(30);

/// The room for what waits is counted in parts of so many bytes.
const ROOM_BYTES: usize = 4 * 1024;

/// What follows a log for longer than anybody waits, in seconds.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The bounds of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A group is closed when it has so many appends.
    pub group_appends: usize,
    /// A group is closed when its facts have so many bytes.
    pub group_bytes: usize,
    /// So many bytes may wait; each request counts as 4 KiB at least.
    pub waiting_bytes: usize,
    /// How long one call of the medium may take before it is given up and the pipeline stops, and
    /// how long a request may wait for its turn.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            group_appends: 4_096,
            group_bytes: 8 * 1024 * 1024,
            waiting_bytes: 128 * 1024 * 1024,
            patience: Duration::from_secs(60),
        }
    }
}

/// One commit for the appends of many sessions: a thread that has a [`Medium`], and the way to ask
/// it.
///
/// Appends that come while the medium keeps a group share the next; none waits for others to come.
/// Claims, releases and erasures come between groups, in the order of asking. Every call is answered
/// within three times [`Bounds::patience`].
///
/// When it is dropped, it waits until all that was asked is done and the medium is dropped, 30 s at
/// most.
#[derive(Debug)]
pub struct Pipeline {
    shared: Arc<Shared>,
    requests: Option<Sender<Asked>>,
    /// Nothing comes; it closes when the thread has dropped the medium.
    alive: Mutex<Receiver<()>>,
}

impl Pipeline {
    /// Starts a pipeline over a medium. `place` names the store, as in `the sled store state/sled`,
    /// for what is said of errors.
    ///
    /// # Errors
    /// `Io` when there is no thread to run it on.
    pub fn start(
        place: impl Into<String>,
        medium: impl Medium,
        bounds: Bounds,
    ) -> Result<Self, StoreError> {
        let place = place.into();
        let (requests, queue) = channel();
        let shared = Arc::new(Shared {
            place: place.clone(),
            bounds,
            watched: Watched::new(queue),
            stopped: Stopped::default(),
            claims: Claims::new(place.clone()),
            hints: Hints::default(),
            tails: Tails::default(),
            room: Semaphore::new(most_room(&bounds) as usize),
        });
        let no_thread = |error: std::io::Error| {
            let context = format!("starting the threads of {place}: {error}");
            StoreError::new(StoreErrorKind::Io, context).caused_by(error)
        };
        let (closing, alive) = channel::<()>();
        let (running, ended) = channel::<()>();
        let committer = Committer::new(shared.clone(), medium);
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
        Ok(Self {
            shared,
            requests: Some(requests),
            alive: Mutex::new(alive),
        })
    }

    /// Becomes the one writer of a session.
    ///
    /// # Errors
    /// As [`LogStore::claim`](windlass_ports::LogStore::claim).
    pub async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        let session = session.clone();
        let claim = |answer| Request::Claim { session, answer };
        self.ask(0, claim).await
    }

    /// Gives a claim back.
    ///
    /// # Errors
    /// As [`LogStore::release`](windlass_ports::LogStore::release).
    pub async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        if self.check().is_err() {
            // No claim appends any more: there is nothing to give back.
            return Ok(());
        }
        let session = session.clone();
        let release = |answer| Request::Release {
            session,
            epoch,
            answer,
        };
        self.ask(0, release).await
    }

    /// Asks for an append at once, and answers once the medium has kept it.
    ///
    /// # Errors
    /// As [`LogStore::append`](windlass_ports::LogStore::append).
    pub fn append(
        &self,
        batch: Batch,
        epoch: Epoch,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let bytes = batch.bytes;
        let hints = &self.shared.hints;
        let hint = hints.of(&batch.session, epoch);
        let seat = hint.as_ref().map(|hint| hint.seat);
        // Its links need the log's end and nothing else, so they are made here, where many are at once.
        // Where that is not the end that the append meets, the pipeline's thread makes them anew.
        let append = match hint {
            Some(hint) if hint.end.last == batch.after => {
                let unit = Unit::seated(hint.end, batch, hint.seat);
                hints.note(&unit.batch.session, epoch, &unit.end);
                Append::Unit(Box::new(unit))
            }
            Some(_) | None => Append::Batch(Box::new(batch)),
        };
        let astray = matches!(append, Append::Batch(_));
        let append = move |answer| Request::Append {
            append,
            seat,
            epoch,
            answer,
        };
        // What waits has little memory of its own: many do.
        let answer = match self.try_room(bytes) {
            Ok(Some(room)) => Answer::Comes(self.send(room, bytes, append)),
            Ok(None) => Answer::Later(Box::pin(self.ask(bytes, append))),
            Err(error) => Answer::Comes(Err(Box::new(error))),
        };
        async move {
            let kept: Result<_, Box<StoreError>> = match answer {
                Answer::Comes(Ok(answered)) => self.answered(answered).await,
                Answer::Comes(Err(error)) => Err(error),
                Answer::Later(answer) => answer.await,
            };
            // What was appended comes back, and is freed here.
            let unit = kept.map_err(|error| *error)?;
            if let Some(unit) = unit.filter(|_| astray) {
                hints.note(&unit.batch.session, epoch, &unit.end);
            }
            Ok(())
        }
    }

    /// Erases a session.
    ///
    /// # Errors
    /// As [`LogStore::erase`](windlass_ports::LogStore::erase).
    pub async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let session = session.clone();
        let erase = |answer| Request::Erase {
            session,
            epoch,
            answer,
        };
        self.ask(0, erase).await
    }

    /// The last position of a session's log, as far as it is acknowledged, while the session is
    /// claimed here. What the medium shows behind it may not be durable yet: a reader stops there.
    ///
    /// It stays known after a failed append, until a new claim or the release.
    #[must_use]
    pub fn last(&self, session: &SessionId) -> Option<Seq> {
        self.shared.claims.kept(session)
    }

    /// The sessions that are claimed here.
    #[must_use]
    pub fn claimed(&self) -> HashSet<SessionId> {
        self.shared.claims.sessions()
    }

    /// Waits until a session's log ends after position `after`, or until `patience` is over, and
    /// answers what `look` says last. `look` says where the log ends; it is called at first, when
    /// an append or an erasure of this pipeline was done, every `poll` where other writers
    /// may append, and at the end.
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
            // From here on nothing is missed that comes after the look.
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

    /// What wakes whoever follows a log here, for a medium that hears of other writers by itself.
    #[must_use]
    pub fn wake(&self) -> Wake {
        Wake(self.shared.clone())
    }

    /// Whether it has stopped: nothing can be written any more until the store is opened again.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self) -> Result<(), StoreError> {
        self.shared.stopped.check()
    }

    #[cfg(test)]
    pub(crate) fn follows_nothing(&self) -> bool {
        self.shared.tails.is_empty()
    }

    async fn ask<T, E: From<StoreError>>(
        &self,
        bytes: usize,
        request: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Request,
    ) -> Result<T, E> {
        let room = self.room(bytes).await?;
        let answered = self.send(room, bytes, request)?;
        self.answered(answered).await
    }

    /// Puts a request into the room that was taken for it.
    fn send<T, E: From<StoreError>>(
        &self,
        room: u32,
        bytes: usize,
        request: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Request,
    ) -> Result<oneshot::Receiver<Result<T, E>>, E> {
        self.check()?;
        let (answer, answered) = oneshot::channel();
        let asked = Asked {
            request: request(answer),
            at: Instant::now(),
            room,
            bytes,
        };
        // The thread is gone, and with it the queue, only when the watch has given it up.
        let sent = self.requests.as_ref().map(|to| to.send(asked));
        match sent {
            Some(Ok(())) => Ok(answered),
            Some(Err(_)) | None => Err(self.gone().into()),
        }
    }

    async fn answered<T, E: From<StoreError>>(
        &self,
        answered: oneshot::Receiver<Result<T, E>>,
    ) -> Result<T, E> {
        answered.await.unwrap_or_else(|_| Err(self.gone().into()))
    }

    /// Takes room for a request that waits; the thread gives it back.
    async fn room(&self, bytes: usize) -> Result<u32, StoreError> {
        if let Some(parts) = self.try_room(bytes)? {
            return Ok(parts);
        }
        let Shared { room, bounds, .. } = &*self.shared;
        let parts = parts(bytes, bounds);
        let waited = timeout(bounds.patience, room.acquire_many(parts));
        let waited = Box::pin(waited).await;
        let taken = waited.map_err(|_| self.shared.too_busy())?;
        taken.map_err(|_| self.gone())?.forget();
        Ok(parts)
    }

    /// Takes it if there is some.
    fn try_room(&self, bytes: usize) -> Result<Option<u32>, StoreError> {
        let Shared { room, bounds, .. } = &*self.shared;
        let parts = parts(bytes, bounds);
        match room.try_acquire_many(parts) {
            Ok(taken) => {
                taken.forget();
                Ok(Some(parts))
            }
            Err(TryAcquireError::Closed) => Err(self.gone()),
            Err(TryAcquireError::NoPermits) => Ok(None),
        }
    }

    fn gone(&self) -> StoreError {
        let silent = || {
            let mut error = StoreError::new(
                StoreErrorKind::Io,
                format!(
                    "writing to {}: its thread is gone; end this process and open the store again",
                    self.shared.place
                ),
            );
            error.retry = Retry::Soon;
            error
        };
        self.check().err().unwrap_or_else(silent)
    }
}

/// The answer to an append.
enum Answer<Comes, Later> {
    /// It was asked for, or could not be.
    Comes(Comes),
    /// There is no room now.
    Later(Pin<Box<Later>>),
}

/// How much room something takes that has so many bytes.
fn parts(bytes: usize, bounds: &Bounds) -> u32 {
    let parts = u32::try_from(1 + bytes / ROOM_BYTES).unwrap_or(u32::MAX);
    parts.min(most_room(bounds))
}

/// Wakes whoever follows a log of a pipeline.
#[derive(Debug, Clone)]
pub struct Wake(Arc<Shared>);

impl Wake {
    /// Has all of them look again.
    pub fn all(&self) {
        self.0.tails.wake_all();
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.requests = None;
        let alive = self.alive.get_mut().unwrap_or_else(PoisonError::into_inner);
        match alive.recv_timeout(CLOSING) {
            Err(RecvTimeoutError::Disconnected) | Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => tracing::error!(
                "{} did not close in time; it stays as it is until this process ends",
                self.shared.place
            ),
        }
    }
}

fn most_room(bounds: &Bounds) -> u32 {
    let parts = (bounds.waiting_bytes / ROOM_BYTES).max(1);
    let most = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
    u32::try_from(parts.min(most)).unwrap_or(u32::MAX)
}
