//! Connection phase: state of a connection between and within requests, which determines its
//! time-out.

use std::sync::atomic::{AtomicU8, Ordering};

const HEAD: u8 = 0;
const BUSY: u8 = 1;
const IDLE: u8 = 2;
const UPGRADED: u8 = 3;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// The head of a request is being received.
    Head,
    /// A request is being answered.
    Busy,
    /// Nothing was received since the last response.
    Idle,
    /// The connection is a WebSocket now.
    Upgraded,
}

/// Shared state of a connection.
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

    /// Records the first byte of a request.
    pub(super) fn on_request(&self) {
        self.0.store(HEAD, Ordering::Release);
    }

    /// Records the end of a request's head.
    pub(super) fn on_head(&self) {
        self.0.store(BUSY, Ordering::Release);
    }

    /// Records the upgrade to a WebSocket.
    pub(super) fn on_upgrade(&self) {
        self.0.store(UPGRADED, Ordering::Release);
    }

    /// Records the end of a response.
    pub(super) fn on_response_end(&self) {
        let busy = (BUSY, IDLE);
        // An upgraded connection stays upgraded.
        let _ = self.0.compare_exchange(busy.0, busy.1, Ordering::AcqRel, Ordering::Acquire);
    }
}
