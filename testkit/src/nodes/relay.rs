//! A live relay that carries nothing.

use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{
    LiveBus, LiveBusCapabilities, LiveReceiver, LiveSender, LogSignal, LogSignalSource,
};

/// A live relay that carries nothing, for tests of what does not stream.
#[derive(Debug, Default)]
pub struct NoRelay {
    /// What is never told, until it is not heard any more.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    hearings: Vec<LiveSender>,
    hearers: Vec<LogSignalSource>,
}

impl LiveBus for NoRelay {
    fn capabilities(&self) -> LiveBusCapabilities {
        LiveBusCapabilities {
            message_bytes: 4_096,
            max_queued_messages: 1,
            backlog_bytes: 0,
            linger_ms: 0,
        }
    }

    fn publish(&self, _session: &SessionId, _message: &[u8]) {}

    fn has_subscribers(&self, _session: &SessionId) -> bool {
        false
    }

    fn subscribe(&self, _session: &SessionId) -> LiveReceiver {
        let (source, hearing) = LiveReceiver::new(1, 1);
        let mut kept = self.kept.lock();
        kept.hearings.retain(|source| !source.is_closed());
        kept.hearings.push(source);
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        let (source, news) = LogSignal::new(1);
        let mut kept = self.kept.lock();
        kept.hearers.retain(|source| !source.is_closed());
        kept.hearers.push(source);
        news
    }

    fn dropped(&self) -> u64 {
        0
    }
}
