//! Why tools could not be set up.

use std::error::Error;

/// Why tools could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct SetupError {
    /// What was being done to what, what went wrong, what to do.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl SetupError {
    /// An error without a cause.
    pub(crate) fn new(context: impl Into<String>) -> Self {
        Self {
            context: context.into(),
            source: None,
        }
    }

    /// The same error with its cause.
    pub(crate) fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}
