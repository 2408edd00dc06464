//! Followed child: the session of an agent, followed to the end of the turn that executes its call's
//! prompt, and kept driven until then. Absent: what the end means for the call, or for the parent.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Scope, Seq, SessionId};
use windlass_ports::StoreErrorKind;

use crate::agents::{ReportFinder, has_prompt};
use crate::engine::{Engine, Inner};
use crate::error::StartError;
use crate::event::Event;
use crate::report::TurnReport;
use crate::session::INPUT_VALID;

/// First and longest pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Most failures of an operation that do not pass by themselves.
const MAX_FAILURES: u32 = 6;
/// Interval of checks that the child has a driver, possibly on another node.
const DRIVER_CHECK: Duration = Duration::from_secs(5);
/// Time for the prompt of a child on a single engine: the process that was to send it may be gone.
const PROMPT_WAIT: Duration = Duration::from_secs(10);

/// Child session that executes a call.
pub(crate) struct FollowedChild {
    engine: Weak<Inner>,
    session: SessionId,
    /// Idempotency key of the call.
    key: String,
    /// Scope of the call's turn.
    scope: Scope,
}

/// Reason why a child cannot be followed to its end.
pub(crate) enum ChildFault {
    /// There is no log of the child.
    Missing,
    /// The log cannot be read, or the child cannot be driven.
    Unusable(String),
}

impl FollowedChild {
    pub(crate) fn new(engine: &Engine, session: SessionId, key: String, scope: Scope) -> Self {
        Self { engine: Arc::downgrade(&engine.inner), session, key, scope }
    }

    /// Waits for the end of the turn that executes the prompt, on any node. Returns `None` if the
    /// engine is gone.
    pub(crate) async fn report(&self) -> Option<Result<TurnReport, ChildFault>> {
        // Reads from the beginning: an earlier process may have sent the prompt, and the turn may
        // have ended.
        let mut watch = self.engine()?.subscribe(&self.session, &self.scope, Some(Seq::ZERO));
        let mut finder = ReportFinder::of(&self.key);
        let mut retries = Retries::default();
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) => {
                    retries = Retries::default();
                    if let Some(report) = finder.apply(&fact.into()) {
                        return Some(Ok(report));
                    }
                }
                Ok(Event::Live(_) | Event::Lagged { .. } | Event::Store(_) | Event::Ended(_)) => {}
                Err(error) => {
                    if let Err(fault) = self.pause_after(error.into(), &mut retries).await {
                        return Some(Err(fault));
                    }
                }
            }
        }
    }

    /// Ensures that the child has a driver, possibly on another node. Returns only if it can have
    /// none, or `None` if the engine is gone.
    pub(crate) async fn keep_driven(&self) -> Option<ChildFault> {
        let mut retries = Retries::default();
        loop {
            // A child that has ended is reported at once, and needs no driver.
            sleep(PAUSE.0).await;
            let opened = self.engine()?.session(&self.session, &self.scope).await;
            match opened {
                Ok(_handle) => {
                    retries = Retries::default();
                    sleep(DRIVER_CHECK).await;
                }
                Err(StartError::ShutDown(_)) => return None,
                Err(error) => {
                    if let Err(fault) = self.pause_after(error, &mut retries).await {
                        return Some(fault);
                    }
                }
            }
        }
    }

    /// Waits until the child is known to receive no prompt: its log has none for as long as one may
    /// be on its way. Never returns if it has one; returns `None` if the engine is gone.
    pub(crate) async fn wait_without_prompt(&self) -> Option<()> {
        let mut absent_since: Option<Instant> = None;
        loop {
            let inner = self.engine.upgrade()?;
            // In a mailbox the prompt may wait for as long as it is valid.
            let wait = if inner.peers.is_none() { PROMPT_WAIT } else { INPUT_VALID };
            let (store, page) = (inner.ports.store.clone(), inner.config.read_page.max(1));
            drop(inner);
            match has_prompt(store.as_ref(), &self.session, &self.key, page).await {
                Ok(true) => return pending().await,
                Ok(false) => {
                    if absent_since.get_or_insert_with(Instant::now).elapsed() >= wait {
                        return Some(());
                    }
                }
                Err(_) => absent_since = None,
            }
            sleep((wait / 10).min(PAUSE.1)).await;
        }
    }

    /// Pauses after a failure. Returns the fault once it has lasted too long.
    async fn pause_after(
        &self,
        error: StartError,
        retries: &mut Retries,
    ) -> Result<(), ChildFault> {
        tracing::warn!(session = %self.session, %error, "an agent cannot be followed now");
        if retries.pause_after(error.is_transient()).await {
            return Ok(());
        }
        Err(match is_missing(&error) {
            true => ChildFault::Missing,
            false => ChildFault::Unusable(error.to_string()),
        })
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }
}

/// Returns true if there is no log of the session.
fn is_missing(error: &StartError) -> bool {
    matches!(error, StartError::Unknown(_))
        || matches!(error, StartError::Store(error) if error.kind == StoreErrorKind::Unknown)
}

/// Repeated attempts of an operation, with growing pauses. Failures that pass by themselves are
/// retried without an end.
pub(crate) struct Retries {
    pause: Duration,
    failures: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Self { pause: PAUSE.0, failures: 0 }
    }
}

impl Retries {
    /// Pauses after a failed attempt. Returns false if there is to be no further one.
    pub(crate) async fn pause_after(&mut self, is_transient: bool) -> bool {
        if !is_transient {
            self.failures = self.failures.saturating_add(1);
            if self.failures >= MAX_FAILURES {
                return false;
            }
        }
        sleep(self.pause).await;
        self.pause = self.pause.saturating_mul(2).min(PAUSE.1);
        true
    }
}
