//! Failure to load hooks.

use std::error::Error;

/// Failure to load hooks.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct LoadError {
    /// File and position, the fault and the remedy.
    pub context: String,
    /// Cause, where another error led to this one.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl LoadError {
    /// An error without a cause.
    pub(crate) fn new(context: impl Into<String>) -> Self {
        Self { context: context.into(), source: None }
    }

    /// The same error with its cause.
    pub(crate) fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The same error, said of a place.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.context = format!("{place}: {}", self.context);
        self
    }
}
