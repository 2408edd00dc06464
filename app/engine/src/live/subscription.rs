//! Live subscription: receives live messages of other nodes, and subscribes again after a loss.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::SessionId;
use windlass_ports::{LiveBus, LiveItem, LiveReceiver};

use super::message::NodeMessage;

/// Time-out for a complete catch-up before it is requested again: initial and maximum. It grows
/// after each failure.
const WAIT: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Receives live messages of one session.
pub(crate) struct LiveSubscription {
    live_bus: Arc<dyn LiveBus>,
    session: SessionId,
    receiver: LiveReceiver,
    /// Time of the next subscription, and of the last one.
    restart_at: Option<Instant>,
    last_restart: Option<Instant>,
    wait: Duration,
}

/// A message, or a loss.
pub(crate) enum LiveNotice {
    Message(NodeMessage),
    /// Messages were lost.
    Missed,
}

impl LiveSubscription {
    /// Subscribes. Must be called within a runtime.
    pub(crate) fn begin(relay: Arc<dyn LiveBus>, session: &SessionId) -> Self {
        Self {
            receiver: relay.subscribe(session),
            live_bus: relay,
            session: session.clone(),
            restart_at: None,
            last_restart: None,
            wait: WAIT.0,
        }
    }

    /// Waits for the next notice. Cancel safe. Never returns once the live bus is gone.
    pub(crate) async fn next(&mut self) -> LiveNotice {
        loop {
            let again = self.restart_at;
            let heard = tokio::select! {
                biased;
                heard = self.receiver.next() => heard,
                () = until(again) => {
                    self.resubscribe();
                    // The pending messages are dropped.
                    return LiveNotice::Missed;
                }
            };
            match heard {
                Some(LiveItem::Message(text)) => match NodeMessage::read(&text) {
                    Some(message) => return LiveNotice::Message(message),
                    None => tracing::debug!(
                        session = %self.session,
                        "a live message is none of ours: it is dropped"
                    ),
                },
                Some(LiveItem::Missed) => {
                    // The first retry is immediate, since the sender is running.
                    let now = Instant::now();
                    let soon = self.last_restart.map_or(now, |last| last + self.wait);
                    self.restart_at = Some(self.restart_at.map_or(soon, |again| again.min(soon)));
                    return LiveNotice::Missed;
                }
                None => return std::future::pending().await,
            }
        }
    }

    /// Updates the status after a notice: `lost` is true if messages are missing, and `passing` if
    /// they are being sent.
    pub(crate) fn set_status(&mut self, lost: bool, passing: bool) {
        if !lost {
            (self.restart_at, self.wait) = (None, WAIT.0);
        } else if passing {
            self.restart_at = Some(Instant::now() + WAIT.1);
        } else if self.restart_at.is_none() {
            self.restart_at = Some(Instant::now() + self.wait);
        }
    }

    /// Subscribes again. The sender notices that and sends the whole live state.
    fn resubscribe(&mut self) {
        // Subscribed before the earlier receiver is dropped, so that the node never lacks a
        // subscriber.
        self.receiver = self.live_bus.subscribe(&self.session);
        self.wait = self.wait.saturating_mul(2).min(WAIT.1);
        let now = Instant::now();
        (self.last_restart, self.restart_at) = (Some(now), Some(now + self.wait));
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
