//! Client tools: calls that a client of the session runs. The engine runs none of them; it lists
//! those whose results are awaited, and describes them in a dry run.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{
    ASK_USER_TOOL, CallId, CallProgress, EffectClass, Observation, Settings, Timestamp, ToolSpec,
    TurnId,
};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::load::Loaded;

/// A call that a client runs and whose result is awaited, or a suspended one whose tool asks a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedCall {
    /// Id of the call.
    pub call: CallId,
    /// Turn of the call.
    pub turn: TurnId,
    /// Name of the tool; `ask_user` for a suspended call, which awaits the answer to a question.
    pub tool: String,
    /// Effect class of the tool.
    pub effect: EffectClass,
    /// Exact arguments as JSON text.
    pub arguments: Arc<str>,
    /// Key under which a repeated run has no second effect; unique among calls.
    pub idempotency_key: String,
    /// Time after which no result is awaited any more.
    pub deadline: Timestamp,
}

/// Returns the calls of a loaded session whose clients are to return results, and those that wait for
/// a person's answer. Opens nothing.
#[must_use]
pub fn awaited_calls(loaded: &Loaded) -> Vec<AwaitedCall> {
    let Some(turn) = loaded.session.turn() else {
        return Vec::new();
    };
    let awaited = turn.calls().iter().filter_map(|call| {
        let CallProgress::AwaitingResult { deadline, .. } = call.progress else {
            return None;
        };
        let idempotency_key = loaded.session.idempotency_key(call.id);
        let question = call.suspended.as_ref().and_then(|it| it.suspension.question.as_ref());
        if let Some(question) = question {
            return Some(AwaitedCall {
                call: call.id,
                turn: turn.id,
                tool: ASK_USER_TOOL.to_owned(),
                effect: EffectClass::ReadOnly,
                arguments: serde_json::to_string(&question.asked_by(&call.tool)).ok()?.into(),
                idempotency_key,
                deadline,
            });
        }
        let tool = turn.settings.tool(&call.tool)?;
        Some(AwaitedCall {
            call: call.id,
            turn: turn.id,
            tool: tool.name.clone(),
            effect: tool.effect,
            arguments: loaded.history.arguments(call.id)?,
            idempotency_key,
            deadline,
        })
    });
    awaited.collect()
}

/// Returns true if a client runs this tool.
pub(crate) fn is_clients(settings: &Settings, tool: &str) -> bool {
    settings.tool(tool).is_some_and(|tool| tool.client)
}

/// Executor of a client's tools in a dry run, which runs nothing.
pub(crate) struct ClientToolPlan;

#[async_trait]
impl ToolExecutor for ClientToolPlan {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn run(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        Err(ToolError::unsupported(format!("running {}: a client of the session does", call.name)))
    }
}
