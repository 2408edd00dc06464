//! A relay that loses some of what it hears, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::core::SessionId;
use windlass_engine::ports::{LiveBus, LiveBusCapabilities, LiveItem, LiveReceiver, LogSignal};

/// A relay over another, of whose messages one in four is lost, by numbers that look random.
pub(crate) struct Lossy {
    inner: Arc<dyn LiveBus>,
    dice: Arc<AtomicU64>,
}

impl Lossy {
    pub(crate) fn new(inner: Arc<dyn LiveBus>, seed: u64) -> Self {
        let dice = Arc::new(AtomicU64::new(seed));
        Self { inner, dice }
    }
}

fn is_lost(dice: &AtomicU64) -> bool {
    let next = |last: u64| {
        let next = last.wrapping_mul(6_364_136_223_846_793_005);
        Some(next.wrapping_add(1))
    };
    let last = dice.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
    (last.unwrap() >> 33).is_multiple_of(4)
}

impl LiveBus for Lossy {
    fn capabilities(&self) -> LiveBusCapabilities {
        self.inner.capabilities()
    }

    fn publish(&self, session: &SessionId, message: &[u8]) {
        self.inner.publish(session, message);
    }

    fn has_subscribers(&self, session: &SessionId) -> bool {
        self.inner.has_subscribers(session)
    }

    fn subscribe(&self, session: &SessionId) -> LiveReceiver {
        let mut heard = self.inner.subscribe(session);
        let (source, hearing) = LiveReceiver::new(1_000, 1 << 20);
        let dice = self.dice.clone();
        tokio::spawn(async move {
            while let Some(heard) = heard.next().await {
                match heard {
                    _ if source.is_closed() => return,
                    LiveItem::Message(_) if is_lost(&dice) => source.mark_missed(),
                    LiveItem::Message(message) => assert_eq!(source.send(message), 0),
                    LiveItem::Missed => source.mark_missed(),
                }
            }
        });
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        self.inner.new_subscribers()
    }

    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}
