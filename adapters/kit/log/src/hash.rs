//! How sessions are looked up where each append does it several times.

use std::collections::HashMap;

use windlass_core::SessionId;

/// A hash for tables in memory that is faster than the standard library's. Its seed is of the process,
/// so nobody finds names that meet in one place without seeing the table.
pub type Hasher = foldhash::fast::RandomState;

/// What is known of sessions.
pub type Sessions<T> = HashMap<SessionId, T, Hasher>;
