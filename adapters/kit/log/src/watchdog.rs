//! The watchdog of the commit thread: answers the callers of a backend that hangs.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::commit::PipelineState;
use crate::queue::{PendingCaller, QueuedRequest, copy_of};

/// Checks within the time that a call may take.
const CHECKS: u32 = 8;

/// The current call of the backend, its callers, and the queue behind it.
#[derive(Debug)]
pub(crate) struct BackendWatch {
    current: Mutex<CurrentCall>,
    /// `None` once the backend was abandoned.
    queue: Mutex<Option<Receiver<QueuedRequest>>>,
}

#[derive(Debug, Default)]
struct CurrentCall {
    since: Option<Instant>,
    waiting: Vec<PendingCaller>,
    /// Requests that were taken from the queue and run after the current group, in this order.
    deferred: VecDeque<QueuedRequest>,
    given_up: bool,
}

/// The watchdog has answered all callers, so the thread must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatchdogFired;

impl BackendWatch {
    pub(crate) fn new(queue: Receiver<QueuedRequest>) -> Self {
        Self { current: Mutex::default(), queue: Mutex::new(Some(queue)) }
    }

    fn current(&self) -> MutexGuard<'_, CurrentCall> {
        self.current.lock()
    }

    /// Starts a call with its callers.
    pub(crate) fn begin(&self, waiting: Vec<PendingCaller>) {
        let mut current = self.current();
        current.since = Some(Instant::now());
        current.waiting = waiting;
    }

    /// Stores a request until the current group is committed.
    pub(crate) fn defer(&self, deferred: QueuedRequest) {
        self.current().deferred.push_back(deferred);
    }

    /// Takes the next deferred request.
    pub(crate) fn next_deferred(&self) -> Option<QueuedRequest> {
        self.current().deferred.pop_front()
    }

    /// Ends a call and returns its callers.
    pub(crate) fn end(&self) -> Result<Vec<PendingCaller>, WatchdogFired> {
        let mut current = self.current();
        if current.given_up {
            return Err(WatchdogFired);
        }
        current.since = None;
        Ok(std::mem::take(&mut current.waiting))
    }

    /// Waits for the next request, at most `within`; `None` waits without a limit.
    pub(crate) fn next(&self, within: Option<Duration>) -> Result<QueuedRequest, RecvTimeoutError> {
        let queue = self.queue.lock();
        let Some(queue) = &*queue else {
            return Err(RecvTimeoutError::Disconnected);
        };
        match within {
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Duration::ZERO) => queue.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
            Some(within) => queue.recv_timeout(within),
        }
    }

    /// Returns the next request if one waits.
    pub(crate) fn try_next(&self) -> Option<QueuedRequest> {
        self.next(Some(Duration::ZERO)).ok()
    }

    /// Abandons the backend if its call is late. Returns the callers and the deferred requests,
    /// which only the watchdog answers from then on.
    fn abandon_backend(
        &self,
        patience: Duration,
    ) -> Option<(Vec<PendingCaller>, VecDeque<QueuedRequest>)> {
        let mut current = self.current();
        let since = current.since?;
        if since.elapsed() <= patience {
            return None;
        }
        current.given_up = true;
        Some((std::mem::take(&mut current.waiting), std::mem::take(&mut current.deferred)))
    }

    /// Closes the queue of an abandoned backend, whose thread holds no lock.
    fn close(&self) -> Option<Receiver<QueuedRequest>> {
        self.queue.lock().take()
    }
}

/// Runs until the commit thread drops the other end of `ended`, or a call of the backend is late.
pub(crate) fn watch(shared: &PipelineState, ended: &Receiver<()>) {
    let patience = shared.bounds.timeout;
    let PipelineState { watched, stopped, .. } = shared;
    while ended.recv_timeout(patience / CHECKS) == Err(RecvTimeoutError::Timeout) {
        let Some((waiting, deferred)) = watched.abandon_backend(patience) else {
            continue;
        };
        let late = late(&shared.location, patience);
        stopped.stop(&shared.location, &late);
        shared.room.close();
        waiting.into_iter().for_each(|waiting| waiting.refuse(copy_of(&late)));
        let queue = watched.close();
        let queued = deferred.into_iter().chain(queue.iter().flat_map(Receiver::try_iter));
        queued.for_each(|queued| queued.request.refuse(copy_of(&late)));
        return;
    }
}

fn late(place: &str, patience: Duration) -> StoreError {
    StoreError::new(
        StoreErrorKind::Ended,
        format!(
            "writing to {place}: its disk or database did not answer within {} s, so nobody knows \
             what of this was kept; look to the disk and the kernel's log, end this process and \
             open the store again",
            patience.as_secs_f32()
        ),
    )
}
