//! Client tools: tools that a client of a session declares and runs itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use windlass_engine::core::{Concurrency, EffectClass, Settings, ToolSpec};

use crate::api::EffectShape;
use crate::object;
use crate::tenant::Refusal;

/// Most tools that a client declares for a session.
const MAX_TOOLS: usize = 64;
/// Longest description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 8 * 1024;
/// Longest schema of a tool's arguments, in bytes of JSON.
const MAX_PARAMETERS: usize = 32 * 1024;
/// Time for the result of a call unless its tool names another, and the shortest and the longest
/// one, in milliseconds.
const TIMEOUT_MS: u64 = 60 * 60 * 1000;
const TIMEOUTS_MS: std::ops::RangeInclusive<u64> = 1_000..=7 * 24 * 60 * 60 * 1000;

/// Tool that a client of the session runs. The session waits for the results of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "open_file", "description": "Opens a file in the user's editor.", "effect": "idempotent",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}))]
pub struct ClientTool {
    /// Name of the tool, which no tool of the server has.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub name: String,
    /// Description of the tool for the model; at most 8,192 bytes.
    pub description: String,
    /// JSON Schema of the arguments, for an object; at most 32,768 bytes. Calls with other arguments
    /// do not reach the client.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
    /// Effect class of the tool. The session's permissions apply to it.
    #[schema(value_type = EffectShape)]
    pub effect: EffectClass,
    /// Longest wait for the result of a call, in milliseconds; an hour if it is left out.
    #[serde(default, deserialize_with = "object::number", skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 604_800_000, nullable = false, value_type = Option<u64>)]
    pub timeout_ms: Option<u64>,
}

impl ClientTool {
    fn spec(&self) -> Result<ToolSpec, Refusal> {
        let refuse =
            |what: &str| Err(Refusal(format!("the client's tool {:?}: {what}", self.name)));
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(named) {
            return refuse("a name has 1 to 64 characters of A-Z, a-z, 0-9, _ and -");
        }
        let parameters = Value::Object(self.parameters.clone()).to_string();
        if self.description.len() > MAX_DESCRIPTION || parameters.len() > MAX_PARAMETERS {
            return refuse("its description or its schema is too long: shorten it");
        }
        if self.parameters.get("type").and_then(Value::as_str) != Some("object") {
            return refuse("its parameters are a JSON Schema with the type object");
        }
        let timeout_ms = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !TIMEOUTS_MS.contains(&timeout_ms) {
            return refuse("timeout_ms is between a second and seven days");
        }
        Ok(ToolSpec::new(self.name.clone(), self.effect).with(|it| {
            it.description = self.description.clone();
            it.parameters = parameters;
            it.concurrency = Concurrency::Parallel;
            it.timeout_ms = Some(timeout_ms);
            it.client = true;
        }))
    }
}

/// Replaces the client tools of a session's settings.
///
/// # Errors
/// [`Refusal`] when a tool is unusable or has the name of another one.
pub(crate) fn declare(settings: &mut Settings, tools: &[ClientTool]) -> Result<(), Refusal> {
    if tools.len() > MAX_TOOLS {
        return Err(Refusal(format!("a client declares at most {MAX_TOOLS} tools")));
    }
    settings.tools.retain(|tool| !tool.client);
    for tool in tools {
        let spec = tool.spec()?;
        if settings.tool(&spec.name).is_some() {
            let words = format!("another tool is named {:?}: rename the client's", spec.name);
            return Err(Refusal(words));
        }
        settings.tools.push(spec);
    }
    Ok(())
}

/// Returns true if a session was opened with these client tools.
pub(crate) fn has_declared(recorded: &Settings, tools: &[ClientTool]) -> bool {
    let before = recorded.tools.iter().filter(|tool| tool.client).map(Some);
    let now: Vec<ToolSpec> = tools.iter().filter_map(|tool| tool.spec().ok()).collect();
    before.eq(now.iter().map(Some))
}
