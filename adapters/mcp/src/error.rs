//! Failure to configure or to start servers.

/// Failure to configure or to start a server. It names the server and the remedy, and no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{context}")]
pub struct McpError {
    /// Description of the action, its failure and the remedy.
    pub context: String,
}

impl McpError {
    /// Creates an error. The context has no secret in it.
    #[must_use]
    pub fn new(context: impl Into<String>) -> Self {
        Self { context: context.into() }
    }
}
