//! A gate: a place where a fake waits until a test lets it through.
//!
//! Gates stand where other kits sleep: the test knows that the fake has arrived
//! ([`Gate::reached`]) and decides when it goes on ([`Gate::open`]), so no race is decided by the
//! machine's speed.

use windlass_ports::CancelSource;

/// A place where a fake waits until it is let through. Clones are the same gate.
///
/// ```
/// use windlass_testkit::Gate;
///
/// let gate = Gate::new();
/// assert!(!gate.is_open());
/// gate.open();
/// assert!(gate.is_open());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gate {
    reached: CancelSource,
    opened: CancelSource,
}

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it for good, for all who wait and all who come.
    pub fn open(&self) {
        self.opened.cancel();
    }

    /// Returns true if it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.opened.signal().is_cancelled()
    }

    /// Waits until somebody has arrived at the gate.
    pub async fn reached(&self) {
        self.reached.signal().cancelled().await;
    }

    /// Arrives at the gate and waits until it is open.
    pub async fn pass(&self) {
        self.reached.cancel();
        self.opened.signal().cancelled().await;
    }
}
