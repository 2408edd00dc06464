//! Tool with which a model reports that the goal of its session is met.

use windlass_engine::core::{Concurrency, EffectClass, GOAL_TOOL, ToolSpec};

/// Returns the tool as the model sees it. The engine answers its calls; nothing runs.
fn goal_tool() -> ToolSpec {
    ToolSpec {
        name: GOAL_TOOL.to_owned(),
        description: "Says that the goal of this session is met. Call it only once you have \
                      checked that it is: without it, work on the goal goes on."
            .to_owned(),
        parameters: r#"{"type":"object","properties":{"evidence":{"type":"string","description":"How you know that it is met."}},"required":["evidence"],"additionalProperties":false}"#
            .to_owned(),
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        agent: None,
    }
}

/// Adds the goal's tool to these tools.
pub(crate) fn with_goal(mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
    if !tools.iter().any(|tool| tool.name == GOAL_TOOL) {
        tools.push(goal_tool());
    }
    tools
}
