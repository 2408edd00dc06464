//! The commit thread: gathers the appends of all sessions into one commit and answers them once it
//! is durable.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use windlass_core::{Epoch, SessionId};
use windlass_ports::{SessionClaim, StoreError, StoreErrorKind, TailRepair};

use crate::backend::{AppendRequest, CommitBackend, LogEnd};
use crate::claims::{Admission, Claims};
use crate::hash::Hasher;
use crate::pipeline::PipelineLimits;
use crate::queue::{
    PendingAppend, PendingCaller, PipelineRequest, QueuedRequest, ResultSender, SessionRequest,
    StopCause, copy_of,
};
use crate::tails::Tails;
use crate::watchdog::{BackendWatch, WatchdogFired};

/// State that the store object shares with the threads of the pipeline.
#[derive(Debug)]
pub(crate) struct PipelineState {
    pub(crate) location: String,
    pub(crate) bounds: PipelineLimits,
    pub(crate) watched: BackendWatch,
    pub(crate) stopped: StopCause,
    pub(crate) claims: Claims,
    pub(crate) tails: Tails,
    pub(crate) room: Semaphore,
}

/// State of the commit thread.
pub(crate) struct Committer<B> {
    shared: Arc<PipelineState>,
    backend: B,
}

/// Appends that are committed together.
#[derive(Default)]
struct AppendGroup {
    requests: Vec<AppendRequest>,
    waiting: Vec<PendingCaller>,
    bytes: usize,
    permits: usize,
}

/// The outcome of a call of the backend, and the callers that wait for it.
type CallResult<T> = (Result<T, StoreError>, Vec<PendingCaller>);

impl<B: CommitBackend> Committer<B> {
    pub(crate) fn new(shared: Arc<PipelineState>, backend: B) -> Self {
        Self { shared, backend }
    }

