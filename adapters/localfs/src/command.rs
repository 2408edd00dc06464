//! The user's own commands as a tool executor.

use std::path::{Path, PathBuf};
use std::process::Command;

use async_trait::async_trait;
use windlass_core::{Observation, ObservationStatus, ToolSpec};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::config::LocalFsConfig;
use crate::env::allowed;
use crate::error::SetupError;
use crate::process::{Errors, Job, run};
use crate::report;
use crate::root::Root;
use crate::tools_file::{self, CommandTool};

/// How much of a failed command's stderr is shown, in bytes.
const STDERR: usize = 8 * 1024;

/// The user's own commands, each a tool.
#[derive(Debug)]
pub struct CommandTools {
    tools: Vec<CommandTool>,
    workspace: PathBuf,
    config: LocalFsConfig,
}

impl CommandTools {
    /// Reads a tools file. The commands will run in the folder `workspace`.
    ///
    /// # Errors
    /// [`SetupError`] when the file does not read or says something that cannot be done, with
    /// the tool and the position; or when there is no such workspace.
    pub fn load(path: &Path, workspace: &Path) -> Result<Self, SetupError> {
        let workspace = Root::open(workspace)?.path().to_owned();
        Ok(Self {
            tools: tools_file::read(path)?,
            workspace,
            config: LocalFsConfig::default(),
        })
    }
}

#[async_trait]
impl ToolExecutor for CommandTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone()).collect()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec.name == call.name) else {
            return Err(ToolError {
                began: false,
                context: format!("the tools file has no tool `{}`", call.name),
                source: None,
            });
        };
        if context.cancel.is_cancelled() {
            return Ok(Observation::new(
                ObservationStatus::Aborted,
                "[not begun, because it was asked to stop]",
            ));
        }
        tracing::debug!(tool = %tool.spec.name, call = %context.call, "runs a command tool");
        let timeout_ms = tool
            .spec
            .timeout_ms
            .unwrap_or(u64::MAX)
            .min(context.timeout_ms);
        let mut command = Command::new(&tool.program);
        command.args(&tool.arguments).current_dir(&self.workspace);
        command
            .env_clear()
            .envs(allowed(std::env::vars_os(), &tool.env));
        command.env("WINDLASS_IDEMPOTENCY_KEY", &context.idempotency_key);
        command.env("WINDLASS_SESSION", context.session.as_str());
        command.env("WINDLASS_CALL", context.call.to_string());
        command.env("WINDLASS_ATTEMPT", context.attempt.to_string());
        let job = Job {
            command,
            input: Some(call.arguments.into_bytes()),
            errors: Errors::Apart(STDERR),
            room: self.config.room().saturating_sub(STDERR),
            timeout_ms,
            grace_ms: self.config.grace_ms(),
            cancel: &context.cancel,
            progress: &*context.progress,
            outputs: &context.outputs,
        };
        match run(job).await {
            Ok(ran) => Ok(report::command(ran, timeout_ms)),
            Err(unrun) => Err(ToolError {
                began: unrun.began,
                context: format!(
                    "cannot run `{}` for the tool `{}`: {}; check the tools file",
                    tool.program.display(),
                    tool.spec.name,
                    unrun.error
                ),
                source: Some(Box::new(unrun.error)),
            }),
        }
    }
}
