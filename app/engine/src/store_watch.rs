//! Store watch: the state of the store, and the sessions to open again after its failure.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use windlass_core::SessionId;
use windlass_ports::StoreErrorKind;
use windlass_ports::sync::Mutex;

/// First and longest delay of a session that fails again by itself.
const DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Time without a failure after which a session is as one that never failed.
const FORGET_AFTER: Duration = Duration::from_secs(120);

/// State of the store, as far as an engine knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreStatus {
    /// It works, as far as is known.
    Works,
    /// It failed, with an error of this kind. Acknowledged inputs are safe; turns continue once it
    /// works again.
    Failed(StoreErrorKind),
}

impl StoreStatus {
    /// Returns the word for the failure: `full`, `read_only`, `unavailable`, `ended` or `io`. `None`
    /// while the store works.
    #[must_use]
    pub fn failure(&self) -> Option<&'static str> {
        let Self::Failed(kind) = self else {
            return None;
        };
        Some(match kind {
            StoreErrorKind::Full => "full",
            StoreErrorKind::ReadOnly => "read_only",
            StoreErrorKind::Unavailable => "unavailable",
            StoreErrorKind::Ended => "ended",
            StoreErrorKind::Unknown
            | StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Io => "io",
        })
    }
}

/// State of the store of an engine. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct StoreWatch(Arc<WatchState>);

#[derive(Debug)]
struct WatchState {
    supervised: AtomicBool,
    /// True if the store is to be probed although no driver has failed.
    probe_requested: AtomicBool,
    status: watch::Sender<StoreStatus>,
    /// What ended the store for this process.
    ended: watch::Sender<Option<String>>,
    sessions: Mutex<HashMap<SessionId, FailedSession>>,
    added: Arc<Notify>,
}

#[derive(Debug, Clone, Copy)]
struct FailedSession {
    /// Time to open it; `None` once it was opened.
    due: Option<Instant>,
    failed: Instant,
    failures: u32,
}

impl Default for StoreWatch {
    fn default() -> Self {
        Self(Arc::new(WatchState {
            supervised: AtomicBool::new(false),
            probe_requested: AtomicBool::new(false),
            status: watch::Sender::new(StoreStatus::Works),
            ended: watch::Sender::new(None),
            sessions: Mutex::default(),
            added: Arc::default(),
        }))
    }
}

impl StoreWatch {
    /// Begins the supervision. Returns false if it has begun already.
    pub(crate) fn supervise(&self) -> bool {
        !self.0.supervised.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn is_supervised(&self) -> bool {
        self.0.supervised.load(Ordering::SeqCst)
    }

    pub(crate) fn status(&self) -> StoreStatus {
        self.0.status.borrow().clone()
    }

    /// Sets the state. Returns true if it changed.
    pub(crate) fn set(&self, status: StoreStatus) -> bool {
        self.0.status.send_if_modified(|now| {
            let changed = *now != status;
            *now = status;
            changed
        })
    }

    /// Notes that only another process can use the store.
    pub(crate) fn end(&self, reason: String) {
        self.0.ended.send_replace(Some(reason));
    }

    /// Waits for that.
    pub(crate) async fn ended(&self) -> String {
        let mut ended = self.0.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await;
        // This object holds the sender.
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Adds a session that a failure ended. It is due at once after its first failure.
    pub(crate) fn add(&self, session: &SessionId) {
        let now = Instant::now();
        let mut sessions = self.0.sessions.lock();
        sessions.retain(|_, one| one.due.is_some() || one.failed + FORGET_AFTER > now);
        let known = sessions.get(session).map_or(0, |one| one.failures);
        let (first, longest) = DELAY;
        let delay = match known {
            0 => Duration::ZERO,
            failures => first.saturating_mul(1 << (failures - 1).min(10)).min(longest),
        };
        let failed = FailedSession {
            due: Some(now + delay),
            failed: now,
            failures: known.saturating_add(1),
        };
        sessions.insert(session.clone(), failed);
        drop(sessions);
        self.0.added.notify_waiters();
    }

    /// Has the supervision probe the store.
    pub(crate) fn request_probe(&self) {
        self.0.probe_requested.store(true, Ordering::SeqCst);
        self.0.added.notify_waiters();
    }

    pub(crate) fn is_probe_requested(&self) -> bool {
        self.0.probe_requested.load(Ordering::SeqCst)
    }

    /// Takes the request to probe the store. Returns false if there is none.
    pub(crate) fn take_probe_request(&self) -> bool {
        self.0.probe_requested.swap(false, Ordering::SeqCst)
    }

    /// Wakes the supervision.
    pub(crate) fn wake(&self) {
        self.0.added.notify_waiters();
    }

    /// Returns a future that resolves when a session is added after this call.
    pub(crate) fn added(&self) -> OwnedNotified {
        self.0.added.clone().notified_owned()
    }

    /// Returns the time at which the next session is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.0.sessions.lock().values().filter_map(|one| one.due).min()
    }

    /// Takes the sessions that are due.
    pub(crate) fn take_due(&self) -> Vec<SessionId> {
        let now = Instant::now();
        let mut due = Vec::new();
        for (session, one) in self.0.sessions.lock().iter_mut() {
            if one.due.take_if(|due| *due <= now).is_some() {
                due.push(session.clone());
            }
        }
        due
    }
}
