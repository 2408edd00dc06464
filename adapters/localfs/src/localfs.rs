//! The workspace tools as a tool executor.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use windlass_core::{CallId, Observation, ObservationStatus, SessionId, ToolSpec};
use windlass_kit_process::RunLocks;
use windlass_ports::{
    ArgumentPath, BlobErrorKind, FileChange, ToolCall, ToolContext, ToolError, ToolErrorKind,
    ToolExecutor, ToolProcess, store_image,
};

use crate::config::LocalFsConfig;
use crate::confinement::ToolSandbox;
use crate::error::SetupError;
use crate::files::kept::ChangeRecorder;
use crate::files::read::ProgramRead;
use crate::files::{self, CallMode, FileTool, FileToolContext};
use crate::process;
use crate::processes::{self, ProcessBench, ProcessTable, ProcessTool};
use crate::program_read;
use crate::root::WorkspaceRoot;
use crate::schema::{ToolOffer, WorkspaceTool, offers};
use crate::shell::{self, ShellPlace, shell};
use crate::stop::StopCheck;

/// Files and a shell inside one workspace folder.
#[derive(Debug)]
pub struct LocalFs {
    root: Arc<WorkspaceRoot>,
    config: Arc<LocalFsConfig>,
    sandbox: ToolSandbox,
    locks: Option<RunLocks>,
    /// True if a person may be asked to let a command run outside of the sandbox.
    outside: bool,
    /// Processes that outlive their calls.
    processes: Arc<ProcessTable>,
}

impl LocalFs {
    /// Opens a workspace folder. The folder stays open: what is later moved to its path is not
    /// what the file tools work on.
    ///
    /// # Errors
    /// [`SetupError`] when the folder does not exist or cannot be read.
    pub fn open(root: &Path, config: LocalFsConfig) -> Result<Self, SetupError> {
        let root = Arc::new(WorkspaceRoot::open(root)?);
        let (config, sandbox) = (Arc::new(config), ToolSandbox::default());
        let processes = Arc::new(ProcessTable::new(&config));
        Ok(Self { root, config, sandbox, locks: None, outside: false, processes })
    }

    /// Confines the processes of the shell. Without this they are not confined.
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

    /// Lets a model ask for a command outside of the sandbox, which runs there once a person approved
    /// exactly that call. Without this such a call is refused.
    #[must_use]
    pub fn with_calls_outside(self) -> Self {
        Self { outside: true, ..self }
    }

    /// Place in which command lines run.
    fn place(&self) -> ShellPlace<'_> {
        ShellPlace {
            root: &self.root,
            config: &self.config,
            sandbox: &self.sandbox,
            locks: self.locks.as_ref(),
            outside: self.outside,
        }
    }

    /// Runs blocking work on a thread for it. The thread is told when nobody waits any more.
    async fn blocking<T: Send + 'static>(
        &self,
        context: &ToolContext,
        work: impl FnOnce(&FileToolContext<'_>) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let (stop, _waiting) = StopCheck::new(context);
        let (root, config) = (self.root.clone(), self.config.clone());
        let (key, failed_before) = (context.idempotency_key.clone(), context.failed_before);
        let outputs = context.outputs.clone();
        let working = tokio::task::spawn_blocking(move || {
            let (root, config, stop, key) = (&root, &config, &stop, key.as_str());
            let changes = &ChangeRecorder::new(outputs);
            work(&FileToolContext { root, config, stop, key, failed_before, changes })
        });
        working.await.map_err(|error| {
            let context = format!("a file tool broke off: {error}; report this as a defect");
            ToolError::new(ToolErrorKind::Failed, context).caused_by(error)
        })
    }

    async fn file(
        &self,
        work: CallMode,
        tool: FileTool,
        arguments: String,
        context: ToolContext,
    ) -> Result<Observation, ToolError> {
        self.blocking(&context, move |bench| files::work(work, tool, &arguments, bench)).await
    }

    /// Reads a file for a program: all of it and without a remark, unless the call asks for a page.
    async fn file_content(
        &self,
        arguments: String,
        context: ToolContext,
    ) -> Result<Observation, ToolError> {
        let read = move |bench: &FileToolContext<'_>| files::read::for_program(&arguments, bench);
        match self.blocking(&context, read).await? {
            Ok(ProgramRead::Whole(content)) => {
                Ok(program_read::observation(content, &context).await)
            }
            Ok(ProgramRead::Page(observation)) => Ok(observation),
            Err(failure) => Ok(failure.observation()),
        }
    }

    /// Shows an image to the model: it is stored, and the observation names it.
    async fn view_image(
        &self,
        arguments: String,
        context: ToolContext,
    ) -> Result<Observation, ToolError> {
        let read = move |bench: &FileToolContext<'_>| files::view::read(&arguments, bench);
        let viewed = match self.blocking(&context, read).await? {
            Ok(viewed) => viewed,
            Err(failure) => return Ok(failure.observation()),
        };
        let stored = store_image(&context.outputs, viewed.media, &viewed.bytes).await;
        Ok(match stored {
            Ok(image) => {
                let images = vec![image];
                Observation { images, ..Observation::new(ObservationStatus::Done, viewed.words()) }
            }
            Err(error) if error.kind == BlobErrorKind::Disabled => {
                viewed.not_shown("nothing is stored beside the log")
            }
            Err(error) => {
                let words = format!("Failed: the image cannot be shown: {error}");
                Observation::new(ObservationStatus::Failed, words)
            }
        })
    }
}

