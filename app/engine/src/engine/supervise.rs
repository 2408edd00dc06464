//! Supervision: sessions that a failure of the store ended are opened again once it works.
//!
//! One task an engine. It probes the store with a growing pause until it works, then opens the
//! sessions again. In a cluster the adoption opens them, on any node, and the task only probes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use windlass_core::SessionId;
use windlass_ports::{StoreError, StoreErrorKind};

use super::backoff::ReportLimiter;
use super::{Engine, Inner};
use crate::error::{DriverEnd, StartError};
use crate::store_watch::StoreStatus;

/// Shortest and longest pause before a probe of a store that failed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// Time without a failure after which the pause is the shortest one again.
const STABLE: Duration = Duration::from_secs(30);
/// Longest wait for a probe. It is longer than any store takes that answers at all.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Sessions that are opened at a time.
const AT_ONCE: usize = 16;

impl Engine {
    /// Opens sessions again, from now on, whose drivers end since the store fails. Their turns
    /// continue as after a restart, and no user need ask for them.
    ///
    /// After a failure the store is probed ([`LogStore::probe`]) with a pause that grows to two
    /// seconds, until it works. Then the sessions are opened. A session that fails again by itself
    /// is opened again after a second, and then after a delay that doubles up to a minute. What no
    /// attempt can repair, such as a damaged log, is reported and left.
    ///
    /// Subscribers receive [`Event::Store`] when the store fails and when it works again. A task
    /// does the work; it ends with the engine. Must be called within a tokio runtime; only the
    /// first call counts. An engine in a cluster must also [adopt](Engine::adopt): any node may
    /// continue the sessions.
    ///
    /// [`Event::Store`]: crate::Event::Store
    /// [`LogStore::probe`]: windlass_ports::LogStore::probe
    pub fn supervise(&self) {
        if self.inner.store_watch.supervise() {
            let supervisor = Supervisor {
                engine: Arc::downgrade(&self.inner),
                failures: 0,
                failed: None,
                reports: ReportLimiter::per_session(),
            };
            tokio::spawn(supervisor.run());
        }
    }

    /// Returns the state of the store, as far as drivers and probes of a supervised engine know.
    #[must_use]
    pub fn store_status(&self) -> StoreStatus {
        self.inner.store_watch.status()
    }

    /// Has a supervised engine probe its store soon, since a call outside of its drivers failed.
    /// Without sessions under way nothing else shows that the store has failed.
    pub fn check_store(&self) {
        self.inner.store_watch.request_probe();
    }

    /// Waits until the store has ended for this process, and returns what ended it. Only another
    /// process can continue the sessions. Never returns for an engine without supervision.
    pub async fn store_ended(&self) -> String {
        self.inner.store_watch.ended().await
    }
}

impl Engine {
    /// Returns true if the session continues after this end of its driver, here or on another
    /// node, although nobody asks for it.
    pub(crate) fn is_continued(&self, ended: &DriverEnd) -> bool {
        let supervised = self.inner.store_watch.is_supervised();
        match ended {
            DriverEnd::Store(_) => supervised,
            DriverEnd::Closed
            | DriverEnd::Superseded(_)
            | DriverEnd::HandOff { .. }
            | DriverEnd::Abandoned => self.inner.peers.is_some(),
            DriverEnd::Defect(_) => false,
        }
    }
}

impl Drop for Inner {
    /// Ends the supervision.
    fn drop(&mut self) {
        self.store_watch.wake();
    }
}

impl Inner {
    /// Notes the end of a driver. If the store ended it, its session is opened again.
    pub(super) fn on_driver_end(&self, session: &SessionId, ended: &DriverEnd) {
        let DriverEnd::Store(error) = ended else {
            return;
        };
        self.on_store_error(session, error);
    }

    /// Notes a failure of the store, and opens the session again once the store works.
    pub(super) fn on_store_error(&self, session: &SessionId, error: &StoreError) {
        if !self.store_watch.is_supervised() {
            return;
        }
        if error.kind.is_of_store() {
            self.set_store_status(StoreStatus::Failed(error.kind.clone()));
        }
        self.store_watch.add(session);
    }

    /// Notes that a session did not start. If that is a failure of the store, the store is probed:
    /// there may be no driver that fails.
    pub(super) fn on_start_error(&self, error: &StartError) {
        if let StartError::Store(error) = error
            && error.kind.is_of_store()
        {
            self.store_watch.request_probe();
        }
    }

    /// Sets the state of the store, and notifies all subscribers of a change.
    fn set_store_status(&self, status: StoreStatus) {
        if !self.store_watch.set(status.clone()) {
            return;
        }
        let slots: Vec<_> = self.slots().values().cloned().collect();
        for slot in slots {
            slot.hub.notify_store(&status);
        }
    }
}

