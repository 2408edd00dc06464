//! Responses: its requests and its streams.

pub(crate) mod decode;
pub(crate) mod items;
pub(crate) mod parts;
pub(crate) mod request;
mod returned;
mod text_calls;
mod whole;
pub(crate) mod wire;

pub(crate) use text_calls::TextCalls;

/// The name of this dialect in the provenance of opaque items.
pub(crate) const DIALECT: &str = "openai-responses";
