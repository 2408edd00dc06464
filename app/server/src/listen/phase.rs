//! The pulse of a connection: where it stands between two requests, and how long that may last.

use std::sync::atomic::{AtomicU8, Ordering};

const HEAD: u8 = 0;
const BUSY: u8 = 1;
const IDLE: u8 = 2;
const UPGRADED: u8 = 3;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// The head of a request is coming.
    Head,
    /// A request is being answered.
    Busy,
    /// Nothing has come since the last answer.
    Idle,
    /// It speaks HTTP no more: a WebSocket.
    Upgraded,
}

/// State of a connection that its parts share.
#[derive(Debug, Default)]
pub(super) struct SharedPhase(AtomicU8);

impl SharedPhase {
    pub(super) fn phase(&self) -> ConnectionPhase {
        match self.0.load(Ordering::Acquire) {
            HEAD => ConnectionPhase::Head,
            BUSY => ConnectionPhase::Busy,
            IDLE => ConnectionPhase::Idle,
            _ => ConnectionPhase::Upgraded,
        }
    }

    /// The first byte of a request has come.
    pub(super) fn on_request(&self) {
        self.0.store(HEAD, Ordering::Release);
    }

    /// The head of a request is whole.
    pub(super) fn on_head(&self) {
        self.0.store(BUSY, Ordering::Release);
    }

    /// The connection speaks HTTP no more.
    pub(super) fn on_upgrade(&self) {
        self.0.store(UPGRADED, Ordering::Release);
    }

    /// An answer is whole.
    pub(super) fn on_response_end(&self) {
        let busy = (BUSY, IDLE);
        // One that speaks another protocol meanwhile stays as it is.
        let _ = self
            .0
            .compare_exchange(busy.0, busy.1, Ordering::AcqRel, Ordering::Acquire);
    }
}
