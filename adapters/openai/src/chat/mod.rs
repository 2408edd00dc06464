//! Chat Completions: its requests and its streams.

pub(crate) mod calls;
pub(crate) mod decode;
pub(crate) mod request;
pub(crate) mod wire;
