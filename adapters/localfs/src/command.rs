//! The user's own commands as a tool executor.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use windlass_core::{Observation, ObservationStatus, SessionId, ToolSpec};
use windlass_kit_process::{RunLocks, allowed};
use windlass_ports::{ProcessLaunch, ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::config::LocalFsConfig;
use crate::confinement::ToolSandbox;
use crate::error::SetupError;
use crate::fault::CallFailure;
use crate::planned::{planned, typed};
use crate::process::{self, CommandJob, CommandNames, CommandResult, lock, run};
use crate::report;
use crate::root::WorkspaceRoot;
use crate::tools_file::{self, CommandLine, CommandTool, ToolDeclarations, executable};

/// Most bytes of a failed command's stderr that are shown.
const STDERR: usize = 8 * 1024;

/// The user's own commands, each a tool; and the agents that their file declares, which the engine
/// itself runs.
#[derive(Debug)]
pub struct CommandTools {
    declared: ToolDeclarations,
    workspace: PathBuf,
    config: LocalFsConfig,
    sandbox: ToolSandbox,
    locks: Option<RunLocks>,
}

impl CommandTools {
    /// Reads a tools file. The commands will run in the folder `workspace`.
    ///
    /// # Errors
    /// [`SetupError`] when the file does not read or says something that cannot be done, with
    /// the tool and the position; or when there is no such workspace.
    pub fn load(path: &Path, workspace: &Path) -> Result<Self, SetupError> {
        let workspace = WorkspaceRoot::open(workspace)?.path().to_owned();
        let declared = tools_file::read(path)?;
        Ok(Self {
            declared,
            workspace,
            config: LocalFsConfig::default(),
            sandbox: ToolSandbox::default(),
            locks: None,
        })
    }

    /// Sets the limits of the output and the grace period.
    #[must_use]
    pub fn with_config(self, config: LocalFsConfig) -> Self {
        Self { config, ..self }
    }

    /// Confines the processes of the commands. Without this they are not confined.
    #[must_use]
    pub fn with_sandbox(self, sandbox: ToolSandbox) -> Self {
        Self { sandbox, ..self }
    }

    /// Locks each run of a call in this folder, so that no call is run beside what an earlier run of
    /// it left. Without this a run that outlives its process is not known.
    #[must_use]
    pub fn with_run_locks(self, locks: RunLocks) -> Self {
        Self { locks: Some(locks), ..self }
    }

    fn find(&self, call: &ToolCall) -> Result<&CommandTool, ToolError> {
        let mut commands = self.declared.commands.iter();
        let found = commands.find(|tool| tool.spec.name == call.name);
        found.ok_or_else(|| {
            ToolError::unsupported(format!(
                "the tools file has no command for the tool `{}`",
                call.name
            ))
        })
    }

    /// Runs one of a tool's command lines for a call.
    async fn start(
        &self,
        tool: &CommandTool,
        line: &CommandLine,
        call: ToolCall,
        context: &ToolContext,
    ) -> Result<CommandResult, ToolError> {
        let mut environment = allowed(std::env::vars_os(), &tool.env);
        let own = [
            ("WINDLASS_IDEMPOTENCY_KEY", context.idempotency_key.clone()),
            ("WINDLASS_SESSION", context.session.as_str().to_owned()),
            ("WINDLASS_CALL", context.call.to_string()),
            ("WINDLASS_ATTEMPT", context.attempt.to_string()),
        ];
        environment.extend(own.map(|(name, value)| (name.into(), value.into())));
        let action = format!("run `{}` for the tool `{}`", line.program.display(), tool.spec.name);
        let job = CommandJob {
            launch: ProcessLaunch {
                program: line.program.clone(),
                arguments: line.arguments.iter().map(Into::into).collect(),
                folder: self.workspace.clone(),
                environment,
            },
            sandbox: &self.sandbox,
            names: CommandNames { action: &action, remedy: "check the tools file" },
            input: Some(call.arguments.into_bytes()),
            separate_errors: Some(STDERR),
            room: self.config.room().saturating_sub(STDERR),
            line_room: usize::MAX,
            timeout_ms: limit(tool, context),
            grace_ms: self.config.grace_ms(),
            cancel: &context.cancel,
            progress: &context.progress,
            outputs: &context.outputs,
            lock: lock(self.locks.as_ref(), context),
        };
        run(job).await
    }
}

/// Time limit of a command, in milliseconds.
fn limit(tool: &CommandTool, context: &ToolContext) -> u64 {
    let own = tool.spec.timeout_ms.unwrap_or(u64::MAX);
    own.min(context.timeout_ms)
}

#[async_trait]
impl ToolExecutor for CommandTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let commands = self.declared.commands.iter().map(|tool| &tool.spec);
        commands.chain(&self.declared.agents).cloned().collect()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let tool = self.find(&call)?;
        if context.cancel.is_cancelled() {
            return Ok(Observation::new(
                ObservationStatus::Aborted,
                "[not begun, because it was asked to stop]",
            ));
        }
        tracing::debug!(tool = %tool.spec.name, call = %context.call, "runs a command tool");
        let ran = self.start(tool, &tool.line, call, &context).await?;
        Ok(report::command(ran, limit(tool, &context)))
    }

    async fn plan(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let tool = self.find(&call)?;
        if !executable(&tool.line.program) {
            let words = format!(
                "this is a dry run, and a real one would fail: `{}` is no file that may be \
                 executed; the tools file names it for the tool `{}`",
                tool.line.program.display(),
                tool.spec.name
            );
            return Ok(CallFailure::Message(words).observation());
        }
        let would = format!(
            "run this command line in the workspace folder, for at most {} ms:\n{}\nwith these \
             arguments on its stdin:\n{}",
            limit(tool, &context),
            typed(&tool.line),
            call.arguments
        );
        Ok(planned(&would, self.config.room()))
    }

    async fn reconcile(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<Option<Observation>, ToolError> {
        let tool = self.find(&call)?;
        let Some(line) = &tool.reconcile else {
            return Err(ToolError::unsupported(format!(
                "the tools file names no command that tells what became of a call of `{}`",
                call.name
            )));
        };
        if context.cancel.is_cancelled() {
            return Ok(None);
        }
        let name = &tool.spec.name;
        tracing::debug!(tool = %name, call = %context.call, "asks what became of a call");
        let ran = self.start(tool, line, call, &context).await?;
        match report::reconciled(ran) {
            Ok(observation) => Ok(Some(observation)),
            Err(why) => {
                tracing::warn!(
                    tool = %name,
                    call = %context.call,
                    %why,
                    "the reconcile command did not say what became of the call"
                );
                Ok(None)
            }
        }
    }

    async fn end_runs(&self, session: &SessionId) -> Result<(), ToolError> {
        process::end_runs(self.locks.as_ref(), session).await
    }
}
