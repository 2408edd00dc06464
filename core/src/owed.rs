//! Owed: what the world owes a state.

use alloc::vec::Vec;

use crate::effect::Owed;
use crate::session::Session;

/// placeholder
#[must_use]
pub fn owed(_session: &Session) -> Vec<Owed> {
    Vec::new()
}
