//! Where those who race meet: each waits until another one has come, so that the race is there to be
//! lost however the machine deals out its time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long somebody waits who stays alone.
const ALONE: Duration = Duration::from_millis(200);

/// A place where two meet.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    came: AtomicUsize,
    here: AtomicUsize,
}

/// Somebody who is there, also when nobody waits for it any more.
struct Here<'a>(&'a AtomicUsize);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Meeting {
    /// Waits until another one has come; not for ever, as not everybody races. Tells whether one was
    /// here before.
    pub(crate) async fn meet(&self) -> bool {
        let met = self.here.fetch_add(1, Ordering::SeqCst) > 0;
        let _here = Here(&self.here);
        let own = self.came.fetch_add(1, Ordering::SeqCst) + 1;
        let begun = Instant::now();
        while !met && self.came.load(Ordering::SeqCst) == own && begun.elapsed() < ALONE {
            tokio::task::yield_now().await;
        }
        met
    }
}
