//! Processes: lists and stops what the calls of a session left running by design.

use windlass_core::{CallId, SessionId};
use windlass_ports::{ToolError, ToolProcess};

use super::Engine;

impl Engine {
    /// Returns the processes of a session that run here beyond the calls that started them, and those
    /// that have ended while no call returned that. Empty for a session that another process drives.
    /// Check that the caller may see the session.
    #[must_use]
    pub fn processes(&self, id: &SessionId) -> Vec<ToolProcess> {
        self.inner.ports.tools.processes(id)
    }

    /// Stops a process of a session, with all that it started, and waits for its end. Returns false if
    /// no such process runs here. The model learns of the stop when it asks for the process. Check that
    /// the caller may change the session.
    ///
    /// # Errors
    /// [`ToolError`] when the process may still run.
    pub async fn stop_process(&self, id: &SessionId, process: CallId) -> Result<bool, ToolError> {
        self.inner.ports.tools.stop_process(id, process).await
    }
}
