//! Deadline.
/// placeholder
pub fn deadline() {}
