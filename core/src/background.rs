//! Background agents: the tools by which a model reaches its agents in the background. Absent on
//! purpose: their runs, which need the sessions of the agents.

use alloc::string::String;

use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

/// Name of the tool that sends a message to an agent in the background.
pub const SEND_TO_AGENT_TOOL: &str = "send_to_agent";
/// Name of the tool that waits for the result of an agent in the background.
pub const WAIT_FOR_AGENT_TOOL: &str = "wait_for_agent";
/// Name of the tool that stops an agent in the background.
pub const CLOSE_AGENT_TOOL: &str = "close_agent";

/// Returns the tools by which a model reaches its agents in the background. If the settings offer
/// them and no executor has a tool of that name, the engine itself runs them.
#[must_use]
pub fn background_agent_tools() -> [ToolSpec; 3] {
    let tool = |name: &str, description: &str, parameters: &str, effect| ToolSpec {
        name: String::from(name),
        description: String::from(description),
        parameters: String::from(parameters),
        effect,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        deferred: false,
        agent: None,
        grammar: None,
    };
    [
        tool(
            SEND_TO_AGENT_TOOL,
            "Sends a message to an agent that works in the background. It reads the message before \
             its next step. An agent that has ended reads nothing more: call it again instead.",
            r#"{"type":"object","properties":{"agent":{"type":"string","minLength":1,"description":"The agent, as the result of its call names it, for example @17."},"message":{"type":"string","minLength":1,"description":"What it is to know or to do differently."}},"required":["agent","message"],"additionalProperties":false}"#,
            EffectClass::Idempotent,
        ),
        tool(
            WAIT_FOR_AGENT_TOOL,
            "Waits until an agent in the background has ended, or for a number of seconds. Its \
             result then comes as a message. Results come by themselves: wait only if you can do \
             nothing else without it.",
            r#"{"type":"object","properties":{"agent":{"type":"string","minLength":1,"description":"The agent, as the result of its call names it, for example @17."},"seconds":{"type":"integer","minimum":1,"maximum":600,"description":"Longest wait. Default 60."}},"required":["agent"],"additionalProperties":false}"#,
            EffectClass::ReadOnly,
        ),
        tool(
            CLOSE_AGENT_TOOL,
            "Stops an agent in the background whose result is not needed any more. What it did until \
             then stands.",
            r#"{"type":"object","properties":{"agent":{"type":"string","minLength":1,"description":"The agent, as the result of its call names it, for example @17."}},"required":["agent"],"additionalProperties":false}"#,
            EffectClass::Idempotent,
        ),
    ]
}

/// Returns true if this is the name of one of [`background_agent_tools`].
#[must_use]
pub fn is_background_agent_tool(name: &str) -> bool {
    [SEND_TO_AGENT_TOOL, WAIT_FOR_AGENT_TOOL, CLOSE_AGENT_TOOL].contains(&name)
}

impl Settings {
    /// Returns true if texts may point the model to [`background_agent_tools`]: they are offered,
    /// and are not functions of programs.
    #[must_use]
    pub fn offers_background_agent_tools(&self) -> bool {
        self.options.program.is_none() && self.tool(WAIT_FOR_AGENT_TOOL).is_some()
    }
}