#[async_trait]
impl ToolExecutor for LocalFs {
    fn tools(&self) -> Vec<ToolSpec> {
        let spec = |offer: &ToolOffer| match (offer.tool, self.outside) {
            (WorkspaceTool::Shell | WorkspaceTool::Process(ProcessTool::Start), true) => {
                offer.spec_with_calls_outside()
            }
            (WorkspaceTool::Shell | WorkspaceTool::Process(_) | WorkspaceTool::File(_), _) => {
                offer.spec()
            }
        };
        offers().map(spec).collect()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let offer = find(&call)?;
        tracing::debug!(tool = offer.name, call = %context.call, "runs a workspace tool");
        match offer.tool {
            WorkspaceTool::File(FileTool::Read) if context.program.is_some() => {
                self.file_content(call.arguments, context).await
            }
            WorkspaceTool::File(FileTool::View) if context.program.is_none() => {
                self.view_image(call.arguments, context).await
            }
            WorkspaceTool::File(tool) => {
                self.file(CallMode::Run, tool, call.arguments, context).await
            }
            WorkspaceTool::Shell => shell(&call.arguments, self.place(), &context).await,
            WorkspaceTool::Process(tool) => {
                let bench = ProcessBench { place: self.place(), table: &self.processes };
                processes::run(tool, &call.arguments, bench, &context).await
            }
        }
    }

    fn paths(&self, call: &ToolCall) -> Vec<ArgumentPath> {
        let Ok(offer) = find(call) else {
            return Vec::new();
        };
        let (argument, named, within) = match offer.tool {
            WorkspaceTool::File(tool) => {
                ("path", files::paths(tool, &call.arguments), tool == FileTool::Patch)
            }
            WorkspaceTool::Process(_) => ("workdir", workdir(&call.arguments), false),
            WorkspaceTool::Shell => return Vec::new(),
        };
        let found = named.into_iter().filter_map(|written| {
            let path = self.root.canonical(&written).ok()?;
            let (argument, written) = (argument.to_owned(), within.then_some(written));
            Some(ArgumentPath { argument, path, written })
        });
        found.collect()
    }

    async fn preview(&self, call: &ToolCall) -> Option<FileChange> {
        let WorkspaceTool::File(tool) = find(call).ok()?.tool else {
            return None;
        };
        let (root, config) = (self.root.clone(), self.config.clone());
        let arguments = call.arguments.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let stop = StopCheck::never();
            let (root, config, stop) = (&root, &config, &stop);
            let (key, changes) = ("", &ChangeRecorder::disabled());
            let bench = FileToolContext { root, config, stop, key, failed_before: 0, changes };
            files::preview(tool, &arguments, &bench)
        });
        looking.await.ok().flatten()
    }

    async fn plan(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        match find(&call)?.tool {
            WorkspaceTool::File(tool) => {
                self.file(CallMode::Plan, tool, call.arguments, context).await
            }
            WorkspaceTool::Shell => Ok(shell::plan(&call.arguments, &self.config, &context)),
            WorkspaceTool::Process(tool) => {
                Ok(processes::plan(tool, &call.arguments, &self.config))
            }
        }
    }

    async fn end_runs(&self, session: &SessionId) -> Result<(), ToolError> {
        process::end_runs(self.locks.as_ref(), session).await
    }

    fn processes(&self, session: &SessionId) -> Vec<ToolProcess> {
        self.processes.all(session).iter().map(|process| process.report()).collect()
    }

    async fn wait_processes(&self, session: &SessionId) {
        self.processes.wait(session).await;
    }

    async fn stop_process(&self, session: &SessionId, process: CallId) -> Result<bool, ToolError> {
        Ok(self.processes.stop(session, process).await)
    }

    async fn release(&self, session: &SessionId) {
        self.processes.release(session).await;
    }
}

/// Returns the folder that the arguments of a process name.
fn workdir(arguments: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Workdir {
        workdir: Option<String>,
    }
    let named: Option<Workdir> = serde_json::from_str(arguments).ok();
    named.and_then(|named| named.workdir).into_iter().collect()
}

fn find(call: &ToolCall) -> Result<&'static ToolOffer, ToolError> {
    let found = offers().find(|offer| offer.name == call.name);
    found
        .ok_or_else(|| ToolError::unsupported(format!("the workspace has no tool `{}`", call.name)))
}
