//! The threads of a store: they do the waiting for the disk, so that no async thread does.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::slot::Slot;

/// How many sessions are written at the same time; the others wait their turn.
const THREADS: usize = 4;

/// The threads of a store. Dropping them waits until everything that was queued is done.
pub(crate) struct Pool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    slots: VecDeque<Arc<Slot>>,
    closed: bool,
}

impl Pool {
    pub(crate) fn start() -> io::Result<Self> {
        let mut pool = Self {
            queue: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..THREADS {
            let queue = pool.queue.clone();
            let thread = thread::Builder::new().name("windlass-file".to_owned());
            pool.threads.push(thread.spawn(move || queue.work())?);
        }
        Ok(pool)
    }

    /// Hands a slot to the next thread that is free.
    pub(crate) fn schedule(&self, slot: Arc<Slot>) {
        self.queue.push(slot);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the file store panicked");
            }
        }
    }
}

impl Queue {
    fn push(&self, slot: Arc<Slot>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.slots.push_back(slot);
        drop(state);
        self.changed.notify_one();
    }

    /// Runs slots until the store closes and none is left.
    fn work(&self) {
        while let Some(slot) = self.next() {
            // A panic is a defect; it must not leave a session whose operations wait for ever.
            let run = catch_unwind(AssertUnwindSafe(|| slot.run()));
            if run.unwrap_or_else(|_| slot.abandon()) {
                self.push(slot);
            }
        }
    }

    fn next(&self) -> Option<Arc<Slot>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(slot) = state.slots.pop_front() {
                return Some(slot);
            }
            if state.closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
