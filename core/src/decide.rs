//! Decide.
/// placeholder
pub fn decide() {}
/// placeholder
pub fn open() {}
