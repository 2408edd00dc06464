//! Blocking work on several threads.

use std::num::NonZero;
use std::thread;

/// Most threads of one call.
const MOST: usize = 8;

/// Runs the same work on several threads, this one among them. Returns when all of them have ended.
pub(crate) fn on_threads(work: impl Fn() + Sync) {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without a further thread the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, &work);
        }
        work();
    });
}
