//! Tool with which a model reports that the goal of its session is met.

use windlass_engine::core::{EffectClass, GOAL_TOOL, ToolSpec};

const DESCRIPTION: &str = "Says that the goal of this session is met. Call it only once you have checked \
                           that it is: without it, work on the goal goes on.";

const PARAMETERS: &str = r#"{"type":"object","properties":{"evidence":{"type":"string","description":"How you know that it is met."}},"required":["evidence"],"additionalProperties":false}"#;

/// Returns the tool as the model sees it. The engine answers its calls; nothing runs.
fn goal_tool() -> ToolSpec {
    ToolSpec::new(GOAL_TOOL, EffectClass::ReadOnly).with(|it| {
        it.description = DESCRIPTION.to_owned();
        it.parameters = PARAMETERS.to_owned();
    })
}

/// Adds the goal's tool to these tools.
pub(crate) fn with_goal(mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
    if !tools.iter().any(|tool| tool.name == GOAL_TOOL) {
        tools.push(goal_tool());
    }
    tools
}
