//! Live bus between two nodes, whose messages are delivered one by one.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::SessionId;
use windlass_ports::{LiveBus, LiveBusCapabilities, LiveReceiver, LogSignal};

/// Messages that were published and not received yet.
#[derive(Default)]
pub(super) struct TestBus {
    pub(super) told: Mutex<VecDeque<Vec<u8>>>,
    pub(super) most: AtomicUsize,
}

impl LiveBus for TestBus {
    fn capabilities(&self) -> LiveBusCapabilities {
        LiveBusCapabilities {
            message_bytes: self.most.load(Ordering::SeqCst),
            max_queued_messages: 1_000,
            backlog_bytes: 1_000,
            linger_ms: 0,
        }
    }

    fn publish(&self, _: &SessionId, message: &[u8]) {
        self.told.lock().unwrap().push_back(message.to_vec());
    }

    fn has_subscribers(&self, _: &SessionId) -> bool {
        true
    }

    fn subscribe(&self, _: &SessionId) -> LiveReceiver {
        LiveReceiver::new(1, 1).1
    }

    fn new_subscribers(&self) -> LogSignal {
        LogSignal::new(1).1
    }

    fn dropped(&self) -> u64 {
        0
    }
}
