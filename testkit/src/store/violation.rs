//! Violations: what a case answers when a store breaks a promise, and how cases are run.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use windlass_ports::{StoreError, StoreErrorKind};

/// The longest a case may take. Far above what any takes: it only ends a store that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a case answers.
pub type Checked = Result<(), Violation>;

/// A promise that a store broke, in words.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation(String);

impl Violation {
    /// A violation in words: what was done, what was promised, what came instead.
    #[must_use]
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// A test that returns a violation prints it with `Debug`; words read better than a struct.
impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Violation {}

/// Answers a violation unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::store::Violation::new(format!($($words)*)));
        }
    };
}
pub(crate) use ensure;

/// Takes the value of what must succeed.
pub(crate) fn done<T>(result: Result<T, StoreError>, what: &str) -> Result<T, Violation> {
    result.map_err(|error| Violation::new(format!("{what} failed with {:?}: {error}", error.kind)))
}

/// Holds what must be refused to the kind of its refusal.
pub(super) fn refused<T>(
    result: Result<T, StoreError>,
    kind: &StoreErrorKind,
    what: &str,
) -> Checked {
    match result {
        Ok(_) => Err(Violation::new(format!("{what} succeeded and must be refused as {kind:?}"))),
        Err(error) if error.kind == *kind => {
            ensure!(
                !error.context.is_empty(),
                "{what} is refused as {kind:?} without a word of context"
            );
            Ok(())
        }
        Err(error) => Err(Violation::new(format!(
            "{what} must be refused as {kind:?} and was as {:?}: {error}",
            error.kind
        ))),
    }
}

/// Runs a case on one thread.
pub(crate) fn run(case: impl Future<Output = Checked>) -> Checked {
    finish(tokio::runtime::Builder::new_current_thread(), PATIENCE, case)
}

/// Runs a case on several threads, so that what it spawns runs at the same time.
pub(crate) fn run_in_parallel(case: impl Future<Output = Checked>) -> Checked {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(4);
    finish(builder, PATIENCE, case)
}

/// Runs a case for so long at most, and waits as long again for what it left running in threads.
fn finish(
    mut builder: tokio::runtime::Builder,
    patience: Duration,
    case: impl Future<Output = Checked>,
) -> Checked {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Violation::new(format!("no runtime for the case: {error}")))?;
    let bounded = async { tokio::time::timeout(patience, case).await };
    let ended = runtime.block_on(bounded);
    runtime.shutdown_timeout(patience);
    ended.unwrap_or_else(|_| {
        Err(Violation::new(format!(
            "the case did not end within {patience:?}: what it holds to its promises hangs"
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_hangs_is_ended() {
        let (told, waits) = std::sync::mpsc::channel::<()>();
        let builder = tokio::runtime::Builder::new_current_thread();
        let hanging = finish(builder, Duration::from_millis(20), async move {
            tokio::task::spawn_blocking(move || waits.recv());
            std::future::pending().await
        });
        drop(told);
        let words = hanging.unwrap_err().to_string();
        assert!(words.contains("did not end within 20ms"), "{words}");
    }
}
