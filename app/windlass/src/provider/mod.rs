//! Providers by name: the one place that knows their names, addresses and variables.
//!
//! [`builder`](crate::builder()) and the command `windlass` find their providers
//! here.

mod built_in;
mod connect;
mod named;
mod preset;
mod presets;
mod renamed;

use serde::Deserialize;

pub use built_in::{BuiltIn, reject_credentials};
pub(crate) use named::{NamedProvider, ProviderRequest};
pub use preset::Preset;
pub use renamed::RenamedProvider;

/// Protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderApi {
    /// The Responses API.
    Openai,
    /// The Chat Completions API.
    OpenaiChat,
    /// The Messages API.
    Anthropic,
    /// Gemini's native API.
    Gemini,
}
