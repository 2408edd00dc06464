//! A ledger: entries that are written as things happen, and waits for a state of them.
//!
//! What a fake has seen must be readable from a test while it runs, and a test must be able to
//! wait for it without sleeping. Nothing here needs a runtime.

use std::future::poll_fn;
use std::task::{Poll, Waker};
use windlass_ports::sync::{Mutex, MutexGuard};

pub(crate) struct Ledger<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    entries: Vec<T>,
    wakers: Vec<Waker>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        let state = State { entries: Vec::new(), wakers: Vec::new() };
        Self { state: Mutex::new(state) }
    }
}

impl<T> Ledger<T> {
    /// Writes an entry; answers its position.
    pub(crate) fn push(&self, entry: T) -> usize {
        self.push_with(|_| entry)
    }

    /// Writes an entry that is made from its position; answers the position.
    pub(crate) fn push_with(&self, make: impl FnOnce(usize) -> T) -> usize {
        let mut state = self.state.lock();
        let position = state.entries.len();
        state.entries.push(make(position));
        wake(state);
        position
    }

    /// Changes an entry. A position that does not exist changes nothing.
    pub(crate) fn update(&self, position: usize, change: impl FnOnce(&mut T)) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(position) {
            change(entry);
            wake(state);
        }
    }

    /// Changes all entries. Nobody who waits looks again.
    pub(crate) fn change_all(&self, change: impl FnMut(&mut T)) {
        self.state.lock().entries.iter_mut().for_each(change);
    }

    /// Looks at the entries.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        look(&self.state.lock().entries)
    }

    /// Waits until `pick` finds something; it looks again after every change.
    pub(crate) async fn until<R>(&self, mut pick: impl FnMut(&[T]) -> Option<R>) -> R {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if let Some(found) = pick(&state.entries) {
                return Poll::Ready(found);
            }
            if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl<T: Clone> Ledger<T> {
    /// The entries as they are now.
    pub(crate) fn snapshot(&self) -> Vec<T> {
        self.state.lock().entries.clone()
    }
}

/// Wakes outside the lock, so that a waker may look at the ledger.
fn wake<T>(mut state: MutexGuard<'_, State<T>>) {
    let wakers = std::mem::take(&mut state.wakers);
    drop(state);
    for waker in wakers {
        waker.wake();
    }
}
