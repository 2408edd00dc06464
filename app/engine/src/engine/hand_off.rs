//! Hand-off: releases sessions with their turns open, so that another process continues them.

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
    /// Sessions that did not come to rest. Their effects were dropped while they ran, as in a
    /// crash.
    pub dropped: Vec<SessionId>,
}

impl Engine {
    /// Opens nothing more, and releases every session with its turn open. This is for a process
    /// that ends while other nodes, or its successor, continue the sessions.
    ///
    /// No turn is asked to stop, unlike by [`Engine::drain`]. No further sample, call, hook or
    /// approval is started. Running effects may end for `within_ms`, so that their results become
    /// durable. Then the driver ends and its claim is released.
    ///
    /// An answer that would start further effects, for example one with calls, is kept up to its
    /// first such item; the next driver samples again from there. Inputs that arrive during the
    /// hand-off are rejected with [`DriverEnd::HandOff`]; accepted inputs are acknowledged. An open
    /// approval stays open and delays nothing. Hooks on the session's end do not run, since the
    /// session has not ended.
    ///
    /// The log is left as a crash between two facts would leave it, so law 3 holds for the next
    /// driver: by the rules of recovery it continues with the desired effects. If one effect
    /// reported several results that each start a call, some calls may be recorded as started that
    /// never began. They are recovered like any other call.
    ///
    /// Running effects are told to stop when the time is up, and then have the grace period of
    /// their turn. A session whose store does not respond is dropped [`Config::shutdown_ms`] after
    /// that.
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

    /// Opens nothing more, and drops every driver that is here while it runs, as in a crash. Returns
    /// their sessions. For the end of a time limit.
    pub fn abandon(&self) -> Vec<SessionId> {
        let driven = self.all().into_iter().filter(|slot| slot.link().is_some());
        let dropped = driven.map(|slot| {
            slot.kill();
            slot.id.clone()
        });
        dropped.collect()
    }

    /// Releases one session with its turn open, as [`Engine::hand_off`] does with all, to move it
    /// to another process. It may be opened here again.
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
                DriverEnd::HandOff { at_rest: rested, .. } => *rested,
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
            dropped: if rested { Vec::new() } else { vec![slot.id.clone()] },
        }
    }
}
