//! Toolbox: combines several tool executors into one.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{CallId, Observation, SessionId, ToolSpec};
use windlass_ports::{
    ArgumentPath, FileChange, ToolCall, ToolContext, ToolEnd, ToolError, ToolExecutor, ToolProcess,
};

/// Several tool executors combined into one.
#[derive(Default)]
pub struct Toolbox {
    specs: Vec<ToolSpec>,
    executors: Vec<Arc<dyn ToolExecutor>>,
    owners: HashMap<String, Arc<dyn ToolExecutor>>,
}

/// Error of two executors that offer a tool with the same name.
#[derive(Debug, thiserror::Error)]
#[error("two tools are named {0}: rename one of them")]
pub struct ToolboxError(pub String);

impl Toolbox {
    /// Creates a toolbox without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an executor's tools after the existing ones.
    ///
    /// # Errors
    /// [`ToolboxError`] when a tool name is already in use.
    pub fn with(mut self, executor: Arc<dyn ToolExecutor>) -> Result<Self, ToolboxError> {
        for spec in executor.tools() {
            let taken = self.owners.insert(spec.name.clone(), executor.clone()).is_some();
            if taken {
                return Err(ToolboxError(spec.name));
            }
            self.specs.push(spec);
        }
        self.executors.push(executor);
        Ok(self)
    }

    fn owner(&self, call: &ToolCall) -> Result<&Arc<dyn ToolExecutor>, ToolError> {
        self.owners.get(&call.name).ok_or_else(|| {
            ToolError::unsupported(format!(
                "no executor here offers the tool {}: start with the tools that the session \
                 was opened with",
                call.name
            ))
        })
    }
}

#[async_trait]
impl ToolExecutor for Toolbox {
    fn tools(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        self.owner(&call)?.run(call, context).await
    }

    async fn run_or_suspend(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<ToolEnd, ToolError> {
        self.owner(&call)?.run_or_suspend(call, context).await
    }

    async fn plan(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        self.owner(&call)?.plan(call, context).await
    }

    fn paths(&self, call: &ToolCall) -> Vec<ArgumentPath> {
        self.owner(call).map_or_else(|_| Vec::new(), |owner| owner.paths(call))
    }

    async fn preview(&self, call: &ToolCall) -> Option<FileChange> {
        self.owner(call).ok()?.preview(call).await
    }

    async fn reconcile(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<Option<Observation>, ToolError> {
        self.owner(&call)?.reconcile(call, context).await
    }

    async fn end_runs(&self, session: &SessionId) -> Result<(), ToolError> {
        let mut result = Ok(());
        for executor in &self.executors {
            result = result.and(executor.end_runs(session).await);
        }
        result
    }

    fn processes(&self, session: &SessionId) -> Vec<ToolProcess> {
        self.executors.iter().flat_map(|executor| executor.processes(session)).collect()
    }

    async fn wait_processes(&self, session: &SessionId) {
        for executor in &self.executors {
            executor.wait_processes(session).await;
        }
    }

    async fn stop_process(&self, session: &SessionId, process: CallId) -> Result<bool, ToolError> {
        for executor in &self.executors {
            if executor.stop_process(session, process).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn release(&self, session: &SessionId) {
        for executor in &self.executors {
            executor.release(session).await;
        }
    }
}
