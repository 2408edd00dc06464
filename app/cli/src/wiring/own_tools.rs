//! Tools that the engine itself runs: offered beside those of the executors.

use windlass_engine::Toolbox;
use windlass_engine::core::{
    READ_OUTPUT_TOOL, SEARCH_TOOLS_TOOL, ToolSpec, background_agent_tools, read_output_tool,
    search_tools_tool,
};
use windlass_engine::ports::ToolExecutor as _;

/// Returns the tools for the model: those of the executors, the one that reads outputs, the one
/// that finds deferred tools and those for agents in the background if there are any, unless an executor has one of that name.
pub(crate) fn offered_tools(toolbox: &Toolbox) -> Vec<ToolSpec> {
    let mut tools = toolbox.tools();
    if !tools.iter().any(|tool| tool.name == READ_OUTPUT_TOOL) {
        tools.push(read_output_tool());
    }
    if !tools.iter().any(|tool| tool.name == SEARCH_TOOLS_TOOL) {
        tools.extend(search_tools_tool(&tools));
    }
    if tools.iter().any(|tool| tool.agent.as_ref().is_some_and(|agent| agent.background)) {
        let has = |tools: &[ToolSpec], name: &str| tools.iter().any(|tool| tool.name == name);
        let more = background_agent_tools().into_iter().filter(|tool| !has(&tools, &tool.name));
        let more: Vec<ToolSpec> = more.collect();
        tools.extend(more);
    }
    tools
}
