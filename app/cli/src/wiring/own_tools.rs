//! Tools that the engine itself runs: offered beside those of the executors.

use windlass_engine::Toolbox;
use windlass_engine::core::{READ_OUTPUT_TOOL, ToolSpec, read_output_tool};
use windlass_engine::ports::ToolExecutor as _;

/// Returns the tools for the model: those of the executors, and the one that reads outputs unless
/// an executor has one of its name.
pub(crate) fn offered_tools(toolbox: &Toolbox) -> Vec<ToolSpec> {
    let mut tools = toolbox.tools();
    if !tools.iter().any(|tool| tool.name == READ_OUTPUT_TOOL) {
        tools.push(read_output_tool());
    }
    tools
}
