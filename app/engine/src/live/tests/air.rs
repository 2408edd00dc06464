//! What is between two nodes: a relay whose messages are taken one by one.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::SessionId;
use windlass_ports::{Hearing, LiveCapabilities, LiveRelay, News};

/// What was told and not heard yet.
#[derive(Default)]
pub(super) struct Air {
    pub(super) told: Mutex<VecDeque<Vec<u8>>>,
    pub(super) most: AtomicUsize,
}

impl LiveRelay for Air {
    fn capabilities(&self) -> LiveCapabilities {
        LiveCapabilities {
            message_bytes: self.most.load(Ordering::SeqCst),
            held: 1_000,
            backlog_bytes: 1_000,
            linger_ms: 0,
        }
    }

    fn tell(&self, _: &SessionId, message: &[u8]) {
        self.told.lock().unwrap().push_back(message.to_vec());
    }

    fn is_heard(&self, _: &SessionId) -> bool {
        true
    }

    fn hear(&self, _: &SessionId) -> Hearing {
        Hearing::new(1, 1).1
    }

    fn hearers(&self) -> News {
        News::new(1).1
    }

    fn dropped(&self) -> u64 {
        0
    }
}
