//! The engine's own tool by which a model finds deferred tools: a pure search in the settings of its
//! turn, so that each process finds the same.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use windlass_core::{
    MAX_FOUND_TOOLS, Observation, ObservationStatus, SEARCH_TOOLS_TOOL, Settings, ToolSpec,
    search_tools_tool,
};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

/// Most tools that a search finds if the model sets no limit.
const USUAL: usize = 5;

/// Returns true if the engine itself runs the calls of this tool: no executor has one of its name.
pub(crate) fn is_own(tool: &str, executor: &dyn ToolExecutor) -> bool {
    tool == SEARCH_TOOLS_TOOL && executor.tools().iter().all(|tool| tool.name != SEARCH_TOOLS_TOOL)
}

/// One run of the tool.
pub(crate) struct ToolSearch {
    settings: Arc<Settings>,
}

/// Arguments of a call. They match the schema of the tool.
#[derive(Debug, Deserialize)]
struct SearchArguments {
    query: String,
    max: Option<usize>,
}

impl ToolSearch {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl ToolExecutor for ToolSearch {
    fn tools(&self) -> Vec<ToolSpec> {
        search_tools_tool(&self.settings.tools).into_iter().collect()
    }

    async fn run(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        let asked: SearchArguments = match serde_json::from_str(&call.arguments) {
            Ok(asked) => asked,
            Err(error) => {
                let words = format!("Failed: the arguments cannot be read: {error}");
                return Ok(Observation::new(ObservationStatus::Failed, words));
            }
        };
        let max = asked.max.unwrap_or(USUAL).min(MAX_FOUND_TOOLS);
        Ok(self.settings.search_tools(&asked.query, max))
    }
}
