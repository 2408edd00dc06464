//! Time that goes on only as a test says, beside real sockets.

use std::sync::mpsc::{Sender, channel};

/// Time stands still, but for what a test has it go on by, for as long as this is there.
///
/// Time that is only paused goes on by itself to the next moment that somebody waits for, whenever
/// all tasks wait: for a socket too.
pub(crate) struct Still {
    _held: Sender<()>,
}

impl Still {
    pub(crate) fn new() -> Self {
        tokio::time::pause();
        let (held, waits) = channel::<()>();
        // While a thread of the runtime is at work, no time is passed over.
        tokio::task::spawn_blocking(move || waits.recv());
        Self { _held: held }
    }
}
