//! The tool of the bench: `echo`, in this process, which gives its argument back.

use async_trait::async_trait;
use windlass_core::{EffectClass, Observation, ObservationStatus, ToolSpec};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};

use crate::wire::{ECHO_DESCRIPTION, ECHO_SCHEMA, EchoArguments};

/// Executor of the tool `echo`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo;

/// Declaration of `echo` for the model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec::new("echo", EffectClass::ReadOnly).with(|it| {
        it.description = ECHO_DESCRIPTION.to_owned();
        it.parameters = ECHO_SCHEMA.to_owned();
    })
}

#[async_trait]
impl ToolExecutor for Echo {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![spec()]
    }

    async fn run(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        let arguments: EchoArguments = serde_json::from_str(&call.arguments).map_err(|error| {
            let context = format!("reading the arguments of {}: {error}", call.name);
            ToolError::new(ToolErrorKind::NotStarted, context).caused_by(error)
        })?;
        Ok(Observation::new(ObservationStatus::Done, arguments.result()))
    }
}
