//! Waiting from a test that has no runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Runs a future on this thread, for at most `limit`; `None` when it has not ended by then.
///
/// It is for the waits of this kit ([`Gate::reached`](crate::Gate::reached),
/// [`ModelServer::ended`](crate::http::ModelServer::ended) and the like), which need no runtime.
/// The limit is how a test fails that would otherwise hang; nothing waits for it to pass.
///
/// ```
/// use std::time::Duration;
/// use windlass_testkit::{Gate, within};
///
/// let gate = Gate::new();
/// assert!(within(Duration::from_millis(1), gate.pass()).is_none());
/// assert!(within(Duration::from_secs(10), gate.reached()).is_some());
/// ```
#[must_use]
pub fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    let started = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        let left = limit.checked_sub(started.elapsed())?;
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
