//! Allowances: how many breaches of a rule each crate may still have. They only shrink.

/// Public docs by crate folder that open with a word that they may not open with.
pub(super) const OPENINGS: &[(&str, usize)] = &[("testkit", 199)];
