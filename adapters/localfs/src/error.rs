//! Failure to set up tools.

use std::error::Error;

/// Failure to set up tools.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct SetupError {
    /// Description of the action, its failure and the remedy.
    pub context: String,
    /// Cause, where another error led to this one.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl SetupError {
    /// An error without a cause.
    pub(crate) fn new(context: impl Into<String>) -> Self {
        Self { context: context.into(), source: None }
    }

    /// The same error with its cause.
    pub(crate) fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}
