//! The Windlass test kit: what holds adapters and the engine to their promises.

pub mod store;
