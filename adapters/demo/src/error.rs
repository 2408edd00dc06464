//! Errors of starting the demo model.

use std::io;

/// Error of starting the demo model.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There is no runtime to serve on.
    #[error("starting the demo model: it must be started on a tokio runtime")]
    NoRuntime,
    /// There is no socket to listen on.
    #[error(
        "starting the demo model: no socket on the loopback interface (127.0.0.1): {0}; \
         check whether this environment allows local sockets, or choose another provider"
    )]
    Bind(#[source] io::Error),
}
