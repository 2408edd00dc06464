//! The watch over the pipeline's thread: what waits for a medium that does not answer is answered all
//! the same.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_core::Retry;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::commit::Shared;
use crate::queue::{Asked, Waiting, same};

/// How many looks the watch takes in the time that the medium has.
const LOOKS: u32 = 8;

/// What the pipeline's thread does now, and what waits for it.
#[derive(Debug)]
pub(crate) struct Watched {
    at_hand: Mutex<AtHand>,
    /// `None` once it was given up.
    queue: Mutex<Option<Receiver<Asked>>>,
}

#[derive(Debug, Default)]
struct AtHand {
    since: Option<Instant>,
    waiting: Vec<Waiting>,
    /// What was taken from the queue and comes after.
    next: Option<Asked>,
    given_up: bool,
}

/// The watch has answered everybody: the thread is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GivenUp;

impl Watched {
    pub(crate) fn new(queue: Receiver<Asked>) -> Self {
        Self {
            at_hand: Mutex::default(),
            queue: Mutex::new(Some(queue)),
        }
    }

    fn at_hand(&self) -> MutexGuard<'_, AtHand> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the medium is called, and who waits for it.
    pub(crate) fn begin(&self, waiting: Vec<Waiting>) {
        let mut at_hand = self.at_hand();
        at_hand.since = Some(Instant::now());
        at_hand.waiting = waiting;
    }

    /// Puts down what was taken from the queue and comes after what the medium is to do first.
    pub(crate) fn put_behind(&self, next: Option<Asked>) {
        self.at_hand().next = next;
    }

    pub(crate) fn take_behind(&self) -> Option<Asked> {
        self.at_hand().next.take()
    }

    /// Gives back who waits.
    pub(crate) fn end(&self) -> Result<Vec<Waiting>, GivenUp> {
        let mut at_hand = self.at_hand();
        if at_hand.given_up {
            return Err(GivenUp);
        }
        at_hand.since = None;
        Ok(std::mem::take(&mut at_hand.waiting))
    }

    /// The next request, if one comes within a time. `None` waits as long as it takes.
    pub(crate) fn next(&self, within: Option<Duration>) -> Result<Asked, RecvTimeoutError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Calls `each` with what waits now until it says that it is enough.
    pub(crate) fn gather(&self, mut each: impl FnMut(Asked) -> bool) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = &*queue {
            while let Ok(asked) = queue.try_recv() {
                if !each(asked) {
                    break;
                }
            }
        }
    }

    /// Gives the medium up when it is late: takes who waits for it and what comes after, and from
    /// here on nobody else answers them.
    fn give_up(&self, patience: Duration) -> Option<(Vec<Waiting>, Option<Asked>)> {
        let mut at_hand = self.at_hand();
        let since = at_hand.since?;
        if since.elapsed() <= patience {
            return None;
        }
        at_hand.given_up = true;
        Some((std::mem::take(&mut at_hand.waiting), at_hand.next.take()))
    }

    /// Closes the queue of a medium that was given up: whoever asks from here on finds none. The
    /// thread is in the medium and holds no lock.
    fn close(&self) -> Option<Receiver<Asked>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.take()
    }
}

/// Watches until the pipeline's thread ends, which drops the other end of `ended`, or is late.
pub(crate) fn watch(shared: &Shared, ended: &Receiver<()>) {
    let patience = shared.bounds.patience;
    let Shared {
        watched, stopped, ..
    } = shared;
    while ended.recv_timeout(patience / LOOKS) == Err(RecvTimeoutError::Timeout) {
        let Some((waiting, next)) = watched.give_up(patience) else {
            continue;
        };
        let late = late(&shared.place, patience);
        stopped.stop(&shared.place, &late);
        shared.room.close();
        waiting
            .into_iter()
            .for_each(|waiting| waiting.refuse(same(&late)));
        let queue = watched.close();
        let queued = queue.iter().flat_map(Receiver::try_iter);
        next.into_iter()
            .chain(queued)
            .for_each(|asked| asked.request.refuse(same(&late)));
        return;
    }
}

fn late(place: &str, patience: Duration) -> StoreError {
    let mut error = StoreError::new(
        StoreErrorKind::Io,
        format!(
            "writing to {place}: its disk or database did not answer within {} s, so nobody knows \
             what of this was kept; look to the disk and the kernel's log, end this process and \
             open the store again",
            patience.as_secs_f32()
        ),
    );
    error.retry = Retry::Soon;
    error
}
