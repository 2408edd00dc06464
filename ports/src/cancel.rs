//! Cancellation without a runtime: a source that fires once, and its signals.

use crate::sync::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct CancelState {
    fired: AtomicBool,
    next: std::sync::atomic::AtomicU64,
    wakers: Mutex<Vec<(u64, Waker)>>,
}

/// The side that cancels.
#[derive(Clone, Default)]
pub struct CancelSource(Arc<CancelState>);

/// The side that is cancelled. Cheap to clone.
#[derive(Clone, Default)]
pub struct CancelSignal(Arc<CancelState>);

impl CancelSource {
    /// Creates a source that has not fired.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires the signals. Repeating it has no effect.
    pub fn cancel(&self) {
        self.0.fired.store(true, Ordering::SeqCst);
        let wakers = {
            let mut wakers = self.0.wakers.lock();
            std::mem::take(&mut *wakers)
        };
        // Outside the lock: waking may drop a task that holds a signal of this source.
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    /// Returns a signal of this source.
    #[must_use]
    pub fn signal(&self) -> CancelSignal {
        CancelSignal(self.0.clone())
    }
}

impl CancelSignal {
    /// Returns true if the source has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.fired.load(Ordering::SeqCst)
    }

    /// Waits until the source fires; for ever if it never does.
    #[must_use]
    pub fn cancelled(&self) -> CancelFuture {
        CancelFuture { shared: self.0.clone(), id: None }
    }
}

impl fmt::Debug for CancelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelSource").finish_non_exhaustive()
    }
}

impl fmt::Debug for CancelSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelSignal").field(&self.is_cancelled()).finish()
    }
}

/// Ends when the source fires.
pub struct CancelFuture {
    shared: Arc<CancelState>,
    id: Option<u64>,
}

impl fmt::Debug for CancelFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelFuture").finish_non_exhaustive()
    }
}

impl Future for CancelFuture {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.shared.fired.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let id = match self.id {
            Some(id) => id,
            None => self.shared.next.fetch_add(1, Ordering::Relaxed),
        };
        self.id = Some(id);
        let mut wakers = self.shared.wakers.lock();
        match wakers.iter_mut().find(|(other, _)| *other == id) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => wakers.push((id, cx.waker().clone())),
        }
        // The source may have fired before the waker was in the list.
        if self.shared.fired.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Drop for CancelFuture {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let mut wakers = self.shared.wakers.lock();
            wakers.retain(|(other, _)| *other != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    /// A waker that drops a waiting signal when it is woken, like an ending task.
    struct Drops(Mutex<Option<Pin<Box<CancelFuture>>>>);

    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().take());
        }
    }

    #[test]
    fn waking_may_drop_what_waits() {
        let source = CancelSource::new();
        let drops = Arc::new(Drops(Mutex::default()));
        let waker = Waker::from(drops.clone());
        let mut waiting = Box::pin(source.signal().cancelled());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        *drops.0.lock() = Some(waiting);
        source.cancel();
        assert!(drops.0.lock().is_none());
        let mut late = Box::pin(source.signal().cancelled());
        assert!(late.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
