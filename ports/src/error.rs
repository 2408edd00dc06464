//! The error of every port: a class, advice on retrying, a description and a cause.

use std::error::Error;
use std::fmt::Debug;

use windlass_core::Retry;

/// Classes of the errors of one port.
pub trait ErrorKind: Debug + Send + Sync + 'static {
    /// Returns the advice on retrying for most errors of this class.
    fn retry(&self) -> Retry;
}

/// Failure of a port. `K` names the classes of the port, `D` adds what only this port reports.
///
/// Displays its context only. The cause is its [`source`](Error::source).
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct PortError<K, D = ()> {
    /// Class of the failure.
    pub kind: K,
    /// Advice to callers on retrying.
    pub retry: Retry,
    /// Description of the action, its failure and the remedy. It never contains a secret.
    pub context: String,
    /// Facts that only this port reports.
    pub details: D,
    /// Cause, if another error led to this one.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl<K: ErrorKind> PortError<K> {
    /// Creates an error without a cause. Its class determines the advice on retrying.
    #[must_use]
    pub fn new(kind: K, context: impl Into<String>) -> Self {
        Self { retry: kind.retry(), kind, context: context.into(), details: (), source: None }
    }
}

impl<K: ErrorKind> PortError<K> {
    /// Converts the error of one port to that of another. This error becomes its cause.
    #[must_use]
    pub fn into_kind<T: ErrorKind + for<'a> From<&'a K>>(self) -> PortError<T> {
        PortError::<T>::new(T::from(&self.kind), self.context.clone()).caused_by(self)
    }
}

impl<K, D> PortError<K, D> {
    /// Adds the cause of the failure.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
