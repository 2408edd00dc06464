//! Part: sessions are let go with their turns open, so that another process goes on with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use windlass_core::SessionId;

use super::Engine;
use crate::error::DriverEnd;
use crate::slot::Slot;

/// Result of handing sessions off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandOff {
    /// Number of sessions at rest: their effects have ended, and the results are durable.
    pub at_rest: usize,
    /// Those that did not: what still ran was dropped where it stood, as a crash would.
    pub dropped: Vec<SessionId>,
}

impl Engine {
    /// Opens nothing more, and lets every session go with its turn open: for a process that ends
    /// while others go on, or the next one does.
    ///
    /// No turn is asked to stop, unlike by [`Engine::drain`]. Nothing further is started: no sample,
    /// no call, no hook, no question. What runs may end for `within_ms`, so that what it comes to is
    /// durable; then its driver ends, and its claim is given back. Of an answer that goes on to
    /// something further, as one with calls does, what comes before that is kept, and the model is
    /// asked again by whoever goes on. Inputs that come meanwhile are refused, as
    /// [`DriverEnd::HandOff`]; those that were taken are answered. Nobody waits for people: a question
    /// stays open. Hooks of a session's end are not asked, as it has not ended.
    ///
    /// What the log is left with is what a crash between two facts would leave, so that law 3 holds
    /// for whoever opens the session next: by the rules of recovery it goes on with what is owed.
    /// Only where several words came of which each would start something may all but the last leave
    /// a call on record as started that did not begin; it is taken up like any other.
    ///
    /// What runs is told to stop when the time is up, and has the grace of its turn for that. A
    /// session whose store does not answer is dropped [`Config::shutdown_ms`] after that.
    ///
    /// [`Config::shutdown_ms`]: crate::Config::shutdown_ms
    pub async fn hand_off(&self, within_ms: u64, reason: &str) -> HandOff {
        let parting = self.all().into_iter();
        let parting =
            parting.map(|slot| async move { self.hand_off_slot(&slot, within_ms, reason).await });
        let mut parted = HandOff::default();
        for one in join_all(parting).await {
            parted.at_rest += one.at_rest;
            parted.dropped.extend(one.dropped);
        }
        parted
    }

    /// Lets one session go with its turn open, as [`Engine::hand_off`] does with all: to move it to
    /// another process. It may be opened here again.
    pub async fn hand_off_session(&self, id: &SessionId, within_ms: u64, reason: &str) -> HandOff {
        let slot = self.inner.slots().get(id).cloned();
        match slot {
            Some(slot) => self.hand_off_slot(&slot, within_ms, reason).await,
            None => HandOff::default(),
        }
    }

    async fn hand_off_slot(&self, slot: &Arc<Slot>, within_ms: u64, reason: &str) -> HandOff {
        let within = Duration::from_millis(within_ms);
        let patience = Duration::from_millis(self.inner.config.shutdown_ms);
        let limit = within.saturating_add(patience);
        let ended = timeout(limit, slot.hand_off(within, reason)).await;
        let rested = match ended {
            Ok(None) => return HandOff::default(),
            Ok(Some(ended)) => match &*ended {
                DriverEnd::Closed => true,
                DriverEnd::HandOff {
                    at_rest: rested, ..
                } => *rested,
                DriverEnd::Superseded(_)
                | DriverEnd::Store(_)
                | DriverEnd::Abandoned
                | DriverEnd::Defect(_) => false,
            },
            Err(_) => {
                tracing::error!(session = %slot.id, "not let go in time: its driver is dropped");
                slot.kill();
                false
            }
        };
        HandOff {
            at_rest: usize::from(rested),
            dropped: if rested {
                Vec::new()
            } else {
                vec![slot.id.clone()]
            },
        }
    }
}
