//! A relay that loses some of what it hears, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::core::SessionId;
use windlass_engine::ports::{Heard, Hearing, LiveCapabilities, LiveRelay, News};

/// A relay over another, of whose messages one in four is lost, by numbers that look random.
pub(crate) struct Lossy {
    inner: Arc<dyn LiveRelay>,
    dice: Arc<AtomicU64>,
}

impl Lossy {
    pub(crate) fn new(inner: Arc<dyn LiveRelay>, seed: u64) -> Self {
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

impl LiveRelay for Lossy {
    fn capabilities(&self) -> LiveCapabilities {
        self.inner.capabilities()
    }

    fn tell(&self, session: &SessionId, message: &[u8]) {
        self.inner.tell(session, message);
    }

    fn is_heard(&self, session: &SessionId) -> bool {
        self.inner.is_heard(session)
    }

    fn hear(&self, session: &SessionId) -> Hearing {
        let mut heard = self.inner.hear(session);
        let (source, hearing) = Hearing::new(1_000, 1 << 20);
        let dice = self.dice.clone();
        tokio::spawn(async move {
            while let Some(heard) = heard.next().await {
                match heard {
                    _ if source.is_gone() => return,
                    Heard::Told(_) if is_lost(&dice) => source.miss(),
                    Heard::Told(message) => assert_eq!(source.put(message), 0),
                    Heard::Missed => source.miss(),
                }
            }
        });
        hearing
    }

    fn hearers(&self) -> News {
        self.inner.hearers()
    }

    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}
