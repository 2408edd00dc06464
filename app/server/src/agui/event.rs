//! Events of AG-UI 1.0 that a session produces.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Version of the protocol.
pub(super) const PROTOCOL: &str = "1.0";

/// Largest integer that every JSON reader preserves.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// One event of the AG-UI protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum AguiEvent {
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<String>,
    },
    RunFinished {
        thread_id: String,
        run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        outcome: AguiOutcome,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    RunError {
        message: String,
        code: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    StepStarted {
        step_name: String,
    },
    StepFinished {
        step_name: String,
    },
    TextMessageStart {
        message_id: String,
        role: &'static str,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningEnd {
        message_id: String,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: String,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: &'static str,
        metadata: Metadata,
    },
    Custom {
        name: String,
        value: Value,
    },
}

/// Fields of this server beside the protocol's own.
pub(super) type Metadata = BTreeMap<&'static str, Value>;

/// End of a run that did not fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AguiOutcome {
    Success,
    Cancelled,
    Interrupt { interrupts: Vec<Interrupt> },
}

/// Question to a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    pub(super) id: String,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) tool_call_id: String,
    pub(super) response_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<String>,
    pub(super) metadata: Metadata,
}

/// Tokens of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_input_tokens: Option<u64>,
}

impl TokenUsage {
    /// Adds the usage of one request.
    pub(super) fn add(&mut self, usage: &windlass_engine::core::Usage) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more).min(MAX_SAFE_INTEGER));
            }
        };
        add(&mut self.input_tokens, usage.input);
        add(&mut self.output_tokens, usage.output);
        add(&mut self.reasoning_tokens, usage.reasoning_output);
        add(&mut self.cached_input_tokens, usage.cached_input);
        add(&mut self.cache_write_input_tokens, usage.cache_write);
    }

    /// Returns the usage for the end of a run; empty if it is unknown.
    pub(super) fn as_list(&self) -> Vec<Self> {
        match *self == Self::default() {
            true => Vec::new(),
            false => vec![self.clone()],
        }
    }
}
