//! A time limit for work that may never end. It runs on a thread that is left behind when time is
//! up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Reason for a missing result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchdogError {
    /// Time is up. The thread continues with all that it owns.
    Late,
    /// The work panicked, with this message.
    Panicked(String),
    /// No thread could be started.
    NoThread(String),
}

/// Runs `work` on another thread and waits at most `bound` for its result.
pub(crate) fn within<T: Send + 'static>(
    bound: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WatchdogError> {
    let (answer, answered) = mpsc::sync_channel(1);
    let run = move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        // Nobody may wait any more; what was made is then dropped here.
        let _ = answer.send(done);
    };
    thread::Builder::new()
        .name("windlass-sled-open".to_owned())
        .spawn(run)
        .map_err(|error| WatchdogError::NoThread(error.to_string()))?;
    match answered.recv_timeout(bound) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(panic)) => Err(WatchdogError::Panicked(message(&*panic))),
        Err(RecvTimeoutError::Timeout) => Err(WatchdogError::Late),
        Err(RecvTimeoutError::Disconnected) => Err(WatchdogError::Panicked(String::new())),
    }
}

/// Returns the message of a panic.
pub(crate) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_never_ends_is_left_behind() {
        let (_hold, never) = mpsc::channel::<()>();
        let late = within(Duration::from_millis(20), move || never.recv().is_ok());
        assert_eq!(late, Err(WatchdogError::Late));
    }

    #[test]
    fn work_that_panics_says_why() {
        let panicked = within::<()>(Duration::from_secs(30), || panic!("page {}", 7));
        assert_eq!(panicked, Err(WatchdogError::Panicked("page 7".to_owned())));
    }

    #[test]
    fn work_that_ends_answers() {
        assert_eq!(within(Duration::from_secs(30), || 7), Ok(7));
    }
}