    /// Serves requests until the pipeline is dropped or the watchdog abandons the backend.
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        // Delay until the backend's next maintenance, if it wants any.
        let mut within = Some(Duration::ZERO);
        loop {
            let served = match shared.watched.next(within) {
                Ok(queued) => self.serve(queued).map(|()| Some(Duration::ZERO)),
                Err(RecvTimeoutError::Timeout) => self.maintain(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match served {
                Ok(next) => within = next,
                Err(WatchdogFired) => return,
            }
        }
    }

    /// Serves a request and those behind it: commits the appends, then runs the requests that were
    /// deferred.
    fn serve(&mut self, first: QueuedRequest) -> Result<(), WatchdogFired> {
        let shared = self.shared.clone();
        let mut next = Some(first);
        while let Some(first) = next.take() {
            let group = self.gather(first);
            self.commit(group)?;
            while next.is_none()
                && let Some(QueuedRequest { request, at, permits }) = shared.watched.next_deferred()
            {
                match request {
                    PipelineRequest::Append(_) => {
                        next = Some(QueuedRequest { request, at, permits });
                    }
                    PipelineRequest::Session(request) => {
                        // Freed before the answer, so that a caller that was answered finds room.
                        shared.room.add_permits(permits as usize);
                        self.serve_session(request, at)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Gathers the appends of a group from the queue. Defers claims and releases until the group is
    /// committed, and ends the group at the first request that must come after one of them.
    fn gather(&self, first: QueuedRequest) -> AppendGroup {
        let watched = &self.shared.watched;
        let now = Instant::now();
        let mut group = AppendGroup::default();
        let mut deferred = HashSet::<SessionId, Hasher>::default();
        let mut next = Some(first);
        while let Some(queued) = next {
            let is_behind = queued.request.session().is_some_and(|it| deferred.contains(it));
            match queued.request {
                PipelineRequest::Append(append) if !is_behind => {
                    group.permits += queued.permits as usize;
                    self.admit(append, self.check_begin(queued.at, now), &mut group);
                }
                PipelineRequest::Session(
                    SessionRequest::Claim { ref session, .. }
                    | SessionRequest::Release { ref session, .. },
                ) => {
                    deferred.insert(session.clone());
                    watched.defer(queued);
                }
                PipelineRequest::Append(_)
                | PipelineRequest::Session(
                    SessionRequest::Erase { .. } | SessionRequest::Probe { .. },
                ) => {
                    watched.defer(queued);
                    break;
                }
            }
            let is_full =
                self.is_full(&group) || deferred.len() >= self.shared.bounds.group_appends;
            next = match is_full {
                true => None,
                false => watched.try_next(),
            };
        }
        group
    }

    fn is_full(&self, group: &AppendGroup) -> bool {
        let bounds = &self.shared.bounds;
        group.requests.len() >= bounds.group_appends || group.bytes >= bounds.group_bytes
    }

    /// Adds an append to a group, or answers it.
    fn admit(&self, append: PendingAppend, begin: Result<(), StoreError>, group: &mut AppendGroup) {
        let PendingAppend { batch, epoch, answer } = append;
        if let Err(error) = begin {
            let _ = answer.send(Err(error));
            return;
        }
        match self.shared.claims.admit(batch, epoch) {
            Admission::Commit(request) => {
                group.bytes = group.bytes.saturating_add(request.batch.bytes);
                group.requests.push(request);
                group.waiting.push(PendingCaller::Done(answer, Ok(())));
            }
            Admission::Answered { answer: outcome, with_group: true } => {
                group.waiting.push(PendingCaller::Done(answer, outcome))
            }
            Admission::Answered { answer: outcome, with_group: false } => {
                let _ = answer.send(outcome);
            }
        }
    }

    /// Commits a group and answers it.
    fn commit(&mut self, group: AppendGroup) -> Result<(), WatchdogFired> {
        let AppendGroup { requests, waiting, permits, .. } = group;
        if requests.is_empty() {
            self.shared.room.add_permits(permits);
            return Ok(());
        }
        let commit = |backend: &mut B| backend.commit(&requests);
        let (done, waiting) = self.guarded("appending to", waiting, commit)?;
        let PipelineState { claims, tails, room, location: place, .. } = &*self.shared;
        let sessions = || requests.iter().map(|request| &request.batch.session);
        match &done {
            Ok(()) => {
                claims.committed(&requests);
                tails.wake(sessions());
            }
            Err(error) => {
                sessions().for_each(|session| claims.doubt(session));
                let appends = requests.len();
                tracing::warn!(%error, appends, "a commit to {place} failed");
            }
        }
        // Dropped before the answers, so that the callers free their facts and not this thread.
        drop(requests);
        room.add_permits(permits);
        answer_all(done, waiting);
        Ok(())
    }

    fn serve_session(&mut self, request: SessionRequest, at: Instant) -> Result<(), WatchdogFired> {
        let begin = match &request {
            SessionRequest::Claim { .. } | SessionRequest::Probe { .. } => {
                self.reopen_if_stopped()?
            }
            SessionRequest::Release { .. } | SessionRequest::Erase { .. } => Ok(()),
        };
        if let Err(error) = begin.and_then(|()| self.check_begin(at, Instant::now())) {
            request.refuse(error);
            return Ok(());
        }
        match request {
            SessionRequest::Claim { session, answer } => self.claim(&session, answer),
            SessionRequest::Probe { answer } => self.probe(answer),
            SessionRequest::Release { session, epoch, answer } => {
                self.release(&session, epoch, answer)
            }
            SessionRequest::Erase { session, epoch, answer } => self.erase(&session, epoch, answer),
        }
    }

    fn claim(
        &mut self,
        session: &SessionId,
        answer: oneshot::Sender<Result<SessionClaim, StoreError>>,
    ) -> Result<(), WatchdogFired> {
        if let Some(end) = self.shared.claims.end(session) {
            let _ = answer.send(Ok(self.shared.claim(session, end, None)));
            return Ok(());
        }
        let waiting = vec![PendingCaller::Claim(answer)];
        let doing = format!("claiming session {session} in");
        let (claimed, waiting) = self.guarded(&doing, waiting, |backend| backend.claim(session))?;
        match claimed {
            Ok((end, repaired)) => {
                let claimed = self.shared.claim(session, end, repaired);
                waiting.into_iter().for_each(|waiting| waiting.claimed(&claimed));
            }
            Err(error) => answer_all(Err(error), waiting),
        }
        Ok(())
    }

    fn release(
        &mut self,
        session: &SessionId,
        epoch: Epoch,
        answer: ResultSender,
    ) -> Result<(), WatchdogFired> {
        if !self.shared.claims.is_latest(session, epoch) {
            let _ = answer.send(Ok(()));
            return Ok(());
        }
        self.shared.claims.remove(session);
        let waiting = vec![PendingCaller::Done(answer, Ok(()))];
        let doing = format!("releasing session {session} in");
        let release = |backend: &mut B| {
            backend.release(session);
            Ok(())
        };
        let (done, waiting) = self.guarded(&doing, waiting, release)?;
        answer_all(done, waiting);
        Ok(())
    }

    fn erase(
        &mut self,
        session: &SessionId,
        epoch: Epoch,
        answer: ResultSender,
    ) -> Result<(), WatchdogFired> {
        if let Err(error) = self.shared.claims.check(session, epoch) {
            let _ = answer.send(Err(error));
            return Ok(());
        }
        let waiting = vec![PendingCaller::Done(answer, Ok(()))];
        let doing = format!("erasing session {session} in");
        let (done, waiting) = self.guarded(&doing, waiting, |backend| backend.erase(session))?;
        match &done {
            Ok(()) => self.shared.claims.remove(session),
            Err(_) => self.shared.claims.doubt(session),
        }
        answer_all(done, waiting);
        self.shared.tails.wake(std::iter::once(session));
        Ok(())
    }

    fn probe(&mut self, answer: ResultSender) -> Result<(), WatchdogFired> {
        let waiting = vec![PendingCaller::Done(answer, Ok(()))];
        let (done, waiting) = self.guarded("probing", waiting, B::probe)?;
        answer_all(done, waiting);
        Ok(())
    }

    /// Opens the storage again if the pipeline has stopped. The claims from before have ended.
    fn reopen_if_stopped(&mut self) -> Result<Result<(), StoreError>, WatchdogFired> {
        let shared = self.shared.clone();
        let PipelineState { location: place, stopped, claims, .. } = &*shared;
        if let Err(error) = stopped.check_reopening() {
            return Ok(Err(error));
        }
        if !stopped.begin_reopening() {
            return Ok(Ok(()));
        }
        claims.lose();
        let (done, _) = self.guarded("opening again", Vec::new(), B::reopen)?;
        let done = done.map_err(|error| stopped.on_not_reopened(place, error));
        if done.is_ok() {
            stopped.resume(place);
        }
        Ok(done)
    }

    /// Runs the backend's maintenance. Returns the delay until the next piece.
    fn maintain(&mut self) -> Result<Option<Duration>, WatchdogFired> {
        if self.shared.stopped.check().is_err() {
            return Ok(None);
        }
        let (done, _) = self.guarded("maintaining", Vec::new(), B::maintain)?;
        Ok(done.unwrap_or_else(|error| {
            tracing::warn!(%error, "the maintenance of {} failed", self.shared.location);
            None
        }))
    }

    /// Checks that a request may begin: the store has not stopped, and it has not waited too long.
    fn check_begin(&self, at: Instant, now: Instant) -> Result<(), StoreError> {
        self.shared.stopped.check()?;
        if now.duration_since(at) > self.shared.bounds.timeout {
            return Err(self.shared.too_busy());
        }
        Ok(())
    }

    /// Calls the backend under the watchdog. A panic becomes an error that stops the pipeline.
    fn guarded<T>(
        &mut self,
        doing: &str,
        waiting: Vec<PendingCaller>,
        call: impl FnOnce(&mut B) -> Result<T, StoreError>,
    ) -> Result<CallResult<T>, WatchdogFired> {
        let PipelineState { location: place, watched, stopped, .. } = &*self.shared;
        let backend = &mut self.backend;
        watched.begin(waiting);
        let done = catch_unwind(AssertUnwindSafe(|| {
            let done = call(backend);
            if let Err(error) = &done
                && backend.has_failed()
                && error.kind != StoreErrorKind::Ended
            {
                stopped.stop(place, error);
            }
            done
        }));
        let done = done.unwrap_or_else(|panic| {
            let error = StoreError::new(
                StoreErrorKind::Io,
                format!("{doing} {place}: its disk or database panicked: {}", message(&*panic)),
            );
            stopped.stop(place, &error);
            Err(error)
        });
        Ok((done, watched.end()?))
    }
}

impl PipelineState {
    /// Gives a session to a new writer.
    fn claim(
        &self,
        session: &SessionId,
        end: LogEnd,
        repaired: Option<TailRepair>,
    ) -> SessionClaim {
        let last = end.last;
        SessionClaim { epoch: self.claims.claim(session, end), last, repaired }
    }

    /// The error of a request that waited too long and was not begun.
    pub(crate) fn too_busy(&self) -> StoreError {
        StoreError::new(
            StoreErrorKind::Unavailable,
            format!(
                "writing to {}: what others asked before was not done within {} s, and this was not \
                 begun; ask again later, from fewer sessions at once",
                self.location,
                self.bounds.timeout.as_secs_f32()
            ),
        )
    }
}

/// Answers all callers of a call. The last of them gets the error with its source.
fn answer_all(done: Result<(), StoreError>, mut waiting: Vec<PendingCaller>) {
    match done {
        Ok(()) => waiting.into_iter().for_each(PendingCaller::done),
        Err(error) => {
            let last = waiting.pop();
            waiting.into_iter().for_each(|waiting| waiting.refuse(copy_of(&error)));
            if let Some(last) = last {
                last.refuse(error);
            }
        }
    }
}

/// The message of a panic, cut to 300 characters.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").chars().take(300).collect()
}
