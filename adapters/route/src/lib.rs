#![doc = include_str!("../README.md")]

mod chain;
mod fallback;
mod router;
mod settings;

pub use fallback::{Fallback, FallbackProvider};
pub use router::{ModelPattern, Router};

use windlass_core::{FailureKind, Retry};
use windlass_ports::ProviderError;

/// The error of a configuration that cannot be used.
fn misconfigured(context: String) -> ProviderError {
    ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
}
