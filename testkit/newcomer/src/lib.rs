//! Adapters of a newcomer: a store in files and a provider over HTTP.

pub mod provider;
pub mod store;
