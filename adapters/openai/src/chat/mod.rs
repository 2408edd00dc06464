//! Chat Completions: its requests and its streams.

pub(crate) mod calls;
pub(crate) mod decode;
mod details;
#[cfg(test)]
mod fault_tests;
mod message;
pub(crate) mod messages;
pub(crate) mod request;
pub(crate) mod wire;

/// The name of this dialect in the provenance of opaque items.
pub(crate) const DIALECT: &str = "openai-chat";
