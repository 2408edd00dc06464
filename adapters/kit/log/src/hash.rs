//! The hash of tables that each append uses.

use std::collections::HashMap;

use windlass_core::SessionId;

/// A hash that is faster than the standard library's, with a random seed per process.
pub type Hasher = foldhash::fast::RandomState;

/// A map by session.
pub type Sessions<T> = HashMap<SessionId, T, Hasher>;