/// State of the task.
struct Supervisor {
    engine: Weak<Inner>,
    /// Number of failures in a row.
    failures: u32,
    /// Time of the last failure.
    failed: Option<Instant>,
    reports: ReportLimiter,
}

impl Supervisor {
    /// Returns `None` once the engine is gone or shut down.
    async fn run(mut self) -> Option<()> {
        loop {
            self.wait_for_work().await?;
            if self.inner()?.store_watch.take_probe_request() {
                // It sets the state of the store.
                self.probe().await?;
            }
            while self.inner()?.store_watch.status() != StoreStatus::Works {
                sleep(self.pause()).await;
                if !self.probe().await? {
                    continue;
                }
                self.reopen().await?;
            }
            self.reopen().await?;
        }
    }

    fn inner(&self) -> Option<Arc<Inner>> {
        let inner = self.engine.upgrade()?;
        (!inner.is_shut_down.load(Ordering::SeqCst)).then_some(inner)
    }

    /// Waits until the store has failed, is to be probed, or a session is due.
    async fn wait_for_work(&self) -> Option<()> {
        let watch = self.inner()?.store_watch.clone();
        loop {
            let added = watch.added();
            if watch.status() != StoreStatus::Works || watch.is_probe_requested() {
                return Some(());
            }
            let Some(due) = watch.next_due() else {
                added.await;
                self.inner()?;
                continue;
            };
            if due <= Instant::now() {
                return Some(());
            }
            tokio::select! {
                () = added => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Counts a failure, and returns the pause before the next probe.
    fn pause(&mut self) -> Duration {
        if self.failed.is_none_or(|failed| failed.elapsed() > STABLE) {
            self.failures = 0;
        }
        let (shortest, longest) = PAUSE;
        let pause = shortest.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures = self.failures.saturating_add(1);
        self.failed = Some(Instant::now() + pause);
        pause
    }

    /// Probes the store. Returns true if it works.
    async fn probe(&mut self) -> Option<bool> {
        let inner = self.inner()?;
        let store = inner.ports.store.clone();
        let probed = timeout(PROBE_TIMEOUT, store.probe()).await.unwrap_or_else(|_| {
            let context = format!("the store did not answer within {} s", PROBE_TIMEOUT.as_secs());
            Err(StoreError::new(StoreErrorKind::Unavailable, context))
        });
        let Err(error) = probed else {
            return Some(true);
        };
        if let Some(suppressed) = self.reports.allow() {
            tracing::error!(%error, suppressed, "the store does not work yet: it is probed again");
        }
        inner.set_store_status(StoreStatus::Failed(error.kind.clone()));
        if error.kind == StoreErrorKind::Ended {
            inner.store_watch.end(error.to_string());
            return None;
        }
        Some(false)
    }

    /// Opens the sessions that are due. The store works if none of them fails by it.
    async fn reopen(&mut self) -> Option<()> {
        let inner = self.inner()?;
        let due = inner.store_watch.take_due();
        if inner.peers.is_some() {
            inner.set_store_status(StoreStatus::Works);
            return Some(());
        }
        let engine = Engine { inner: inner.clone() };
        let mut opening = stream::iter(due)
            .map(|session| {
                let engine = engine.clone();
                async move {
                    let opened = engine.recover_session(&session).await;
                    (session, opened)
                }
            })
            .buffer_unordered(AT_ONCE);
        let mut works = true;
        while let Some((session, opened)) = opening.next().await {
            match opened {
                Ok(()) => tracing::warn!(%session, "opened again after a failure of the store"),
                Err(error) => works &= self.on_failed(&inner, &session, &error),
            }
        }
        if works {
            inner.set_store_status(StoreStatus::Works);
        }
        Some(())
    }

    /// Handles a session that did not open. Returns false if that is a failure of the store.
    fn on_failed(&mut self, inner: &Inner, session: &SessionId, error: &StartError) -> bool {
        match error {
            StartError::Store(error) => {
                let of_store = error.kind.is_of_store();
                if of_store {
                    inner.store_watch.add(session);
                    inner.set_store_status(StoreStatus::Failed(error.kind.clone()));
                    return false;
                }
            }
            // Another process continues it, or it was erased.
            StartError::Locked(_) | StartError::Unknown(_) | StartError::ShutDown(_) => {
                return true;
            }
            StartError::Exists(_)
            | StartError::Unfinished { .. }
            | StartError::Busy { .. }
            | StartError::Corrupt(_)
            | StartError::InvalidFact { .. }
            | StartError::Settings(_)
            | StartError::Child(_)
            | StartError::MissingParts { .. } => {}
        }
        if let Some(suppressed) = self.reports.allow() {
            tracing::error!(
                %session, %error, suppressed,
                "not opened again after a failure of the store: repair it, and open it"
            );
        }
        true
    }
}
