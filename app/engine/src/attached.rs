//! Attached: a use of a driver, which stays as long as it has one.

use std::sync::Arc;

use crate::slot::{Link, Slot};

/// One user of a driver. The driver stays while there is one.
pub(crate) struct Attached {
    slot: Arc<Slot>,
    pub(crate) link: Link,
}

impl Attached {
    /// Over a link that was counted as a use.
    pub(crate) fn new(slot: Arc<Slot>, link: Link) -> Self {
        Self { slot, link }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.slot.let_go(self.link.epoch);
    }
}
