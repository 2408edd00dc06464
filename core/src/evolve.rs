//! Evolve.
