//! A live relay that carries nothing.

use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{Hearing, HearingSource, LiveCapabilities, LiveRelay, News, NewsSource};

/// A live relay that carries nothing, for tests of what does not stream.
#[derive(Debug, Default)]
pub struct NoRelay {
    /// What is never told, until it is not heard any more.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    hearings: Vec<HearingSource>,
    hearers: Vec<NewsSource>,
}

impl LiveRelay for NoRelay {
    fn capabilities(&self) -> LiveCapabilities {
        LiveCapabilities {
            message_bytes: 4_096,
            held: 1,
            backlog_bytes: 0,
            linger_ms: 0,
        }
    }

    fn tell(&self, _session: &SessionId, _message: &[u8]) {}

    fn is_heard(&self, _session: &SessionId) -> bool {
        false
    }

    fn hear(&self, _session: &SessionId) -> Hearing {
        let (source, hearing) = Hearing::new(1, 1);
        let mut kept = self.kept.lock();
        kept.hearings.retain(|source| !source.is_gone());
        kept.hearings.push(source);
        hearing
    }

    fn hearers(&self) -> News {
        let (source, news) = News::new(1);
        let mut kept = self.kept.lock();
        kept.hearers.retain(|source| !source.is_gone());
        kept.hearers.push(source);
        news
    }

    fn dropped(&self) -> u64 {
        0
    }
}
